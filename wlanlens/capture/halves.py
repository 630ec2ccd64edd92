"""Halves: `packets` and the tables of facts, each read when it is first asked for.

Decoding packets takes a third of the work of tracking connections, and tables of facts need no columns of packets.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from wlanlens.capture.capture import Capture


#: Rows decoded at a time: about 100 MB, after which Ctrl-C is noticed.
MANY_ROWS = 1 << 20


class Halves:
    """The tables of one capture, read in two halves.

    Parameters
    ----------
    capture : Capture
        The capture.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._held: dict[bool, dict[str, pa.Table]] = {}
        self._version: tuple[int, int] | None = None

    def of(self, name: str) -> Mapping[str, pa.Table] | None:
        """The half with a table. None where the capture must be read as a whole: the file cannot be read twice or has changed,
        reading it twice costs too much, or the numbers of its connections depend on facts."""
        packets = name == "packets"
        if packets not in self._held:
            version = self._current_version()
            if version is None or version != (self._version or version):
                return None
            self._version = version
            reader = self._capture.reader(packets=packets, two_threads=True)
            held = self._capture.collect(self._capture.feed_of(reader, MANY_ROWS), whole=not packets)
            if not reader.numbered():
                return None
            self._held[packets] = {other: table for other, table in held.items() if (other == "packets") == packets}
        return self._held[packets]

    def rest(self) -> dict[str, pa.Table] | None:
        """All tables, when one half was read before; None as in `of`."""
        if not self._held:
            return None
        both = [self.of(name) for name in ("packets", "flows")]
        return None if None in both else {name: table for half in both if half for name, table in half.items()}

    def _current_version(self) -> tuple[int, int] | None:
        """Size and time of change of a file; None where it cannot be read twice, or only slowly."""
        capture = self._capture
        if capture.size_bytes() is None or capture.has_keys or capture.info.get("compression"):
            return None
        found = os.stat(capture.raw_path)
        return found.st_size, found.st_mtime_ns
