from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wlanlens.detection.runner import detect
from wlanlens.papers._air import (
    Packets,
    data_frames,
    packets,
    payload,
    rate_figure,
    sequence_figure,
    throughput_mbps,
)
from wlanlens.pipeline.align import align
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

_S = 60.0
#: Time shown in figure 6, from the start of the run, s.
_SHOWN = (1.0, 3.5)


@dataclass(frozen=True)
class _Measured:
    mbps: float
    packets_per_retransmission: float
    #: Silence at the sender's tap before fast retransmits, ms: time of the MAC's failed transmissions.
    gap_ms: float
    fast: int
    #: Times at which the receiver's timer sent the ACK of a single segment.
    timer_acks: int
    sequence: Packets
    frames: tuple[Any, Any, Any]


def _measure(run: Run) -> _Measured:
    sent = payload(run)
    copy, trigger = np.asarray(sent["copy"]), np.asarray(sent["trigger"].cast("string"))
    frames = data_frames(run)
    t = np.asarray(frames["t_start_ns"]) / 1e9
    rate, station = np.asarray(frames["rate_mbps"]), np.asarray(frames["station"])
    shown = (t >= _SHOWN[0]) & (t < _SHOWN[1])
    fast = np.isin(trigger, ("fast", "sack", "partial_ack"))
    return _Measured(
        mbps=throughput_mbps(run),
        packets_per_retransmission=len(copy) / max(1, int((copy > 0).sum())),
        gap_ms=_gap_ms(run),
        fast=int(fast.sum()),
        timer_acks=int((np.asarray(run.facts.events["what"]) == "delayed_ack").sum()),
        sequence=packets(run, *_SHOWN),
        frames=(t[shown], rate[shown], station[shown]),
    )


def _gap_ms(run: Run) -> float:
    """Median time for which the sender's MAC transmitted a packet that it then dropped."""
    frames = data_frames(run)
    mine = np.asarray(frames["station"]) == 0
    packet = np.asarray(frames["packet"], np.int64)[mine]
    start, end = (np.asarray(frames[name])[mine] for name in ("t_start_ns", "t_end_ns"))
    new = np.flatnonzero(np.concatenate(([True], packet[1:] != packet[:-1]))) if len(packet) else np.zeros(0, int)
    last = np.append(new[1:], len(packet)) - 1
    fate = np.asarray(run.facts.packets["fate"].cast("string"))
    lost = fate[packet[new]] == "air"
    return float(np.median((end[last] - start[new])[lost])) / 1e6 if lost.any() else 0.0


def _found(run: Run) -> int:
    """Findings of thrashing in the sniffer's capture."""
    return len(detect(align([run.captures["air"]]), only=["rate_thrashing"]))


@experiment("usb_rate_adaptation", study="usb_adapter", source="section 4.3.2, figure 6")
def usb_rate_adaptation(lab: Lab) -> Result:
    """Automatic rate control is slower than the constant lowest rate: it raises the rate, fails and drops in cycles.

    A position where 1 and 2 Mb/s work; the defective algorithm at both ends with ten transmissions per frame, as in the study.
    Healthy algorithms at the same position and under fading lose little. Five seeds of 60 s.
    """
    weak = {"duration_s": _S}
    rayleigh = {"duration_s": _S, "doppler_hz": 4.0, "snr_db": 10.0}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("weak_link", {**weak, "rate_mbps": 2.0}),
        ("weak_link", {**weak, "rate_mbps": 1.0}),
        ("rate_thrashing", weak),
        ("rate_thrashing", {**weak, "retry_limit": 8}),
        *(("healthy_rate_probing", {**weak, "algorithm": name}) for name in ("arf", "aarf", "minstrel")),
        *(("healthy_rate_probing", {**rayleigh, "algorithm": name}) for name in ("arf", "aarf", "minstrel")),
    ]
    two, one, auto, eight, arf, aarf, minstrel, arf_r, aarf_r, minstrel_r = lab.measure_all(_measure, cases)

    short = {"duration_s": 20.0}
    probing = [("healthy_rate_probing", {**short, "algorithm": name}) for name in ("arf", "aarf")]
    found = lab.measure_all(_found, [("rate_thrashing", short), *probing], taps=("air",))

    def mean(runs: list[_Measured], name: str = "mbps") -> float:
        return float(np.mean([getattr(r, name) for r in runs]))

    order = mean(auto) < mean(one) < mean(two)
    loss = [100 * (1 - mean(runs) / mean(two)) for runs in (arf, aarf, minstrel)]
    first = auto[0]
    return Result(
        rows=(
            Row("TCP at a constant 2 Mb/s (Mb/s)", "1.46", "Q", mean(two), (1.40, 1.50), because="a few % of frames fail"),
            Row("TCP at a constant 1 Mb/s (Mb/s)", "0.77", "Q", mean(one), (0.74, 0.80), because="the same, twice as long"),
            Row("TCP with automatic rates (Mb/s)", "0.29", "Q", mean(auto), (0.2, 0.4),
                because="11, 11, 11, 5.5 ... all fail, then the packet is dropped and TCP stalls"),
            Row("automatic < 1 Mb/s < 2 Mb/s", "0.29 < 0.77 < 1.46", "S", f"{mean(auto):.2f} < {mean(one):.2f} < {mean(two):.2f}",
                holds=order, because="wasted airtime and the stall of TCP together cause it"),
            Row("TCP with automatic rates and eight transmissions (Mb/s)", "similar", "S", mean(eight), holds=mean(eight) < mean(one),
                because="the limit changes the waste, not the cycle"),
            Row("packets sent for each TCP retransmission", "about 10", "Q", mean(auto, "packets_per_retransmission"), (7.0, 14.0),
                because="ten successes, then the probing frame is dropped"),
            Row("gap before the retransmission (ms)", "about 100", "Q", mean(auto, "gap_ms"), (55.0, 150.0),
                because="ten transmissions with backoff up to 1023 slots: more than half of the time is backoff"),
            Row("fast retransmits in 60 s", "repeated", "S", mean(auto, "fast"), holds=mean(auto, "fast") > 5,
                because="duplicate ACKs of the packets after the dropped one"),
            Row("ACKs sent by the receiver's timer, in 60 s", "twice within 2 s, after about 100 ms", "S",
                mean(auto, "timer_acks"), holds=mean(auto, "timer_acks") >= 10 > mean(one, "timer_acks"),
                because="a window of one to three segments: the receiver waits for a second segment that does not come"),
            Row("ARF, AARF and minstrel below the best constant rate (%)", "ns-3: 4 to 11", "S",
                ", ".join(f"{x:.0f}" for x in loss), holds=max(loss) < 30 and min(mean(r) for r in (arf, aarf, minstrel)) > mean(one),
                because="one failed probe lowers the rate at once"),
            Row("findings of thrashing in each run: defective, ARF, AARF", "network thrashing", "S",
                ", ".join("/".join(map(str, runs)) for runs in found),
                holds=all(found[0]) and not any(found[1]) and not any(found[2]),
                because="the analyser sees only the air: healthy probing is no thrashing"),
            Row("ARF, AARF and minstrel under Rayleigh fading (Mb/s)", "ns-3: 0.20 to 0.27 far away", "N",
                ", ".join(f"{mean(r):.2f}" for r in (arf_r, aarf_r, minstrel_r)), because="the place was another one"),
        ),
        figures=(
            ("Sequence numbers with the gap before each retransmission (figure 6a)", sequence_figure(first.sequence)),
            ("Rate of each frame (figure 6b)", rate_figure(first.frames)),
        ),
    )  # fmt: skip
