"""What the report is given: the flows that matter, whole where they are small, thinned where they are not."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.finding import Finding
from wlanlens.ledger import coarse
from wlanlens.stored import StoredTables
from wlanlens.trace import Trace

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture import Capture

    Mask = np.ndarray[Any, np.dtype[np.bool_]]

#: Flows that the report tells of: nobody scrolls further, and 50 figures of 5000 points stay under its 20 MB.
FLOWS = 50
#: Rows of `segments` held for them: all rows of a capture of a million packets, about 100 MiB.
SEGMENT_ROWS = 1_200_000
#: The columns of `segments` that figures draw from.
DRAWN = (
    "capture",
    "packet",
    "t_ns",
    "flow",
    "direction",
    "kind",
    "rel_seq",
    "rel_ack",
    "len",
    "transmission",
    "trigger",
    "needless",
    "rtt_ns",
    "flight_bytes",
    "peer_window_bytes",
    "rto_ns",
)
#: Rows of any other table.
OTHER_ROWS = 200_000
#: Kinds of segments that come by the million.
USUAL = ("data", "ack", "dupack", "window_update", "keepalive", "keepalive_ack")
#: What `_rare` looks at.
_RARE_BY = ("flow", "kind", "transmission", "t_ns")
#: A pause of more than this share of the trace is kept with the rows on both sides.
_GAPS = 5000


def top_flows(stored: StoredTables, findings: Iterable[Finding], count: int = FLOWS) -> list[int]:
    """The flows that matter: those of the costliest findings first (half at most), then those with most payload."""
    chosen: dict[int, None] = {}
    for finding in sorted(findings, key=lambda f: -f.cost_s):
        if finding.flow is not None and len(chosen) < count // 2:
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


def digest(
    captures: Sequence[Capture], stored: StoredTables, flows: Sequence[int], *, start_ns: int, duration_ns: int
) -> Trace:
    """A trace of bounded size: the tables of `flows`; of `packets` only SACK blocks; `quality` whole.

    Of `segments` beyond `SEGMENT_ROWS` every k-th row is kept, and all that are rare: resent, reordered, duplicate,
    connection control, and the rows on both sides of a pause; of more than `SEGMENT_ROWS` rare ones every k-th. The ledger's sums stay exact at any length.
    """
    import pyarrow as pa

    held: dict[str, pa.Table] = {}
    for name in stored:
        if name == "findings":
            continue
        if name == "packets":
            held[name] = _sack_blocks(stored, flows)
            continue
        if "flow" not in tables.schema(name).names:
            held[name] = stored[name]
            continue
        cap = SEGMENT_ROWS if name == "segments" else OTHER_ROWS
        rows = stored.rows(name)
        if rows > cap:
            rows = sum(batch.num_rows for batch in stored.scan(name, ["flow"], flows))
        step = -(-rows // cap)
        pause_ns = duration_ns // _GAPS
        rare_step = 1
        if name == "segments" and step > 1:
            rare = sum(int(_rare(b, pause_ns).sum()) for b in stored.scan(name, list(_RARE_BY), flows))
            rare_step = max(1, -(-rare // cap))
        schema = tables.schema(name)
        if name == "segments":
            schema = pa.schema([schema.field(c) for c in DRAWN], metadata=schema.metadata)
        batches = []
        for batch in stored.scan(name, schema.names, flows):
            if step <= 1:
                batches.append(batch)
            elif name == "ledger":
                batches.append(coarse(batch, step))
            else:
                rare_rows = _rare(batch, pause_ns) if name == "segments" else np.zeros(batch.num_rows, bool)
                batches.append(_thin(batch, step, rare_rows, rare_step))
        held[name] = pa.Table.from_batches(batches, schema).unify_dictionaries()
    return Trace(captures, held, start_ns=start_ns, duration_ns=duration_ns)


def _sack_blocks(stored: StoredTables, flows: Sequence[int]) -> pa.Table:
    """The packets of `flows` with SACK blocks, thinned to `OTHER_ROWS`, in the columns that a figure needs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = ["capture", "packet", "t_ns", "flow", "direction", "tcp_ack", "tcp_sack"]
    batches: list[pa.RecordBatch] = []
    held, step = 0, 1
    for batch in stored.scan("packets", columns, flows):
        with_blocks = batch.filter(pc.is_valid(batch.column("tcp_sack")))
        batches.append(with_blocks.take(pa.array(np.arange(0, with_blocks.num_rows, step))))
        held += batches[-1].num_rows
        if held > 2 * OTHER_ROWS:
            batches = [b.take(pa.array(np.arange(0, b.num_rows, 2))) for b in batches]
            held, step = sum(b.num_rows for b in batches), step * 2
    schema = tables.schema("packets")
    kept = pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(batches, kept).unify_dictionaries()


def _thin(batch: pa.RecordBatch, step: int, rare: Mask, rare_step: int) -> pa.RecordBatch:
    """Every `step`-th row, and of the rare ones every `rare_step`-th: 1 but in a flood of them."""
    import pyarrow as pa

    keep: Mask = np.zeros(batch.num_rows, bool)
    keep[::step] = True
    keep[np.flatnonzero(rare)[::rare_step]] = True
    return batch.filter(pa.array(keep))


def _rare(batch: pa.RecordBatch, pause_ns: int) -> Mask:
    """Segments that a drawing should not lose: not ordinary, or at the edge of a pause."""
    import pyarrow as pa
    import pyarrow.compute as pc

    usual = pc.is_in(batch.column("kind").cast(pa.string()), pa.array(USUAL))
    first = pc.equal(batch.column("transmission").cast(pa.string()), "first")
    rare: Mask = ~np.asarray(pc.and_(usual, first).to_numpy(zero_copy_only=False), bool)
    paused = np.abs(np.diff(batch.column("t_ns").fill_null(0).to_numpy())) > pause_ns
    rare[:-1] |= paused
    rare[1:] |= paused
    return rare
