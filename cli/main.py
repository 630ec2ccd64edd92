"""The command line's entry point."""


def main() -> None:
    raise SystemExit("not built yet")
