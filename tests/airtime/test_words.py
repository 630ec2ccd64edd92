"""Sentences about the air."""

from __future__ import annotations

import pytest

from wlanlens import tables
from wlanlens.airtime import Summary, words
from wlanlens.detection.verdict import judge
from wlanlens.trace import Trace

S = 10**9


def summary(**more: object) -> Summary:
    """38 % of 42 s: data, retries, management with beacons, ACKs."""
    ns = {"delivered": 5 * S, "retry": 2 * S, "beacon": 3 * S, "management": S, "acknowledgement": 5 * S - 10**7}
    frames = dict.fromkeys(ns, 100)
    usual: dict[str, object] = {"frames": 500, "data_frames": 200, "stations": 3, "duration_ns": 42 * S}
    return Summary(**{**usual, "airtime_ns": sum(ns.values()), "purpose_ns": ns, "purpose_frames": frames, **more})  # type: ignore


def test_use() -> None:
    assert words.use(summary()) == (
        "The channel was busy 38 % of 42 s: 12 % data, 12 % control frames (ACKs 12 %), 9.5 % management (beacons 7.1 %) "
        "and 4.8 % retries."
    )
    assert words.use(Summary()) == "No 802.11 frames."
    no_time = summary(airtime_ns=0, no_airtime=500, purpose_ns={})
    assert words.use(no_time).startswith("Of 500 802.11 frames, 40 % management (beacons 20 %), 20 % data")
    assert words.caveats(no_time) == [
        "The capture does not record data rates, so the airtime of its frames is unknown."
    ]


def test_caveats() -> None:
    assert words.caveats(summary()) == []
    sentences = words.caveats(summary(no_airtime=60, channels_mhz=[2412, 2437], encrypted=50, airtime_ns=43 * S))
    assert sentences == [
        "The airtime of 60 frames (12 %) is missing: the capture does not record their data rate.",
        "The airtime exceeds the capture's duration: frames of several channels, or frames recorded twice.",
        "The sniffer heard 2 channels (2412, 2437 MHz): percentages refer to the whole capture.",
        "50 data frames (25 %) could not be decrypted: give the network's key with --key-file.",
    ]
    assert "holds no ACKs" in words.caveats(summary(purpose_frames={"unproven": 100}))[0]


def test_retransmissions() -> None:
    assert words.retransmissions(summary()) == ""
    assert words.retransmissions(summary(tcp={"dropped": 1, "delivered": 0})) == (
        "TCP retransmitted 1 segment; the earlier copy was lost on the air."
    )
    assert words.retransmissions(summary(tcp={"delivered": 3})) == (
        "TCP retransmitted 3 segments; all earlier copies were delivered on the air."
    )


def test_a_flow_on_the_air() -> None:
    air = summary(flows=[[7, "a2b", S // 2, S // 10, 100, 140, 3]])
    assert words.flow(air, 7, "a2b") == (
        "Its frames used 500 ms of airtime, 100 ms (20 %) of it on failed attempts; 1.4 transmissions per frame and 3 of "
        "100 dropped."
    )
    assert words.flow(air, 7, "b2a") == ""
    assert words.flow(summary(flows=[[7, "a2b", 0, 0, 1, 1, 0]]), 7, "a2b") == ""


@pytest.mark.parametrize(
    ("air", "packets", "said"),
    [
        (
            summary(encrypted=180),
            0,
            "No readable TCP connection; 180 data frames (90 %) could not be decrypted",
        ),
        (summary(data_frames=0), 0, "No data frames, so no TCP connection. The channel was busy 38 %"),
        (summary(), 5, "No TCP connection among 5 IP packets. The channel was busy"),
        (summary(), 0, "No IP packets. The channel was busy"),
    ],
)
def test_the_verdict_of_a_capture_without_tcp(air: Summary, packets: int, said: str) -> None:
    trace = Trace.of_tables({name: tables.empty(name) for name in tables.names()}, duration_ns=0)
    found = judge(trace, tables.empty("ledger"), (), packets=packets, connections=0, records=500, air=air)
    assert said in found.sentence
    assert found.flow is None
