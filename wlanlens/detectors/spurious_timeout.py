from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.ack_timestamps import AckTimestamps
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.detection.toolkit.timeout_runs import SPURIOUS_KINDS, TimeoutRuns
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: How far each kind of evidence is to be trusted.
_TRUST = {"other_capture": 1.0, "timestamp": 0.99, "dsack": 0.97, "acked": 0.95, "min_rtt": 0.9}


@detector("spurious_timeout", needs=("timeouts", "intervals", "segments", "flows"))
def spurious_timeout(trace: Trace, *, late_ack_ms: float = 20.0) -> Iterator[Finding | Undecided]:
    """The retransmission timer expired though nothing had been lost.

    What it finds
    -------------
    TimeoutRuns of timer expiries (RFC 6298) for data that had arrived: the ACKs were late, or the ACKs alone were lost. The
    cost is the silence from the last data sent to the first ACK of new data, and the recovery after it, in which the
    sender repeated what the receiver had.

    Why it happens
    --------------
    An adapter or driver keeps received ACKs for longer than the timeout; a radio link retries a frame for hundreds of
    milliseconds; a handoff or a fade holds packets up. The timer cannot know. A sender without F-RTO (RFC 5682) or
    Eifel (RFC 3522) then repeats the whole flight and starts slowly again.

    How it decides
    --------------
    By `kind` in `timeouts`, which rests on evidence, best first: the first ACK's echoed timestamp is older than the
    resend, a DSACK reports the copy as a duplicate, the bytes after it are acknowledged by their originals, the ACK
    came sooner after the resend than any round trip. Expiries between two ACKs of new data are one finding.
    `late_ack_ms`:
    from this lateness on, by its own timestamp against the ACK before, the ACK that ended the run is said to have been
    late itself; 20 ms is five ticks of a 4 ms timer and above the jitter of a path.

    What fools it
    -------------
    Without timestamps and DSACK a capture at the sender cannot tell late ACKs from lost data or lost ACKs: such
    expiries are left undecided. A recovery after a proved one counts where a resend in it is known to have been spurious,
    and is left undecided where no need is known. A tail loss probe is no expiry, a genuine timeout is in `timeouts` as genuine: both stay silent.

    References
    ----------
    RFC 6298, RFC 3522 and RFC 4015 (Eifel), RFC 5682 (F-RTO), RFC 3708 (DSACK); the study of 802.11b adapters on USB,
    where held ACKs cause it.
    """
    facts = Facts.of(trace)
    runs = facts.cached(TimeoutRuns)
    if not len(runs):
        return
    kinds = runs.rows["kind"]
    spurious = np.isin(kinds, SPURIOUS_KINDS)
    found = runs.any_of(spurious)
    length = runs.last - runs.first + 1
    # In a run with a spurious expiry those before it may have been spurious as well.
    before = np.arange(len(kinds)) < np.repeat(np.where(found, _begun(runs, spurious), len(kinds)), length)
    open_ = (kinds == "undecided") & before
    if found.any():
        yield from _findings(facts, runs, np.flatnonzero(found), late_ack_ms)
    if open_.any():
        yield facts.undecided(
            "spurious_timeout",
            runs.rows.key[open_],
            f"{count(int(open_.sum()), 'timer expiry', 'timer expiries')}: neither echoed timestamps, DSACK nor the "
            "times of the ACKs tell here whether the segment had been lost; a capture at the other end would.",
            t_start_ns=runs.rows["silent_from_ns"][open_],
            t_end_ns=_open_until(facts, runs)[open_],
        )


def _begun(runs: TimeoutRuns, spurious: Array) -> Array:
    """The position of each run's first spurious expiry, or of the next there is."""
    begun = np.searchsorted(np.cumsum(spurious), np.concatenate(([0], np.cumsum(spurious)))[runs.first] + 1)
    return np.minimum(begun, len(spurious) - 1)


def _open_until(facts: Facts, runs: TimeoutRuns) -> Array:
    """To when each expiry matters: the start of the next one's silence, or the end of the recovery after the last."""
    until = np.append(runs.rows["silent_from_ns"][1:], 0)
    until[runs.last] = np.maximum(runs.t_end_ns, _recoveries(facts, runs)[1])
    return until


def _findings(facts: Facts, runs: TimeoutRuns, which: Array, late_ack_ms: float) -> Iterator[Finding | Undecided]:
    rows = runs.rows
    late = _lateness(facts, runs)
    recovery_ns, recovery_end, state_end = _recoveries(facts, runs)
    resends = facts.rows(
        "segments",
        ["packet", "t_ns", "len", "spurious"],
        where={"transmission": ("retransmission",)},
        valid=("t_ns",),
        keys=runs.key[which],
    )
    # Where every resend after the silence was needed, or none came, the sender had undone the timeout or recovers from loss.
    maybe = resends.take(resends["spurious"] != 0).sorted_by("t_ns")
    repeats = maybe.any_between("t_ns", runs.key, runs.t_end_ns, recovery_end)
    resends = resends.take(resends["spurious"] == 1)
    unsure = np.intersect1d(which, np.flatnonzero(repeats))
    repeats &= resends.sorted_by("t_ns").any_between("t_ns", runs.key, runs.t_end_ns, recovery_end)
    unsure = unsure[~repeats[unsure]]
    if len(unsure):
        yield facts.undecided(
            "spurious_timeout",
            runs.key[unsure],
            "Whether the sender repeated data spuriously after a spurious timeout or recovered from losses cannot be told.",
            t_start_ns=runs.t_end_ns[unsure],
            t_end_ns=recovery_end[unsure],
        )
    recovery_ns = np.where(repeats, recovery_ns, 0)
    recovery_end = np.where(repeats, recovery_end, runs.t_end_ns)
    life = facts.lifetime_s(runs.key)
    # Expiries before the first spurious one of a run had their reason: the cost begins after them.
    spurious = np.isin(rows["kind"], SPURIOUS_KINDS)
    begun = _begun(runs, spurious)
    t_begun = rows["silent_from_ns"][begun]
    cost = runs.t_end_ns - t_begun + recovery_ns
    listed, others = costliest(cost[which])
    for run in which[listed].tolist():
        part, key, first = runs.members(run), runs.key[run], int(begun[run])
        kinds, mine = rows["kind"][part], spurious[part]
        t_start, t_idle = int(t_begun[run]), int(runs.t_end_ns[run])
        t_end = max(t_idle, int(recovery_end[run]))
        # What stood in the device's queue when the last ACK came passes the tap after it.
        again = _within(resends, key, int(rows["t_ns"][first]), max(t_end, int(state_end[run]) if repeats[run] else 0))
        idle_s, recovery_s = (t_idle - t_start) / 1e9, int(recovery_ns[run]) / 1e9
        late_ms = late[run] / 1e6 if late[run] != NULL else None
        by = [b for k, b in zip(kinds, rows["kind_evidence"][part], strict=True) if k in SPURIOUS_KINDS]
        why = _why(set(kinds[mine]), late_ms, late_ack_ms)
        values: dict[str, float | int | str] = {
            "expiries_count": len(kinds),
            "spurious_count": int((kinds == "spurious").sum()),
            "ack_lost_count": int((kinds == "ack_lost").sum()),
            "undecided_count": int((kinds == "undecided").sum()),
            "genuine_count": int((kinds == "genuine").sum()),
            "first_expiry_s": int(rows["t_ns"][first]) / 1e9,
            "idle_s": idle_s,
            "recovery_s": recovery_s,
            "spurious_retransmissions_count": len(again),
            "spurious_retransmissions_bytes": int(again["len"].sum()),
            "rto_ms": int(rows["rto_ns"][part][0]) / 1e6 if rows["rto_ns"][part][0] != NULL else "unknown",
            "evidence_by": ", ".join(sorted({str(b) for b in by if b})) or "order of ACKs",
        }
        if late_ms is not None:
            values["ack_late_ms"] = late_ms
        yield facts.finding(
            "spurious_timeout",
            key,
            t_start,
            t_end,
            cost_s=idle_s + recovery_s,
            lifetime_s=life[run],
            confidence=min((_TRUST.get(str(b), 0.9) for b in by), default=0.9),
            values=values,
            evidence={"timeouts": rows["packet"][part], "segments": [*runs.packets(run), *again["packet"]]},
            sentence=(
                f"{facts.subject(key)}: the retransmission timer expired {_times(int(mine.sum()))} "
                f"{moment(rows['t_ns'][first])} though {why}; the sender stood idle for {duration(idle_s)} and sent "
                f"{count(len(again), 'segment')} again spuriously, {duration(idle_s + recovery_s)} in all."
            ),
        )
    which = which[others]
    yield from facts.remainder_finding(
        "spurious_timeout",
        runs.key[which],
        t_begun[which],
        runs.t_end_ns[which],
        cost[which],
        evidence=("timeouts", rows["packet"][runs.first[which]]),
        what="a spurious timeout",
    )


def _times(number: int) -> str:
    return "at" if number == 1 else f"{number} times from"


def _why(kinds: set[str], late_ms: float | None, late_ack_ms: float) -> str:
    if kinds == {"ack_lost"}:
        return "the data had arrived and only its ACKs were lost"
    if late_ms is not None and late_ms >= late_ack_ms:
        return f"nothing had been lost: the ACK came {late_ms:.0f} ms late, by its own timestamp"
    if late_ms is not None:
        return (
            "the data had not been lost: the ACK that came had only just been made, so ACKs before it were lost or late"
        )
    return "nothing had been lost: the data or its ACK was late"


def _lateness(facts: Facts, runs: TimeoutRuns) -> Array:
    """ns by which each run's last ACK was late on its way, against the ACK before it; NULL without timestamps."""
    stamps = facts.cached(AckTimestamps)
    i = stamps.positions(runs.key ^ 1, runs.rows["progress_packet"][runs.last])
    known = i > 0
    known[known] &= (stamps.key[i[known] - 1] == stamps.key[i[known]]) & (stamps.tick[i[known]] > 0)
    out = np.full(len(i), NULL, np.int64)
    out[known] = stamps.lateness_ns(i[known], i[known] - 1)
    return out


def _recoveries(facts: Facts, runs: TimeoutRuns) -> tuple[Array, Array, Array]:
    """ns of loss recovery after each run's expiries, its end, and the end of the sender's state."""
    spans = facts.rows("intervals", ["t_start_ns", "t_end_ns", "timeout_packet"], where={"state": ("loss_recovery",)})
    spans = spans.take(spans["timeout_packet"] != NULL)
    packet = runs.rows["packet"]
    order = np.argsort(packet, kind="stable")
    at_ = np.minimum(np.searchsorted(packet[order], spans["timeout_packet"]), len(packet) - 1)
    expiry = order[at_]
    mine = (packet[expiry] == spans["timeout_packet"]) & (runs.rows.key[expiry] == spans.key)
    run = np.searchsorted(runs.first, expiry[mine], side="right") - 1
    start, end = spans["t_start_ns"][mine], spans["t_end_ns"][mine]
    # A sender without SACK stays in that state for longer: the recovery is over with the ACK of all sent before.
    acks = facts.cached(Acks)
    sent = runs.rows["rel_seq"][runs.first] + runs.rows["flight_bytes"][runs.first]
    acked = acks.t_ns(acks.first_covering(runs.key, sent))[run]
    total, until, state = np.zeros(len(runs), np.int64), np.array(runs.t_end_ns), np.array(runs.t_end_ns)
    np.maximum.at(state, run, end)
    end = np.where(acked == NULL, end, np.clip(acked, start, end))
    np.add.at(total, run, end - start)
    np.maximum.at(until, run, end)
    return total, until, state


def _within(rows: Rows, key: int, t_start: int, t_end: int) -> Rows:
    a, b = np.searchsorted(rows.key, [key, key + 1])
    t = rows["t_ns"][a:b]
    return rows.take(np.flatnonzero((t >= t_start) & (t <= t_end)) + a)
