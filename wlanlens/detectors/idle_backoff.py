from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detectors._common import NULL, Array, Facts, at, time
from wlanlens.detectors._runs import Runs
from wlanlens.finding import Finding
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("idle_backoff", needs=("timeouts", "flows"))
def idle_backoff(trace: Trace, *, kept_factor: float = 1.5) -> Iterator[Finding]:
    """The sender stood idle while its retransmission timer ran twice, four times, eight times as long.

    What it finds
    -------------
    Runs of two or more timer expiries without an ACK of new data between them, and single expiries whose timer still
    ran with an earlier run's backoff although new data had been acknowledged in between. The cost is the idle time from
    the last data sent to the first ACK of new data.

    Why it happens
    --------------
    Each expiry doubles the timeout (RFC 6298, rule 5.5), up to 120 s in Linux. A fade of one second thus costs three,
    because the timer is still running when the link is back. By Karn's algorithm the doubling stays in force until a
    segment sent once is acknowledged, so the next loss after a fade waits for the doubled timer again.

    How it decides
    --------------
    From `timeouts`. `saved_by_reset_s` is the time that would have been saved had the backoff been reset: for a kept
    backoff the wait less the timeout without backoff, which is exact, as the link was up; for a run, at most the last
    wait less that timeout, and nothing when late ACKs, not the resend, ended the run. `kept_factor`: the backoff was
    kept when the timer ran so many times longer than the timeout without backoff; half-way between one and two
    doublings' ratio, so that the error of the timer model (some 10 %) does not matter.

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
    facts = Facts(trace)
    runs = Runs(facts)
    if not len(runs):
        return
    rows = runs.rows
    length = runs.last - runs.first + 1
    waited, fresh = rows["waited_ns"], rows["fresh_rto_ns"]
    kept = _kept(runs, kept_factor)
    life = facts.life_s(runs.key)
    for run in np.flatnonzero((length >= 2) | kept):
        part, key = runs.members(run), runs.key[run]
        kinds = rows["kind"][part]
        idle_s = int(runs.t_end_ns[run] - runs.t_start_ns[run]) / 1e9
        last = int(runs.last[run])
        saved = 0
        if fresh[last] != NULL and runs.answered[run] and kinds[-1] != "spurious":
            saved = max(0, int(waited[last] - fresh[last]))
        n = len(kinds)
        names = ", ".join(f"{int((kinds == kind).sum())} {kind}" for kind in dict.fromkeys(kinds))
        values: dict[str, float | int | str] = {
            "expiries_count": n,
            "kinds": names,
            "idle_s": idle_s,
            "longest_wait_s": int(waited[part].max()) / 1e9,
            "saved_by_reset_s": saved / 1e9,
            "backoff_kept": "yes" if kept[run] else "no",
        }
        if fresh[last] != NULL:
            values["rto_without_backoff_ms"] = int(fresh[last]) / 1e6
        yield facts.finding(
            "idle_backoff",
            key,
            int(runs.t_start_ns[run]),
            int(runs.t_end_ns[run]),
            cost_s=idle_s,
            life_s=life[run],
            confidence=0.95,
            values=values,
            evidence={"timeouts": rows["packet"][part], "segments": runs.packets(run)},
            sentence=_sentence(facts.subject(key), runs, int(run), bool(kept[run]), idle_s, saved / 1e9),
        )


def _kept(runs: Runs, factor: float) -> Array:
    """Runs whose first wait still had the backoff of the run before, although that had ended with an ACK of new data."""
    rows, first = runs.rows, runs.first
    waited, fresh = rows["waited_ns"][first], rows["fresh_rto_ns"][first]
    out = np.zeros(len(runs), bool)
    follows = (runs.key[1:] == runs.key[:-1]) & runs.answered[:-1]
    out[1:] = follows & (fresh[1:] != NULL) & (waited[1:] > factor * fresh[1:])
    return out


def _sentence(subject: str, runs: Runs, run: int, kept: bool, idle_s: float, saved_s: float) -> str:
    part = runs.members(run)
    n, t = part.stop - part.start, runs.rows["t_ns"][part]
    times = "once" if n == 1 else f"{n} times in a row"
    text = f"{subject}: the retransmission timer expired {times}"
    text += f", at {at(t[0])}" if n == 1 else f", from {at(t[0])} to {at(t[-1])}"
    text += f", and the sender stood idle for {time(idle_s)}"
    if not runs.answered[run]:
        text += " without any ACK of new data to the end"
    if kept:
        text += "; the timer still ran with the backoff of the timeouts before, although new data had been acknowledged"
    if saved_s > 0:
        text += f"; with the backoff reset it would have waited {'' if kept and n == 1 else 'up to '}{time(saved_s)} less"
    return text + "."
