from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.losses import binomial_tail
from wlanlens.detection.toolkit.packet_paths import PacketPaths, downlink_keys
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("ap_buffer_loss", needs=("links", "frames", "segments", "flows"))
def ap_buffer_loss(
    trace: Trace, *, chance_share: float = 0.001, doubt_share: float = 0.05
) -> Iterator[Finding | Undecided]:
    """The access point had no room for what came over the wire: it never went on the air.

    What it finds
    -------------
    Segments that a capture before the access point saw, that never were on the air and never arrived, while the segments
    before and after them did both; and that found the access point's queue as full as it ever was. One finding an event:
    all that was lost before the sender sent its first loss again. The cost is the time from that resend to the ACK of all
    that was lost, less the time in which what arrived meanwhile would have come at the pace before.

    Why it happens
    --------------
    The wire is faster than the air. What comes in faster waits in the access point, whose queue holds tens of packets: a
    window that is larger than path and queue, or a burst of slow start, finds it full.

    How it decides
    --------------
    `lost` of `links` is before_air, by neighbours that the sniffer heard, and the frames of the direction come from an
    access point. How many packets waited when the lost one came is counted from those seen before and not yet on the air.
    A full queue admits nothing while it holds so many: the losses with at least as many waiting outnumber the admitted
    packets with more waiting. `chance_share`: losses that come whatever waits fall on the fullest moments as often as
    any packet does; at most this probability is left to chance. `doubt_share`: of what the sniffer did not hear, no more may
    be losses on the air that it missed, by the share that it missed of what arrived and the losses on the air that it
    heard; it is what the validation allows to be wrong. With a capture at the access point's wired side what
    passed it and was not on the air was lost inside, full or not.

    What fools it
    -------------
    A sniffer that missed frames: it misses those of neighbours that arrived too, then nothing is said. Losses on the wire
    before the access point, and packets that it drops with room left, look alike from the sender: those are left undecided
    until a capture stands between. A queue discipline that drops early (RED) is left undecided with them. Packets under way
    when the captures end are no losses.

    References
    ----------
    The window-size study (a window of 43 segments against an access point's queue); Pilosof et al., "Understanding TCP
    fairness over wireless LAN", 2003.
    """
    facts = Facts.of(trace)
    passage = facts.cached(PacketPaths)
    keys = downlink_keys(facts)
    mine = np.isin(passage.key, keys) & (passage.payload > 0)
    if not (mine & (passage.lost != "")).any():
        return
    waiting = _waiting(passage, np.isin(passage.key, keys))
    cases: list[_Case] = []
    elsewhere: list[tuple[int, int, int]] = []
    deaf: list[tuple[int, int, int]] = []
    for key in np.unique(passage.key[mine & np.isin(passage.lost, ("before_air", "on_way"))]).tolist():
        point = passage.point(key)
        rows = passage.of(key)
        rows = rows[(passage.payload[rows] > 0) & (passage.number[point][rows] != NULL)] if point else rows[:0]
        lost = rows[passage.lost[rows] == "before_air"]
        # Not heard and not resent: the end of the capture, or a tap that missed it.
        sent = _Sent(facts, key)
        lost = lost[sent.again_ns(passage.number[point][lost]) != NULL] if len(lost) else lost
        if not len(lost):
            continue
        if _missed(passage, rows, len(lost)) > doubt_share:
            deaf += [(key, int(t), int(t)) for t in passage.t[point][lost]]
            continue
        admitted = rows[passage.t["air"][rows] != NULL]
        inside = passage.number["ap"][lost] != NULL
        full = _full(waiting[lost], waiting[admitted], chance_share)
        for event in sent.events(lost[full | inside], passage.number[point]):
            found_full = bool(full[np.isin(lost, event)].any())
            cases.append(_case(passage, sent, key, event, waiting, admitted, found_full))
        open_ = lost[~(full | inside)]
        elsewhere += [
            (key, int(t), sent.made_good_ns(n))
            for t, n in zip(passage.t[point][open_], passage.number[point][open_], strict=True)
        ]
    yield from _findings(facts, cases, passage.has_point("ap"))
    if deaf:
        who, start, end = (np.array(column, np.int64) for column in zip(*deaf, strict=True))
        yield facts.undecided(
            "ap_buffer_loss",
            who,
            f"{count(len(who), 'lost segment')} not heard on the air, of which the sniffer missed others as well: where they "
            "were lost is not known.",
            t_start_ns=start,
            t_end_ns=end,
        )
    if elsewhere:
        who, start, end = (np.array(column, np.int64) for column in zip(*elsewhere, strict=True))
        yield facts.undecided(
            "ap_buffer_loss",
            who,
            f"{count(len(who), 'segment')} passed the sender's tap and never came to the air, with room left in the access "
            "point by what others found: the wire before it lost them or it dropped them; a capture at its wired side would tell.",
            t_start_ns=start,
            t_end_ns=end,
        )


def _missed(passage: PacketPaths, rows: Array, unheard: int) -> float:
    """Share of a direction's unheard losses that may have been on the air, where the sniffer missed them."""
    heard = passage.t["air"][rows] != NULL
    arrived = passage.fate[rows] == "arrived"
    missed = 1 - float(heard[arrived].mean()) if arrived.any() else 0.0
    on_air = int((heard & (passage.fate[rows] == "not_seen")).sum())
    return missed * on_air / ((1 - missed) * unheard) if missed < 1 else 1.0


def _waiting(passage: PacketPaths, down: Array) -> Array:
    """How many packets, of all directions that go through the access point, had come and were not yet on the air when each
    came."""
    came = _before(passage)
    air = passage.t["air"]
    admitted = down & (came != NULL) & (air != NULL)
    arrivals, departures = np.sort(came[admitted]), np.sort(air[admitted])
    return np.where(
        came == NULL,
        NULL,
        np.searchsorted(arrivals, came, side="left") - np.searchsorted(departures, came, side="right"),
    )


def _before(passage: PacketPaths) -> Array:
    """When each packet passed the last point before the air's that saw it: the access point's wired side or the sender."""
    return np.where(passage.t["ap"] != NULL, passage.t["ap"], passage.t["sender"])


def _full(lost: Array, admitted: Array, chance_share: float) -> Array:
    """Which losses found a full queue, by how many packets waited when they came and when admitted ones did."""
    lost_up, admitted_up = np.sort(lost), np.sort(admitted)
    least: int | None = None
    for level in np.unique(lost)[::-1].tolist():
        losses = len(lost) - int(np.searchsorted(lost_up, level, side="left"))
        more = len(admitted) - int(np.searchsorted(admitted_up, level, side="right"))
        as_many = len(admitted) - int(np.searchsorted(admitted_up, level, side="left"))
        share = (as_many + losses) / (len(admitted) + len(lost))
        if losses > more and binomial_tail(losses, len(lost), share) <= chance_share:
            least = level
    return lost >= least if least is not None else np.zeros(len(lost), bool)


def _data(facts: Facts) -> Rows:
    rows = facts.rows("segments", ["packet", "t_ns", "rel_seq", "len"], valid=("rel_seq", "t_ns"))
    return rows.take(rows["len"] > 0)


class _Sent:
    """What the leading capture tells of one direction's data: when each copy was sent, sent again and acknowledged."""

    def __init__(self, facts: Facts, key: int) -> None:
        self._acks, self._key, self._end_ns = facts.cached(Acks), key, int(facts.last_packet_ns(np.array([key]))[0])
        rows = facts.cached(_data).of_key(key)
        rows = rows.take(np.lexsort((rows["t_ns"], rows["rel_seq"])))
        same = np.append(rows["rel_seq"][1:] == rows["rel_seq"][:-1], False) if len(rows) else np.zeros(0, bool)
        following = np.append(rows["t_ns"][1:], NULL) if len(rows) else rows["t_ns"]
        again = np.where(same, following, NULL)
        order = np.argsort(rows["packet"], kind="stable")
        self._rows, self._again = rows.take(order), again[order]
        by_t = np.argsort(rows["t_ns"], kind="stable")
        self._t, self._by_t = rows["t_ns"][by_t], rows["packet"][by_t]

    def _at(self, packets: Array) -> Array:
        return np.searchsorted(self._rows["packet"], packets)

    def again_ns(self, packets: Array) -> Array:
        """When the segment of each packet was sent next; NULL for never."""
        at_ = np.minimum(self._at(packets), max(0, len(self._rows) - 1))
        return (
            np.where(self._rows["packet"][at_] == packets, self._again[at_], NULL)
            if len(self._rows)
            else packets * 0 + NULL
        )

    def resends(self, packets: Array) -> Array:
        """The packets that sent these segments again next."""
        following = np.searchsorted(self._t, self.again_ns(packets))
        return self._by_t[np.minimum(following, max(0, len(self._by_t) - 1))]

    def sent_between(self, start: int, end: int) -> int:
        """Segments sent from one time to another."""
        return int(np.searchsorted(self._t, end) - np.searchsorted(self._t, start))

    def made_good_ns(self, packet: int) -> int:
        """When the bytes of a packet were acknowledged; the end of the connection for never."""
        i = int(self._at(np.array([packet]))[0])
        reached = self._acks.t_ns(
            self._acks.first_covering(
                np.array([self._key]), self._rows["rel_seq"][i : i + 1] + self._rows["len"][i : i + 1]
            )
        )
        return int(reached[0]) if reached[0] != NULL else self._end_ns

    def events(self, lost: Array, number: Array) -> Iterator[Array]:
        """The losses in events: all that were sent before the first of them was sent again belong to one."""
        packets = number[lost]
        sent = self._rows["t_ns"][self._at(packets)]
        again = self.again_ns(packets)
        begin, known = 0, NULL
        for i in range(len(lost)):
            if i == begin:
                known = int(again[i])
            elif sent[i] >= known:
                yield lost[begin:i]
                begin, known = i, int(again[i])
            known = min(known, int(again[i]))
        if len(lost):
            yield lost[begin:]


@dataclass
class _Case:
    """Losses of one event of one direction, and what the queue was like."""

    key: int
    packets: Array
    resends: Array
    t_start_ns: int
    t_end_ns: int
    sent: int
    waiting: int
    full: bool
    wait_ns: int
    least_wait_ns: int
    cost_s: float


def _case(
    passage: PacketPaths, sent: _Sent, key: int, event: Array, waiting: Array, admitted: Array, full: bool
) -> _Case:
    point = passage.point(key)
    packets = passage.number[point][event]
    start, reaction = int(passage.t[point][event[0]]), int(sent.again_ns(packets).min())
    end = max(reaction, *(sent.made_good_ns(int(p)) for p in packets))
    wait = passage.t["air"][admitted] - _before(passage)[admitted]
    # Who came last before the loss and found room.
    last = int(np.searchsorted(_before(passage)[admitted], start, side="right")) - 1
    return _Case(
        key=key,
        packets=packets,
        resends=sent.resends(packets),
        t_start_ns=start,
        t_end_ns=end,
        sent=sent.sent_between(start, reaction),
        waiting=int(waiting[event].max()),
        full=full,
        wait_ns=int(wait[max(0, last)]),
        least_wait_ns=int(wait.min()),
        cost_s=_cost_s(passage, key, start, reaction, end),
    )


def _cost_s(passage: PacketPaths, key: int, start: int, reaction: int, end: int) -> float:
    """By how much what arrived until all was made good is behind the pace at which data arrived before the reaction."""
    rows = passage.of(key)
    last = "receiver" if passage.has_point("receiver") else "air"
    rows = rows[(passage.t[last][rows] != NULL) & (passage.payload[rows] > 0)]
    t, size = passage.t[last][rows], passage.payload[rows]
    before = float(size[(t > start) & (t <= reaction)].sum())
    after = float(size[(t > reaction) & (t <= end)].sum())
    wait_s = (end - reaction) / 1e9
    pace = before / ((reaction - start) / 1e9) if reaction > start else 0.0
    return max(0.0, wait_s - after / pace) if pace > 0 else wait_s


def _findings(facts: Facts, cases: list[_Case], certain: bool) -> Iterator[Finding]:
    keys = np.array([case.key for case in cases], np.int64)
    cost = np.array([case.cost_s * 1e9 for case in cases])
    life = facts.lifetime_s(keys)
    listed, others = costliest(cost)
    for i in listed.tolist():
        case = cases[i]
        seen = "reached the access point over the wire" if certain else "left the sender's tap for the access point"
        why = (
            f"when {count(case.waiting, 'packet')} waited there, as many as it holds"
            if case.full
            else f"though it had room: {count(case.waiting, 'packet')} waited there"
        )
        yield facts.finding(
            "ap_buffer_loss",
            case.key,
            case.t_start_ns,
            case.t_end_ns,
            cost_s=case.cost_s,
            lifetime_s=float(life[i]),
            confidence=0.95 if certain or len(case.packets) > 1 else 0.9,
            values={
                "losses_count": len(case.packets),
                "sent_segments": case.sent,
                "waiting_packets": case.waiting,
                "wait_before_ms": case.wait_ns / 1e6,
                "least_wait_ms": case.least_wait_ns / 1e6,
                "recovery_s": (case.t_end_ns - case.t_start_ns) / 1e9,
            },
            evidence={"segments": [*case.packets, *case.resends]},
            sentence=(
                f"{facts.subject(case.key)}: {len(case.packets)} of {count(case.sent, 'segment')} sent from "
                f"{moment(case.t_start_ns)} on {seen} and never came to the air, {why}; the one before had waited "
                f"{duration(case.wait_ns / 1e9)}, where {duration(case.least_wait_ns / 1e9)} is the least. They were made good "
                f"{duration((case.t_end_ns - case.t_start_ns) / 1e9)} later."
            ),
        )
    yield from facts.remainder_finding(
        "ap_buffer_loss",
        keys[others],
        np.array([cases[i].t_start_ns for i in others.tolist()], np.int64),
        np.array([cases[i].t_end_ns for i in others.tolist()], np.int64),
        cost[others],
        evidence=("segments", np.array([cases[i].packets[0] for i in others.tolist()], np.int64)),
        what="a loss in the access point",
    )
