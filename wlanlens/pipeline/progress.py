"""Progress: how far a run has read a capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wlanlens.capture.reader_thread import Feed


@dataclass(frozen=True)
class Progress:
    """How far a capture has been read.

    Attributes
    ----------
    records, offset_bytes : int
        Records and bytes read.
    size_bytes : int or None
        The file's size; None where it is not known: a pipe, a compressed file.
    """

    records: int
    offset_bytes: int
    size_bytes: int | None


#: Called after each group of batches that was read.
Watcher = Callable[[Progress], None]


def of_feed(feed: Feed, size_bytes: int | None) -> Progress:
    """The progress of a capture that is being read."""
    packed = bool(feed.info.get("compression"))
    return Progress(feed.info["records"], feed.info["offset"], None if packed else size_bytes)
