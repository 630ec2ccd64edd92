from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detectors._acks import Acks
from wlanlens.detectors._common import NULL, Array, Facts, Rows, at, count, groups, most, time
from wlanlens.finding import Finding
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("repeated_fast_retransmit", needs=("segments", "recoveries", "timeouts"))
def repeated_fast_retransmit(trace: Trace, *, dupacks_count: int = 3, answer_ms: float = 20.0) -> Iterator[Finding]:
    """The window was cut several times for one window of losses.

    What it finds
    -------------
    Fast retransmissions of data that had been sent before the window was last cut (by a fast retransmission or a
    timeout), or that are needless and stand right at the point up to which that cut recovers: the sender took duplicate
    ACKs for a second congestion and halved its window again. The cost is the time from the second cut on until
    everything sent before the last is acknowledged.

    Why it happens
    --------------
    One window of losses asks for one cut. A sender that leaves fast recovery with the first new ACK (Reno) cuts for every
    loss of the window. One that goes back N after a timeout repeats segments that had arrived; their duplicate ACKs look
    like a loss unless it remembers up to where the recovery goes (RFC 6582 section 4, the careful variant).

    How it decides
    --------------
    Cuts are the fast recoveries of `recoveries`, the expiries of `timeouts`, and, in connections without SACK, resends of
    the left edge on the third duplicate ACK that follows new progress. `dupacks_count`: TCP's threshold.
    `answer_ms`: such a resend follows the duplicate ACK within this time; stacks answer within their tick, of 10 ms at
    most. A cut is a repeated one when the segment begins below the highest byte sent before the cut before it, or,
    without SACK, at that byte and needlessly. Cuts in a row are one finding, from the first cut on, the rightful one.

    What fools it
    -------------
    Losses of separate windows begin above the point of the cut before: silent. NewReno's resends on partial ACKs and
    SACK's resends of several holes belong to one cut. A timeout that the sender undid was no cut; where losses of the
    same window follow it, that cannot be seen from outside. A tap behind the loss does not know what the sender had sent:
    resends whose first copy it never saw are left out.

    References
    ----------
    RFC 6582 section 4; Floyd, "TCP and successive fast retransmits", 1994; the Seawind study, which saw both causes.
    """
    facts = Facts.of(trace)
    cuts = _cuts(facts, dupacks_count, int(answer_ms * 1e6))
    if not len(cuts.key):
        return
    fast, same = cuts.fast[1:], cuts.key[1:] == cuts.key[:-1]
    at_point = (cuts.seq[1:] == cuts.point[:-1]) & (cuts.needless[1:] == 1) & ~cuts.sacked[1:]
    below = (cuts.seq[1:] < cuts.point[:-1]) | at_point
    seen = cuts.seen[1:] & cuts.seen[:-1]
    again = np.concatenate(([False], fast & same & below & seen))
    first, length = groups(np.cumsum(~again))
    chains = np.flatnonzero(length > 1)
    if not len(chains):
        return
    begin, last = first[chains], first[chains] + length[chains] - 1
    keys = cuts.key[begin]
    acks = facts.keep(Acks)
    reached = acks.t_ns(acks.first_reaching(keys, cuts.point[last]))
    ends = np.where(reached != NULL, reached, facts.end_ns(keys))
    # The timer takes over: what it costs is its own finding's.
    after = np.minimum(last + 1, len(cuts.key) - 1)
    timed = (after > last) & (cuts.key[after] == keys) & ~cuts.fast[after] & (cuts.t_ns[after] < ends)
    ends = np.maximum(np.where(timed, cuts.t_ns[after], ends), cuts.t_ns[last])
    cost, life = ends - cuts.t_ns[begin + 1], facts.life_s(keys)
    listed, others = most(cost)
    for n in listed.tolist():
        part, key = slice(int(begin[n]), int(last[n]) + 1), int(keys[n])
        number = part.stop - part.start
        yield facts.finding(
            "repeated_fast_retransmit",
            key,
            int(cuts.t_ns[begin[n]]),
            int(ends[n]),
            cost_s=int(cost[n]) / 1e9,
            life_s=float(life[n]),
            confidence=0.9,
            values={
                "cuts_count": number,
                "first_cut": "fast retransmission" if cuts.fast[begin[n]] else "timeout",
                "needless_count": int((cuts.needless[part][1:] == 1).sum()),
            },
            evidence={"segments": cuts.packet[part]},
            sentence=(
                f"{facts.subject(key)}: from {at(cuts.t_ns[begin[n]])} on the window was cut {count(number, 'time')} for "
                f"one window of losses; recovery went on for {time(int(cost[n]) / 1e9)} after the second cut."
            ),
        )
    yield from facts.rest(
        "repeated_fast_retransmit",
        keys[others],
        cuts.t_ns[begin[others]],
        ends[others],
        cost[others],
        evidence=("segments", cuts.packet[begin[others]]),
        what="windows cut more than once",
    )


@dataclass
class _Cuts:
    """When a sender cut its window: by key and time.

    `point` is the highest byte sent before, `fast` False for timers, `seen` False where the first copy never passed the tap.
    """

    key: Array
    t_ns: Array
    packet: Array
    seq: Array
    point: Array
    fast: Array
    needless: Array
    sacked: Array
    seen: Array


def _cuts(facts: Facts, dupacks: int, answer_ns: int) -> _Cuts:
    expiries = facts.rows("timeouts", ["t_ns", "packet", "rel_seq", "flight_bytes"])
    expiries = expiries.take(expiries["rel_seq"] > 0)
    resends = facts.rows(
        "segments",
        ["t_ns", "packet", "rel_seq", "needless", "flight_bytes", "trigger", "trigger_evidence", "lost_before_tap"],
        where={"transmission": ("retransmission",)},
        valid=("t_ns", "rel_seq", "flight_bytes"),
    )
    resends = resends.take(resends["rel_seq"] > 0)
    recoveries = facts.rows("recoveries", ["packet", "recover_rel_seq"])
    opens = np.zeros(len(resends), bool)
    opens[_find(resends.key, resends["packet"], recoveries.key, recoveries["packet"])] = True
    sacked = (resends["trigger"] == "sack") | (resends["trigger_evidence"] == "sack_blocks")
    with_sack = np.unique(resends.key[sacked])
    fast = opens | ~np.isin(resends.key, with_sack) & _on_third_dupack(facts, resends, dupacks, answer_ns)
    # A timer's own resend is no fast one, whatever ACKs came before it.
    fast[_find(resends.key, resends["packet"], expiries.key, expiries["packet"])] = False
    # What the tap had seen acknowledged was not sent again for duplicate ACKs: that ACK was lost behind the tap.
    fast &= facts.keep(Acks).before(resends.key, resends["packet"]) <= resends["rel_seq"]
    mine = resends.take(fast)
    timed = _find(resends.key, resends["packet"], expiries.key, expiries["packet"])
    unseen = set(resends["packet"][timed][resends["lost_before_tap"][timed] == 1].tolist())
    timed_seen = np.array([p not in unseen for p in expiries["packet"].tolist()], bool)
    key = np.concatenate((expiries.key, mine.key))
    t = np.concatenate((expiries["t_ns"], mine["t_ns"]))
    seq = np.concatenate((expiries["rel_seq"], mine["rel_seq"]))
    flight = np.concatenate((expiries["flight_bytes"], mine["flight_bytes"]))
    packet = np.concatenate((expiries["packet"], mine["packet"]))
    is_fast = np.concatenate((np.zeros(len(expiries), bool), np.ones(len(mine), bool)))
    needless = np.concatenate((np.zeros(len(expiries), np.int64), mine["needless"]))
    o = np.lexsort((packet, t, key))
    seen = np.concatenate((timed_seen, mine["lost_before_tap"] != 1))
    has_sack = np.isin(key[o], with_sack)
    return _Cuts(key[o], t[o], packet[o], seq[o], (seq + flight)[o], is_fast[o], needless[o], has_sack, seen[o])


def _find(keys: Array, packets: Array, wanted_keys: Array, wanted: Array) -> Array:
    """Positions of the wanted packets among rows; a packet is in one row of a capture."""
    span = np.int64(1) << 40
    have = (keys >> 34) * span + packets
    order = np.argsort(have, kind="stable")
    at_ = np.searchsorted(have[order], (wanted_keys >> 34) * span + wanted)
    known = at_ < len(have)
    known[known] &= have[order][at_[known]] == ((wanted_keys >> 34) * span + wanted)[known]
    return np.asarray(order[at_[known]])


def _on_third_dupack(facts: Facts, resends: Rows, dupacks: int, answer_ns: int) -> Array:
    """Resends of the left edge right after the third duplicate ACK or a later one, the first resend since new progress."""
    keys = resends.key
    acks = facts.rows("segments", ["t_ns", "rel_ack", "dupacks"], valid=("t_ns", "rel_ack"), keys=np.unique(keys) ^ 1)
    if not len(keys) or not len(acks):
        return np.zeros(len(keys), bool)
    last = np.maximum(acks.latest("t_ns", keys ^ 1, resends["t_ns"]), 0)
    t, run = acks["t_ns"][last], acks["dupacks"][last]
    right = (acks.key[last] == keys ^ 1) & (run >= dupacks) & (acks["rel_ack"][last] == resends["rel_seq"])
    right &= (resends["t_ns"] >= t) & (resends["t_ns"] - t <= answer_ns)
    # The ACK that brought the left edge here: nothing may have been sent again since.
    began = acks["t_ns"][np.maximum(last - run, 0)]
    before = np.concatenate(([False], (keys[1:] == keys[:-1]) & (resends["t_ns"][:-1] > began[1:])))
    return np.asarray(right & ~before)
