from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    NULL,
    TIMERS,
    Cases,
    Description,
    Facts,
    Finding,
    TimeoutRuns,
    duration,
    kept_long,
    moment,
    times,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "idle_backoff"

#: Why a timer still ran long after a run of timeouts, in words.
_LONG_TIMER = {
    "": "",
    "backoff": "; the timer still had the backoff of earlier timeouts although new data had been acknowledged since",
    "rtt_sample": "; the timer was long because the sender had measured the previous idle time as a round trip",
}


@detector(
    CODE,
    needs=("timeouts", "flows"),
    explains=(*TIMERS, "loss_recovery"),
    saving="backoff",
    remedy=Remedy(
        "Sender: reset the backoff when an ACK of new data arrives (Linux since 2.4 with timestamps; update "
        "older stacks) and use timestamps, which give a sample of the round trip after a retransmission. Link: "
        "remove the outage; a link that returns should not wait for the timer.",
        "capture at the sender again: after an outage the first data follows within one timeout without backoff.",
    ),
)
def idle_backoff(trace: Trace, *, kept_factor: float = 1.5, model_error_share: float = 0.1) -> Iterator[Finding]:
    """The sender was idle while its retransmission timer backed off to two, four, eight times its value.

    What it finds
    -------------
    Runs of two or more timer expiries without an ACK of new data between them, and later expiries whose timer was still
    long from such a run although new data had been acknowledged in between. The cost is the idle time from the last data sent to
    the first ACK of new data.

    Why it happens
    --------------
    Each expiry doubles the timeout (RFC 6298, rule 5.5), up to 120 s in Linux. A fade of one second thus costs three, because
    the timer still runs when the link works again. By Karn's algorithm the backoff remains until a segment sent only once is
    acknowledged, so the next loss after a fade waits for the long timer again.

    How it decides
    --------------
    From `timeouts`. `long_timer_cause` says why a timer after a run was still long: `backoff` when it ran longer than the
    timeout without backoff; `rtt_sample` when the sender had measured the idle time as a round trip, which increased its
    timeout without backoff.
    `kept_factor`: longer by this factor; it is between one and two, the ratio of a backoff, so that the error of the timer
    model does not matter. `model_error_share`: that error. Before any round trip was measured (after a retransmitted SYN), a wait
    twice as long as the last one, but for this error, shows a kept backoff.
    `saved_by_reset_s` is the time saved had the timer been as short as before the run. After a run it is exact, for the link
    worked; within a run it is an upper bound, the last wait less that timeout; it is zero when late ACKs ended the run.

    What fools it
    -------------
    An application-limited sender is idle without a timer, and a closed window has another timer: neither makes a row in
    `timeouts`. A capture that misses ACKs shows runs that did not happen; their idle time is real.

    References
    ----------
    RFC 6298 section 5, Karn and Partridge 1987; the study of idle times under bursty errors, where a backoff of 16 kept
    after the fourth segment makes an idle time of 57 s.
    """
    facts = Facts.of(trace)
    runs = facts.cached(TimeoutRuns)
    if not len(runs):
        return
    rows = runs.rows
    kept, normal_rto = kept_long(facts, runs, kept_factor, model_error_share)
    which = np.flatnonzero((runs.last > runs.first) | (kept != ""))
    start, end = runs.t_start_ns[which], runs.t_end_ns[which]

    def describe(i: int) -> Description:
        run = int(which[i])
        part, idle_s = runs.members(run), int(end[i] - start[i]) / 1e9
        kinds, saved = rows["kind"][part], 0
        if normal_rto[run] != NULL and runs.answered[run] and kinds[-1] != "spurious":
            saved = max(0, int(rows["waited_ns"][part][-1] - normal_rto[run]))
        values: dict[str, float | int | str] = {
            "expiries_count": len(kinds),
            "kinds": ", ".join(f"{int((kinds == kind).sum())} {kind}" for kind in dict.fromkeys(kinds)),
            "idle_s": idle_s,
            "longest_wait_s": int(rows["waited_ns"][part].max()) / 1e9,
            "saved_by_reset_s": saved / 1e9,
            "long_timer_cause": kept[run] or "none",
        }
        if normal_rto[run] != NULL:
            values["rto_without_backoff_ms"] = int(normal_rto[run]) / 1e6
        return Description(
            _sentence(runs, run, kept[run], idle_s, saved / 1e9),
            values,
            evidence={"timeouts": rows["packet"][part], "segments": runs.packets(run)},
            confidence=0.95,
        )

    cases = Cases(
        facts, CODE, runs.key[which], start, end, (end - start) / 1e9, rows["packet"][runs.first[which]], "timeouts"
    )
    yield from cases.findings(describe, what="retransmission timer backoff")


def _sentence(runs: TimeoutRuns, run: int, kept: str, idle_s: float, saved_s: float) -> str:
    t = runs.rows["t_ns"][runs.members(run)]
    when = f"at {moment(t[0])}" if len(t) == 1 else f"{times(len(t))} in a row from {moment(t[0])} to {moment(t[-1])}"
    text = f"the retransmission timer expired {when}, and the sender was idle for {duration(idle_s)}"
    if not runs.answered[run]:
        text += "; no ACK of new data followed"
    text += _LONG_TIMER[kept]
    if saved_s > 0:
        up_to = "" if kept and len(t) == 1 else "up to "
        text += f"; with the timeout from before the idle time it would have waited {up_to}{duration(saved_s)} less"
    return text + "."
