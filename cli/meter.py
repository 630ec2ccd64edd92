"""One line on the terminal that tells of work under way."""

from __future__ import annotations

import sys
import time


class TerminalLine:
    """A line on standard error that is written over and over."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, text: str) -> None:
        """Put this in the place of what stood there."""
        self._shown = True
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Meter(TerminalLine):
    """How many runs are done and how long the rest will take, where standard error is a terminal.

    Attributes
    ----------
    done, total : int
        Runs, as far as it was told.
    """

    def __init__(self, total: int = 0, *, quiet: bool) -> None:
        super().__init__()
        self.done, self.total = 0, total
        self._wanted = sys.stderr.isatty() and not quiet
        self._begun, self._told = time.monotonic(), 0.0
        self._first: int | None = None

    def __call__(self, done: int, total: int | None = None) -> None:
        self.done, self.total = done, self.total if total is None else total
        if self._first is None:
            self._first = done - 1
        now = time.monotonic()
        if not self._wanted or now - self._told < 0.2:
            return
        self._told = now
        left_s = (now - self._begun) / max(1, done - self._first) * (self.total - done)
        self.show(f"{done:,} of {self.total:,} runs, {left_s:.0f} s left")
