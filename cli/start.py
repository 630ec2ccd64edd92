"""The entry point of the command `wlanlens`: handlers of signals stand before anything heavy is imported."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

#: Signals that stop a command.
STOPS = (signal.SIGINT, signal.SIGTERM)


def exit_at_once(number: int, _frame: FrameType | None) -> NoReturn:
    """End the process: while it only imports, there is nothing to undo."""
    os._exit(128 + number)


def reached() -> None:
    """The exception of a signal has reached code that stops by itself: it is not raised again."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> NoReturn:
    """Run the command line."""
    for number in STOPS:
        signal.signal(number, exit_at_once)
    from .main import main as run

    run()


if __name__ == "__main__":
    main()
