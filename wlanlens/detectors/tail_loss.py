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
    TransferEnds,
    Undecided,
    duration,
    moment,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "tail_loss"

_UNSEEN = (
    "more data followed, and away from the sender the capture does not show whether a copy of it was lost before the tap; "
    "a capture at the sender would."
)
_OPEN = "this capture does not show whether it had been lost."
_CUT = "the capture ends before all of it was acknowledged, and more data may have followed."


@detector(
    CODE,
    needs=("timeouts", "segments", "flows"),
    explains=TIMERS,
    saving="setback",
    remedy=Remedy(
        "Sender: tail loss probe on (RACK-TLP; Linux: `net.ipv4.tcp_early_retrans=3` and SACK), which finds "
        "the loss after two round trips. Application: write the end of a message together with the data before "
        "it. Path: avoid the loss, see the finding that caused it.",
        "capture at the sender again: the end of the transfer arrives, or a probe follows within two round trips.",
    ),
)
def tail_loss(trace: Trace, *, quiet_ms: float = 50.0, handshake_factor: float = 2.0) -> Iterator[Finding | Undecided]:
    """The end of a transfer was lost, and only a timer could find the loss.

    What it finds
    -------------
    Losses among the last segments that the application had to send: too little data followed for the receiver to send three
    duplicate ACKs, so the sender waited for its retransmission timer or for a tail loss probe. The cost is that wait.

    Why it happens
    --------------
    Fast retransmit needs three duplicate ACKs, hence three segments after the loss. Short transfers and the ends of long
    ones do not have them. The timer takes 200 ms or more, a probe two round trips.

    How it decides
    --------------
    A genuine expiry in `timeouts`, or a tail loss probe that was not spurious and that no expiry follows before its ACK. Fewer
    than three duplicate ACKs in a row had requested the missing byte, and no new data was sent until everything sent before
    was acknowledged; undecided where the capture ends before that, unless the sender had sent its FIN.
    `quiet_ms`: no new data within this time after that ACK either: otherwise the transfer was blocked in its middle, not at its
    end. 50 ms is above a sender's reaction and below most pauses of an application.
    `handshake_factor`: away from the sender new data arrives a round trip after the ACK; this many round trips of the
    handshake's short packets are added to the quiet time.

    What fools it
    -------------
    An application that pauses ends a transfer, too: a loss before its pause counts. A pause without a loss has no timer, and
    lost SYNs are not data: no finding. Where the kind of expiry or probe is unknown: undecided. Away from the sender,
    segments lost after the tail are seen when they are retransmitted, and are included. If the connection sends more
    later, the case is undecided there: an apparent pause may be one more loss.

    References
    ----------
    RFC 8985 section 7 (tail loss probe), RFC 6298, RFC 5681 section 3.2.
    """
    facts = Facts.of(trace)
    quiet = TransferEnds(facts, int(quiet_ms * 1e6), handshake_factor)
    runs = facts.cached(TimeoutRuns)
    yield from _by_timer(facts, runs, quiet)
    yield from _by_probe(facts, runs, quiet)


def _by_timer(facts: Facts, runs: TimeoutRuns, quiet: TransferEnds) -> Iterator[Finding | Undecided]:
    last = runs.rows.take(runs.last)
    # Without an ACK to the end nobody can say whether the application had more to send: that is no_answer.
    which = np.flatnonzero(runs.answered & ~runs.spurious[runs.last] & (last["rel_seq"] > 0))
    if not len(which):
        return
    rows, key, t = runs.rows, runs.key[which], last["t_ns"][which]
    tail, answered, _ = quiet.at_end(key, last["packet"][which], t, (last["rel_seq"] + last["flight_bytes"])[which])
    genuine, unseen = last["kind"][which] == "genuine", quiet.may_be_unseen(key, t)
    cut = (answered == NULL) & ~quiet.closed(key, t)

    def describe(i: int) -> Description:
        part, wait_s = runs.members(int(lost[i])), float(wait[i])
        return Description(
            f"the end of a transfer was lost, and the retransmission timer found the loss {duration(wait_s)} after the last "
            f"data, at {moment(rows['t_ns'][part][-1])}.",
            values={
                "found_by": "retransmission timer",
                "expiries_count": part.stop - part.start,
                "wait_s": wait_s,
                "outstanding_bytes": int(rows["flight_bytes"][part][0]),
            },
            evidence={"timeouts": rows["packet"][part], "segments": runs.packets(int(lost[i]))},
            confidence=0.95,
        )

    lost = which[tail & genuine & ~unseen & ~cut]
    wait, packet = (last["t_ns"] - runs.t_start_ns)[lost] / 1e9, last["packet"][lost]
    cases = Cases(facts, CODE, runs.key[lost], runs.t_start_ns[lost], runs.t_end_ns[lost], wait, packet, "timeouts")
    yield from cases.findings(describe, what="a lost tail")
    open_ = ((~genuine, _OPEN), (genuine & unseen, _UNSEEN), (genuine & ~unseen & cut, _CUT))
    for n, why in ((which[tail & case], why) for case, why in open_):
        if len(n):
            text = f"The timer retransmitted the end of a transfer; {why}"
            yield facts.undecided(CODE, runs.key[n], text, t_start_ns=runs.t_start_ns[n], t_end_ns=runs.t_end_ns[n])


def _by_probe(facts: Facts, runs: TimeoutRuns, quiet: TransferEnds) -> Iterator[Finding | Undecided]:
    probes = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "since_previous_ns", "spurious", "flight_bytes", "trigger"],
        where={"trigger": ("tail_loss_probe", "undecided"), "trigger_evidence": ("probe_timer", "timer_expired")},
        valid=("t_ns", "rel_seq"),
    )
    probes = probes.take(probes["spurious"] != 1)
    if not len(probes):
        return
    t, start = probes["t_ns"], probes["t_ns"] - np.maximum(probes["since_previous_ns"], 0)
    end = probes["rel_seq"] + np.maximum(probes["len"], 1)
    tail, answered, packet = quiet.at_end(probes.key, probes["packet"], t, end)
    # Without an ACK to the end nobody knows whether more was to come; or a later expiry found it.
    tail &= answered != NULL
    tail &= ~runs.rows.any_between("t_ns", probes.key, t + 1, answered - 1)
    known, unseen = probes["spurious"] == 0, quiet.may_be_unseen(probes.key, t)
    lost = np.flatnonzero(tail & known & ~unseen)
    for case, why in ((tail & ~known, _OPEN), (tail & known & unseen, _UNSEEN)):
        if case.any():
            text = f"A probe retransmitted the end of a transfer; {why}"
            yield facts.undecided(CODE, probes.key[case], text, t_start_ns=start[case], t_end_ns=answered[case])

    def describe(i: int) -> Description:
        n, wait_s = int(lost[i]), float(wait[i])
        timer = "tail loss probe" if probes["trigger"][n] == "tail_loss_probe" else "probe or retransmission timer"
        return Description(
            f"the end of a transfer was lost, and a {timer} found the loss {duration(wait_s)} after it had been "
            f"sent, at {moment(t[n])}.",
            values={
                "found_by": timer,
                "expiries_count": 0,
                "wait_s": wait_s,
                "outstanding_bytes": int(probes["flight_bytes"][n]),
            },
            evidence={"segments": [probes["packet"][n], packet[n]]},
            confidence=0.9,
        )

    wait = (t - start)[lost] / 1e9
    cases = Cases(facts, CODE, probes.key[lost], start[lost], answered[lost], wait, probes["packet"][lost])
    yield from cases.findings(describe, what="a lost tail")
