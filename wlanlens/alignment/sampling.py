"""Two passes over the captures of one trace, batch by batch: each capture by itself, then the pairs of each two.

Memory is bounded, except for a few bytes a connection.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens.alignment import packet_matching
from wlanlens.alignment.capture_summary import CaptureSummary
from wlanlens.alignment.common_packets import CommonPackets
from wlanlens.alignment.row_window import PacketWindow
from wlanlens.capture.reader_thread import READERS
from wlanlens.tables.columns import Array
from wlanlens.threads import Job, Threads

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture


#: Windows whose pairs wait to be added up.
_WAITING = 2


class Survey:
    """Both passes over all captures. The first one goes over the batches of `packets` that `add` is given, and reads the others.

    Attributes
    ----------
    summaries : list of CaptureSummary
        What the first pass finds out about each capture.
    """

    def __init__(self, captures: Sequence[Capture], *, nat: bool = False) -> None:
        self.summaries = [CaptureSummary(capture) for capture in captures]
        self._searches = {
            both: packet_matching.PairSearch(nat=nat) for both in combinations(range(len(self.summaries)), 2)
        }
        self._given: set[int] = set()

    def add(self, number: int, batch: pa.RecordBatch) -> None:
        """First pass: the next batch of a capture. No capture changes the sample of another: each may have a thread."""
        self._given.add(number)
        self.summaries[number].add(batch)
        slim = packet_matching.slim(batch)
        for both, search in self._searches.items():
            if number in both:
                search.sample(both.index(number), slim)

    def pairs(self, scratch: Path | None = None) -> dict[tuple[int, int], CommonPackets]:
        """Second pass: what each two captures have in common. Pairs go to files in `scratch`, or stay in memory without one."""
        unread = {k for k in range(len(self.summaries)) if k not in self._given}

        def read(k: int) -> None:
            self.summaries[k].add_link_times()
            for batch in self.summaries[k].batches() if k in unread else ():
                self.add(k, batch)

        with Threads(READERS) as pool:
            for _ in pool.map(read, range(len(self.summaries))):
                pass
        found = {}
        for (i, j), search in self._searches.items():
            path = None if scratch is None else scratch / f"pairs-{i}-{j}.arrow"
            found[i, j] = _find_pairs(search, (self.summaries[i], self.summaries[j]), path)
        return found


def _find_pairs(
    search: packet_matching.PairSearch, summaries: tuple[CaptureSummary, CaptureSummary], path: Path | None
) -> CommonPackets:
    """The second pass over two captures: their reading and what is done with the pairs have a thread each."""
    import pyarrow as pa

    common = CommonPackets()
    windows = [PacketWindow(summary.capture) for summary in summaries]

    def forget(first: Sequence[int]) -> None:
        for window, before in zip(windows, first, strict=True):
            window.forget(before)

    feeds = [window.read(summary.batches()) for window, summary in zip(windows, summaries, strict=True)]
    run = search.run(feeds, taken=lambda side, _: windows[side].add(), forget=forget, in_threads=True)
    kept: list[pa.RecordBatch] = []
    with contextlib.ExitStack() as stack:
        keep = kept.append if path is None else stack.enter_context(_stream(path))

        def add(found: pa.RecordBatch, sides: Sequence[Callable[[], dict[str, Array]]]) -> None:
            if found.num_rows:
                common.add(found, *(side() for side in sides))
            keep(found)

        pool = stack.enter_context(Threads(1))
        jobs: deque[Job[None]] = deque()
        for found in run:
            rows = [found.column(name).to_numpy() for name in ("row_a", "row_b")] if found.num_rows else []
            sides = [window.reader(mine) for window, mine in zip(windows, rows, strict=False)]
            if len(jobs) == _WAITING:
                jobs.popleft().result()
            jobs.append(pool.submit(add, found, sides))
        while jobs:
            jobs.popleft().result()
    common.pairs = search.result(path or pa.Table.from_batches(kept).unify_dictionaries())
    return common


@contextlib.contextmanager
def _stream(path: Path) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Writes batches of one schema to a file."""
    import pyarrow as pa

    writer: pa.ipc.RecordBatchStreamWriter | None = None

    def write(batch: pa.RecordBatch) -> None:
        nonlocal writer
        writer = writer or pa.ipc.new_stream(file, batch.schema)
        writer.write_batch(batch)

    with pa.OSFile(str(path), "wb") as file:
        yield write
        if writer is not None:
            writer.close()
