from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    MAX_FINDINGS,
    NULL,
    ON_THE_PATH,
    TIMERS,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    LostAcks,
    PacketPaths,
    Rows,
    Undecided,
    count,
    duration,
    moment,
    times,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Flag bits of SYN, FIN and RST: such a packet is more than an ACK.
_CONTROL = 0x07

#: Places of a loss in `links`: for the verdict, and for the finding.
_PLACES = {
    "on_air": ("on the air", "on the air, where no transmission was acknowledged"),
    "before_air": ("before the air", "before the air: in the host, in the access point or on the wire"),
    "after_air": ("after the air", "after the air, which had delivered them"),
    "before_usb": ("before the USB bus", "before the USB bus"),
    "on_path": ("", "on the path"),
    "unknown": ("", "on the path"),
}


def _place(findings: Sequence[Finding]) -> str:
    """Where the ACKs of all stalls were lost, if at one place."""
    places = {str(f.values["lost"]) for f in findings if f.cost_s > 0 and "lost" in f.values}
    return _PLACES[places.pop()][0] if len(places) == 1 else ""


@detector(
    "ack_loss",
    needs=("links", "segments", "flows"),
    phrase="lost ACKs stopped the sender",
    timeout_reason=("ack_lost", _place),
    explains=(*TIMERS, "spurious_recovery", "loss_recovery", "receiver_window", "delayed_ack", *ON_THE_PATH),
    saving="setback",
    remedy=Remedy(
        "Path from the receiver to the sender: find where the ACKs are lost and remove it. Sender and "
        "receiver: SACK, timestamps and a tail loss probe (RACK-TLP) on, so that the next ACK or a probe ends "
        "the stall.",
        "capture at both ends again: every ACK that leaves the receiver arrives, or the sender no longer waits "
        "for its timer.",
        by_value="lost",
        changes={
            "on_air": "Channel between receiver and access point: improve the signal, change the channel, or raise the "
            "retry limit of the station that sends the ACKs.",
            "before_air": "Receiver's host or access point, where the ACKs enter the air: a longer queue or fq_codel, so "
            "that ACKs are not dropped behind other traffic.",
            "after_air": "Device behind the air (the sender's adapter and driver, or the access point's wired side): update "
            "its driver; look for its drop counters (`ip -s link`, `ethtool -S`).",
            "before_usb": "Sender's adapter: update its firmware, and let its driver keep several receive transfers (URBs) "
            "submitted, so that its buffer does not overflow.",
        },
    ),
)
def ack_loss(
    trace: Trace, *, min_stall_ms: float = 50.0, goes_on_ms: float = 50.0, doubt_share: float = 0.05
) -> Iterator[Finding | Undecided]:
    """ACKs left the receiver and never reached the sender.

    What it finds
    -------------
    ACKs of a transfer that another capture holds and the sender's does not, and where they were lost. One finding per
    stall: the sender sent no new data until a later ACK, or its timer, made up for the lost ones. The cost is that time.
    All other lost ACKs of a direction are one finding without cost: the next ACK acknowledged the same bytes.

    Why it happens
    --------------
    ACKs are data frames to the air: they collide, fade and find full queues like any other. ACKs are cumulative, so single
    losses do no harm; the loss of a whole window of them, or of the last, stops the sender until its timer expires,
    although all data arrived.

    How it decides
    --------------
    `arrival` and `loss_location` of `links`, which compares the captures packet by packet. A lost ACK is due at the sender the usual time
    (median) after its first capture; the stall is from then, or from the last new data after it, to the first ACK that
    covers the same bytes.
    `min_stall_ms`: shortest stall; longer than the shortest delayed-ACK timer (40 ms in Linux) and its jitter.
    `goes_on_ms`: new data follows the ACK within a scheduler's delay, or the timer expired meanwhile; otherwise the sender
    had nothing to send.
    `doubt_share`: if the sender's tap missed data that passed it, ACKs that it missed look lost; if they may be more than
    this share of the lost ones: undecided.

    What fools it
    -------------
    Held ACKs arrive late and are not lost. Delayed ACKs were never sent. The loss of an ACK without news costs nothing,
    but three such losses may prevent a fast retransmit: that shows as a genuine timeout. Where data was lost with the
    ACKs, both caused the stall.

    References
    ----------
    RFC 5690 (what TCP does with few ACKs); RFC 3449 section 2 (asymmetry and lost ACKs); Balakrishnan et al., "The effects
    of asymmetry on TCP performance", 1997.
    """
    facts = Facts.of(trace)
    paths = facts.cached(PacketPaths)
    # The last packet of a handshake counts: the connection may carry no data in this direction.
    pure = (paths.payload == 0) & (paths.ack != NULL) & (paths.flags & _CONTROL == 0)
    not_seen = pure & (paths.arrival == "not_seen")
    stalls: list[_Stall] = []
    harmless: list[Finding] = []
    senders = facts.complete_data_keys()
    for key in senders[np.isin(senders ^ 1, paths.key[not_seen])].tolist():
        rows, point = paths.of(key ^ 1), paths.point(key)
        if not point or not paths.starts_at(key, point):
            continue
        lost, arrived = rows[not_seen[rows]], rows[pure[rows] & (paths.number[point][rows] != NULL)]
        # ACKs after the last that arrived may still be on the path when the captures end.
        lost = lost[paths.first_ns(lost) < paths.first_ns(arrived[-1:])] if len(arrived) else lost[:0]
        if not len(lost):
            continue
        data = paths.of(key)
        missed = float((paths.number[point][data] == NULL).mean()) if len(data) else 0.0
        if missed * len(arrived) > doubt_share * len(lost):
            yield facts.undecided(
                "ack_loss",
                np.full(len(lost), key),
                f"{count(len(lost), 'ACK')} not captured at the sender, but its tap missed {100 * missed:.2f} % of the data too: "
                "whether the sender received them is unknown.",
                t_start_ns=paths.first_ns(lost),
                t_end_ns=paths.first_ns(lost) + int(min_stall_ms * 1e6),
            )
            continue
        acks = LostAcks(facts, key, lost, arrived)
        stalled, start_ns = _stalled(facts, key, acks, int(min_stall_ms * 1e6), int(goes_on_ms * 1e6))
        stalls += _stalls(facts, paths, key, acks, lost, stalled, start_ns)
        rest = np.flatnonzero(~stalled)
        if len(rest) and len(harmless) < MAX_FINDINGS:
            harmless.append(
                _harmless(facts, key, acks, rest, len(lost) + len(arrived), _most(paths.loss_location[lost[rest]]))
            )
    cases = Cases(
        facts,
        "ack_loss",
        key=np.array([s.key for s in stalls], np.int64),
        t_start_ns=np.array([s.t_start_ns for s in stalls], np.int64),
        t_end_ns=np.array([s.t_end_ns for s in stalls], np.int64),
        cost_s=np.array([s.t_end_ns - s.t_start_ns for s in stalls], np.int64) / 1e9,
        packet=np.array([next(iter(s.evidence), NULL) for s in stalls], np.int64),
    )
    yield from cases.findings(lambda i: _describe(stalls[i]), what="a stall for lost ACKs")
    yield from harmless


@dataclass
class _Stall:
    """A pause of a sender for lost ACKs; `arrived`: its timer expired only for data that had arrived."""

    key: int
    t_start_ns: int
    t_end_ns: int
    lost: int
    place: str
    expiries: int
    arrived: bool
    evidence: list[int]


def _stalled(facts: Facts, key: int, acks: LostAcks, min_stall: int, goes_on: int) -> tuple[Array, Array]:
    """Which lost ACKs stopped the sender, and from when."""
    data = facts.cached(_data).of_key(key)
    new = np.sort(data["t_ns"][data["transmission"] == "first"])
    expiries = np.sort(facts.cached(_expiries).of_key(key)["t_ns"])
    start, end = acks.due_ns, acks.covered_ns
    follows = np.zeros(len(end), bool)
    if len(new):
        last = np.searchsorted(new, end, side="left") - 1
        start = np.maximum(start, np.where(last >= 0, new[np.maximum(last, 0)], start))
        following = np.minimum(last + 1, len(new) - 1)
        follows = (last + 1 < len(new)) & (new[following] <= end + goes_on)
    expired = np.searchsorted(expiries, end) > np.searchsorted(expiries, start)
    return (end - start >= min_stall) & (follows | expired), start


def _data(facts: Facts) -> Rows:
    return facts.rows("segments", ["t_ns", "transmission"], where={"kind": ("data",)}, valid=("t_ns",))


def _expiries(facts: Facts) -> Rows:
    return facts.rows("timeouts", ["t_ns", "packet", "kind"], valid=("t_ns",))


def _stalls(
    facts: Facts, paths: PacketPaths, key: int, acks: LostAcks, lost: Array, stalled: Array, start_ns: Array
) -> Iterator[_Stall]:
    """The stalls of one direction: one for each ACK that ended one."""
    expiries = facts.cached(_expiries).of_key(key)
    for end in np.unique(acks.covered_ns[stalled]).tolist():
        group = np.flatnonzero(stalled & (acks.covered_ns == end))
        begin = int(start_ns[group].min())
        inside = expiries.take((expiries["t_ns"] > begin) & (expiries["t_ns"] <= end))
        yield _Stall(
            key,
            begin,
            end,
            len(group),
            _most(paths.loss_location[lost[group]]),
            len(inside),
            not (inside["kind"] == "genuine").any(),
            [*acks.covering_packets(group), *inside["packet"]],
        )


def _most(places: Array) -> str:
    """The place where most packets were lost."""
    return Counter(places.tolist()).most_common(1)[0][0] or "unknown"


def _describe(stall: _Stall) -> Description:
    timer = f", and its timer expired {times(stall.expiries)}" if stall.expiries else ""
    return Description(
        sentence=(
            f"{count(stall.lost, 'ACK')} left the receiver and never reached the sender, lost {_PLACES[stall.place][1]}; from "
            f"{moment(stall.t_start_ns)} the sender sent no new data for {duration((stall.t_end_ns - stall.t_start_ns) / 1e9)}"
            + timer
            + (", although the data had arrived." if stall.arrived else "; data was lost too.")
        ),
        values={"lost_acks_count": stall.lost, "lost": stall.place, "expiries_count": stall.expiries},
        evidence={"segments": stall.evidence},
        confidence=0.95,
    )


def _harmless(facts: Facts, key: int, acks: LostAcks, which: Array, total: int, place: str) -> Finding:
    covered = acks.covered_at[which] >= 0
    late_ns = np.maximum(acks.covered_ns - acks.due_ns, 0)[which]
    latest_ns = int(late_ns[covered].max(initial=0))
    first_ns = acks.first_ns[which]
    return facts.finding(
        "ack_loss",
        key,
        int(first_ns.min()),
        int(max(acks.due_ns[which].max(), first_ns.max())),
        cost_s=0.0,
        lifetime_s=1.0,
        confidence=0.95,
        values={"lost_acks_count": len(which), "acks_count": total, "lost": place, "latest_ms": latest_ns / 1e6},
        evidence={"segments": acks.covering_packets(which)},
        sentence=(
            f"{facts.subject(key)}: {len(which)} of {count(total, 'ACK')} left the receiver and never reached the sender, lost "
            f"{_PLACES[place][1]}; later ACKs covered them at most {duration(latest_ns / 1e9)} after they were due: no cost."
        ),
    )
