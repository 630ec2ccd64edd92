from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("repeated_fast_retransmit", needs=("segments", "recoveries", "timeouts"))
def repeated_fast_retransmit(trace: Trace, *, dupacks_count: int = 3, answer_ms: float = 20.0) -> Iterator[Finding]:
    """The window was cut several times for one window of losses.

    What it finds
    -------------
    Fast retransmissions of data that had been sent before the window was last cut (by a fast retransmission or a
    timeout), or that stand right at the point up to which that cut recovers, after spurious resends: the sender took
    duplicate ACKs for a second congestion and halved its window again. The cost is the time from the second cut on until
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
    without SACK, at that byte and after `dupacks_count` spurious resends: these made the duplicate ACKs. Cuts in a row
    are one finding, from the first cut on, the rightful one.

    What fools it
    -------------
    Losses of separate windows begin above the point of the cut before: silent. NewReno's resends on partial ACKs and
    SACK's resends of several holes belong to one cut. A timeout after which nothing else was sent again had been
    undone by the sender, and was no cut. A tap behind the loss does not know what the sender had sent:
    resends whose first copy it never saw are left out.

    References
    ----------
    RFC 6582 section 4; Floyd, "TCP and successive fast retransmits", 1994; the Seawind study, which saw both causes.
    """
    facts = Facts.of(trace)
    cuts = _cuts(facts, dupacks_count, int(answer_ms * 1e6))
    rows, seq, point, t = cuts.rows, cuts.rows["rel_seq"], cuts.point, cuts.rows["t_ns"]
    if not len(rows):
        return
    # Segments that had arrived and were sent again made the duplicate ACKs.
    spurious = np.diff(cuts.spurious) - (rows["spurious"][1:] == 1)
    at_point = (seq[1:] == point[:-1]) & (spurious >= dupacks_count) & ~cuts.with_sack[1:]
    again = cuts.fast[1:] & (rows.key[1:] == rows.key[:-1]) & ((seq[1:] < point[:-1]) | at_point)
    # A tap that never saw the first copies does not know what had been sent.
    again &= (rows["lost_before_tap"][1:] != 1) & (rows["lost_before_tap"][:-1] != 1)
    # A sender that believes in its timeout goes back N; one that sends nothing else again has undone it.
    again &= cuts.fast[:-1] | (np.diff(cuts.number) > 1)
    first, length = key_groups(np.cumsum(~np.concatenate(([False], again))))
    chains = np.flatnonzero(length > 1)
    if not len(chains):
        return
    begin, last = first[chains], first[chains] + length[chains] - 1
    keys = rows.key[begin]
    acks = facts.cached(Acks)
    reached = acks.t_ns(acks.first_covering(keys, point[last]))
    ends = np.where(reached != NULL, reached, facts.last_packet_ns(keys))
    # The timer takes over: what it costs is its own finding's.
    after = np.minimum(last + 1, len(rows) - 1)
    timed = (after > last) & (rows.key[after] == keys) & ~cuts.fast[after] & (t[after] < ends)
    ends = np.maximum(np.where(timed, t[after], ends), t[last])
    cost, life = ends - t[begin + 1], facts.lifetime_s(keys)
    listed, others = costliest(cost)
    for n in listed.tolist():
        part, key = slice(int(begin[n]), int(last[n]) + 1), int(keys[n])
        number = part.stop - part.start
        yield facts.finding(
            "repeated_fast_retransmit",
            key,
            int(t[begin[n]]),
            int(ends[n]),
            cost_s=int(cost[n]) / 1e9,
            lifetime_s=float(life[n]),
            confidence=0.9,
            values={
                "cuts_count": number,
                "first_cut": "fast retransmission" if cuts.fast[begin[n]] else "timeout",
                "spurious_count": int((rows["spurious"][part][1:] == 1).sum()),
            },
            evidence={"segments": rows["packet"][part]},
            sentence=(
                f"{facts.subject(key)}: from {moment(t[begin[n]])} on the window was cut {count(number, 'time')} for "
                f"one window of losses; recovery went on for {duration(int(cost[n]) / 1e9)} after the second cut."
            ),
        )
    yield from facts.remainder_finding(
        "repeated_fast_retransmit",
        keys[others],
        t[begin[others]],
        ends[others],
        cost[others],
        evidence=("segments", rows["packet"][begin[others]]),
        what="windows cut more than once",
    )


@dataclass
class _Cuts:
    """When a sender cut its window: resends by key and time.

    `number` is the resend's place among all resends, `spurious` how many up to it were not needed, `fast` False for the
    timer's, `with_sack` whether the connection uses SACK.
    """

    rows: Rows
    number: Array
    spurious: Array
    fast: Array
    with_sack: Array

    @property
    def point(self) -> Array:
        """The highest byte sent before each cut."""
        return np.asarray(self.rows["rel_seq"] + self.rows["flight_bytes"])


def _cuts(facts: Facts, dupacks: int, answer_ns: int) -> _Cuts:
    resends = facts.rows(
        "segments",
        ["t_ns", "packet", "rel_seq", "spurious", "flight_bytes", "trigger", "trigger_evidence", "lost_before_tap"],
        where={"transmission": ("retransmission",)},
        valid=("t_ns", "rel_seq", "flight_bytes"),
    )
    resends = resends.take(resends["rel_seq"] > 0)
    timer, opens = np.zeros(len(resends), bool), np.zeros(len(resends), bool)
    for mask, name in ((timer, "timeouts"), (opens, "recoveries")):
        rows = facts.rows(name, ["packet"])
        mask[_find(resends.key, resends["packet"], rows.key, rows["packet"])] = True
    by_sack = (resends["trigger"] == "sack") | (resends["trigger_evidence"] == "sack_blocks")
    with_sack = np.isin(resends.key, np.unique(resends.key[by_sack]))
    fast = opens | ~with_sack & _on_third_dupack(facts, resends, dupacks, answer_ns)
    # What the tap had seen acknowledged was not sent again for duplicate ACKs: that ACK was lost behind the tap.
    fast &= ~timer & (facts.cached(Acks).highest_before(resends.key, resends["packet"]) <= resends["rel_seq"])
    number = np.flatnonzero(fast | timer)
    spurious = np.cumsum(resends["spurious"] == 1)[number]
    return _Cuts(resends.take(number), number, spurious, fast[number], with_sack[number])


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
    last = np.maximum(acks.last_until("t_ns", keys ^ 1, resends["t_ns"]), 0)
    t, run = acks["t_ns"][last], acks["dupacks"][last]
    right = (acks.key[last] == keys ^ 1) & (run >= dupacks) & (acks["rel_ack"][last] == resends["rel_seq"])
    right &= (resends["t_ns"] >= t) & (resends["t_ns"] - t <= answer_ns)
    # The ACK that brought the left edge here: nothing may have been sent again since.
    began = acks["t_ns"][np.maximum(last - run, 0)]
    before = np.concatenate(([False], (keys[1:] == keys[:-1]) & (resends["t_ns"][:-1] > began[1:])))
    return np.asarray(right & ~before)
