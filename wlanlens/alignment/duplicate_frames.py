"""Frames that several sniffers heard: sums over the air count each of them once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment import packet_matching
from wlanlens.alignment.common_packets import CommonPackets
from wlanlens.alignment.row_window import FrameWindow
from wlanlens.tables.columns import Array, coded, filled

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.capture_summary import CaptureSummary


_COLUMNS = ("packet", *packet_matching.FRAME_COLUMNS)


def find_common_frames(a: CaptureSummary, b: CaptureSummary) -> tuple[Array, Array, CommonPackets]:
    """The frames that two sniffers heard: their numbers in both captures, and a sample to compare the clocks."""
    search = packet_matching.PairSearch(table="frames")
    for number, side in enumerate((a, b)):
        for batch in side.capture.scan("frames", _COLUMNS):
            search.sample(number, packet_matching.slim(batch, "frames"))
    rows = FrameWindow(), FrameWindow()
    common = CommonPackets()
    found: tuple[list[Array], list[Array]] = ([np.zeros(0, np.int64)], [np.zeros(0, np.int64)])

    def forget(first: Sequence[int]) -> None:
        for window, before in zip(rows, first, strict=True):
            window.forget(before)

    feeds = [side.capture.scan("frames", _COLUMNS) for side in (a, b)]
    for batch in search.run(feeds, taken=lambda side, batch: rows[side].add(batch), forget=forget):
        if not batch.num_rows:
            continue
        row_a, row_b = batch.column("row_a").to_numpy(), batch.column("row_b").to_numpy()
        same = coded(batch.column("kind"), ["same"]) == 0
        x, y = rows[0].at(row_a), rows[1].at(row_b)
        found[0].append(x["number"])
        found[1].append(y["number"])
        common.add_frames(row_a, row_b, x, y, same & filled(batch.column("copy_safe")))
    return np.concatenate(found[0]), np.concatenate(found[1]), common


def drop_duplicates(table: pa.Table, name: str, duplicates: Array) -> pa.Table:
    """A sniffer's `frames` or `exchanges` without those that another sniffer heard.

    Parameters
    ----------
    duplicates : sorted array
        Numbers of its frames that another sniffer heard.
    """
    import pyarrow as pa

    if not len(duplicates) or not table.num_rows:
        return table
    if name == "frames":
        return table.filter(pa.array(~np.isin(table.column("packet").to_numpy(), duplicates)))
    lists = table.column("packets").combine_chunks()
    frames = np.isin(lists.flatten().to_numpy(), duplicates)
    lengths = filled(lists.value_lengths())
    of = np.repeat(np.arange(table.num_rows), lengths)
    # An exchange without a frame of its own was heard by another sniffer.
    kept = lengths > 0
    kept[of[frames]] = False
    return table.filter(pa.array(kept))
