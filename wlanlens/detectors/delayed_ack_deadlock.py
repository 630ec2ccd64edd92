from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.ack_timestamps import ticks_between
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.rows import Rows, key_groups
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace


#: So long after a retransmission a receiver is past what it had to fill, ns: twice the longest delayed-ACK timer.
_CALM_NS = 1_000_000_000
#: ACKs of single segments that show that a receiver acknowledges each: Linux does so with a connection's first 16.
_FEW = 20
#: Of the way from the tap to the sender and back: new data that comes sooner was not sent for that ACK.
_NEARLY = 0.8


@detector("delayed_ack_deadlock", needs=("segments", "flows"))
def delayed_ack_deadlock(
    trace: Trace,
    *,
    least_wait_ms: float = 25.0,
    most_wait_ms: float = 550.0,
    reaction_ms: float = 10.0,
    least_waits_count: int = 2,
    waited_share: float = 0.25,
    at_once_share: float = 0.2,
) -> Iterator[Finding | Undecided]:
    """One segment in flight waited for the receiver's delayed-ACK timer, and nothing else was on the way.

    What it finds
    -------------
    Times at which a sender had one segment outstanding and could send no more, while the receiver put off its ACK in the
    hope of a second segment. The cost is the time from that segment to its ACK, less the least round trip.

    Why it happens
    --------------
    A receiver acknowledges every second segment, or after a timer of 40 to 200 ms (500 at most). A congestion window of
    one segment, after losses or at the start, lets no second one come; nor does Nagle's algorithm, which keeps a short
    segment back until everything before it is acknowledged. Both ends wait for each other until the timer ends it.

    How it decides
    --------------
    An ACK without data acknowledges exactly one segment, the only one that was outstanding, or the only one that was sent
    again after a timeout had given the others up and of which no duplicate ACK tells; and the sender goes on with the next
    byte at once: it had been waiting for nothing else. A receiver that acknowledges most segments of a queue one by one delays nothing.
    `least_wait_ms`: so long after the segment's last copy, the least round trip and the segment's own time on a slow line
    taken off; the shortest delayed-ACK timers in use are 40 ms, of which the stamps of a busy host take a part.
    `most_wait_ms`: RFC 1122 allows 500 ms; longer is another cause.
    `reaction_ms`: new data follows within this time, and where the tap is not at the sender no sooner than the way there
    and back allows; hosts take less than 1 ms, a queue before the tap some more. Away from the sender that data must also
    echo the ACK's timestamp (RFC 7323), and the segment that of the ACK before: what echoes an older one had been sent
    before, and the segment was not alone; without timestamps it is left undecided there.
    `least_waits_count`: at least so many, but for a connection's first segment, before which nothing can have been late;
    one by itself may be a frame that the air carried late.
    `waited_share`: of the lone segments that the sender went on after, so many waited: a timer delays all but those that a
    receiver acknowledges at once, at a connection's start or after a gap, while a slow frame on the air delays one in ten.
    `at_once_share`: of the lone segments that waited, the sender went on at once after so many; an application that writes
    now and then meets an ACK within 10 ms once in 25 to 100 times.

    What fools it
    -------------
    An application that pauses writes when it likes, not when an ACK comes: silent, but for one that writes exactly as often
    as the timer fires. A receiver whose window has no room for
    a second segment (a silly window) is the cause itself: silent. ACKs kept by an adapter look alike when they come one
    by one. A sender whose second segment was lost waits for its timer, not for this one.

    References
    ----------
    RFC 1122 section 4.2.3.2, RFC 5681 section 4.2; RFC 896 (Nagle); the study of 802.11b adapters on USB, section 4.3.2 B;
    Mogul and Minshall, "Rethinking the TCP Nagle algorithm", 2001.
    """
    facts = Facts.of(trace)
    waits, lone, late, untold = _waits(facts, int(least_wait_ms * 1e6), int(most_wait_ms * 1e6), int(reaction_ms * 1e6))
    if len(untold):
        yield facts.undecided(
            "delayed_ack_deadlock",
            untold,
            "Segments that the tap saw alone waited for their ACK, but away from the sender and without fine timestamps "
            "it cannot be told whether more was under way; a capture at the sender would tell.",
        )
    first, length = key_groups(waits.key)
    keys = waits.key[first]
    tried = np.searchsorted(lone, keys, side="right") - np.searchsorted(lone, keys)
    waited = np.searchsorted(late, keys, side="right") - np.searchsorted(late, keys)
    enough = (length >= least_waits_count) & (length >= waited_share * tried)
    enough = (enough | (waits["rel_seq"][first] == 1)) & (length >= at_once_share * waited)
    which = np.flatnonzero(enough)
    cost = np.add.reduceat(waits["cost_ns"], first) if len(first) else np.zeros(0, np.int64)
    listed, others = costliest(cost[which])
    life = facts.lifetime_s(keys)
    for n in which[listed].tolist():
        yield _finding(facts, waits.take(np.arange(first[n], first[n] + length[n])), int(tried[n]), float(life[n]))
    which = which[others]
    yield from facts.remainder_finding(
        "delayed_ack_deadlock",
        keys[which],
        waits["t_start_ns"][first[which]],
        waits["t_end_ns"][(first + length - 1)[which]],
        cost[which],
        evidence=("segments", waits["packet"][first[which]]),
        what="a lone segment that waited for the delayed-ACK timer",
    )
    yield from facts.undecided_without_acks("delayed_ack_deadlock")


def _waits(facts: Facts, least: int, most_ns: int, reaction: int) -> tuple[Rows, Array, Array, Array]:
    """Waits for the timer, by key and time; the keys of all lone segments whose ACK their sender had waited for; of all
    whose ACK was late, whether it had or not; and of those of which the tap cannot tell whether they were alone."""
    keys = facts.all_data_keys()
    columns = [
        "packet",
        "t_ns",
        "rel_seq",
        "len",
        "peer_window_bytes",
        "rel_ack",
        "kind",
        "transmission",
        "trigger",
        "tsval",
        "tsecr",
        "lost_before_tap",
    ]
    rows = facts.rows("segments", columns, valid=("t_ns",))
    sends = rows.take((rows["kind"] == "data") & (rows["len"] > 0) & np.isin(rows.key, keys))
    # A frame sent again by the MAC is under way until its last copy; what the tap or the network doubled is nothing new.
    sends = sends.take(~np.isin(sends["transmission"], ("capture_duplicate", "network_duplicate"))).sorted_by("packet")
    # Of whoever sends data, the pure ACKs of the other side, in order, and the highest so far.
    acks = rows.take((rows["kind"] == "ack") & np.isin(rows.key ^ 1, keys) & (rows["rel_ack"] != NULL))
    acks = acks.take(acks["transmission"] != "mac_copy").sorted_by("packet")
    if not len(sends) or not len(acks):
        none = np.zeros(0, np.int64)
        return _rows(acks, none, {}), none, none, none
    key = acks.key ^ 1
    order = np.lexsort((acks["packet"], key))
    acks, key = acks.take(order), key[order]
    before = np.concatenate(([NULL], acks["rel_ack"][:-1]))
    # Before the first such ACK the SYN was acknowledged.
    first = np.concatenate(([True], key[1:] != key[:-1]))
    before[first] = 1
    # The last data before each ACK, and the first behind it.
    last = sends.last_until("packet", key, acks["packet"])
    new = sends["rel_seq"] + sends["len"]
    ahead = np.where(last >= 0, last, np.searchsorted(sends.key, key) - 1) + 1
    following = np.minimum(ahead, len(sends) - 1)
    goes_on = (ahead < len(sends)) & (sends.key[following] == key)
    at_ = np.maximum(last, 0)
    reached = _highest(sends, new)[at_]
    # The last data before the ACK before.
    earlier = sends.last_until("packet", key, np.concatenate(([0], acks["packet"][:-1])))
    # One segment is all between the two; nothing was sent beyond it, or it was given up at a timeout.
    alone = (last >= 0) & (sends["rel_seq"][at_] == before) & (new[at_] == acks["rel_ack"])
    again = sends["trigger"][at_]
    alone &= (reached == new[at_]) | (again == "rto") | ((again == "go_back_n") & (last == earlier + 1))
    # Duplicate ACKs meanwhile show that more was under way.
    dups = rows.take(rows["kind"] == "dupack").sorted_by("packet")
    alone &= ~dups.any_between("packet", key ^ 1, sends["packet"][at_] + 1, acks["packet"] - 1)
    rtt = facts.flow_values("tap_rtt_min_ns", key)
    # What the sender does on an ACK shows at the tap when both have made their way to it and back.
    whole = facts.flow_values("handshake_rtt_ns", key)
    back = np.where(facts.flow_values("tap", key) == "near_sender", 0, whole - np.maximum(rtt, 0))
    after = sends["t_ns"][following] - acks["t_ns"]
    blocked = goes_on & (sends["rel_seq"][following] == acks["rel_ack"]) & (back >= 0)
    blocked &= (after >= 0) & (after >= _NEARLY * back - reaction) & (after <= reaction + back / _NEARLY)
    # Away from the sender more may be under way unseen. That nothing was shows by what the data echoes: the segment the ACK
    # before, so that all before had been acknowledged when it was sent, and what follows the ACK itself.
    away = facts.tap_away_from_sender(key)
    stamp = acks["tsval"]
    stamp_before = np.where(first, NULL, np.concatenate(([NULL], stamp[:-1])))
    echo_before, echo = sends["tsecr"][at_], sends["tsecr"][following]
    told = (echo != NULL) & (echo_before != NULL) & (stamp != NULL) & (stamp != stamp_before)
    proved = told & (ticks_between(stamp, echo) >= 0) & (sends["lost_before_tap"][following] == 0)
    proved &= first | (ticks_between(stamp_before, echo_before) >= 0)
    untold = away & ~told & blocked
    blocked &= ~away | proved
    # A window without room for a second segment is the receiver's own doing.
    window = sends["peer_window_bytes"][at_]
    room = (window == NULL) | (window >= 2 * sends["len"][at_])
    ahead_of = np.where(earlier >= 0, _highest(sends, new)[np.maximum(earlier, 0)], NULL)
    alone &= room & (rtt != NULL)
    lone = alone & blocked
    # What fills a hole is acknowledged at once: ACKs soon after a retransmission tell nothing of the receiver's ways.
    resent = sends.take(sends["transmission"] == "retransmission")
    before_ack = resent.last_until("packet", key, acks["packet"])
    calm = before_ack < 0
    if len(resent):
        calm |= acks["t_ns"] - resent["t_ns"][np.maximum(before_ack, 0)] > _CALM_NS
    since = np.where(
        (last >= 0) & (reached == acks["rel_ack"]), acks["t_ns"] - sends["t_ns"][at_] - np.maximum(rtt, 0), NULL
    )
    ahead_of = np.where(calm & ~(alone & (last > earlier)), ahead_of, NULL)
    pace, each = _queued(acks, key, ahead_of, since, calm, facts.flow_values("segment_max_bytes", key))
    own = (pace * sends["len"][at_]).astype(np.int64)
    # Sent before the ACK before, it was behind what that acknowledges: the receiver had it no sooner.
    begun = np.where(last > earlier, sends["t_ns"][at_] + np.maximum(rtt, 0), np.concatenate(([0], acks["t_ns"][:-1])))
    waited = acks["t_ns"] - begun - own
    late = alone & ~each & (waited >= least) & (waited <= most_ns)
    hit = np.flatnonzero(late & blocked)
    found = _rows(
        acks,
        hit,
        {
            "t_start_ns": sends["t_ns"][at_][hit],
            "t_end_ns": acks["t_ns"][hit],
            "cost_ns": waited[hit],
            "sent_packet": sends["packet"][at_][hit],
            "rel_seq": sends["rel_seq"][at_][hit],
            "len": sends["len"][at_][hit],
            "next_packet": sends["packet"][following][hit],
            "next_len": sends["len"][following][hit],
        },
    )
    return found, key[lone], key[late & goes_on], key[late & untold]


def _queued(acks: Rows, key: Array, sent: Array, since: Array, calm: Array, segment: Array) -> tuple[Array, Array]:
    """What ACKs tell of the line and the receiver, for the key of each. `sent`: up to which byte data was under way before
    the ACK before; `since`: how long after the last data, all of which
    it acknowledges, it came, ns, less the round trip. `calm`: far from losses.

    How long a slow line takes for a byte, ns: by the quickest two ACKs in a row of data that was queued, and by ACKs of
    several segments, which no timer delays. And whether the receiver acknowledges each segment of a queue, so that it
    delays nothing.
    """
    if len(key) < 2:
        return np.zeros(len(key)), np.zeros(len(key), bool)
    names, group = np.unique(key, return_inverse=True)
    grown = np.concatenate(([0], acks["rel_ack"][1:] - acks["rel_ack"][:-1]))
    gap = np.concatenate(([0], acks["t_ns"][1:] - acks["t_ns"][:-1]))
    following = np.concatenate(([False], key[1:] == key[:-1])) & (grown > 0)
    queued = np.flatnonzero(following & (sent != NULL) & (sent >= acks["rel_ack"]))
    together = np.flatnonzero(following & (grown > segment) & calm)
    whole = together[since[together] != NULL]
    least = np.full(len(names), np.inf)
    np.minimum.at(least, group[queued], gap[queued] / grown[queued])
    np.minimum.at(least, group[whole], np.maximum(since[whole], 0) / grown[whole])
    alone = queued[grown[queued] <= segment[queued]]
    singles, several = (np.bincount(group[which], minlength=len(names)) for which in (alone, together))
    return np.where(np.isfinite(least), least, 0.0)[group], ((singles > several) & (singles >= _FEW))[group]


def _rows(acks: Rows, which: Array, more: dict[str, Array]) -> Rows:
    names = ("t_start_ns", "t_end_ns", "cost_ns", "sent_packet", "rel_seq", "len", "next_packet", "next_len")
    empty = {name: np.zeros(0, np.int64) for name in names}
    return Rows(acks.key[which] ^ 1, {"packet": acks["packet"][which], **empty, **more})


def _highest(sends: Rows, end: Array) -> Array:
    """The highest byte sent so far of each direction."""
    first, length = key_groups(sends.key)
    out = np.empty_like(end)
    for a, n in zip(first.tolist(), length.tolist(), strict=True):
        out[a : a + n] = np.maximum.accumulate(end[a : a + n])
    return out


def _finding(facts: Facts, w: Rows, tried: int, life_s: float) -> Finding:
    key = int(w.key[0])
    cost_s = float(w["cost_ns"].sum()) / 1e9
    timer_ms = float(np.median(w["cost_ns"])) / 1e6
    largest = int(facts.flow_values("segment_max_bytes", w.key[:1])[0])
    nagle = (w["len"] < largest) | (w["next_len"] < largest)
    short = int(nagle.sum())
    cause = "Nagle's algorithm kept a short segment back" if 2 * short > len(w) else "its window was one segment"
    return facts.finding(
        "delayed_ack_deadlock",
        key,
        int(w["t_start_ns"][0]),
        int(w["t_end_ns"][-1]),
        cost_s=cost_s,
        lifetime_s=life_s,
        confidence=0.9 if len(w) > 2 else 0.7,
        values={
            "waits_count": len(w),
            "lone_segments_count": tried,
            "wait_median_ms": timer_ms,
            "wait_max_ms": float(w["cost_ns"].max()) / 1e6,
            "short_segments_count": short,
        },
        evidence={"segments": np.concatenate((w["sent_packet"], w["packet"]))},
        sentence=(
            f"{facts.subject(key)}: {count(len(w), 'time')} one segment alone waited for the receiver's delayed-ACK timer "
            f"({timer_ms:.0f} ms), first at {moment(w['t_start_ns'][0])}, for {cause}; {duration(cost_s)} were lost."
        ),
    )
