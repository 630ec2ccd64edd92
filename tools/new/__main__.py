"""Write the skeleton of a unit and its test: `make new DETECTOR=name`, `SCENARIO=name` or `PLOT=name`."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

#: Shelf and folder of tests of each kind of unit.
KINDS = {
    "detector": ("wlanlens/detectors", "tests/detectors"),
    "scenario": ("wlanlens/scenarios", "tests/simulation"),
    "plot": ("wlanlens/plots", "tests/plots"),
}


class Refused(Exception):
    """A name that cannot be used."""


def write(kind: str, name: str, root: Path = ROOT) -> list[Path]:
    """Write the files of a unit.

    Parameters
    ----------
    kind : str
        detector, scenario or plot.
    name : str
        Lower case, words joined by `_`.
    root : Path
        The repository.

    Returns
    -------
    list of Path
        The unit and its test.

    Raises
    ------
    Refused
        The name is not valid, or a file of this name exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise Refused(f"{name!r} is not a valid name: use lower case words joined by '_', for example slow_handshake")
    if len(name) > 40:
        raise Refused(f"{name!r} has {len(name)} characters, at most 40 are allowed")
    shelf, tests = KINDS[kind]
    files = {root / shelf / f"{name}.py": f"{kind}.py.txt", root / tests / f"test_{name}.py": f"test_{kind}.py.txt"}
    for path in files:
        if path.exists():
            raise Refused(f"{path.relative_to(root)} exists: choose another name")
    class_name = "".join(word.capitalize() for word in name.split("_"))
    for path, template in files.items():
        text = (HERE / template).read_text(encoding="utf-8")
        path.write_text(text.replace("@name@", name).replace("@Class@", class_name), encoding="utf-8")
    return list(files)


def main() -> None:
    """Read the arguments and write the files."""
    parser = argparse.ArgumentParser(prog="make new", description="Write the skeleton of a unit and its test.")
    for kind in KINDS:
        parser.add_argument(f"--{kind}", metavar="NAME", default="")
    given = {kind: name for kind, name in vars(parser.parse_args()).items() if name}
    if len(given) != 1:
        sys.exit("usage: make new DETECTOR=name | SCENARIO=name | PLOT=name")
    ((kind, name),) = given.items()
    try:
        written = write(kind, name)
    except Refused as error:
        sys.exit(f"make new: {error}")
    for path in written:
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
