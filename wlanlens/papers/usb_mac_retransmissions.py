from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.papers._air import lost, payload, retries, retry_percent, throughput_mbps, timeouts
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
    lost_per_s: float


def _measure(run: Run) -> _Measured:
    there, back, _ = retries(run)
    seconds = run.scenario.duration_s
    gone = float(lost(payload(run)).sum())
    return _Measured(throughput_mbps(run), retry_percent(run), there, back, timeouts(run) / seconds, gone / seconds)


@experiment("usb_mac_retransmissions", study="usb_adapter", source="section 4.3.1, figure 5")
def usb_mac_retransmissions(lab: Lab) -> Result:
    """MAC retransmissions with UDP and TCP, and TCP without them.

    Data and ACKs that draw the same slot collide, and both are retried. Without MAC retransmission at the station each
    such collision is a loss that TCP must repair. What that costs is decided by the losses that end in a timeout of 0.2 s, and so
    by the sender: -23 % is one timeout a second. ns-2's sender, without limited transmit, has as many. The study's Linux 2.4 has
    hardly any by its own rules: its rows fail (docs/method.md). Five seeds of 60 s.
    """
    off = "no_mac_retransmission"
    cases: list[tuple[str, dict[str, Any]]] = [
        ("clean_udp", {}),
        ("clean_link", {}),
        ("clean_link", {"delayed_ack_segments": 1}),
        *((off, {**sender, "ends": ends}) for sender in _SENDERS.values() for ends in ("none", "station", "both")),
        *((off, {"usb": True, "sack": False, "ends": ends}) for ends in ("none", "station")),
        (off, {"ends": "station", "datagrams": True}),
    ]
    udp, clean, each, *senders, no_sack, no_sack_off, bare = lab.measure_all(
        _measure, [(name, {"duration_s": _S, **p}) for name, p in cases]
    )
    runs = {name: senders[3 * n : 3 * n + 3] for n, name in enumerate(_SENDERS)}

    def mean(runs: list[_Measured], name: str) -> float:
        return float(np.mean([getattr(r, name) for r in runs]))

    def change(name: str, end: int) -> float:
        return 100 * (mean(runs[name][end], "mbps") / mean(runs[name][0], "mbps") - 1)

    tcp, station, both = runs[_LINUX24]
    pairing = sum(r.there for r in clean) / max(1, sum(r.back for r in clean))
    ratio = mean(each, "retry_percent") / mean(clean, "retry_percent")
    bars = [("TCP", mean(tcp, "mbps")), ("TCP, station off", mean(station, "mbps")), ("TCP, both off", mean(both, "mbps")),
            ("UDP, station off", mean(bare, "mbps"))]  # fmt: skip
    rows = [
        Row("MAC retransmissions of UDP (%)", "0.47 to 0.98", "Q", mean(udp, "retry_percent"), (0.47, 0.98),
            because="channel errors, a parameter"),
        Row("MAC retransmissions of TCP (%)", "4.58 to 4.73; 1.3 to 2.3 in the conclusions", "Q",
            mean(tcp, "retry_percent"), (2.3, 5.5), because="collisions of data and ACKs: one contention in 32"),
        Row("retries of data over retries of ACKs, no channel errors", "always paired", "Q", pairing, (0.98, 1.02),
            because="both frames of a collision are retried"),
        Row("MAC retransmissions with an ACK for each segment over those with one for two", "fewer with delayed ACKs",
            "S", ratio, holds=ratio > 1.2, because="half the ACKs, half the collisions"),
        *(Row(f"TCP without MAC retransmission at the station (change, %), {name}", "-23; ns-2 -22 to -27", "Q", change(name, 1),
              (-30.0, -15.0), because=_BECAUSE[name]) for name in _SENDERS),
        *(Row(f"timeouts per second then, {name}", "not printed; ns-2 1.1", "Q", mean(runs[name][1], "timeouts_per_s"), (0.8, 1.4),
              because=_BECAUSE[name]) for name in _SENDERS),
        Row("Linux 2.4 without SACK: change (%), timeouts per second", "the study had SACK", "N",
            f"{100 * (mean(no_sack_off, 'mbps') / mean(no_sack, 'mbps') - 1):.1f}, {mean(no_sack_off, 'timeouts_per_s'):.2f}",
            because="one hole is repaired in a round trip, and a lost retransmission waits for the timer"),
        *(Row(f"losses for each timeout, {name}", "not printed; ns-2 18", "N",
              mean(runs[name][1], "lost_per_s") / max(1e-9, mean(runs[name][1], "timeouts_per_s")), because="losses of data")
          for name in _SENDERS),
        *(Row(f"TCP without it at both ends (change, %), {name}", "not printed; ns-2 -34", "S", change(name, 2),
              holds=change(name, 2) < change(name, 1), because="ACKs are lost, too") for name in _SENDERS),
        Row("UDP without MAC retransmission at the station (Mb/s)", "slightly above TCP with it", "S",
            mean(bare, "mbps"), holds=mean(bare, "mbps") > mean(tcp, "mbps"), because="no ties to lose"),
    ]  # fmt: skip
    return Result(tuple(rows), (("Throughput with and without MAC retransmission (figure 5b)", _bars(bars)),))


_LINUX24 = "the study's Linux 2.4"
#: Parameters of the scenario.
_SENDERS: dict[str, dict[str, Any]] = {
    "as ns-2: collisions only, no limited transmit": {"sender": "newreno", "snr_db": 90.0},
    "that sender with the study's adapter and channel": {"sender": "newreno", "usb": True},
    _LINUX24: {"usb": True},
}
_BECAUSE = dict(
    zip(
        _SENDERS,
        (
            "after a loss in a small window only the timer is left",
            "channel errors add losses, and the bus makes small windows slower",
            "SACK sends new data on the first duplicate ACK, and shows lost retransmissions: no timer is needed",
        ),
        strict=True,
    )
)


def _bars(bars: list[tuple[str, float]]) -> Figure:
    import plotly.graph_objects as go

    figure = go.Figure(go.Bar(x=[name for name, _ in bars], y=[value for _, value in bars]))
    figure.update_layout(yaxis_title="throughput, Mb/s", template="simple_white")
    return figure
