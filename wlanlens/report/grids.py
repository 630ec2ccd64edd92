"""The plain tables of the page: flows, clocks and capture quality, column by column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from wlanlens import formatting

if TYPE_CHECKING:
    from wlanlens.trace import Trace

MOST_FLOWS = 50
MOST_NOTES = 50


class Column(NamedTuple):
    """One column: its title, its meaning, and the cell of a row."""

    title: str
    meaning: str
    cell: Callable[[Mapping[str, Any]], str]
    more: bool = False
    """Shown only on request for all columns."""


def _count(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: formatting.page_count(row[name])


_NO_TIME = formatting.page_seconds(0)

_QUALITY = (
    Column("capture", "name and format of the file", lambda r: f"{r['capture']} ({r['format']})"),
    Column("capture point", "where the tap is", lambda r: str(r["point"])),
    Column("records", "records in the file", _count("records")),
    Column("other records", "records without an IP packet (ARP, beacons ...)", _count("other_records")),
    Column("TCP segments", "segments assigned to connections", _count("tcp_segments")),
    Column("dropped by the tap", "from statistics in the file", _count("tap_drops")),
    Column("lost before the tap", "retransmissions whose original was lost before the tap", _count("lost_before_tap")),
    Column("captured twice", "copies that the tap made", _count("capture_duplicates")),
    Column("delivered twice", "copies that the network made", _count("network_duplicates")),
    Column("repeated frames", "copies of an 802.11 frame that the sniffer heard again", _count("mac_copies")),
    Column("reordered", "segments that arrived out of order", _count("reordered")),
    Column("ACKs of missing data", "ACKs of data that is not in the capture", _count("unseen_data_acks")),
    Column(
        "not captured",
        "time in the life of flows during which packets are missing",
        lambda r: formatting.page_seconds(r["not_captured_ns"] / 1e9),
    ),
    Column("clock steps back", "timestamps earlier than the one before", _count("time_steps")),
)


def _ahead(clock: Mapping[str, Any]) -> str:
    """The offset of a clock from the axis."""
    if not clock["pieces"]:
        return "reference"
    if not clock["offset_ns"]:
        return "0"
    word = "ahead" if clock["offset_ns"] < 0 else "behind"
    return f"{formatting.page_duration(abs(clock['offset_ns']) / 1e9)} {word}"


def _at_worst(clock: Mapping[str, Any]) -> str:
    bounds = [piece["bound_most_ns"] for piece in clock["pieces"]]
    return "packet delay" if None in bounds else formatting.page_duration(max(bounds) / 1e9)


def _gains(clock: Mapping[str, Any]) -> str:
    main = max(clock["pieces"], key=lambda piece: piece["pairs"])
    bound = main["drift_bound_ppm"]
    # The sum makes +0.00 of -0.00.
    drift = f"{round(clock['drift_ppm'], 2) + 0.0:+.2f}".replace("-", formatting.MINUS)
    return drift if bound is None else f"{drift} \N{PLUS-MINUS SIGN} {formatting.three_digits(bound)}"


def _missed(row: Mapping[str, Any]) -> str:
    if not row["passed"]:
        return formatting.MISSING
    return (
        f"{formatting.page_count(row['missed'])} ({formatting.page_share(row['missed'], row['passed'])})"
        if row["missed"]
        else "0"
    )


#: Facts about the clock of each of several captures.
_CLOCKS = (
    Column("offset", "from the reference clock, where the bound is smallest", _ahead),
    Column(
        "bound",
        "of this offset, even if a clock was set once and no packet shows it",
        lambda r: (
            _axis(r) or ("packet delay" if r["bound_ns"] is None else formatting.page_duration(r["bound_ns"] / 1e9))
        ),
    ),
    Column(
        "bound without a step",
        "anywhere between the first and the last packet that both captures have, if no clock was set",
        lambda r: _axis(r) or _at_worst(r),
    ),
    Column("drift (ppm)", "rate relative to the reference clock, with its bound", lambda r: _axis(r) or _gains(r)),
    Column("packets in both", "packets used to fit the clock", lambda r: _axis(r) or formatting.page_count(r["pairs"])),
    Column(
        "median residual",
        "distance of these packets from the fitted line; includes their delay",
        lambda r: _axis(r) or formatting.page_duration(r["residual_ns"] / 1e9),
    ),
    Column(
        "contradictions",
        "packets left out because they fit no clock",
        lambda r: _axis(r) or formatting.page_count(r["contradictions"]),
    ),
    Column(
        "steps",
        "how often the clock was set",
        lambda r: _axis(r) or formatting.page_count(max(0, len(r["pieces"]) - 1)),
    ),
    Column(
        "resolution",
        "of its timestamps or of the reference's, whichever is coarser",
        lambda r: _axis(r) or formatting.page_duration(r["tick_ns"] / 1e9),
    ),
    Column(
        "missed",
        "packets that passed this point but are not in its capture, and their share",
        _missed,
    ),
)


def clocks(trace: Trace) -> tuple[list[str], list[tuple[Column, list[str]]]]:
    """Titles of the captures, and one row of cells per fact; both empty for a single capture."""
    if len(trace.clocks) < 2:
        return [], []
    outcomes = _outcome_counts(trace)
    order = sorted(trace.clocks, key=lambda clock: bool(clock.pieces))
    points = {capture.name: capture.point for capture in trace.captures}
    heads = [f"{clock.capture} ({points[clock.capture]})" for clock in order]
    rows = [{**asdict(clock), **outcomes.get(clock.capture, {"missed": 0, "passed": 0})} for clock in order]
    return heads, [(column, [column.cell(row) for row in rows]) for column in _CLOCKS]


def _outcome_counts(trace: Trace) -> dict[str, dict[str, int]]:
    """For each capture, how many packets of the shown connections passed its point and how many it missed."""
    import pyarrow as pa

    out: dict[str, dict[str, int]] = {}
    if not trace.has("links"):
        return out
    for chunk in trace.table("links").column("points").chunks:
        points = chunk.flatten()
        pairs = pa.table({"capture": points.field("capture"), "outcome": points.field("outcome")})
        for row in pairs.group_by(["capture", "outcome"], use_threads=False).aggregate([([], "count_all")]).to_pylist():
            entry = out.setdefault(row["capture"], {"missed": 0, "passed": 0})
            entry["missed"] += row["count_all"] * (row["outcome"] == "missed")
            entry["passed"] += row["count_all"] * (row["outcome"] in ("seen", "lost_after", "missed"))
    return out


def _axis(clock: Mapping[str, Any]) -> str:
    return "" if clock["pieces"] else formatting.MISSING


def _rtos(row: Mapping[str, Any]) -> str:
    """RTO expiries by kind."""
    kinds = (
        ("genuine", "rto_genuine"),
        ("spurious", "rto_spurious"),
        ("ACK lost", "rto_ack_lost"),
        ("undecided", "rto_undecided"),
    )
    return ", ".join(f"{row[name]} {word}" for word, name in kinds if row[name]) or "0"


_FLOWS: tuple[tuple[tuple[str, ...], Column], ...] = (
    (
        ("t_first_ns",),
        Column("start", "time of its first packet", lambda r: formatting.page_seconds(_scaled(r["t_first_ns"], 1e-9))),
    ),
    (
        ("t_first_ns", "t_last_ns"),
        Column("duration", "from the first to the last packet", lambda r: _between(r["t_first_ns"], r["t_last_ns"])),
    ),
    (("packets",), Column("packets", "packets sent", _count("packets"))),
    (
        ("unique_bytes",),
        Column("data", "payload, each byte counted once", lambda r: formatting.page_size(r["unique_bytes"])),
    ),
    (
        ("throughput_bytes_per_s",),
        Column(
            "throughput",
            "unique bytes divided by the duration of the connection",
            lambda r: formatting.page_rate(_scaled(r["throughput_bytes_per_s"], 8)),
        ),
    ),
    (("retransmissions",), Column("retransmitted", "retransmissions", _count("retransmissions"))),
    (("spurious_retransmissions",), Column("spurious", "spurious retransmissions", _count("spurious_retransmissions"))),
    (
        ("rto_genuine", "rto_spurious", "rto_ack_lost", "rto_undecided"),
        Column("timeouts", "RTO expiries by kind", _rtos),
    ),
    (("fast_recoveries",), Column("fast recoveries", "episodes of fast recovery", _count("fast_recoveries"))),
    (
        ("rtt_min_ns",),
        Column(
            "RTT min",
            "minimum round-trip time (Karn's algorithm, RFC 6298 section 3)",
            lambda r: formatting.page_milliseconds(r["rtt_min_ns"]),
        ),
    ),
    (
        ("rtt_mean_ns",),
        Column("RTT mean", "mean round-trip time", lambda r: formatting.page_milliseconds(r["rtt_mean_ns"])),
    ),
    (
        ("rtt_max_ns",),
        Column("RTT max", "maximum round-trip time", lambda r: formatting.page_milliseconds(r["rtt_max_ns"])),
    ),
    (
        ("idle_max_ns",),
        Column(
            "longest gap",
            "between two of its packets",
            lambda r: formatting.page_seconds(_scaled(r["idle_max_ns"], 1e-9)),
        ),
    ),
    (("mss_bytes",), Column("MSS", "MSS option that was sent", lambda r: formatting.page_size(r["mss_bytes"]))),
)


def _between(start_ns: int | None, end_ns: int | None) -> str:
    return formatting.page_seconds(None if start_ns is None or end_ns is None else (end_ns - start_ns) / 1e9)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def quality(trace: Trace) -> list[tuple[Column, list[str], bool]]:
    """(fact, its cell for each capture, whether any is not zero), one row per fact."""
    rows = trace.table("quality").to_pylist() if trace.has("quality") else []
    cells = [(column, [column.cell(row) for row in rows]) for column in _QUALITY]
    return [(column, row, any(cell not in ("0", _NO_TIME) for cell in row)) for column, row in cells if row]


def flow_rows(trace: Trace) -> tuple[list[Column], list[list[str]], int]:
    """The columns that the table can fill, one row per direction with data, most bytes first, and how many are left out."""
    import pyarrow.compute as pc

    if not trace.has("flows"):
        return [], [], 0
    flows = trace.table("flows")
    with_data = flows.filter(pc.greater(flows["unique_bytes"], 0))
    order = pc.sort_indices(with_data, sort_keys=[("unique_bytes", "descending"), ("flow", "ascending")])
    top = with_data.take(order[:MOST_FLOWS]).to_pylist()
    columns = [column for needs, column in _FLOWS if set(needs) <= set(flows.column_names)]
    who = Column("direction with data", "sender > receiver", lambda row: trace.subject(row["flow"], row["direction"]))
    columns.insert(0, who)
    return columns, [[column.cell(row) for column in columns] for row in top], with_data.num_rows - len(top)
