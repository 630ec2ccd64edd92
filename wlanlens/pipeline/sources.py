"""Sources: where the rows of a run come from. One capture is streamed: its rows are judged and written while it is decoded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wlanlens import tables
from wlanlens.alignment.clock_map import ClockMap
from wlanlens.capture import quality
from wlanlens.errors import WlanlensError
from wlanlens.formatting import printable
from wlanlens.pipeline.open_flows import OPEN_FLOWS
from wlanlens.pipeline.progress import Watcher, of_feed

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture
    from wlanlens.capture.reader_thread import Feed
    from wlanlens.correlation.leading_captures import LeadingCaptures


class Rows(NamedTuple):
    """Some rows of a table.

    Attributes
    ----------
    table : str
        The table.
    batch : pa.RecordBatch
        The rows.
    stored, judged : bool
        Whether they are written to the output, and whether they are given to detectors and sums.
    entered : bool
        Whether they are for the ledger alone.
    """

    table: str
    batch: pa.RecordBatch
    stored: bool = True
    judged: bool = True
    entered: bool = False


class Source(ABC):
    """The rows of one capture or of several on one time axis.

    Attributes
    ----------
    captures : list of Capture
        The captures.
    clocks : list of ClockMap
        How each capture's clock maps to the axis; complete once the first step has begun.
    tables : tuple of str
        The tables that have rows here.
    leaders : LeadingCaptures or None
        The captures that the facts of each connection come from, of several captures.
    """

    leaders: LeadingCaptures | None = None

    def __init__(self, captures: Sequence[Capture], names: Iterable[str], progress: Watcher | None) -> None:
        self.captures = list(captures)
        self.clocks = [ClockMap.identity(capture.name) for capture in captures]
        self.tables = tuple(names)
        self._counts = [quality.Quality() for _ in captures]
        self._progress = progress

    @property
    @abstractmethod
    def start_ns(self) -> int:
        """Epoch ns of t = 0; known once the first step has begun."""

    @property
    @abstractmethod
    def air_capture(self) -> str:
        """The name of the capture with most frames; known after the last step."""

    @abstractmethod
    def steps(self) -> Iterator[Iterator[Rows]]:
        """All rows, step by step; between two steps the run may judge what it holds."""

    def end(self) -> None:  # noqa: B027 - a source may know nothing more
        """Take what is known of the captures after the last step; nothing of the steps before may be judged any more."""

    def quality(self) -> pa.Table:
        """The table `quality`; known after the last step."""
        return quality.to_table(self._counts, self.captures)

    def _decode(self, number: int, feed: Feed) -> Iterator[Iterator[tuple[str, pa.RecordBatch]]]:
        """Read one capture: batches of its tables, group by group."""
        capture, counts = self.captures[number], self._counts[number]
        size_bytes = capture.size_bytes()

        def counted(group: Iterable[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
            for name, batch in group:
                if name != OPEN_FLOWS:
                    counts.add(name, batch)
                yield name, batch

        try:
            for group in feed:
                yield counted(group)
                if self._progress is not None:
                    self._progress(of_feed(feed, size_bytes))
        except WlanlensError as error:
            error.path = error.path or printable(capture.path)
            raise


class OneCapture(Source):
    """One capture, decoded step by step. Its clock is the axis; nothing is written to the disk on the way."""

    def __init__(self, capture: Capture, feed: Feed, progress: Watcher | None = None) -> None:
        super().__init__([capture], tables.core_schemas(), progress)
        self._feed = feed

    @property
    def start_ns(self) -> int:
        return self.captures[0].start_ns or 0

    @property
    def air_capture(self) -> str:
        return self.captures[0].name

    def steps(self) -> Iterator[Iterator[Rows]]:
        for group in self._decode(0, self._feed):
            yield (Rows(name, batch, stored=name != OPEN_FLOWS) for name, batch in group)

    def end(self) -> None:
        capture = self.captures[0]
        capture.take(self._feed)
        capture.point = self._counts[0].point(capture)
