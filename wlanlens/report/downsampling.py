"""The rows that the report draws: the most important flows, with fewer rows where a table is too large."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.detection.finding import Finding
from wlanlens.detection.full_path import OF_SEGMENTS
from wlanlens.detection.toolkit.rows import key_order
from wlanlens.ledger.ledger import CATEGORIES, HEALTHY, coarse
from wlanlens.report.drawn_columns import DRAWN, DRAWN_EXCHANGES, DRAWN_FRAMES
from wlanlens.tables.columns import Array, coded, filled
from wlanlens.tables.lazy_tables import LazyTables
from wlanlens.tables.stored_tables import ParquetTables
from wlanlens.threads import Threads
from wlanlens.trace import Trace

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.alignment.clock_map import ClockMap
    from wlanlens.capture.capture import Capture

    Mask = np.ndarray[Any, np.dtype[np.bool_]]

#: Flows in the report: 50 figures of 5000 points stay below 20 MB.
FLOWS = 50
#: Rows of `segments`: all rows of a capture with a million packets, about 100 MiB.
SEGMENT_ROWS = 1_200_000
#: From so many rows of `segments` on, half of its columns are read on each core.
HALVED_ROWS = 100_000
#: Frames for the figures, retries and others counted separately: a browser draws as many without delay.
FRAME_ROWS = 400_000
#: Rows of any other table.
OTHER_ROWS = 200_000
#: Kinds of segments that a long capture has by the million.
USUAL = ("data", "ack", "dupack", "window_update", "keepalive", "keepalive_ack")
#: The columns of `flows` that count the segments that are rare by `_rare`, except those at a pause.
_RARE_COUNTS = (
    "retransmissions",
    "reordered_packets",
    "network_duplicates",
    "capture_duplicates",
    "mac_copies",
    "window_probes",
    "syn_packets",
    "fin_packets",
    "rst_packets",
)
#: The columns that show which segments are rare.
_OF_RARE = ("kind", "transmission", "t_ns")
#: The rows on both sides of a pause are kept if the pause is longer than the trace divided by this.
_GAPS = 5000


def top_flows(stored: ParquetTables, findings: Iterable[Finding], count: int = FLOWS) -> list[int]:
    """The most important flows: a third that lost most time by the ledger, at most as many with the costliest findings, the
    others by payload."""
    chosen: dict[int, None] = dict.fromkeys(_most_lost(stored, count // 3))
    for finding in sorted(findings, key=lambda f: -f.cost_s):
        if finding.flow is not None and len(chosen) < 2 * count // 3:
            chosen[finding.flow] = None
    best: list[tuple[int, int]] = []
    if "flows" in stored:
        for batch in stored.scan("flows", ["flow", "payload_bytes"]):
            flows, sizes = batch.column("flow").to_numpy(), batch.column("payload_bytes").to_numpy()
            for i in np.argsort(sizes, kind="stable")[::-1][: 2 * count]:
                best.append((int(sizes[i]), -int(flows[i])))
            best = heapq.nlargest(2 * count, best)
    for _, flow in best:
        if len(chosen) < count:
            chosen.setdefault(-flow)
    return sorted(chosen)


def _most_lost(stored: ParquetTables, count: int) -> list[int]:
    """The flows that lost most time."""
    lost: Array = np.zeros(0, np.int64)
    names = [CATEGORIES.index(name) for name in CATEGORIES if name not in HEALTHY]
    for batch in stored.scan("ledger", ["flow", "category", "t_start_ns", "t_end_ns"]) if "ledger" in stored else ():
        mine = np.isin(coded(batch.column("category"), CATEGORIES), names)
        flow, length = (
            filled(batch.column("flow")),
            filled(batch.column("t_end_ns")) - filled(batch.column("t_start_ns")),
        )
        # A stranger's intervals may be of any length.
        sums = np.bincount(flow[mine], length[mine], minlength=len(lost)).clip(-(2.0**60), 2.0**60).astype(np.int64)
        sums[: len(lost)] += lost
        lost = sums
    order = np.argsort(-lost, kind="stable")[:count]
    return [int(flow) for flow in order if lost[flow]]


class Digest(Trace):
    """A trace of bounded size for the report; a table is read when it is asked for.

    It holds the rows of `flows`; of `packets` only those with SACK blocks. `segments` and `packets` are ordered by
    connection. If `segments` has more than `SEGMENT_ROWS` rows, every k-th row is kept, and all rare rows: retransmitted,
    reordered and duplicate segments, SYN, FIN, RST and window probes, and the rows on both sides of a pause. If the rare
    rows are more than `SEGMENT_ROWS`, every k-th of them is kept. The ledger's sums stay exact.

    Parameters
    ----------
    captures, start_ns, duration_ns, clocks
        As of `Trace`.
    stored : ParquetTables
        The tables of the analysis.
    flows : sequence of int
        The connections.
    of_segments : sequence of str
        The columns of `segments` that are read.
    """

    def __init__(
        self,
        captures: Sequence[Capture],
        stored: ParquetTables,
        flows: Sequence[int],
        *,
        start_ns: int,
        duration_ns: int,
        clocks: Sequence[ClockMap] | None = None,
        of_segments: Sequence[str] = DRAWN,
    ) -> None:
        self._stored = stored
        reduced = {name: partial(_reduced, stored, name, flows) for name in stored if name != "findings"}
        if "segments" in reduced:
            reduced["segments"] = partial(_segments, stored, flows, duration_ns // _GAPS, of_segments)
        super().__init__(captures, LazyTables(reduced), start_ns=start_ns, duration_ns=duration_ns, clocks=clocks)

    def of_flow(self, flow: int) -> Trace:
        """The digest of one connection, with more of its rows where all connections have too many; of `segments` only the
        columns that the verdict reads."""
        times = {"start_ns": self.start_ns, "duration_ns": self.duration_ns}
        return Digest(self.captures, self._stored, [flow], **times, clocks=self.clocks, of_segments=OF_SEGMENTS)


def _reduced(stored: ParquetTables, name: str, flows: Sequence[int]) -> pa.Table:
    """One table of a digest."""
    if name in _REDUCED:
        return _REDUCED[name](stored, flows)
    if "flow" not in tables.schema(name).names:
        return _every(stored, name)
    return _of_flows(stored, name, flows)


def _of_flows(stored: ParquetTables, name: str, flows: Sequence[int]) -> pa.Table:
    """The rows of `flows`, thinned where they are too many."""
    import pyarrow as pa

    rows = stored.rows(name)
    if rows > OTHER_ROWS:
        rows = sum(batch.num_rows for batch in stored.scan(name, ["flow"], flows))
    step = -(-rows // OTHER_ROWS)
    batches: Iterable[pa.RecordBatch] = stored.scan(name, flows=flows)
    if step > 1 and name == "ledger":
        batches = (coarse(batch, step) for batch in batches)
    elif step > 1:
        batches = (batch.take(pa.array(np.arange(0, batch.num_rows, step))) for batch in batches)
    return _joined(batches, tables.schema(name))


def _segments(stored: ParquetTables, flows: Sequence[int], pause_ns: int, columns: Sequence[str]) -> pa.Table:
    """The segments of `flows`, ordered by connection: every k-th and all rare ones, or every k-th of too many rare ones."""
    import pyarrow as pa

    if stored.rows("segments") < HALVED_ROWS:
        return _some_columns(stored, flows, pause_ns, columns)
    with Threads(2) as pool:
        halves = list(pool.map(partial(_some_columns, stored, flows, pause_ns), (columns[::2], columns[1::2])))
    whole = tables.schema("segments")
    schema = pa.schema([whole.field(name) for name in columns], metadata=whole.metadata)
    made = {name: half.column(name) for half in halves for name in half.column_names}
    return pa.Table.from_arrays([made[name] for name in columns], schema=schema)


def _some_columns(stored: ParquetTables, flows: Sequence[int], pause_ns: int, columns: Sequence[str]) -> pa.Table:
    """Some columns of them."""
    import pyarrow as pa

    many = stored.rows("segments") > SEGMENT_ROWS
    read = list(dict.fromkeys((*columns, "flow", *(_OF_RARE if many else ()))))
    batches: Iterable[pa.RecordBatch] = stored.scan("segments", read, flows)
    if many:
        step, rare_step = _steps(stored, flows)
        if step > 1 or rare_step > 1:
            batches = (_thin(batch, step, _rare(batch, pause_ns), rare_step) for batch in batches)
    whole = tables.schema("segments")
    kept = list(dict.fromkeys((*columns, "flow")))
    schema = pa.schema([whole.field(name) for name in kept], metadata=whole.metadata)
    return _by_flow(_joined((batch.select(kept) for batch in batches), schema)).select(list(columns))


def _steps(stored: ParquetTables, flows: Sequence[int]) -> tuple[int, int]:
    """One in how many segments of `flows` is kept, and one in how many rare ones, by the counts in `flows`."""
    rows, rare = 0, 2 * _GAPS
    for batch in stored.scan("flows", ["flow", "packets", *_RARE_COUNTS], flows):
        rows += int(filled(batch.column("packets")).sum())
        rare += sum(int(filled(batch.column(name)).sum()) for name in _RARE_COUNTS)
    return max(1, -(-rows // SEGMENT_ROWS)), max(1, -(-rare // SEGMENT_ROWS))


def _joined(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches(batches, schema).unify_dictionaries()


def _by_flow(table: pa.Table) -> pa.Table:
    """The rows ordered by connection; those of one connection stay in their order."""
    import pyarrow as pa

    order = key_order(np.asarray(table["flow"]))
    return table if order is None else table.take(pa.array(order)).combine_chunks()


def _first_transfers(stored: ParquetTables, _flows: Sequence[int]) -> pa.Table:
    """The first `OTHER_ROWS` rows of `urbs`: a figure with one bar a millisecond needs every transfer."""

    batches: list[pa.RecordBatch] = []
    held = 0
    for batch in stored.scan("urbs"):
        batches.append(batch.slice(0, OTHER_ROWS - held))
        held += batches[-1].num_rows
        if held >= OTHER_ROWS:
            break
    return _joined(batches, tables.schema("urbs"))


def _every(stored: ParquetTables, name: str) -> pa.Table:
    """A table without flows, thinned to `OTHER_ROWS`."""
    import pyarrow as pa

    rows = stored.rows(name)
    if rows <= OTHER_ROWS:
        return stored[name]
    step = -(-rows // OTHER_ROWS)
    batches = [batch.take(pa.array(np.arange(0, batch.num_rows, step))) for batch in stored.scan(name)]
    return _joined(batches, tables.schema(name))


def _drawn_frames(stored: ParquetTables, _flows: Sequence[int]) -> pa.Table:
    """The undamaged data and management frames with a transmitter address: every k-th, and every retry."""
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = tables.schema("frames")
    kept = pa.schema([schema.field(name) for name in DRAWN_FRAMES], metadata=schema.metadata)

    def drawn(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in stored.scan("frames", [*columns, "type", "fcs_ok"]):
            control = pc.equal(batch.column("type").cast(pa.string()), "control")
            wanted = pc.and_(pc.invert(control.fill_null(True)), batch.column("fcs_ok").fill_null(True))
            yield batch.filter(pc.and_(wanted, batch.column("ta").is_valid())).select(columns)

    rows, retries = stored.rows("frames"), 0
    if rows > FRAME_ROWS:
        rows = 0
        for batch in drawn(("ta", "retry")):
            again = int(pc.sum(batch.column("retry")).as_py() or 0)
            retries, rows = retries + again, rows + batch.num_rows - again
    step, rare_step = (max(1, -(-n // FRAME_ROWS)) for n in (rows, retries))
    batches = [
        batch if step == 1 and rare_step == 1 else _thin(batch, step, _retries(batch), rare_step)
        for batch in drawn(DRAWN_FRAMES)
    ]
    return _joined(batches, kept)


def _retries(batch: pa.RecordBatch) -> Mask:
    return np.asarray(batch.column("retry").fill_null(False).to_numpy(zero_copy_only=False), bool)


def _exchanges(stored: ParquetTables, _flows: Sequence[int]) -> pa.Table:
    """The exchanges: all up to `OTHER_ROWS`; of more, those that were retried or dropped, thinned to `OTHER_ROWS`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = tables.schema("exchanges")
    kept = pa.schema([schema.field(name) for name in DRAWN_EXCHANGES], metadata=schema.metadata)
    batches: Iterable[pa.RecordBatch] = stored.scan("exchanges", list(DRAWN_EXCHANGES))
    if stored.rows("exchanges") > OTHER_ROWS:
        failed = (
            batch.filter(
                pc.or_(
                    pc.equal(batch.column("outcome").cast(pa.string()), "dropped"),
                    pc.greater(batch.column("attempts"), 1),
                )
            )
            for batch in batches
        )
        batches = _at_most(failed)
    return _joined(batches, kept)


def _sack_blocks(stored: ParquetTables, flows: Sequence[int]) -> pa.Table:
    """The packets of `flows` with SACK blocks, thinned to `OTHER_ROWS`: the columns that a figure needs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = ["capture", "packet", "t_ns", "flow", "direction", "tcp_ack", "tcp_sack"]
    with_blocks = (
        batch.filter(pc.is_valid(batch.column("tcp_sack"))) for batch in stored.scan("packets", columns, flows)
    )
    schema = tables.schema("packets")
    return _by_flow(_joined(_at_most(with_blocks), pa.schema([schema.field(name) for name in columns])))


def _at_most(batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """All rows of some batches; if there are more than twice `OTHER_ROWS`, every k-th."""
    import pyarrow as pa

    kept: list[pa.RecordBatch] = []
    held, step = 0, 1
    for batch in batches:
        if not batch.num_rows:
            continue  # its dictionaries may be large
        kept.append(batch.take(pa.array(np.arange(0, batch.num_rows, step))))
        held += kept[-1].num_rows
        if held > 2 * OTHER_ROWS:
            kept = [b.take(pa.array(np.arange(0, b.num_rows, 2))) for b in kept]
            held, step = sum(b.num_rows for b in kept), step * 2
    return kept


def _thin(batch: pa.RecordBatch, step: int, rare: Mask, rare_step: int) -> pa.RecordBatch:
    """Every `step`-th row, and every `rare_step`-th of the rare rows."""
    import pyarrow as pa

    keep: Mask = np.zeros(batch.num_rows, bool)
    keep[::step] = True
    keep[np.flatnonzero(rare)[::rare_step]] = True
    return batch.filter(pa.array(keep))


def _rare(batch: pa.RecordBatch, pause_ns: int) -> Mask:
    """The segments that a figure must show: not plain data or ACKs, or next to a pause."""
    rare: Mask = coded(batch.column("kind"), USUAL) < 0
    rare |= coded(batch.column("transmission"), ("first",)) < 0
    paused = np.abs(np.diff(batch.column("t_ns").fill_null(0).to_numpy())) > pause_ns
    rare[:-1] |= paused
    rare[1:] |= paused
    return rare


#: The tables of which figures need only some rows.
_REDUCED: Mapping[str, Callable[[ParquetTables, Sequence[int]], pa.Table]] = {
    "packets": _sack_blocks,
    "frames": _drawn_frames,
    "exchanges": _exchanges,
    "urbs": _first_transfers,
}
