from __future__ import annotations

import itertools

from wlanlens.models.dcf_tcp import DcfTcp
from wlanlens.papers._dcf import curves, mean, mean_delay_s
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

TIMERS_S = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2)


@experiment("dcf_ack_timer", study="dcf_tcp", source="figure 9")
def dcf_ack_timer(lab: Lab) -> Result:
    """Session delay of short transfers against the delayed-ACK timer, d = 2.

    A file with an odd number of segments ends with a wait for the timer. The look-alike closes its connections: a FIN is
    acknowledged at once, and the timer does not matter.
    """
    model = DcfTcp()
    cases = [("short_transfers", {"files": 500, "delayed_ack_timer_s": t}) for t in TIMERS_S]
    cases += [("short_transfers", {"files": 500, "delayed_ack_timer_s": t, "closes": True}) for t in (0.04, 0.2)]
    got = [mean(runs) for runs in lab.measure_all(mean_delay_s, cases, seeds=5)]
    delays, closed = got[: len(TIMERS_S)], got[len(TIMERS_S) :]
    at = dict(zip(TIMERS_S, delays, strict=True))
    rows = (
        Row(
            "timer 200 ms against 40 ms",
            "much worse (figure 9)",
            "S",
            f"{at[0.2]:.3f} s, {at[0.04]:.3f} s",
            holds=at[0.2] > 1.5 * at[0.04],
            because="half of the files end with an odd segment",
        ),
        Row(
            "rises with the timer",
            "rises",
            "S",
            "/".join(f"{d:.3f}" for d in delays),
            holds=all(a < b for a, b in itertools.pairwise(delays)),
            because="each odd file waits for the whole timer",
        ),
        Row(
            "the same with a FIN: 200 ms against 40 ms",
            "",
            "S",
            f"{closed[1]:.3f} s, {closed[0]:.3f} s",
            holds=abs(closed[1] / closed[0] - 1) < 0.03,
            because="a FIN is acknowledged at once, so nothing waits",
        ),
    )
    x = [1000 * t for t in TIMERS_S]
    figure = curves(
        "delayed-ACK timer, ms",
        "mean session delay, s",
        [("model", x, [model.mean_session_s(2, timer_s=t) for t in TIMERS_S])],
        [("simulation", x, delays), ("simulation, with FIN", [40.0, 200.0], closed)],
    )
    figure.update_yaxes(rangemode="tozero")
    return Result(rows, (("Figure 9: session delay against the receiver's delayed-ACK timer, d = 2.", figure),))
