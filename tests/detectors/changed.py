"""Traces of worlds, changed: encrypted, without rates, two beside each other, sent in A-MPDUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.detectors.air import A, B
from tests.rows import columns
from wlanlens import tables
from wlanlens.trace import Trace

AIR = ("frames", "exchanges", "segments")


def replaced(trace: Trace, **held: pa.Table) -> Trace:
    """The same with other tables."""
    return Trace.of_tables(
        {**{name: trace.table(name) for name in tables.names()}, **held}, duration_ns=trace.duration_ns
    )


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """A table with one column replaced."""
    at = table.schema.get_field_index(name)
    field = table.schema.field(at)
    if pa.types.is_dictionary(field.type):
        values = pa.array(list(values), field.type.value_type).dictionary_encode().cast(field.type)
    elif not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.array(values, field.type)
    return table.set_column(at, field, values)


def encrypted(exchanges: pa.Table) -> pa.Table:
    """Nothing shows what they carry."""
    n = exchanges.num_rows
    out = with_column(exchanges, "carries", ["protected"] * n)
    for name in ("tcp_kind", "direction"):
        out = with_column(out, name, [None] * n)
    return with_column(out, "flow", [None] * n)


def without_rates(exchanges: pa.Table) -> pa.Table:
    """No radio header said the rates."""
    rates = [[float("nan")] * len(r) for r in exchanges.column("rates_mbps").to_pylist()]
    return with_column(exchanges, "rates_mbps", pa.array(rates, exchanges.schema.field("rates_mbps").type))


def renamed(trace: Trace, names: dict[str, str]) -> Trace:
    """Other stations."""
    held = {}
    for name in ("frames", "exchanges"):
        table = trace.table(name)
        for column in ("ta", "ra"):
            table = with_column(table, column, [names.get(v, v) for v in table.column(column).to_pylist()])
        held[name] = table
    return replaced(trace, **held)


def beside(first: Trace, second: Trace) -> Trace:
    """One trace after the other in one capture."""
    rows, ns = first.table("frames").num_rows, first.duration_ns
    held = {}
    for name in ("frames", "exchanges", "segments"):
        later = second.table(name)
        for field in later.schema:
            if field.name in ("packet", "first_packet", "last_packet", "ack_packet"):
                later = with_column(later, field.name, pc.add(later.column(field.name), rows).cast(field.type))
            elif field.name == "packets":
                moved = [[p + rows for p in packets] for packets in later.column("packets").to_pylist()]
                later = with_column(later, "packets", pa.array(moved, field.type))
            elif field.name in ("t_ns", "t_first_ns", "t_last_ns", "t_ack_ns"):
                later = with_column(later, field.name, pc.add(later.column(field.name), ns))
        held[name] = pa.concat_tables([first.table(name), later]).unify_dictionaries()
    return Trace.of_tables(
        {**{name: first.table(name) for name in tables.names()}, **held}, duration_ns=ns + second.duration_ns
    )


def aggregated(size: int, lost: np.ndarray[Any, Any]) -> Trace:
    """A-MPDUs of `size` MPDUs from A to B at 65 Mbit/s; those marked lost arrive only when retransmitted."""
    packet, t_ns, aggregate = 0, 0, 0
    frames: dict[str, list[Any]] = {name: [] for name in ("packet", "t_ns", "seq", "retry", "ampdu")}
    exchanges: list[list[int]] = []
    for i, dead in enumerate(lost.tolist()):
        tries = []
        for again in range(1 + dead):
            aggregate += 1
            t_ns += 3_000_000
            tries.append(list(range(packet + 1, packet + size + 1)))
            for k in range(size):
                packet += 1
                for name, value in zip(
                    frames, (packet, t_ns, (i * size + k) % 4096, bool(again), aggregate), strict=True
                ):
                    frames[name].append(value)
        exchanges += [list(one) for one in zip(*tries, strict=True)]
    n, times = len(exchanges), dict(zip(frames["packet"], frames["t_ns"], strict=True))
    made = {
        "frames": columns("frames", {
            "capture": ["test.pcap"] * packet, **frames, "mpdu_bytes": [1500] * packet, "type": ["data"] * packet,
            "ta": [A] * packet, "ra": [B] * packet, "rate_mbps": [65.0] * packet, "airtime_us": [185.0] * packet,
            "signal_dbm": [-50] * packet, "carries": ["tcp_data"] * packet,
        }),
        "exchanges": columns("exchanges", {
            "capture": ["test.pcap"] * n, "ta": [A] * n, "ra": [B] * n, "first_packet": [x[0] for x in exchanges],
            "last_packet": [x[-1] for x in exchanges], "packets": pa.array(exchanges, pa.list_(pa.uint64())),
            "rates_mbps": pa.array([[65.0] * len(x) for x in exchanges], pa.list_(pa.float64())),
            "t_first_ns": [times[x[0]] for x in exchanges], "t_last_ns": [times[x[-1]] for x in exchanges],
            "attempts": [len(x) for x in exchanges], "outcome": ["delivered"] * n, "acked": [True] * n,
            "airtime_us": [185.0 * len(x) for x in exchanges], "wasted_us": [185.0 * (len(x) - 1) for x in exchanges],
            "mpdu_bytes": [1500] * n, "carries": ["tcp_data"] * n, "tcp_kind": ["data"] * n,
        }),
    }  # fmt: skip
    return Trace.of_tables({**{name: tables.empty(name) for name in tables.names()}, **made}, duration_ns=t_ns + 10**7)
