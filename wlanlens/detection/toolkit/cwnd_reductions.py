"""When a sender reduced its congestion window: timeouts and fast retransmits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.dupack_answers import third_dupacks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array

_COLUMNS = ("t_ns", "packet", "rel_seq", "spurious", "flight_bytes", "trigger", "trigger_evidence", "lost_before_tap")


@dataclass(frozen=True)
class CwndReductions:
    """Retransmissions at which senders reduced their congestion window, by key and time.

    Attributes
    ----------
    rows : Rows
        Of `segments`: columns `t_ns packet rel_seq spurious flight_bytes lost_before_tap`. `t_ns` is that of the third duplicate ACK
        where the answer waited in the queue before the tap.
    number : array
        Retransmissions up to each, itself included, without those that may be tail loss probes: these are no go-back-N.
    spurious : array
        Spurious retransmissions up to each, itself included.
    fast : array of bool
        A fast retransmit; False for a timeout.
    with_sack : array of bool
        Whether the connection uses SACK.
    recovery_point : array
        The highest byte sent before each.
    """

    rows: Rows
    number: Array
    spurious: Array
    fast: Array
    with_sack: Array
    recovery_point: Array

    def unanswered_partial_acks(self, facts: Facts) -> Array:
        """Whether each but the first is a timeout because the sender had left fast recovery at a partial ACK.

        A NewReno sender answers a partial ACK with a retransmission (RFC 6582 section 3.2, step 3); one that sends new data instead
        has left fast recovery (Reno), and where too few duplicate ACKs follow, its timer finds the next loss of the same
        window. One that sends nothing may still be in it: proportional rate reduction (RFC 6937) lets it send nothing. Away
        from the sender, a retransmission may have been lost before the tap.
        """
        seq, last, keys, acks = self.rows["rel_seq"], self.recovery_point[:-1], self.rows.key[1:], facts.cached(Acks)
        next_one = ~self.fast[1:] & self.fast[:-1] & (np.diff(self.number) == 1)
        edge = acks.highest_before(keys, self.rows["packet"][1:]) == seq[1:]
        found = next_one & (seq[1:] > seq[:-1]) & (seq[1:] < last) & edge & ~self.with_sack[1:]
        found &= ~facts.tap_away_from_sender(keys)
        if not found.any():
            return np.asarray(found)
        where = {"kind": ("data",), "transmission": ("first",)}
        new = facts.rows("segments", ["t_ns"], where=where, valid=("t_ns",), keys=np.unique(keys))
        shown = acks.t_ns(acks.first_covering(keys, seq[1:]))
        return np.asarray(found & new.any_between("t_ns", keys, shown, self.rows["t_ns"][1:]))


def cwnd_reductions(facts: Facts, dupacks: int, answer_ns: int) -> CwndReductions:
    """Find the rows of `recoveries` and `timeouts`, and without SACK retransmissions that answer duplicate ACKs.

    Parameters
    ----------
    dupacks : int
        Duplicate ACKs that cause a fast retransmit.
    answer_ns : int
        How soon it follows them.
    """
    copies = facts.rows(
        "segments",
        list(_COLUMNS),
        where={"transmission": ("retransmission",)},
        valid=("t_ns", "rel_seq", "flight_bytes"),
    )
    copies = copies.take(copies["rel_seq"] > 0)
    timer, recovers = np.zeros(len(copies), bool), np.zeros(len(copies), bool)
    by_sack = (copies["trigger"] == "sack") | (copies["trigger_evidence"] == "sack_blocks")
    keys_with_sack = np.unique(copies.key[by_sack])
    with_sack = np.isin(copies.key, keys_with_sack)
    expiries, begun = facts.rows("timeouts", ["packet"]), facts.rows("recoveries", ["packet", "dupacks"])
    timer[_positions(copies.key, copies["packet"], expiries.key, expiries["packet"])] = True
    recovers[_positions(copies.key, copies["packet"], begun.key, begun["packet"])] = True
    # Linux counts duplicate ACKs on over an ACK that ends a recovery.
    recovers &= (copies["trigger"] == "fast") & (copies["trigger_evidence"] == "duplicate_acks")
    # Without SACK or duplicate ACKs it answers a partial ACK: the sender had reduced its window before the tap's recovery began.
    begun = begun.take((begun["dupacks"] != 0) | np.isin(begun.key, keys_with_sack))
    recovers[_positions(copies.key, copies["packet"], begun.key, begun["packet"])] = True
    fast = recovers | ~with_sack & _answers_dupacks(facts, copies, dupacks, answer_ns)
    edge = np.maximum(facts.cached(Acks).highest_before(copies.key, copies["packet"]), copies["rel_seq"])
    # Data that the tap saw acknowledged was not retransmitted for duplicate ACKs: that ACK was lost after the tap. At the sender the
    # copy had waited in the queue before the tap.
    asked_ns = _asked_ns(facts, copies)
    queued = (edge > copies["rel_seq"]) & (asked_ns != NULL) & ~with_sack & ~facts.tap_away_from_sender(copies.key)
    fast = ~timer & (fast & (edge == copies["rel_seq"]) | queued)
    sent = np.where(fast & queued, asked_ns, copies["t_ns"])
    copies = Rows(copies.key, {**{name: copies[name] for name in _COLUMNS}, "t_ns": sent})
    which = np.flatnonzero(fast | timer)
    by_timer = (copies["trigger"] == "undecided") & (copies["trigger_evidence"] == "timer_expired")
    number = np.cumsum((copies["trigger"] != "tail_loss_probe") & ~by_timer)[which]
    spurious = np.cumsum(copies["spurious"] == 1)[which]
    point = (edge + copies["flight_bytes"])[which]
    return CwndReductions(copies.take(which), number, spurious, fast[which], with_sack[which], point)


def _asked_ns(facts: Facts, copies: Rows) -> Array:
    """Time of the third duplicate ACK that each retransmission is the first to answer, outside of a recovery; `NULL` for none."""
    third = third_dupacks(facts)
    third = third.take(np.isin(third["phase"], ("open", "disorder"))).sorted_by("rel_ack", "packet")
    out = np.full(len(copies), NULL, np.int64)
    if not len(third) or not len(copies):
        return out
    at = third.last_until("rel_ack", copies.key, copies["rel_seq"])
    asked = (at >= 0) & (third["rel_ack"][at] == copies["rel_seq"]) & (third["packet"][at] < copies["packet"])
    which = np.flatnonzero(asked)
    # The first copy of each third duplicate ACK: rows are in order of time.
    _, first = np.unique(at[which], return_index=True)
    out[which[first]] = third["t_ns"][at[which[first]]]
    return out


def _positions(keys: Array, packets: Array, wanted_keys: Array, wanted: Array) -> Array:
    """Positions of the wanted packets among rows; a packet is in one row of a capture."""
    span = np.int64(1) << 40
    have, want = (keys >> 34) * span + packets, (wanted_keys >> 34) * span + wanted
    order = np.argsort(have, kind="stable")
    at = np.searchsorted(have[order], want)
    known = at < len(have)
    known[known] &= have[order][at[known]] == want[known]
    return np.asarray(order[at[known]])


def _answers_dupacks(facts: Facts, copies: Rows, dupacks: int, answer_ns: int) -> Array:
    """Retransmissions of the left edge soon after enough duplicate ACKs, the first since new data was acknowledged."""
    keys = copies.key
    acks = facts.rows("segments", ["t_ns", "rel_ack", "dupacks"], valid=("t_ns", "rel_ack"), keys=np.unique(keys) ^ 1)
    if not len(keys) or not len(acks):
        return np.zeros(len(keys), bool)
    last = np.maximum(acks.last_until("t_ns", keys ^ 1, copies["t_ns"]), 0)
    t, run = acks["t_ns"][last], acks["dupacks"][last]
    answers = (acks.key[last] == keys ^ 1) & (run >= dupacks) & (acks["rel_ack"][last] == copies["rel_seq"])
    answers &= (copies["t_ns"] >= t) & (copies["t_ns"] - t <= answer_ns)
    # Since the ACK that made this byte the left edge there must be no other retransmission.
    edge_since = acks["t_ns"][np.maximum(last - run, 0)]
    before = np.concatenate(([False], (keys[1:] == keys[:-1]) & (copies["t_ns"][:-1] > edge_since[1:])))
    return np.asarray(answers & ~before)
