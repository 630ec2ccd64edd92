from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.papers._air import Packets, packets, sequence_figure
from wlanlens.papers._seawind import LINE_BYTES_PER_S, data_of, mean
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run

_FROM_S, _LASTS_S = 40.0, 30.0


@dataclass(frozen=True)
class _Burst:
    #: New data that arrived during the burst, as a share of the link's capacity.
    share: float
    #: From the end of the burst to the next data sent.
    idle_s: float
    #: Share of retransmissions among the packets sent in the burst.
    retransmissions: float
    #: Expiries from the begin of the burst to the first data after it.
    expiries: int
    shown: Packets


def _measure(run: Run) -> _Burst:
    d = data_of(run)
    lasts_s = run.scenario.lasts_s  # type: ignore[attr-defined]
    end = _FROM_S + lasts_s
    arrived = np.flatnonzero(d.fate == "delivered")
    _, first = np.unique(d.start[arrived[np.argsort(d.ended_s[arrived], kind="stable")]], return_index=True)
    times = np.sort(d.ended_s[arrived])[first]
    new = ((times >= _FROM_S) & (times < end)).sum() * run.scenario.mss_bytes  # type: ignore[attr-defined]
    sent = (d.made_s >= _FROM_S) & (d.made_s < end)
    after = d.made_s[d.made_s >= end]
    idle = float(after.min() - end) if len(after) else 0.0
    events = run.facts.events.to_pylist()
    expiries = sum(e["what"] == "timeout" and _FROM_S <= e["t_ns"] / 1e9 <= end + idle + 1e-6 for e in events)
    return _Burst(
        new / (LINE_BYTES_PER_S * lasts_s),
        idle,
        float((d.copy[sent] > 0).mean()) if sent.any() else 0.0,
        expiries,
        packets(run, _FROM_S - 10, end + 40),
    )


#: Lengths of total losses: the state of the backoff at the end depends on the length.
_LENGTHS_S = tuple(range(12, 61, 2))


@experiment("seawind_burst_errors", study="seawind", source="section 6")
def seawind_burst_errors(lab: Lab) -> Result:
    """A burst of errors of 30 s in the middle of a transfer; twenty seeds, buffers of 7 and 20.

    Idle times after a total loss are those of bursts of 12 to 60 s, one run each.
    """
    shares = (0.0, 0.02, 0.1, 0.2, 0.4, 1.0)
    name, base = "burst_errors_on_slow_line", {"from_s": _FROM_S}
    cases = [
        (name, {**base, "lasts_s": _LASTS_S, "loss_share": share, "buffer_packets": size})
        for size in (7, 20)
        for share in shares
    ]
    got = lab.measure_all(_measure, cases, seeds=20)
    small = dict(zip(shares, got[: len(shares)], strict=True))
    large = dict(zip(shares, got[len(shares) :], strict=True))
    total = [(name, {**base, "lasts_s": float(s), "loss_share": 1.0, "file_bytes": 200 << 10}) for s in _LENGTHS_S]
    idle = [b.idle_s / s for s, (b,) in zip(_LENGTHS_S, lab.measure_all(_measure, total, seeds=1), strict=True)]
    carried = {share: mean(b.share for b in small[share]) for share in shares}
    retransmissions = {share: mean(b.retransmissions for b in small[share]) for share in shares}
    often = [b.idle_s / _LASTS_S for share in (0.2, 0.4) for b in (*small[share], *large[share]) if b.expiries >= 3]
    rows = (
        Row("data carried in the burst, share of the link's", "little or none from 20 % on", "S",
            ", ".join(f"{100 * s:.0f} %: {carried[s]:.2f}" for s in shares),
            holds=carried[0.2] < 0.5 * carried[0.02] and carried[0.4] < 0.1 and carried[1.0] < 0.1 < 0.8 < carried[0.0],
            because="a window of losses ends in a timeout, and most packets sent are retransmissions"),
        Row("retransmissions among sent packets", "most packets are retransmissions", "S",
            ", ".join(f"{100 * s:.0f} %: {retransmissions[s]:.2f}" for s in shares),
            holds=retransmissions[0.02] < retransmissions[0.1] < retransmissions[0.2] < retransmissions[0.4] and retransmissions[0.4] > 0.4,
            because="so there is no round-trip sample, and the timer keeps its backoff"),
        Row("idle after a total loss, share of the burst: mean", "about half of the burst", "S", mean(idle),
            holds=0.3 <= mean(idle) <= 0.7, because="each wait is as long as all earlier ones together: its rest is half on average"),
        Row("the same: smallest and largest", "", "S", f"{min(idle):.2f}, {max(idle):.2f}", holds=max(idle) <= 1.25,
            because="the last wait is at most the burst and the timeout before it"),
        Row("idle after 20 and 40 % with three doublings of the timer, share of the burst", "about half of the burst", "N",
            mean(often) if often else 0.0, because="few runs have it at 20 %"),
        Row("idle without a burst (s)", "", "S", mean(b.idle_s for b in small[0.0]), holds=max(b.idle_s for b in small[0.0]) < 3.0,
            because="the transfer goes on"),
        Row("expiries at 20 %, buffers of 7 and 20", "more with larger buffers", "N",
            f"{mean(b.expiries for b in small[0.2]):.1f}, {mean(b.expiries for b in large[0.2]):.1f}",
            because="not seen here: a longer timeout expires less often in the same time"),
    )  # fmt: skip
    return Result(
        rows,
        (
            ("A burst of 20 % errors from 40 s to 70 s, buffer of 7", sequence_figure(small[0.2][0].shown, "")),
            ("A total loss from 40 s to 70 s, buffer of 7", sequence_figure(small[1.0][0].shown, "")),
        ),
    )
