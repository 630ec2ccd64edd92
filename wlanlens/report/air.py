"""The section on the air: its use in sentences, as a bar, and per station."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wlanlens import formatting
from wlanlens.airtime import GROUPS, PLAIN, Summary, words
from wlanlens.plots._airtime import names, station_name
from wlanlens.plots._palette import USES
from wlanlens.report.grids import Column

if TYPE_CHECKING:
    from wlanlens.trace import Trace

MOST_STATIONS = 100
"""Stations listed; the table `stations` has all."""

FEW_STATIONS = 12
"""Stations shown before the reader asks for all, so that the next section stays near."""

MOST_FLOWS = 10
"""TCP flows listed."""

MOST_NETWORKS = 60
"""Networks listed."""

SHOWN_RATES = 3
"""Rates of a station shown before the reader asks for all columns."""


def section(trace: Trace, air: Summary | None) -> dict[str, Any] | None:
    """The values of the template; None for a capture without 802.11 frames."""
    if air is None or not air.frames:
        return None
    rows = sorted(trace.table("stations").to_pylist(), key=_rank)
    named = names(trace)
    columns = _columns(named, air)
    networks = trace.table("networks").sort_by([("beacons", "descending")]).to_pylist() if trace.has("networks") else []
    return {
        "sentence": words.use(air),
        "tcp": words.retransmissions(air),
        "caveats": words.caveats(air),
        "bar": _bar(air),
        "few": FEW_STATIONS,
        "columns": columns,
        "stations": [[(c, c.cell(row)) for c in columns] for row in rows[:MOST_STATIONS]],
        "stations_left": max(0, len(rows) - MOST_STATIONS),
        "flow_columns": _FLOWS,
        "flows": _flows(trace, air),
        "network_columns": _NETWORKS,
        "networks": [[c.cell(row) for c in _NETWORKS] for row in networks[:MOST_NETWORKS]],
        "networks_left": max(0, len(networks) - MOST_NETWORKS),
    }


def _rank(row: Mapping[str, Any]) -> tuple[bool, int, int, int]:
    """Stations with data first, by its airtime; rows without an address last."""
    nameless = row["role"] in ("unnamed", "rest")
    return nameless, -(row["data_ns"] + row["retries_ns"]), -row["data_frames"], -row["airtime_ns"]


def _flows(trace: Trace, air: Summary) -> list[list[str]]:
    """The TCP flows with most airtime, one row of cells each."""
    names = ("flow", "direction", "ns", "wasted_ns", "exchanges", "attempts", "dropped")
    rows = [dict(zip(names, values, strict=True)) for values in air.flows[:MOST_FLOWS]]
    return [
        [trace.subject(row["flow"], row["direction"]), *(column.cell(row) for column in _FLOWS[1:])]
        for row in rows
        if trace.endpoints(row["flow"]) is not None
    ]


def _seconds(row: Mapping[str, Any], name: str) -> str:
    return formatting.page_seconds(row[name] / 1e9) if row["ns"] else formatting.MISSING


_FLOWS = [
    Column("TCP flow", "sender > receiver", lambda _: ""),
    Column("frames", "MSDUs with a segment of this flow", lambda row: formatting.page_count(row["exchanges"])),
    Column(
        "transmissions per frame",
        "mean number of transmissions of a frame",
        lambda row: (
            formatting.three_digits(row["attempts"] / row["exchanges"]) if row["exchanges"] else formatting.MISSING
        ),
    ),
    Column(
        "dropped",
        "frames without an acknowledgment after the last transmission",
        lambda row: formatting.page_count(row["dropped"]),
    ),
    Column("airtime", "airtime of all transmissions", lambda row: _seconds(row, "ns")),
    Column("failed", "airtime of failed transmissions", lambda row: _seconds(row, "wasted_ns")),
]


def _bar(air: Summary) -> dict[str, Any] | None:
    """Airtime by purpose, and the remaining time."""
    if not air.airtime_ns:
        return None
    whole = max(air.duration_ns, air.airtime_ns)
    parts = []
    for group, use in USES.items():
        ns = air.group_ns(group)
        within = [
            f"{PLAIN[name]} {formatting.page_share(air.purpose_ns[name], whole)}"
            for name in GROUPS[group]
            if air.purpose_ns.get(name)
        ]
        if ns:
            parts.append(_part(group, use.title, "; ".join(within), ns, whole))
    quiet = whole - air.airtime_ns
    if quiet:
        parts.append(
            _part("quiet", "nothing heard", "gaps between frames, and frames that the sniffer missed", quiet, whole)
        )
    return {"parts": parts, "total": formatting.page_summand(whole, whole)}


def _part(group: str, title: str, meaning: str, ns: int, whole: int) -> dict[str, Any]:
    return {
        "group": group,
        "title": title,
        "meaning": meaning,
        "ns": ns,
        "seconds": formatting.page_summand(ns, whole),
        "share": formatting.page_share(ns, whole),
        "lost": group == "retries",
    }


def _columns(named: dict[str, str], air: Summary) -> list[Column]:
    """Columns of the table of stations; those with `more` are shown on request."""

    def seconds(name: str) -> Any:
        return lambda row: (
            formatting.page_seconds(row[name] / 1e9) if row["frames"] > row["no_airtime_frames"] else formatting.MISSING
        )

    def on_air(row: Mapping[str, Any]) -> str:
        if row["frames"] <= row["no_airtime_frames"]:
            return formatting.MISSING
        return f"{formatting.page_seconds(row['airtime_ns'] / 1e9)} ({formatting.page_share(row['airtime_ns'], air.duration_ns)})"

    def rates(most: int | None) -> Any:
        def cell(row: Mapping[str, Any]) -> str:
            values = row["rates_mbps"] or []
            return ", ".join(f"{v:.3g}" for v in values[:most]) + (" ..." if most and len(values) > most else "")

        return cell

    return [
        Column("station", "transmitter address; ACK and CTS frames have none", lambda row: station_name(row, named)),
        Column("frames", "frames sent", lambda row: formatting.page_count(row["frames"])),
        Column(
            "retries",
            "share of its frames with the Retry bit set",
            lambda row: formatting.page_share(row["retry_frames"], row["frames"]),
        ),
        Column(
            "dropped",
            "exchanges without an acknowledgment after the last transmission",
            lambda row: formatting.page_count(row["dropped"]),
        ),
        Column("signal", "median signal at the sniffer", lambda row: formatting.page_dbm(row["signal_median_dbm"])),
        Column("rates, Mbit/s", "data rates, the most used first", rates(SHOWN_RATES)),
        Column("airtime", "airtime, and its share of the capture", on_air),
        Column("bytes", "length of its frames with headers", lambda row: formatting.page_size(row["bytes"]), more=True),
        Column("data frames", "frames with data", lambda row: formatting.page_count(row["data_frames"]), more=True),
        Column(
            "exchanges", "MSDUs and management frames", lambda row: formatting.page_count(row["exchanges"]), more=True
        ),
        Column(
            "transmissions",
            "transmissions of these exchanges",
            lambda row: formatting.page_count(row["attempts"]),
            more=True,
        ),
        Column(
            "acknowledged",
            "exchanges that were acknowledged",
            lambda row: formatting.page_count(row["delivered"]),
            more=True,
        ),
        Column(
            "unknown", "exchanges with unknown outcome", lambda row: formatting.page_count(row["unknown"]), more=True
        ),
        Column("signal range", "minimum and maximum signal", _range, more=True),
        Column("all rates", "data rates, the most used first", rates(None), more=True),
        *(
            Column(USES[group].title, f"airtime: {USES[group].title}", seconds(f"{group}_ns"), more=True)
            for group in USES
        ),
        Column(
            "network",
            "BSSID of the network in which it last sent data",
            lambda row: row["bssid"] or formatting.MISSING,
            more=True,
        ),
    ]


def _range(row: Mapping[str, Any]) -> str:
    if row["signal_least_dbm"] is None:
        return formatting.MISSING
    return f"{formatting.page_dbm(row['signal_least_dbm'])} to {formatting.page_dbm(row['signal_most_dbm'])}"


_SECURITY = {
    "open": "open",
    "wep": "WEP",
    "psk": "passphrase (WPA, WPA2)",
    "enterprise": "802.1X",
    "sae": "WPA3",
    "owe": "OWE",
    "other": "other",
}

_NETWORKS = [
    Column(
        "network",
        "network name (SSID), as sent by the access point",
        lambda row: row["ssid"] if row["ssid"] is not None else "(hidden)",
    ),
    Column("BSSID", "address of the access point", lambda row: str(row["bssid"])),
    Column("channel", "channel that the access point announces", lambda row: formatting.page_count(row["channel"])),
    Column(
        "security",
        "protection of its data frames",
        lambda row: _SECURITY.get(row["security"], formatting.MISSING),
    ),
    Column("beacons", "beacons heard", lambda row: formatting.page_count(row["beacons"])),
]
