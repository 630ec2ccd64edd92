"""Time chunks: aligned captures, cut into pieces that fit in memory.

A chunk owns some rows of each capture, and holds the rows around them that the same packets in the other captures need.
Every row belongs to exactly one chunk, so that it is written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment.align import Alignment
from wlanlens.alignment.capture_summary import MARK_ROWS
from wlanlens.correlation.combined_tables import CombinedTables
from wlanlens.correlation.leading_captures import LeadingCaptures
from wlanlens.pipeline.cursors import ALL, CaptureCursor, PairCursor
from wlanlens.tables.columns import Array, rows_where

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture


#: Rows of `packets` that a chunk owns, of all captures: twice as many need 90 MB more.
ROWS = 1 << 17
#: Rows held on each side of them at least: a lost packet's neighbours show whether the other tap was capturing.
CONTEXT_ROWS = 4 * MARK_ROWS
#: The most rows of one capture in a chunk: a million packets a second with a delay of one second.
WIDEST_ROWS = 1 << 20


class Chunk:
    """One time chunk.

    Attributes
    ----------
    combined : CombinedTables
        Its tables on the axis, with the rows around its own.
    """

    def __init__(self, combined: CombinedTables, own: dict[str, list[tuple[int, int]]]) -> None:
        self.combined = combined
        self._own = own

    def heard(self, name: str) -> pa.Table:
        """The own rows of `frames` or `exchanges` of all sniffers, each frame once."""
        return self.combined.merged(name, self.parts(name))

    def parts(self, name: str, whole: Sequence[pa.Table] | None = None) -> list[pa.Table]:
        """The own rows of a table, capture by capture, with the facts from other captures, or of `whole`, which has the same rows."""
        parts = self.combined.parts(name) if whole is None else whole
        return [part.slice(low, high - low) for part, (low, high) in zip(parts, self._own[name], strict=True)]

    def links(self) -> pa.Table:
        """The own rows of `links`: a packet belongs to the chunk with its row in the first capture."""
        links = self.combined["links"]
        return rows_where(links, self._own_links()) if links.num_rows else links

    def _own_links(self) -> Array:
        """A mask of the rows of `links` that the chunk owns."""
        index = self.combined.index
        kept: Array = np.zeros(len(index.rows), bool)
        for j, (here, rows) in enumerate(index.first_rows):
            number = index.number(j, rows)
            kept[here] = (number >= self._packet(j, 0)) & (number < self._packet(j, 1))
        return kept

    def _packet(self, capture: int, end: int) -> int:
        """The first packet of a capture's own rows, or the first packet after them."""
        at = self._own["packets"][capture][end]
        numbers = self.combined.captures[capture].table("packets").column("packet")
        low, high = self._own["packets"][capture]
        if low == high:
            return 0
        return int(numbers[at].as_py()) if at < len(numbers) else ALL


def cut(captures: Sequence[Capture], aligned: Alignment, leaders: LeadingCaptures) -> Iterator[Chunk]:
    """The chunks of a trace in the order of time."""
    cuts, times = _cuts(aligned)
    reach = _reach(aligned, cuts)
    cursors = [CaptureCursor(capture) for capture in captures]
    pairs = {both: PairCursor(made) for both, made in aligned.pairs.items()}
    for s in range(len(cuts[0]) - 1):
        own: dict[str, list[tuple[int, int]]] = {}
        parts, spans = [], []
        for k, capture in enumerate(captures):
            first, held, mine = cursors[k].take(cuts[k][s : s + 2], reach[k][s], int(times[k][s]))
            parts.append(capture.part(held))
            spans.append((first, first + held["packets"].num_rows))
            for name, rows in mine.items():
                own.setdefault(name, []).append(rows)
        near = {(i, j): cursor.take(spans[i], spans[j]) for (i, j), cursor in pairs.items()}
        yield Chunk(CombinedTables(parts, replace(aligned, pairs=near), leaders), own)


def _cuts(aligned: Alignment) -> tuple[list[Array], list[Array]]:
    """Where to cut: for each capture the rows of `packets` at which chunks begin, and the times at which they end.

    The rows end with the number of all rows. The times are those of the capture's own tables.
    """
    marks, beats, on_axis = [], [], []
    for summary, clock_map in zip(aligned.summaries, aligned.clocks, strict=True):
        mine = np.array(summary.marks, np.int64).reshape(-1, 3)
        marks.append((mine[:, 0], np.maximum.accumulate(clock_map.to_axis(mine[:, 2], mine[:, 1]))))
        own = np.unique(np.concatenate((mine[:, 2], np.array(summary.link_times, np.int64))))
        beats.append((own, np.maximum.accumulate(clock_map.to_axis(own))))
        on_axis += [marks[-1][1], clock_map.to_axis(np.array(summary.link_times, np.int64))]
    every = ROWS // MARK_ROWS
    borders = np.sort(np.concatenate(on_axis))[every::every]
    rows, times = [], []
    for summary, (row, at), (own, own_at) in zip(aligned.summaries, marks, beats, strict=True):
        inner = np.append(row, summary.rows)[np.searchsorted(at, borders)]
        rows.append(np.concatenate(([0], inner, [summary.rows])))
        ends = np.append(own - (summary.capture.start_ns or 0), ALL)[np.searchsorted(own_at, borders)]
        times.append(np.append(ends, ALL))
    return rows, times


def _reach(aligned: Alignment, cuts: Sequence[Array]) -> list[list[tuple[int, int]]]:
    """For each capture and chunk the rows that its own rows and the rows of the other captures need."""
    chunks = len(cuts[0]) - 1
    low = [np.maximum(c[:-1] - CONTEXT_ROWS, 0) for c in cuts]
    high = [np.minimum(c[1:] + CONTEXT_ROWS, c[-1]) for c in cuts]
    if chunks > 1:
        for (i, j), made in aligned.pairs.items():
            for batch in made.scan():
                rows = [batch.column(name).to_numpy().astype(np.int64) for name in ("row_a", "row_b")]
                for (here, there), (mine, theirs) in (((i, j), rows), ((j, i), rows[::-1])):
                    which = np.clip(np.searchsorted(cuts[here], mine, side="right") - 1, 0, chunks - 1)
                    np.minimum.at(low[there], which, theirs)
                    np.maximum.at(high[there], which, theirs + 1)
    out = []
    for k, c in enumerate(cuts):
        far = (low[k] < c[:-1] - WIDEST_ROWS // 4) | (high[k] > c[1:] + WIDEST_ROWS // 4)
        if far.any():
            why = "Time chunks with packets whose rows in this capture are too far away to be linked."
            aligned.summaries[k].capture.add_note("links_cut", "loss", int(far.sum()), why)
        # Cursors only move forward. A pair far from all others is two different packets that look alike.
        least = np.maximum(np.minimum.accumulate(low[k][::-1])[::-1], c[:-1] - WIDEST_ROWS // 4)
        most = np.minimum(np.maximum.accumulate(high[k]), c[1:] + WIDEST_ROWS // 4)
        out.append(list(zip(least.tolist(), most.tolist(), strict=True)))
    return out
