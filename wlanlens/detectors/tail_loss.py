from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.detection.toolkit.timeout_runs import TimeoutRuns
from wlanlens.formatting import duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

_UNSEEN = (
    "but more data came later, and away from the sender it cannot be told whether an earlier copy of that was lost before "
    "the tap: a capture at the sender would tell."
)
#: A later round trip may take so many times as long as the handshake's, of short packets.
_SPREAD = 2.0


@detector("tail_loss", needs=("timeouts", "segments", "flows"))
def tail_loss(trace: Trace, *, quiet_ms: float = 50.0) -> Iterator[Finding | Undecided]:
    """The end of a transfer was lost, and only a timer could find it.

    What it finds
    -------------
    Losses among the last segments that the application had to send: too little later data made the receiver send
    duplicate ACKs, so the sender waited for its retransmission timer or for a tail loss probe. The cost is that wait.

    Why it happens
    --------------
    Fast retransmission needs three duplicate ACKs, hence three segments after the loss. Short transfers and the ends of
    long ones do not have them. The timer takes 200 ms at least, a probe two round trips.

    How it decides
    --------------
    A genuine expiry in `timeouts`, or a needed retransmission whose trigger is a tail loss probe and which no expiry
    follows before its ACK; before it fewer than three duplicate ACKs in a row since the last data, and after it no new
    data until everything sent before is acknowledged. `quiet_ms`: nor within this time after that ACK, for then the
    transfer was not at its end but blocked in its middle; 50 ms is above a sender's reaction and below most pauses of
    an application.

    What fools it
    -------------
    An application that pauses ends a transfer, too: a loss before its pause counts. A pause without a loss has no timer
    and stays silent, and so do lost SYNs. Where the kind of the expiry cannot be told, the case is left undecided. Away
    from the sender what was lost behind the tail is seen when it is sent again, and new data comes a round trip after the
    ACK: both are allowed for; where the connection sends more later on, it is left undecided there, for what seems a pause
    may be one more loss.

    References
    ----------
    RFC 8985 section 7 (tail loss probe), RFC 6298, RFC 5681 section 3.2.
    """
    facts = Facts.of(trace)
    quiet_ns = int(quiet_ms * 1e6)
    runs = facts.cached(TimeoutRuns)
    last = runs.rows.take(runs.last)
    kinds = last["kind"]
    mine = np.flatnonzero(np.isin(kinds, ("genuine", "undecided")) & (last["rel_seq"] > 0))
    if len(mine):
        end = (last["rel_seq"] + last["flight_bytes"])[mine]
        tail, _, _ = _ends(facts, last.key[mine], runs.t_start_ns[mine], last["t_ns"][mine], end, quiet_ns)
        unseen = _may_be_unseen(facts, last.key[mine], last["t_ns"][mine])
        yield from _by_timer(facts, runs, mine[tail & (kinds[mine] == "genuine") & ~unseen])
        for which, why in (
            (tail & (kinds[mine] == "undecided"), "whether it had been lost cannot be told from this capture."),
            (tail & (kinds[mine] == "genuine") & unseen, _UNSEEN),
        ):
            open_ = mine[which]
            if len(open_):
                yield facts.undecided(
                    "tail_loss",
                    last.key[open_],
                    f"The timer repeated the end of a transfer; {why}",
                    t_start_ns=runs.t_start_ns[open_],
                    t_end_ns=runs.t_end_ns[open_],
                )
    yield from _by_probe(facts, runs, quiet_ns)


def _ends(facts: Facts, keys: Array, since: Array, t: Array, end: Array, quiet_ns: int) -> tuple[Array, Array, Array]:
    """Whether nothing newer was sent from `t` until byte `end` was acknowledged and `quiet_ns` beyond, nor three
    duplicate ACKs came from `since` on; when that ACK came (NULL: never); its packet."""
    acks = facts.cached(Acks)
    reached = acks.first_covering(keys, _sent_to(facts, keys, end))
    answered = acks.t_ns(reached)
    threes = facts.rows("segments", ["t_ns", "dupacks"], where={"kind": ("dupack",)}, valid=("t_ns",), keys=keys ^ 1)
    threes = threes.take(threes["dupacks"] >= 3)
    # Away from the sender what it sends for that ACK comes as late as the ACK goes there and it back.
    whole = facts.flow_values("handshake_rtt_ns", keys)
    quiet = quiet_ns + np.where(
        facts.tap_away_from_sender(keys) & (whole != NULL), (_SPREAD * whole).astype(np.int64), 0
    )
    newer = _first_sends(facts, keys).any_between(
        "t_ns", keys, t + 1, np.where(answered == NULL, 2**62, answered + quiet)
    )
    told = threes.any_between("t_ns", keys ^ 1, since, t)
    return ~newer & ~told, answered, acks.packet(reached)


def _first_sends(facts: Facts, keys: Array) -> Rows:
    """New data, never sent before."""
    return facts.rows(
        "segments", ["t_ns"], where={"kind": ("data",), "transmission": ("first",)}, valid=("t_ns",), keys=keys
    )


def _may_be_unseen(facts: Facts, keys: Array, t: Array) -> Array:
    """Whether more may have been sent than the tap saw: away from the sender, where the connection sends new data later on,
    that or a copy of it may have been lost before the tap."""
    return facts.tap_away_from_sender(keys) & _first_sends(facts, keys).any_between(
        "t_ns", keys, t + 1, np.full(len(keys), 2**62)
    )


def _sent_to(facts: Facts, keys: Array, end: Array) -> Array:
    """Up to which byte a sender had sent of which the tap saw all to `end`: what was lost behind that and before the tap
    shows when it is sent again, in order."""
    lost = facts.rows(
        "segments",
        ["rel_seq", "len", "lost_before_tap"],
        where={"kind": ("data",), "transmission": ("retransmission",)},
        valid=("rel_seq",),
        keys=keys,
    )
    lost = lost.take(lost["lost_before_tap"] == 1).sorted_by("rel_seq", "len")
    at_ = lost.last_until("rel_seq", keys, end)
    begins = (at_ >= 0) & (lost["rel_seq"][at_] == end) if len(lost) else np.zeros(len(keys), bool)
    if not begins.any():
        return end
    after = lost["rel_seq"] + lost["len"]
    breaks = np.append((lost.key[1:] != lost.key[:-1]) | (lost["rel_seq"][1:] > after[:-1]), True)
    last = np.flatnonzero(breaks)[np.searchsorted(np.flatnonzero(breaks), np.maximum(at_, 0))]
    return np.where(begins, np.maximum(end, after[last]), end)


def _by_timer(facts: Facts, runs: TimeoutRuns, which: Array) -> Iterator[Finding]:
    rows, life = runs.rows, facts.lifetime_s(runs.key)
    waited = rows["t_ns"][runs.last] - runs.t_start_ns
    listed, others = costliest(waited[which])
    for run in which[listed].tolist():
        part, key = runs.members(run), runs.key[run]
        wait_s = int(waited[run]) / 1e9
        yield facts.finding(
            "tail_loss",
            key,
            int(runs.t_start_ns[run]),
            int(runs.t_end_ns[run]),
            cost_s=wait_s,
            lifetime_s=life[run],
            confidence=0.95,
            values={
                "found_by": "retransmission timer",
                "expiries_count": part.stop - part.start,
                "wait_s": wait_s,
                "outstanding_bytes": int(rows["flight_bytes"][part][0]),
            },
            evidence={"timeouts": rows["packet"][part], "segments": runs.packets(run)},
            sentence=(
                f"{facts.subject(key)}: the end of a transfer was lost, and the retransmission timer found it "
                f"{duration(wait_s)} after the last data, at {moment(rows['t_ns'][part][-1])}."
            ),
        )
    which = which[others]
    yield from facts.remainder_finding(
        "tail_loss",
        runs.key[which],
        runs.t_start_ns[which],
        runs.t_end_ns[which],
        waited[which],
        evidence=("timeouts", rows["packet"][runs.last[which]]),
        what="a lost tail",
    )


def _by_probe(facts: Facts, runs: TimeoutRuns, quiet_ns: int) -> Iterator[Finding | Undecided]:
    probes = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "since_previous_ns", "spurious", "flight_bytes"],
        where={"trigger": ("tail_loss_probe",)},
        valid=("t_ns", "rel_seq"),
    )
    probes = probes.take(probes["spurious"] == 0)
    if not len(probes):
        return
    t, waited = probes["t_ns"], np.maximum(probes["since_previous_ns"], 0)
    end = probes["rel_seq"] + np.maximum(probes["len"], 1)
    tail, answered, packet = _ends(facts, probes.key, t - waited, t, end, quiet_ns)
    unseen = tail & _may_be_unseen(facts, probes.key, t)
    if unseen.any():
        yield facts.undecided(
            "tail_loss",
            probes.key[unseen],
            f"A probe repeated the end of a transfer; {_UNSEEN}",
            t_start_ns=(t - waited)[unseen],
            t_end_ns=t[unseen],
        )
    tail &= ~unseen
    later = np.where(answered == NULL, 2**62, answered - 1)
    tail &= ~runs.rows.any_between("t_ns", probes.key, t + 1, later)
    life = facts.lifetime_s(probes.key)
    which = np.flatnonzero(tail)
    listed, others = costliest(waited[which])
    for i in which[listed].tolist():
        key, wait_s = probes.key[i], int(waited[i]) / 1e9
        yield facts.finding(
            "tail_loss",
            key,
            int(t[i] - waited[i]),
            int(answered[i]) if answered[i] != NULL else int(t[i]),
            cost_s=wait_s,
            lifetime_s=life[i],
            confidence=0.9,
            values={
                "found_by": "tail loss probe",
                "expiries_count": 0,
                "wait_s": wait_s,
                "outstanding_bytes": int(probes["flight_bytes"][i]),
            },
            evidence={"segments": [probes["packet"][i], packet[i]]},
            sentence=(
                f"{facts.subject(key)}: the end of a transfer was lost, and a tail loss probe found it {duration(wait_s)} "
                f"after it had been sent, at {moment(t[i])}."
            ),
        )
    which = which[others]
    yield from facts.remainder_finding(
        "tail_loss",
        probes.key[which],
        (t - waited)[which],
        t[which],
        waited[which],
        evidence=("segments", probes["packet"][which]),
        what="a lost tail",
    )
