from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    AFTER_LOSS,
    NULL,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    PacketPaths,
    SentData,
    Undecided,
    before_air_ns,
    count,
    downlink_keys,
    duration,
    found_full,
    moment,
    queue_lengths,
    sniffer_doubt,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: A case left undecided: key, start and end.
_Span = tuple[int, int, int]


@detector(
    "ap_buffer_loss",
    needs=("links", "frames", "segments", "flows"),
    phrase="the access point's queue overflowed",
    explains=AFTER_LOSS,
    saving="setback",
    remedy=Remedy(
        "Access point: a queue as long as rate times round trip for each station, with active queue management "
        "(fq_codel) instead of tail drop. Sender: pacing (Linux: `fq` and BBR) makes its bursts fit into the "
        "queue.",
        "capture at the wire and on the air again: what enters the access point goes on the air.",
    ),
)
def ap_buffer_loss(
    trace: Trace, *, chance_share: float = 0.001, doubt_share: float = 0.05
) -> Iterator[Finding | Undecided]:
    """The access point's queue was full, so packets from the wire never went on the air.

    What it finds
    -------------
    Segments that a capture before the access point holds, that never were on the air and never arrived, while the segments
    before and after them did both, and that found the access point's queue as full as it ever was. One finding per loss
    episode: the losses before the sender retransmitted the first of them. The cost is the time from that retransmission to
    the ACK of all lost bytes, less the time in which the data that arrived meanwhile would have come at the pace before.

    Why it happens
    --------------
    The wire is faster than the air. The access point queues tens of packets; a window that is larger than path and queue,
    or a burst of slow start, fills the queue.

    How it decides
    --------------
    `loss_location` of `links` is before_air, by neighbours that the sniffer heard, and the direction's frames come from an access
    point. The queue length at a loss counts the packets captured before and not yet on the air. A full queue admits no
    packet: losses at some length or more outnumber the packets admitted at a greater length.
    `chance_share`: losses independent of the queue fall on its greatest lengths as often as any packet does; this is the
    largest probability left to chance.
    `doubt_share`: largest share of the unheard losses that may be losses on the air that the sniffer missed, from its share
    of missed packets among those that arrived and the losses on the air that it heard; the validation's error limit.
    With a capture at the access point's wired side, packets that passed it and were not on the air were lost inside.

    What fools it
    -------------
    A sniffer that misses frames also misses those of neighbours that arrived: silent. Losses on the wire before the access
    point, and packets that it drops with room left, look alike from the sender: undecided until a capture is between
    them. A queue that drops early (RED) is undecided too. Packets on the path when the captures end are no losses.

    References
    ----------
    The window-size study (a window of 43 segments against an access point's queue); Pilosof et al., "Understanding TCP
    fairness over wireless LAN", 2003.
    """
    facts = Facts.of(trace)
    paths, keys = facts.cached(PacketPaths), downlink_keys(facts)
    downlink = np.isin(paths.key, keys)
    mine = downlink & (paths.payload > 0)
    if not (mine & (paths.loss_location != "")).any():
        return
    waiting = queue_lengths(paths, downlink)
    found: list[_Case] = []
    unheard: list[_Span] = []
    with_room: list[_Span] = []
    for key in np.unique(paths.key[mine & np.isin(paths.loss_location, ("before_air", "on_path"))]).tolist():
        point, rows = paths.point(key), paths.of(key)
        if not point:
            continue
        rows = rows[(paths.payload[rows] > 0) & (paths.number[point][rows] != NULL)]
        sent, number = SentData(facts, key), paths.number[point]
        # A loss that was not retransmitted: the end of the capture, or a tap that missed the retransmission.
        lost = rows[paths.loss_location[rows] == "before_air"]
        lost = lost[sent.retransmitted_ns(number[lost]) != NULL]
        if not len(lost):
            continue
        if sniffer_doubt(paths, rows, len(lost)) > doubt_share:
            unheard += [(key, int(t), int(t)) for t in paths.t[point][lost]]
            continue
        admitted = rows[paths.t["air"][rows] != NULL]
        full = found_full(waiting[lost], waiting[admitted], chance_share)
        certain = full | (paths.number["ap"][lost] != NULL)
        inside, was_full = lost[certain], full[certain]
        for part in sent.episodes(number[inside]):
            found.append(_case(paths, sent, key, inside[part], waiting, admitted, bool(was_full[part].any())))
        with_room += [(key, int(paths.t[point][i]), sent.acked_ns(number[i])) for i in lost[~certain]]
    cases = Cases(
        facts,
        "ap_buffer_loss",
        key=np.array([case.key for case in found], np.int64),
        t_start_ns=np.array([case.t_start_ns for case in found], np.int64),
        t_end_ns=np.array([case.t_end_ns for case in found], np.int64),
        cost_s=np.array([case.cost_s for case in found]),
        packet=np.array([case.packets[0] for case in found], np.int64),
    )
    at_ap = paths.has_point("ap")
    yield from cases.findings(lambda i: _describe(found[i], at_ap), what="a loss in the access point")
    yield from _undecided(
        facts,
        unheard,
        "{} not heard on the air by a sniffer that missed others of this flow too: where they were lost is unknown.",
    )
    yield from _undecided(
        facts,
        with_room,
        "{} passed the sender's tap and never went on the air, although the access point's queue had room: the wire before "
        "it lost them or it dropped them; a capture at its wired side would show which.",
    )


def _undecided(facts: Facts, spans: list[_Span], sentence: str) -> Iterator[Undecided]:
    if spans:
        keys, start, end = (np.array(column, np.int64) for column in zip(*spans, strict=True))
        sentence = sentence.format(count(len(spans), "lost segment"))
        yield facts.undecided("ap_buffer_loss", keys, sentence, t_start_ns=start, t_end_ns=end)


@dataclass
class _Case:
    """Losses of one episode of one direction, and the state of the queue."""

    key: int
    packets: Array
    retransmissions: Array
    t_start_ns: int
    t_end_ns: int
    sent: int
    waiting: int
    full: bool
    wait_ns: int
    least_wait_ns: int
    cost_s: float


def _case(
    paths: PacketPaths, sent: SentData, key: int, lost: Array, waiting: Array, admitted: Array, full: bool
) -> _Case:
    point = paths.point(key)
    packets = paths.number[point][lost]
    start, reaction = int(paths.t[point][lost[0]]), int(sent.retransmitted_ns(packets).min())
    end = max(reaction, *(sent.acked_ns(int(p)) for p in packets))
    came = before_air_ns(paths)[admitted]
    wait = paths.t["air"][admitted] - came
    last_admitted = int(np.searchsorted(came, start, side="right")) - 1
    return _Case(
        key=key,
        packets=packets,
        retransmissions=sent.retransmissions(packets),
        t_start_ns=start,
        t_end_ns=end,
        sent=sent.sent_between(start, reaction),
        waiting=int(waiting[lost].max()),
        full=full,
        wait_ns=int(wait[max(0, last_admitted)]),
        least_wait_ns=int(wait.min()),
        cost_s=_cost_s(paths, key, start, reaction, end),
    )


def _cost_s(paths: PacketPaths, key: int, start: int, reaction: int, end: int) -> float:
    """Time by which the data that arrived after the reaction is behind the pace before it."""
    rows = paths.of(key)
    last = "receiver" if paths.has_point("receiver") else "air"
    rows = rows[(paths.t[last][rows] != NULL) & (paths.payload[rows] > 0)]
    t, size = paths.t[last][rows], paths.payload[rows]
    before = float(size[(t > start) & (t <= reaction)].sum())
    after = float(size[(t > reaction) & (t <= end)].sum())
    wait_s = (end - reaction) / 1e9
    pace = before / ((reaction - start) / 1e9) if reaction > start else 0.0
    return max(0.0, wait_s - after / pace) if pace > 0 else wait_s


def _describe(case: _Case, at_ap: bool) -> Description:
    passed = "reached the access point over the wire" if at_ap else "passed the sender's tap"
    queue = f"{count(case.waiting, 'packet')} waited there"
    why = f"because its queue was full: {queue}" if case.full else f"although its queue had room: {queue}"
    recovery_s = (case.t_end_ns - case.t_start_ns) / 1e9
    return Description(
        sentence=(
            f"{len(case.packets)} of {count(case.sent, 'segment')} sent from {moment(case.t_start_ns)} on {passed} and the "
            f"access point did not send them, {why}; the segment before waited {duration(case.wait_ns / 1e9)} (the least is "
            f"{duration(case.least_wait_ns / 1e9)}). Recovery took {duration(recovery_s)}."
        ),
        values={
            "losses_count": len(case.packets),
            "sent_segments": case.sent,
            "waiting_packets": case.waiting,
            "wait_before_ms": case.wait_ns / 1e6,
            "least_wait_ms": case.least_wait_ns / 1e6,
            "recovery_s": recovery_s,
        },
        evidence={"segments": [*case.packets, *case.retransmissions]},
        confidence=0.95 if at_ap or len(case.packets) > 1 else 0.9,
    )
