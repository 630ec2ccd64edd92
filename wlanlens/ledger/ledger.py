"""The ledger: where every second of a flow's life went. Exact whole nanoseconds, one category an interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens import tables
from wlanlens.errors import WlanlensError
from wlanlens.ledger import classify, link_layer
from wlanlens.ledger.classify import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

CATEGORIES = tables.CATEGORIES

#: What tells where packets were below TCP.
BELOW = ("links", *tables.LINK)

#: What the ledger's words mean, for people.
PLAIN = {
    "handshake": "opening the connection",
    "application": "application-limited",
    "receiver_window": "limited by the receiver's window",
    "delayed_ack": "waiting for delayed ACKs",
    "rto_wait": "RTO wait",
    "rto_backoff": "RTO backoff",
    "spurious_recovery": "spurious recovery",
    "loss_recovery": "loss recovery after timeouts",
    "fast_recovery": "fast recovery",
    "slow_start": "slow start",
    "usb": "USB bus",
    "air_useful": "useful airtime",
    "air_retries": "802.11 retries",
    "air_others": "other stations' airtime",
    "queue": "queueing delay",
    "path": "path transfer",
    "unknown": "unknown",
}

#: Owners of time that a healthy transfer spends too: no loss.
HEALTHY = ("handshake", "application", "slow_start", "air_useful", "path", "unknown")


#: What a note says of mended intervals.
MENDED = "states of a flow left a gap or overlapped (a bug in wlanlens); the time between belongs to unknown"


class LedgerError(WlanlensError):
    """Intervals that leave a gap or overlap: the ledger would not sum."""


def build(trace: Trace) -> pa.Table:
    """The ledger of a trace, from its `intervals` and `timeouts`."""
    below = {name: trace.table(name) for name in BELOW if trace.has(name)}
    timeouts = trace.table("timeouts") if trace.has("timeouts") else None
    return from_intervals(trace.table("intervals"), timeouts, below)


def from_intervals(
    intervals: pa.Table, timeouts: pa.Table | None = None, below: Mapping[str, pa.Table] | None = None
) -> pa.Table:
    """The ledger of a table `intervals`; neighbours with one category become one interval.

    `below`: the tables `BELOW` of several captures, by which transfers are divided among what carried them.
    """
    import pyarrow as pa

    if not intervals.num_rows:
        return tables.empty("ledger")
    capture = intervals.column("capture").combine_chunks()
    capture = capture if isinstance(capture, pa.DictionaryArray) else capture.dictionary_encode()
    who: Array = np.asarray(capture.indices.to_numpy(zero_copy_only=False), np.int64)
    flow: Array = intervals.column("flow").to_numpy()
    back: Array = _is_b2a(intervals.column("direction"))
    start: Array = intervals.column("t_start_ns").to_numpy()
    end: Array = intervals.column("t_end_ns").to_numpy()
    category = classify.assign(intervals, timeouts)

    order = np.lexsort((np.arange(len(start)), end, start, back, flow, who))
    who, flow, back, start, end, category = (a[order] for a in (who, flow, back, start, end, category))
    same = (who[1:] == who[:-1]) & (flow[1:] == flow[:-1]) & (back[1:] == back[:-1])
    _check(flow, start, end, same)
    if below is not None and set(BELOW) <= set(below) and below["links"].num_rows:
        row, start, end, category = link_layer.divide(flow, start, end, category, below)
        who, flow, back = who[row], flow[row], back[row]
        same = (who[1:] == who[:-1]) & (flow[1:] == flow[:-1]) & (back[1:] == back[:-1])

    first = np.concatenate(([True], ~(same & (category[1:] == category[:-1]))))
    last = np.concatenate((first[1:], [True]))
    kept = start[first] < end[last]
    directions = pa.DictionaryArray.from_arrays(pa.array(back[first][kept].astype(np.int8)), pa.array(["a2b", "b2a"]))
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(who[first][kept].astype(np.int32)), capture.dictionary),
        pa.array(flow[first][kept]),
        directions,
        pa.DictionaryArray.from_arrays(pa.array(category[first][kept]), pa.array(CATEGORIES)),
        pa.array(start[first][kept]),
        pa.array(end[last][kept]),
    ]
    return pa.Table.from_arrays(columns, schema=tables.schema("ledger"))


def mend(intervals: pa.Table) -> tuple[pa.Table, int]:
    """Intervals that tile, from such as do not, and how many gaps and overlaps there were.

    A gap becomes an interval of state not_captured, of an overlap the earlier interval keeps what it has.
    """
    import pyarrow as pa

    start, end = intervals.column("t_start_ns").to_pylist(), intervals.column("t_end_ns").to_pylist()
    captures, flows = intervals.column("capture").to_pylist(), intervals.column("flow").to_pylist()
    directions = intervals.column("direction").to_pylist()
    rows: list[tuple[int, int, int, bool]] = []
    faults, before, at = 0, None, 0
    for i in sorted(range(len(start)), key=lambda i: (captures[i], flows[i], directions[i], start[i], end[i], i)):
        who = captures[i], flows[i], directions[i]
        if who != before:
            before, at = who, start[i]
        faults += start[i] != at or end[i] < start[i]
        if start[i] > at:
            rows.append((i, at, start[i], True))
            at = start[i]
        rows.append((i, at, max(at, end[i]), False))
        at = rows[-1][2]
    table = intervals.take(pa.array([row[0] for row in rows]))
    states = table.column("state").to_pylist()
    states = ["not_captured" if row[3] else state for row, state in zip(rows, states, strict=True)]
    for name, values in (("t_start_ns", [r[1] for r in rows]), ("t_end_ns", [r[2] for r in rows]), ("state", states)):
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.schema.field(name), pa.array(values, table.schema.field(name).type))
    return table, faults


def _is_b2a(column: pa.ChunkedArray) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.equal(column.cast(pa.string()), "b2a").to_numpy(), dtype=bool)


def _check(flow: Array, start: Array, end: Array, same: Array) -> None:
    backwards = np.flatnonzero(end < start)
    if len(backwards):
        i = int(backwards[0])
        raise LedgerError(f"flow {flow[i]}: an interval ends {start[i] - end[i]} ns before it starts")
    broken = np.flatnonzero(same & (start[1:] != end[:-1]))
    if len(broken):
        i = int(broken[0])
        raise LedgerError(f"flow {flow[i]}: {start[i + 1] - end[i]} ns between two intervals at {end[i]} ns")


def totals(ledger: pa.Table) -> dict[str, int]:
    """Nanoseconds of each category, exact, in the ledger's order; categories without time are left out."""
    return {name: ns for name, ns in zip(CATEGORIES, sums(ledger), strict=True) if ns}


def sums(ledger: pa.Table) -> list[int]:
    """Nanoseconds of every category of `CATEGORIES`; whole numbers of any size."""
    codes, lengths = category_codes(ledger), _lengths(ledger)
    return [sum(lengths[codes == i].tolist()) for i in range(len(CATEGORIES))]


def category_codes(ledger: pa.Table) -> Array:
    """Each row's category as an index into `CATEGORIES`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(ledger.column("category").cast(pa.string()), pa.array(CATEGORIES))
    return np.asarray(found.to_numpy(), np.int64)


def _lengths(ledger: pa.Table) -> Array:
    return np.asarray(ledger.column("t_end_ns").to_numpy() - ledger.column("t_start_ns").to_numpy(), np.int64)


def summary(ledger: pa.Table) -> pa.Table:
    """One row a capture, flow, direction and category: `ns`, the sum of its intervals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = ["capture", "flow", "direction", "category"]
    plain = {name: ledger.column(name).cast(pa.string()) for name in ("capture", "direction", "category")}
    rows = pa.table(
        {
            "capture": plain["capture"],
            "flow": ledger.column("flow"),
            "direction": plain["direction"],
            "category": plain["category"],
            "ns": pc.subtract(ledger.column("t_end_ns"), ledger.column("t_start_ns")),
        }
    )
    out = rows.group_by(keys, use_threads=False).aggregate([("ns", "sum")]).rename_columns([*keys, "ns"])
    rank = pc.index_in(out.column("category"), pa.array(CATEGORIES))
    order = pc.sort_indices(
        out.append_column("rank", rank), sort_keys=[(k, "ascending") for k in ("capture", "flow", "direction", "rank")]
    )
    return out.take(order)


def coarse(ledger: pa.RecordBatch, step: int) -> pa.RecordBatch:
    """Runs of `step` intervals of a flow as one a category: sums and ends stay exact, the order inside is lost."""
    import pyarrow as pa

    if not ledger.num_rows:
        return ledger
    flow: Array = ledger.column("flow").to_numpy()
    back = _is_b2a(pa.chunked_array([ledger.column("direction")]))
    start: Array = ledger.column("t_start_ns").to_numpy()
    end: Array = ledger.column("t_end_ns").to_numpy()
    category = category_codes(pa.Table.from_batches([ledger]))
    broken = np.concatenate(([True], (flow[1:] != flow[:-1]) | (back[1:] != back[:-1]) | (start[1:] != end[:-1])))
    first = np.flatnonzero(broken)
    run = np.cumsum(broken) - 1
    group_starts = broken | ((np.arange(len(flow)) - first[run]) % step == 0)
    group = np.cumsum(group_starts) - 1
    lengths: Array = np.zeros((int(group[-1]) + 1, len(CATEGORIES)), np.int64)
    np.add.at(lengths, (group, category), end - start)
    until = start[group_starts][:, None] + np.cumsum(lengths, axis=1)
    at, which = np.nonzero(lengths)
    rows = ledger.take(pa.array(np.flatnonzero(group_starts)[at]))
    columns = {
        "category": pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int8)), pa.array(CATEGORIES)),
        "t_start_ns": pa.array((until - lengths)[at, which]),
        "t_end_ns": pa.array(until[at, which]),
    }
    for name, values in columns.items():
        i = rows.schema.get_field_index(name)
        rows = rows.set_column(i, rows.schema.field(name), values)
    return rows
