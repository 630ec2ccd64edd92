"""The ledger: where every second of a flow's life went. Whole nanoseconds, one category per interval."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wlanlens import tables
from wlanlens.errors import WlanlensError
from wlanlens.ledger import classify, link_layer
from wlanlens.ledger.air import Air
from wlanlens.ledger.full_air import FullAir
from wlanlens.ledger.full_links import cut_where_full
from wlanlens.ledger.line import Line
from wlanlens.ledger.openings import from_first_packet
from wlanlens.ledger.receiver_delays import ReceiverDelays
from wlanlens.ledger.rows import Rows
from wlanlens.tables.columns import Array, coded, encoded, filled, integers, spread

if TYPE_CHECKING:
    import pyarrow as pa

CATEGORIES = tables.CATEGORIES
_DIRECTIONS = ("a2b", "b2a")

#: Tables that show where packets were below TCP.
BELOW = ("links", *tables.LINK)

#: Tables of a capture of the air alone: they show when the air is full of a connection.
ALONE = ("frames", "exchanges")

#: Categories in which a sender waits for its receiver where that delays an ACK.
BLOCKED = ("receiver_window", "slow_start", "path")

#: Delay above a least round trip that is not a queue's, where captures show it.
DELAYS = ("delayed_ack", "air_retries", "air_others")

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

#: Categories in which a healthy transfer spends time too: no time is lost.
HEALTHY = ("handshake", "application", "slow_start", "air_useful", "path", "unknown")

#: Sentence of the note on repaired intervals.
REPAIRED = "states of a flow left a gap or overlapped (a bug in wlanlens); the time of the gaps is unknown"


class LedgerError(WlanlensError):
    """Intervals with a gap or an overlap: they do not sum to the flow's life."""


def build(held: Mapping[str, pa.Table]) -> pa.Table:
    """The ledger from a trace's tables: `intervals`, and `timeouts` and the tables `BELOW` where the trace has them."""
    # A mapping may read a table when it is asked for: `get` would hide a KeyError in that.
    timeouts, recoveries, segments, flows = (
        held[name] if name in held else None  # noqa: SIM401
        for name in ("timeouts", "recoveries", "segments", "flows")
    )
    return from_intervals(held["intervals"], timeouts, held, recoveries, one_sided(held), segments, flows)


def one_sided(held: Mapping[str, pa.Table]) -> set[tuple[str, int]]:
    """Captures and numbers of the connections of which only one direction was captured: ACKs, hence all causes, are unknown."""
    import pyarrow.compute as pc

    out: set[tuple[str, int]] = set()
    for name in ("open_flows", "flows"):
        if name in held and "packets" in held[name].column_names:
            empty = held[name].filter(pc.equal(held[name].column("packets"), 0)).select(["capture", "flow"])
            out |= {(row["capture"], row["flow"]) for row in empty.to_pylist()}
    return out


def from_intervals(
    intervals: pa.Table,
    timeouts: pa.Table | None = None,
    below: Mapping[str, pa.Table] | None = None,
    recoveries: pa.Table | None = None,
    unanswered: Collection[tuple[str, int]] = (),
    segments: pa.Table | None = None,
    flows: pa.Table | None = None,
) -> pa.Table:
    """The ledger of a table `intervals`; adjacent intervals of one category become one.

    Parameters
    ----------
    intervals, timeouts, recoveries
        Tables of the trace; without the last two no recovery counts as spurious.
    segments
        Which retransmissions were needed; without them, none in a recovery after a spurious timeout.
    flows
        The hosts of each connection: connections of the same two share a path.
    below
        The tables `BELOW` of several captures: they divide time on the path among the links that carried the packets. Or those of
        `ALONE`: a window limits nothing while the air is full of the connection.
    unanswered
        Captures and numbers of connections of which one direction was captured: all but their handshake is unknown.

    Raises
    ------
    LedgerError
        When intervals of one direction leave a gap or overlap.
    """
    import pyarrow as pa

    if not intervals.num_rows:
        return tables.empty("ledger")
    capture = encoded(intervals.column("capture"))
    category, queued = classify.assign(intervals, timeouts, recoveries, segments, flows)
    rows = Rows(
        capture=np.asarray(capture.indices, np.int64),
        flow=filled(intervals.column("flow")),
        back=coded(intervals.column("direction"), _DIRECTIONS),
        start=filled(intervals.column("t_start_ns")),
        end=filled(intervals.column("t_end_ns")),
        category=category,
        limited=classify.limited(intervals),
        limits=np.where(category == CATEGORIES.index("path"), classify.limits(intervals), -1),
        origin=np.arange(len(category)),
    )
    if unanswered:
        number = {name: i for i, name in enumerate(capture.dictionary.to_pylist())}
        keys = np.array([(number[name] << 32) + n for name, n in unanswered if name in number], np.int64)
        alone = np.isin((rows.capture << 32) + rows.flow, keys) & (category != CATEGORIES.index("handshake"))
        rows, queued = rows.unknown_where(alone), np.where(alone, 0, queued)
    order = np.lexsort((rows.end, rows.start, rows.back, rows.flow, rows.capture))
    rows, queued = replace(rows.take(order), origin=np.arange(len(order))), queued[order]
    _check(rows.flow, rows.start, rows.end, rows.follows())
    if below is not None and set(BELOW) <= set(below) and below["links"].num_rows:
        rows, queued = _with_links(rows, queued, below, intervals, flows)
    elif below is not None and set(ALONE) <= set(below) and below["exchanges"].num_rows:
        # It does not show when the air was not full: a packet may have waited for it unseen.
        rows = _where_air_is_full(rows, Air(below["frames"], below["exchanges"]), below, intervals, flows)
    if queued.any():
        rows = rows.cut(_with_queue(rows.origin, rows.start, rows.end, rows.category, queued))

    first = np.concatenate(([True], ~(rows.follows() & (rows.category[1:] == rows.category[:-1]))))
    last = np.concatenate((first[1:], [True]))
    kept = rows.start[first] < rows.end[last]
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(rows.capture[first][kept].astype(np.int32)), capture.dictionary),
        pa.array(rows.flow[first][kept]),
        spread(rows.back[first][kept], _DIRECTIONS),
        spread(rows.category[first][kept], CATEGORIES),
        pa.array(rows.start[first][kept]),
        pa.array(rows.end[last][kept]),
    ]
    return pa.Table.from_arrays(columns, schema=tables.schema("ledger"))


def _with_links(
    rows: Rows,
    queued: Array,
    below: Mapping[str, pa.Table],
    intervals: pa.Table,
    flows: pa.Table | None,
) -> tuple[Rows, Array]:
    """The rows divided by what several captures show, and how much of each interval is `queue`, ns."""
    links, path = below["links"], CATEGORIES.index("path")
    rows = rows.cut(from_first_packet(links, *rows.times))
    delays = ReceiverDelays(links)
    idle = rows.category == CATEGORIES.index("application")
    delays.leave_out_idle(*(column[idle] for column in rows.times[:4]))
    rows = replace(rows, category=_placed_by(delays, *rows.times))
    if delays:
        blocked = np.isin(rows.category, [CATEGORIES.index(name) for name in BLOCKED])
        rows = rows.cut(delays.cut(*rows.times, blocked, CATEGORIES.index("delayed_ack")))
    if (rows.limited | (rows.limits >= 0) | (rows.category == path)).any():
        line = Line(links)
        rows = rows.cut(cut_where_full(line, *rows.times, rows.limited, rows.limits))
        queued = line.queues(*rows.times[:4], rows.category == path, rows.origin, queued)
    air = Air(below["frames"], below["exchanges"])
    rows = _where_air_is_full(rows, air, below, intervals, flows, links)
    return rows.cut(link_layer.divide(*rows.times, rows.limited, rows.limits, below, air)), queued


def _where_air_is_full(
    rows: Rows,
    air: Air,
    below: Mapping[str, pa.Table],
    intervals: pa.Table,
    flows: pa.Table | None,
    links: pa.Table | None = None,
) -> Rows:
    """The rows, on the path where the air is full: those of a sender that a window limits, or whose first data follows the handshake."""
    waits = rows.limited | (rows.category == CATEGORIES.index("handshake")) & (rows.back == 0)
    if not waits.any() or not below["exchanges"].num_rows:
        return rows
    full = FullAir(air, below["exchanges"], classify.least_rtt(intervals), flows, links)
    return rows.cut(cut_where_full(full, *rows.times, waits))


def _placed_by(delays: ReceiverDelays, flow: Array, back: Array, start: Array, end: Array, category: Array) -> Array:
    """Categories with each delayed ACK of the sender's capture taken for what was before it, where the receiver's capture shows when it was."""
    delayed = np.flatnonzero(category == CATEGORIES.index("delayed_ack"))
    delayed = delayed[delayed > 0]
    before = delayed - 1
    follows = (flow[before] == flow[delayed]) & (back[before] == back[delayed])
    follows &= np.isin(category[before], [CATEGORIES.index(name) for name in BLOCKED])
    delayed, before = delayed[follows], before[follows]
    shown = delays.any_in(flow[delayed], back[delayed], start[before], end[delayed])
    # An ACK that left its host at once was late on the path: what was the limit before was it until then.
    shown |= delays.at_once(flow[delayed], back[delayed], end[delayed])
    out = category.copy()
    out[delayed[shown]] = category[before[shown]]
    return out


def _with_queue(
    origin: Array, start: Array, end: Array, category: Array, queued: Array
) -> tuple[Array, Array, Array, Array]:
    """Intervals with the queueing delay of what they come from, `origin`, at the end of its time on the path; of each the row it comes
    from, start, end and category. Other delay that the links showed is not the queue's.
    """
    path, length = category == CATEGORIES.index("path"), end - start
    other = np.isin(category, [CATEGORIES.index(name) for name in DELAYS])
    left = queued - np.bincount(origin[other], length[other], len(queued)).astype(np.int64)
    # Time on the path from each interval to the end of what it comes from.
    before = np.concatenate(([0], np.cumsum(np.where(path, length, 0))))
    last = np.searchsorted(origin, origin, side="right")
    mine = np.where(path, np.clip(left[origin] - (before[last] - before[1:]), 0, length), 0)
    row = np.repeat(np.arange(len(start)), 1 + (mine > 0))
    second: Array = np.concatenate(([False], row[1:] == row[:-1]))
    border = end - mine
    begins, ends = np.where(second, border[row], start[row]), np.where(second, end[row], border[row])
    some = begins < ends
    return row[some], begins[some], ends[some], np.where(second, CATEGORIES.index("queue"), category[row])[some]


def repaired(intervals: pa.Table) -> tuple[pa.Table, int]:
    """The intervals without gaps and overlaps, and how many of both there were.

    A gap becomes an interval of state not_captured; an overlap stays with the earlier interval.
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
    return coded(ledger.column("category"), CATEGORIES)


def _lengths(ledger: pa.Table) -> Array:
    return integers(ledger.column("t_end_ns")) - integers(ledger.column("t_start_ns"))


def summary(ledger: pa.Table) -> pa.Table:
    """One row per capture, flow, direction and category: `ns`, the sum of its intervals."""
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
    """Every `step` intervals of a flow as one interval per category: sums and ends stay exact, the order inside is lost."""
    import pyarrow as pa

    if not ledger.num_rows:
        return ledger
    flow, start, end = (filled(ledger.column(name)) for name in ("flow", "t_start_ns", "t_end_ns"))
    back = coded(ledger.column("direction"), _DIRECTIONS)
    category = coded(ledger.column("category"), CATEGORIES)
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
        "category": spread(which, CATEGORIES),
        "t_start_ns": pa.array((until - lengths)[at, which]),
        "t_end_ns": pa.array(until[at, which]),
    }
    for name, values in columns.items():
        i = rows.schema.get_field_index(name)
        rows = rows.set_column(i, rows.schema.field(name), values)
    return rows
