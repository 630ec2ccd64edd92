"""Which connections get a figure, and their rows as the page stores them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.plots._reduce import strokes, thin
from wlanlens.plots._rows import NONE, FlowKey, FlowRows, flow_rows, of_flow
from wlanlens.report import encode
from wlanlens.tables import CATEGORIES
from wlanlens.tables.columns import coded, filled

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace

MOST_VIEWS = 20
"""Connections with a figure: few enough for one page."""

MOST_ROWS = 1_500_000
"""Rows drawn individually: 40 MB in the browser, 0.1 s to paint. A longer flow is reduced to REDUCED_ROWS."""

REDUCED_ROWS = 400_000
"""Ordinary rows kept of a longer flow; all rare rows are added."""

ACK = 128
"""Added to the mark of an ACK, so that one byte holds both."""


@dataclass(frozen=True)
class View:
    """One connection's figure."""

    key: FlowKey
    subject: str
    rows: int
    """Rows of the connection in this direction, and of its ACKs."""
    reduced: bool
    undrawable: int
    marks: dict[int, int]
    """Retransmissions by mark."""
    unheld_retransmissions: int
    """Retransmissions that the trace leaves out, if there are too many."""
    packed: str
    """The columns, as `encode.columns` packs them."""


def data_flows(trace: Trace, findings: Sequence[Finding], first: FlowKey | None = None) -> list[tuple[FlowKey, int]]:
    """(flow, bytes of payload) of every direction with data: highest cost of findings first, then most bytes.

    `first`: the direction that the verdict is about; it leads, with or without data.
    """
    if not trace.has("segments"):
        return []
    by = ["capture", "flow", "direction"]
    sums = trace.table("segments").select([*by, "len"]).group_by(by, use_threads=False).aggregate([("len", "sum")])
    cost: dict[FlowKey, float] = defaultdict(float)
    for f in findings:
        if f.flow is not None and f.direction is not None:
            cost[FlowKey(f.capture, f.flow, f.direction)] += f.cost_s
    columns = [sums[name].to_pylist() for name in (*by, "len_sum")]
    every = [(FlowKey(c, f, d), size) for c, f, d, size in zip(*columns, strict=True)]
    found = [(key, size) for key, size in every if size or key == first]
    return sorted(found, key=lambda item: (item[0] != first, -cost[item[0]], -item[1], item[0]))


def view(trace: Trace, key: FlowKey, ledger: pa.Table) -> View:
    """Read and pack one connection."""
    rows = flow_rows(trace, key)
    thinned, unheld = missing(trace, key)
    full = len(rows) + thinned
    columns: dict[str, NDArray[Any]] = {}
    if thinned or full > MOST_ROWS:
        first = np.flatnonzero(~rows.is_ack & (rows.mark == 0))
        merged = strokes(
            rows.t_ns[first], rows.seq[first], rows.seq[first] + rows.size[first], REDUCED_ROWS, holes=thinned > 0
        )
        columns = {"stroke_t0": merged.t0, "stroke_t1": merged.t1, "stroke_lo": merged.lo, "stroke_hi": merged.hi}
        rows = rows.take(thin(rows, REDUCED_ROWS))
    values, counts = np.unique(rows.mark[rows.is_retransmission], return_counts=True)
    return View(
        key=key,
        subject=trace.subject(key.flow, key.direction),
        rows=full,
        reduced=bool(columns),
        undrawable=rows.undrawable,
        marks={int(v): int(n) for v, n in zip(values, counts, strict=True)},
        unheld_retransmissions=unheld,
        packed=encode.columns({**_row_columns(rows), **columns, **_ledger_columns(ledger, key)}),
    )


def missing(trace: Trace, key: FlowKey) -> tuple[int, int]:
    """(segments of the connection, retransmissions of the direction) counted in `flows` but missing from the trace."""
    import pyarrow.compute as pc

    if not trace.has("flows"):
        return 0, 0
    flows = of_flow(trace.table("flows"), key)
    held = of_flow(trace.table("segments").select(["capture", "flow", "direction", "transmission"]), key)
    held_resent = (coded(held["direction"], (key.direction,)) == 0) & (
        coded(held["transmission"], ("retransmission",)) == 0
    )
    resent = flows.filter(pc.equal(flows["direction"], key.direction))["retransmissions"]
    return _missing(flows["packets"], held.num_rows), _missing(resent, int(held_resent.sum()))


def _missing(counted: Any, held: int) -> int:
    import pyarrow.compute as pc

    return max(0, int(pc.sum(counted).as_py() or 0) - held)


def _row_columns(rows: FlowRows) -> dict[str, NDArray[Any]]:
    sampled = np.flatnonzero(rows.rtt_ns != NONE)
    timed = np.flatnonzero(rows.rto_ns != NONE)
    # The RTO is a step line: keep only changes, and its last value.
    changes = np.diff(rows.rto_ns[timed], prepend=NONE - 1) != 0
    if len(timed):
        changes[-1] = True
    timed = timed[changes]
    return {
        "t": rows.t_ns,
        "packet": rows.packet,
        "kind": rows.kind,
        "mark": rows.mark.astype(np.int64) + ACK * rows.is_ack,
        "seq": rows.seq,
        "size": rows.size,
        "flight": rows.flight,
        "rtt_row": sampled,
        "rtt_ns": rows.rtt_ns[sampled],
        "rto_row": timed,
        "rto_ns": rows.rto_ns[timed],
        "sack_row": rows.sack_row,
        "sack_left": rows.sack_left,
        "sack_right": rows.sack_right,
    }


def _ledger_columns(ledger: pa.Table, key: FlowKey) -> dict[str, NDArray[Any]]:
    import pyarrow.compute as pc

    mask = pc.and_(pc.equal(ledger["flow"], key.flow), pc.equal(ledger["direction"], key.direction))
    if "capture" in ledger.column_names:
        mask = pc.and_(mask, pc.equal(ledger["capture"], key.capture))
    ours = ledger.filter(mask).sort_by("t_start_ns")
    return {
        "ledger_from": filled(ours["t_start_ns"]),
        "ledger_to": filled(ours["t_end_ns"]),
        "ledger_category": coded(ours["category"], CATEGORIES),
    }
