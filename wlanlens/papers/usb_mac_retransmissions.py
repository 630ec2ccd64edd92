from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.papers._air import retries, retry_percent, throughput_mbps, timeouts
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_S = 60.0


@dataclass(frozen=True)
class _Measured:
    mbps: float
    retry_percent: float
    there: int
    back: int
    timeouts_per_s: float


def _measure(run: Run) -> _Measured:
    there, back, _ = retries(run)
    return _Measured(throughput_mbps(run), retry_percent(run), there, back, timeouts(run) / run.scenario.duration_s)


@experiment("usb_mac_retransmissions", study="usb_adapter", source="section 4.3.1, figure 5")
def usb_mac_retransmissions(lab: Lab) -> Result:
    """MAC retransmissions with UDP and TCP, and TCP without them.

    Data and ACKs that draw the same slot collide, and both are retried. Without MAC retransmission at the station each
    such collision is a loss that TCP must repair. The number of timeouts depends on the sender: ns-2's figure is for FullTcp, which
    sends no new data on the first two duplicate ACKs; Linux 2.4 with SACK does, and has half as many timeouts. The station's
    adapter is on a USB bus, as the study's: it slows the small windows after losses. Five seeds of 60 s.
    """
    off = "no_mac_retransmission"
    cases: list[tuple[str, dict[str, Any]]] = [
        ("clean_udp", {"duration_s": _S}),
        (off, {"duration_s": _S, "ends": "none", "usb": True}),
        ("clean_link", {"duration_s": _S}),
        ("clean_link", {"duration_s": _S, "delayed_ack_segments": 1}),
        (off, {"duration_s": _S, "ends": "station", "usb": True}),
        (off, {"duration_s": _S, "ends": "both", "usb": True}),
        (off, {"duration_s": _S, "ends": "station", "datagrams": True}),
        # As ns-2 was run: collisions only.
        (off, {"duration_s": _S, "ends": "station", "sender": "newreno", "snr_db": 90.0}),
    ]
    udp, tcp, clean, each, station, both, bare, plain = lab.measure_all(_measure, cases)

    def mean(runs: list[_Measured], name: str) -> float:
        return float(np.mean([getattr(r, name) for r in runs]))

    with_retries = mean(tcp, "mbps")
    change, worse = (100 * (mean(runs, "mbps") / with_retries - 1) for runs in (station, both))
    pairing = sum(r.there for r in clean) / max(1, sum(r.back for r in clean))
    ratio = mean(each, "retry_percent") / mean(clean, "retry_percent")
    bars = [("TCP", with_retries), ("TCP, station off", mean(station, "mbps")), ("TCP, both off", mean(both, "mbps")),
            ("UDP, station off", mean(bare, "mbps"))]  # fmt: skip
    return Result(
        rows=(
            Row("MAC retransmissions of UDP (%)", "0.47 to 0.98", "Q", mean(udp, "retry_percent"), (0.47, 0.98),
                because="channel errors, a parameter"),
            Row("MAC retransmissions of TCP (%)", "4.58 to 4.73; 1.3 to 2.3 in the conclusions", "Q",
                mean(tcp, "retry_percent"), (2.3, 5.5), because="collisions of data and ACKs: one contention in 32"),
            Row("retries of data over retries of ACKs, no channel errors", "always paired", "Q", pairing, (0.98, 1.02),
                because="both frames of a collision are retried"),
            Row("MAC retransmissions with an ACK for each segment over those with one for two", "fewer with delayed ACKs",
                "S", ratio, holds=ratio > 1.2, because="half the ACKs, half the collisions"),
            Row("TCP without MAC retransmission at the station (change, %)", "-23", "Q", change, (-30.0, -15.0),
                because="each collision loses a data frame; the access point still retries ACKs"),
            Row("timeouts per second then, as ns-2: collisions only, no limited transmit", "not printed; ns-2 1.1",
                "Q", mean(plain, "timeouts_per_s"), (0.8, 1.4),
                because="like ns-2's sender: after a loss in a small window only the timer is left"),
            Row("timeouts per second then, the study's Linux 2.4", "not printed", "Q", mean(station, "timeouts_per_s"), (0.8, 1.4),
                because="SACK sends new data on the first duplicate ACK: the remaining timeouts are lost retransmissions"),
            Row("TCP without it at both ends (change, %)", "not printed; ns-2 -34", "S", worse, holds=worse < change,
                because="ACKs are lost, too"),
            Row("UDP without MAC retransmission at the station (Mb/s)", "slightly above TCP with it", "S",
                mean(bare, "mbps"), holds=mean(bare, "mbps") > with_retries, because="no ties to lose"),
        ),
        figures=(("Throughput with and without MAC retransmission (figure 5b)", _bars(bars)),),
    )  # fmt: skip


def _bars(bars: list[tuple[str, float]]) -> Figure:
    import plotly.graph_objects as go

    figure = go.Figure(go.Bar(x=[name for name, _ in bars], y=[value for _, value in bars]))
    figure.update_layout(yaxis_title="throughput, Mb/s", template="simple_white")
    return figure
