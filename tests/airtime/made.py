"""802.11 tables made by hand: two stations, an access point with beacons, and exchanges with retries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tests.rows import table
from wlanlens import airtime, tables
from wlanlens.trace import Trace

AP, STATION, OTHER = "02:00:00:00:00:01", "02:00:00:00:00:0a", "02:00:00:00:00:0b"
ALL = "ff:ff:ff:ff:ff:ff"
NAME = "test.pcap"
MS = 1_000_000


def frame(packet: int, subtype: str = "qos_data", **more: Any) -> dict[str, Any]:
    """One frame; 1 ms after the previous one, 100 us long."""
    kinds = {"beacon": "management", "probe_response": "management", "ack": "control", "cts": "control"}
    sender = {} if subtype in ("ack", "cts") else {"ta": STATION}
    usual = {"type": kinds.get(subtype, "data"), "ra": AP, "retry": False, "fcs_ok": True, "rate_mbps": 54.0}
    usual |= {"signal_dbm": -50, "mpdu_bytes": 500, "airtime_us": 100.0, "t_ns": packet * MS, "channel_mhz": 2412}
    return {"packet": packet, "subtype": subtype, **usual, **sender, **more}


def exchange(packets: list[int], outcome: str = "delivered", **more: Any) -> dict[str, Any]:
    """The exchange of the MSDU in these frames."""
    usual = {"ta": STATION, "ra": AP, "attempts": len(packets), "airtime_us": 100.0 * len(packets)}
    wasted = 100.0 * (len(packets) - (outcome == "delivered"))
    ends = {"first_packet": packets[0], "last_packet": packets[-1]}
    return {"packets": packets, "outcome": outcome, "wasted_us": wasted, **usual, **ends, **more}


def retry(packet: int, **more: Any) -> dict[str, Any]:
    """A data frame with the Retry bit."""
    return frame(packet, retry=True, **more)


#: A beacon, an MSDU with three transmissions, one dropped after two, one with unknown outcome, and control frames.
FRAMES = [
    frame(1, "beacon", ta=AP, ra=ALL, bssid=AP, rate_mbps=1.0, airtime_us=2000.0, from_ds=False),
    frame(2),
    retry(3, rate_mbps=24.0),
    retry(4, rate_mbps=12.0),
    frame(5, "ack", ra=STATION, rate_mbps=24.0, airtime_us=30.0, signal_dbm=-30),
    frame(6),
    retry(7),
    frame(8),
    frame(9, ra=ALL, to_ds=False),
    frame(10, fcs_ok=False),
    frame(11, airtime_us=None, rate_mbps=None),
    frame(12, "null"),
    retry(13),
]
EXCHANGES = [exchange([2, 3, 4]), exchange([6, 7], "dropped"), exchange([8], "unknown")]


def frames(rows: list[dict[str, Any]] | None = None) -> pa.Table:
    """A table `frames`."""
    return table("frames", FRAMES if rows is None else rows)


def exchanges(rows: list[dict[str, Any]] | None = None) -> pa.Table:
    """A table `exchanges`."""
    return table("exchanges", EXCHANGES if rows is None else rows)


def networks(ssid: str | None = "home", bssid: str = AP) -> pa.Table:
    """A table `networks` of one network."""
    return table("networks", [{"bssid": bssid, "ssid": ssid, "channel": 1, "security": "psk", "beacons": 3}])


def trace_of(frames: pa.Table, exchanges: pa.Table, *, ssid: str | None = "home", duration_ns: int = 20 * MS) -> Trace:
    """A trace of these tables, with their airtime sums."""
    sums = airtime.of_tables(frames, exchanges)
    held = {name: tables.empty(name) for name in tables.names()}
    held |= {"frames": frames, "exchanges": exchanges, "networks": networks(ssid), **sums.tables(NAME)}
    return Trace.of_tables(held, duration_ns=duration_ns)


def many(count: int) -> tuple[pa.Table, pa.Table]:
    """Many frames: four stations, changing rates, every seventh a retry; no exchanges."""
    at = np.arange(count)
    rates = np.array([1, 2, 5.5, 11, 24, 54])
    again = at % 7 == 3
    names = pa.array([f"02:00:00:00:00:{i:02x}" for i in range(4)])
    subtypes, types = tables.enum_values("frames", "subtype"), tables.enum_values("frames", "type")

    def enum(values: tuple[str, ...], value: str) -> pa.Array:
        codes = np.full(count, values.index(value), np.int8)
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))

    given = {
        "capture": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([NAME])),
        "packet": pa.array((at + 1).astype(np.uint64)),
        "t_ns": pa.array(at * 500_000),
        "mpdu_bytes": pa.array(np.full(count, 1500, np.uint32)),
        "type": enum(types, "data"),
        "subtype": enum(subtypes, "qos_data"),
        "ta": pa.DictionaryArray.from_arrays(pa.array((at % 4).astype(np.int32)), names),
        "ra": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([AP])),
        "retry": pa.array(again),
        "fcs_ok": pa.array(np.ones(count, bool)),
        "rate_mbps": pa.array(rates[(at // 1000 + at % 4) % len(rates)]),
        "signal_dbm": pa.array((-60 - (at // 5000) % 20).astype(np.int8)),
        "airtime_us": pa.array(np.full(count, 250.0)),
    }
    schema = tables.schema("frames")
    made = pa.table([given.get(f.name, pa.nulls(count, f.type)) for f in schema], names=schema.names)
    return made.cast(schema), tables.empty("exchanges")
