from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    NULL,
    TIMERS,
    Acks,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    Rows,
    TimeoutRuns,
    Undecided,
    count,
    duration,
    last_ack_lateness_ns,
    moment,
    recovery_after_runs,
    times,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "spurious_timeout"

#: Confidence in each kind of evidence.
_CONFIDENCE = {"other_capture": 1.0, "timestamp": 0.99, "dsack": 0.97, "acked": 0.95, "min_rtt": 0.9, "original": 0.97}


@detector(
    CODE,
    needs=("timeouts", "intervals", "segments", "flows"),
    explains=(*TIMERS, "spurious_recovery"),
    saving="recovery",
    remedy=Remedy(
        "Sender: F-RTO, timestamps (Eifel) and DSACK on (Linux: `net.ipv4.tcp_frto=2`, `tcp_timestamps=1`, "
        "`tcp_dsack=1`), which undo it; a least timeout above the delays of this path (`ip route ... "
        "rto_min`). Link: remove what delays or loses the ACKs.",
        "capture at the sender again: no expiry without a loss, or no retransmission follows one.",
    ),
)
def spurious_timeout(trace: Trace, *, late_ack_ms: float = 20.0) -> Iterator[Finding | Undecided]:
    """The retransmission timer expired although nothing had been lost.

    What it finds
    -------------
    Runs of timer expiries (RFC 6298) for data that had arrived: the ACKs were late, or only the ACKs were lost. The cost is the
    silence from the last data sent to the first ACK of new data, and the recovery after it, in which the sender
    retransmitted what the receiver had.

    Why it happens
    --------------
    An adapter or driver holds received ACKs for longer than the timeout; a radio link retries a frame for hundreds of
    milliseconds; a handoff or a fade delays packets. A sender without F-RTO (RFC 5682) or Eifel (RFC 3522) then
    retransmits the whole flight and starts slowly again.

    How it decides
    --------------
    By `kind` in `timeouts`, or because the copy that the timer sent is spurious in `segments`: then it may be unknown whether the ACK
    was late or lost. The evidence, best first: the first ACK's echoed timestamp is older than the retransmission; a DSACK
    reports the copy as a duplicate; the originals of the bytes after it are acknowledged; the ACK followed the
    retransmission sooner than any round trip. Expiries between two ACKs of new data are one finding.
    `late_ack_ms`: if its own timestamp shows that the ACK which ended the run was later than this, compared with the ACK before
    it, the finding says so; 20 ms is five ticks of a 4 ms timer and above the jitter of a path.

    What fools it
    -------------
    Without timestamps and DSACK, a capture at the sender does not distinguish late ACKs from lost data or lost ACKs: undecided.
    A recovery after a spurious timeout counts where one of its retransmissions was spurious; it is undecided where that is
    unknown. So is the copy of a lone segment, which a probe may have sent. A tail loss probe
    is no expiry, and a genuine timeout is genuine in `timeouts`: no finding.

    References
    ----------
    RFC 6298, RFC 3522 and RFC 4015 (Eifel), RFC 5682 (F-RTO), RFC 3708 (DSACK); the study of 802.11b adapters on USB,
    where held ACKs cause it.
    """
    facts = Facts.of(trace)
    yield from _of_unknown_timer(facts)
    runs = facts.cached(TimeoutRuns)
    if not len(runs):
        return
    rows, kinds, spurious = runs.rows, runs.rows["kind"], runs.spurious
    found = runs.any_of(spurious)
    begun = _first_spurious(runs, spurious)
    recovery = recovery_after_runs(facts, runs)
    if found.any():
        yield from _findings(facts, runs, np.flatnonzero(found), begun, recovery, late_ack_ms)
    # Before a run's first spurious expiry others may have been spurious as well.
    before = np.arange(len(kinds)) < np.repeat(np.where(found, begun, len(kinds)), runs.last - runs.first + 1)
    open_ = (kinds == "undecided") & ~spurious & before
    if open_.any():
        # Each matters until the next one's silence starts, the last of a run until the recovery after it ends.
        until = np.append(rows["silent_from_ns"][1:], 0)
        until[runs.last] = np.maximum(runs.t_end_ns, recovery[1])
        yield facts.undecided(
            CODE,
            rows.key[open_],
            f"{count(int(open_.sum()), 'timer expiry', 'timer expiries')}: no timestamps, DSACK or times of ACKs show whether "
            "the segment had been lost; a capture at the other end would.",
            t_start_ns=rows["silent_from_ns"][open_],
            t_end_ns=until[open_],
        )


def _of_unknown_timer(facts: Facts) -> Iterator[Undecided]:
    """Spurious copies of a lone segment: an expiry and a tail loss probe look alike (RFC 8985 section 7.3)."""
    columns = ["t_ns", "rel_seq", "len", "since_previous_ns", "spurious", "flight_bytes", "dupacks", "trigger_evidence"]
    copies = facts.rows("segments", columns, where={"trigger": ("undecided",)}, valid=("t_ns", "since_previous_ns"))
    # Nothing else retransmits the only segment in flight before a duplicate ACK comes, whenever it does.
    lone = (copies["flight_bytes"] == copies["len"]) & (copies["dupacks"] == 0)
    by_timer = (copies["trigger_evidence"] == "timer_expired") | lone
    copies = copies.take((copies["spurious"] == 1) & (copies["rel_seq"] > 0) & by_timer)
    if not len(copies):
        return
    acks = facts.cached(Acks)
    answered = acks.t_ns(acks.first_covering(copies.key, copies["rel_seq"] + np.maximum(copies["len"], 1)))
    yield facts.undecided(
        CODE,
        copies.key,
        f"A timer retransmitted {count(len(copies), 'lone segment')} although nothing had been lost: its expiry and a tail loss probe "
        "look alike.",
        t_start_ns=copies["t_ns"] - copies["since_previous_ns"],
        t_end_ns=np.where(answered != NULL, answered, copies["t_ns"]),
    )


def _first_spurious(runs: TimeoutRuns, spurious: Array) -> Array:
    """Position of each run's first spurious expiry, or of the next one of any run."""
    so_far = np.cumsum(spurious)
    first = np.searchsorted(so_far, np.concatenate(([0], so_far))[runs.first] + 1)
    return np.minimum(first, len(spurious) - 1)


def _findings(
    facts: Facts,
    runs: TimeoutRuns,
    which: Array,
    begun: Array,
    recovery: tuple[Array, Array, Array],
    late_ack_ms: float,
) -> Iterator[Finding | Undecided]:
    rows, lateness = runs.rows, last_ack_lateness_ns(facts, runs)
    recovery_ns, recovery_end, state_end = recovery
    copies = facts.rows(
        "segments",
        ["packet", "t_ns", "len", "spurious"],
        where={"transmission": ("retransmission",)},
        valid=("t_ns",),
        keys=runs.key[which],
    ).sorted_by("t_ns")
    spurious_copies = copies.take(copies["spurious"] == 1)
    # Where no retransmission after the silence was spurious, the sender undid the timeout or recovered from losses.
    possible = copies.take(copies["spurious"] != 0).any_between("t_ns", runs.key, runs.t_end_ns, recovery_end)
    repeats = possible & spurious_copies.any_between("t_ns", runs.key, runs.t_end_ns, recovery_end)
    unsure = which[(possible & ~repeats)[which]]
    if len(unsure):
        yield facts.undecided(
            CODE,
            runs.key[unsure],
            "It is unknown whether the sender retransmitted spuriously after a spurious timeout or recovered from losses.",
            t_start_ns=runs.t_end_ns[unsure],
            t_end_ns=recovery_end[unsure],
        )
    recovery_ns = np.where(repeats, recovery_ns, 0)
    recovery_end = np.where(repeats, recovery_end, runs.t_end_ns)
    # Expiries before a run's first spurious one were needed: the cost starts after them.
    start = rows["silent_from_ns"][begun]
    idle_ns = runs.t_end_ns - start
    end = np.maximum(runs.t_end_ns, recovery_end)

    def describe(i: int) -> Description:
        run = int(which[i])
        part, t_first = runs.members(run), int(rows["t_ns"][begun[run]])
        kinds, rto_ns, spurious = rows["kind"][part], rows["rto_ns"][part][0], runs.spurious[part]
        # What was in the device's queue when the last ACK arrived passes the tap after it.
        until = max(int(end[run]), t_first, int(state_end[run]) if repeats[run] else 0)
        copies = _between(spurious_copies, int(runs.key[run]), t_first, until)
        late_ms = lateness[run] / 1e6 if lateness[run] != NULL else None
        evidence = [str(kind) for kind in runs.evidence[part][spurious]]
        idle_s, recovery_s = int(idle_ns[run]) / 1e9, int(recovery_ns[run]) / 1e9
        values: dict[str, float | int | str] = {
            "expiries_count": len(kinds),
            "spurious_expiries_count": int(spurious.sum()),
            **{
                f"{kind}_count": int((kinds == kind).sum()) for kind in ("spurious", "ack_lost", "undecided", "genuine")
            },
            "first_expiry_s": t_first / 1e9,
            "idle_s": idle_s,
            "recovery_s": recovery_s,
            "spurious_retransmissions_count": len(copies),
            "spurious_retransmissions_bytes": int(copies["len"].sum()),
            "rto_ms": int(rto_ns) / 1e6 if rto_ns != NULL else "unknown",
            "spurious_evidence": ", ".join(sorted({kind for kind in evidence if kind != "None"})) or "order of ACKs",
        }
        if late_ms is not None:
            values["ack_late_ms"] = late_ms
        often = f"{times(int(spurious.sum()))}, first " if spurious.sum() > 1 else ""
        then = f" and then retransmitted {count(len(copies), 'segment')} spuriously" if len(copies) else ""
        return Description(
            f"the retransmission timer expired {often}at {moment(t_first)} although "
            f"{_why(set(kinds[spurious]), late_ms, late_ack_ms)}; the sender was idle for "
            f"{duration(idle_s)}{then}; {duration(float(cases.charged_s[i]))} were lost.",
            values,
            evidence={"timeouts": rows["packet"][part], "segments": [*runs.packets(run), *copies["packet"]]},
            confidence=min((_CONFIDENCE.get(kind, 0.9) for kind in evidence), default=0.9),
        )

    cost_s = (idle_ns / 1e9 + recovery_ns / 1e9)[which]
    first_packet = rows["packet"][runs.first[which]]
    cases = Cases(facts, CODE, runs.key[which], start[which], end[which], cost_s, first_packet, "timeouts")
    yield from cases.findings(describe, what="a spurious timeout")


def _why(kinds: set[str], late_ms: float | None, late_ack_ms: float) -> str:
    if kinds == {"ack_lost"}:
        return "the data had arrived (only its ACKs were lost)"
    if kinds == {"undecided"}:
        return "the data had arrived (its ACKs were late or lost)"
    if late_ms is None:
        return "nothing had been lost (the data or its ACK was late)"
    if late_ms >= late_ack_ms:
        return f"nothing had been lost (by its own timestamp the ACK was {late_ms:.0f} ms late)"
    return "the data had not been lost (the ACK that arrived was new: earlier ACKs were lost or late)"


def _between(rows: Rows, key: int, t_start: int, t_end: int) -> Rows:
    rows = rows.of_key(key)
    return rows.take((rows["t_ns"] >= t_start) & (rows["t_ns"] <= t_end))
