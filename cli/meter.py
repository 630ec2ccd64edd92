"""Progress in one line on the terminal."""

from __future__ import annotations

import sys
import time


class TerminalLine:
    """A line on standard error that is overwritten."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, text: str) -> None:
        """Replace the line by this text."""
        self._shown = True
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Meter(TerminalLine):
    """How many runs are done and how long the rest will take; shown if standard error is a terminal.

    Attributes
    ----------
    done, total : int
        Runs, as last reported.
    """

    def __init__(self, total: int = 0, *, quiet: bool) -> None:
        super().__init__()
        self.done, self.total = 0, total
        self._active = sys.stderr.isatty() and not quiet
        self._start, self._shown_at = time.monotonic(), 0.0
        self._first: int | None = None

    def __call__(self, done: int, total: int | None = None) -> None:
        self.done, self.total = done, self.total if total is None else total
        if self._first is None:
            self._first = done - 1
        now = time.monotonic()
        if not self._active or now - self._shown_at < 0.2:
            return
        self._shown_at = now
        left_s = (now - self._start) / max(1, done - self._first) * (self.total - done)
        self.show(f"{done:,} of {self.total:,} runs, {left_s:.0f} s left")
