from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.timeout_runs import TimeoutRuns
from wlanlens.formatting import duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("idle_backoff", needs=("timeouts", "flows"))
def idle_backoff(trace: Trace, *, kept_factor: float = 1.5) -> Iterator[Finding]:
    """The sender stood idle while its retransmission timer ran twice, four times, eight times as long.

    What it finds
    -------------
    TimeoutRuns of two or more timer expiries without an ACK of new data between them, and later expiries whose timer was still
    long from such a run although new data had been acknowledged in between. The cost is the idle time from
    the last data sent to the first ACK of new data.

    Why it happens
    --------------
    Each expiry doubles the timeout (RFC 6298, rule 5.5), up to 120 s in Linux. A fade of one second thus costs three,
    because the timer is still running when the link is back. By Karn's algorithm the doubling stays in force until a
    segment sent once is acknowledged, so the next loss after a fade waits for the doubled timer again.

    How it decides
    --------------
    From `timeouts`. `timer_kept_long_by` names why a timer after a run still ran long: `backoff` when it ran longer
    than the timeout without backoff, `rtt_sample` when the sender had taken the idle time for a round trip and its
    timeout without backoff had grown by it. `kept_factor`: so many times longer; between one and two, the ratio of a
    doubling, so that the error of the timer model (some 10 %) does not matter. `saved_by_reset_s` is the time that would
    have been saved had the timer been as short as before the run: exact after a run, as the link was up; within a run at
    most, the last wait less that timeout; nothing when late ACKs, not the resend, ended it.

    What fools it
    -------------
    An application that has nothing to send is idle without a timer; a closed window is probed by another timer: neither
    makes a row in `timeouts`. A capture that misses the ACKs sees runs that are none; their idle time is real all the
    same.

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
    length = runs.last - runs.first + 1
    kept, short = _kept_long(runs, kept_factor)
    life = facts.lifetime_s(runs.key)
    which = np.flatnonzero((length >= 2) | (kept != ""))
    idle = runs.t_end_ns - runs.t_start_ns
    listed, others = costliest(idle[which])
    for run in which[listed].tolist():
        part, key = runs.members(run), runs.key[run]
        kinds = rows["kind"][part]
        idle_s = int(idle[run]) / 1e9
        saved = 0
        if short[run] != NULL and runs.answered[run] and kinds[-1] != "spurious":
            saved = max(0, int(rows["waited_ns"][part][-1] - short[run]))
        names = ", ".join(f"{int((kinds == kind).sum())} {kind}" for kind in dict.fromkeys(kinds))
        values: dict[str, float | int | str] = {
            "expiries_count": len(kinds),
            "kinds": names,
            "idle_s": idle_s,
            "longest_wait_s": int(rows["waited_ns"][part].max()) / 1e9,
            "saved_by_reset_s": saved / 1e9,
            "timer_kept_long_by": kept[run] or "nothing",
        }
        if short[run] != NULL:
            values["rto_without_backoff_ms"] = int(short[run]) / 1e6
        yield facts.finding(
            "idle_backoff",
            key,
            int(runs.t_start_ns[run]),
            int(runs.t_end_ns[run]),
            cost_s=idle_s,
            lifetime_s=life[run],
            confidence=0.95,
            values=values,
            evidence={"timeouts": rows["packet"][part], "segments": runs.packets(run)},
            sentence=_sentence(facts.subject(key), runs, run, kept[run], idle_s, saved / 1e9),
        )
    which = which[others]
    yield from facts.remainder_finding(
        "idle_backoff",
        runs.key[which],
        runs.t_start_ns[which],
        runs.t_end_ns[which],
        idle[which],
        evidence=("timeouts", rows["packet"][runs.first[which]]),
        what="a timer backed off",
    )


def _kept_long(runs: TimeoutRuns, factor: float) -> tuple[Array, Array]:
    """Why each run's first wait was longer than before the run that it follows, "" where it was not; and the timeout
    without any of that, ns."""
    rows, first = runs.rows, runs.first
    waited, fresh = rows["waited_ns"][first], rows["fresh_rto_ns"][first]
    reason, short = np.full(len(runs), "", object), np.array(fresh)
    if len(runs) < 2:
        return reason, short
    before = fresh[:-1]
    # Only a run that ended with new data leaves a timer behind, and only while the sender has gone on from there.
    soon = rows["silent_from_ns"][first[1:]] <= runs.t_end_ns[:-1]
    follows = (runs.key[1:] == runs.key[:-1]) & runs.answered[:-1] & (before != NULL) & (fresh[1:] != NULL) & soon
    backoff = follows & (waited[1:] > factor * fresh[1:])
    sample = follows & (fresh[1:] > factor * before) & (waited[1:] > factor * before)
    reason[1:][sample], reason[1:][backoff] = "rtt_sample", "backoff"
    short[1:][sample] = before[sample]
    return reason, short


_KEPT = {
    "": "",
    "backoff": "; it still ran with the backoff of the timeouts before, although new data had been acknowledged",
    "rtt_sample": "; it ran so long because the sender had taken the idle time before for a round trip",
}


def _sentence(subject: str, runs: TimeoutRuns, run: int, kept: str, idle_s: float, saved_s: float) -> str:
    t = runs.rows["t_ns"][runs.members(run)]
    when = f"at {moment(t[0])}" if len(t) == 1 else f"{len(t)} times in a row, from {moment(t[0])} to {moment(t[-1])}"
    text = f"{subject}: the retransmission timer expired {when}, and the sender stood idle for {duration(idle_s)}"
    if not runs.answered[run]:
        text += " without any ACK of new data to the end"
    text += _KEPT[kept]
    if saved_s > 0:
        up_to = "" if kept and len(t) == 1 else "up to "
        text += f"; with the timer as before the silence it would have waited {up_to}{duration(saved_s)} less"
    return text + "."
