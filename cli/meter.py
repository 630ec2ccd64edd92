"""One line on the terminal that says how many runs are done, and how long the rest will take."""

from __future__ import annotations

import sys
import time


class Meter:
    """Tells of runs on standard error, where that is a terminal.

    Attributes
    ----------
    done, total : int
        Runs, as far as it was told.
    """

    def __init__(self, total: int = 0, *, quiet: bool) -> None:
        self.done, self.total = 0, total
        self._wanted = sys.stderr.isatty() and not quiet
        self._shown = False
        self._begun, self._told = time.monotonic(), 0.0
        self._first: int | None = None

    def __call__(self, done: int, total: int | None = None) -> None:
        self.done, self.total = done, self.total if total is None else total
        if self._first is None:
            self._first = done - 1
        now = time.monotonic()
        if not self._wanted or now - self._told < 0.2:
            return
        self._told, self._shown = now, True
        left_s = (now - self._begun) / max(1, done - self._first) * (self.total - done)
        sys.stderr.write(f"\r{done:,} of {self.total:,} runs, {left_s:.0f} s left\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
