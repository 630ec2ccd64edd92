"""Two passes over the captures of one trace, batch by batch: each capture by itself, then the pairs of each two.

Memory is bounded, except for a few bytes a connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens.alignment import packet_matching
from wlanlens.alignment.capture_summary import CaptureSummary
from wlanlens.alignment.common_packets import CommonPackets
from wlanlens.alignment.row_window import PacketWindow
from wlanlens.threads import Threads

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture


#: Captures that are read at a time: Arrow and the core work beside Python.
READERS = 2


def survey(
    captures: Sequence[Capture], *, nat: bool = False, scratch: Path | None = None
) -> tuple[list[CaptureSummary], dict[tuple[int, int], CommonPackets]]:
    """Both passes over all captures. Pairs go to files in `scratch`, or stay in memory without one."""
    summaries = [CaptureSummary(capture) for capture in captures]
    searches = {(i, j): packet_matching.PairSearch(nat=nat) for i, j in combinations(range(len(summaries)), 2)}

    def read(k: int) -> None:
        """The first pass over one capture. No capture changes the sample of another, so that their order does not matter."""
        summary = summaries[k]
        summary.add_link_times()
        for batch in summary.batches():
            summary.add(batch)
            slim = packet_matching.slim(batch)
            for both, search in searches.items():
                if k in both:
                    search.sample(both.index(k), slim)

    with Threads(READERS) as pool:
        for _ in pool.map(read, range(len(summaries))):
            pass
    found = {}
    for (i, j), search in searches.items():
        path = None if scratch is None else scratch / f"pairs-{i}-{j}.arrow"
        found[i, j] = _find_pairs(search, (summaries[i], summaries[j]), path)
    return summaries, found


def _find_pairs(
    search: packet_matching.PairSearch, summaries: tuple[CaptureSummary, CaptureSummary], path: Path | None
) -> CommonPackets:
    """The second pass over two captures."""
    import pyarrow as pa

    common = CommonPackets()
    rows = [PacketWindow(summary.capture) for summary in summaries]

    def forget(first: Sequence[int]) -> None:
        for window, before in zip(rows, first, strict=True):
            window.forget(before)

    feeds = [summary.batches() for summary in summaries]
    run = search.run(feeds, taken=lambda side, batch: rows[side].add(batch), forget=forget)
    if path is None:
        kept = []
        for batch in run:
            common.add(batch, *rows)
            kept.append(batch)
        common.pairs = search.result(pa.Table.from_batches(kept).unify_dictionaries())
        return common
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(path), "wb") as file:
        for batch in run:
            common.add(batch, *rows)
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
    common.pairs = search.result(path)
    return common
