from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import MAX_FINDINGS, costliest
from wlanlens.detection.toolkit.packet_paths import PacketPaths
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Flag bits of SYN, FIN and RST: such a packet says more than an ACK does.
_CONTROL = 0x07

_WHERE = {
    "on_air": "on the air, where no attempt was acknowledged",
    "before_air": "before the air, in the host, the access point or on the wire before it",
    "after_air": "behind the air, which had delivered them",
    "before_usb": "before the USB bus",
    "on_way": "on their way",
    "unknown": "on their way",
}


@detector("ack_loss", needs=("links", "segments", "flows"))
def ack_loss(
    trace: Trace, *, min_stall_ms: float = 50.0, goes_on_ms: float = 50.0, doubt_share: float = 0.05
) -> Iterator[Finding | Undecided]:
    """ACKs left the receiver and never reached the sender.

    What it finds
    -------------
    ACKs of a transfer that another capture saw on their way and the sender's did not, and where they were lost. A finding a
    stall: the sender sent nothing new until a later ACK, or its timer, made them good. The cost is that silence. All other
    lost ACKs of a direction are one finding of no cost: the next ACK says what they would have said.

    Why it happens
    --------------
    ACKs are data frames to the air: they collide, fade and find full queues like any other. ACKs are cumulative, so single
    losses do no harm; the loss of a whole window of them, or of the last, stops the sender until its timer expires, though
    all data arrived.

    How it decides
    --------------
    `fate` and `lost` of `links`, which compares the captures packet by packet. A lost ACK is due at the sender the usual time
    (median) after the first capture that saw it; the stall is from then, or from the last new data after it, to the first
    ACK that says as much. `min_stall_ms`: shorter than the shortest delayed ACK timer (40 ms in Linux) and its jitter is no
    stall. `goes_on_ms`: new data follows the ACK within a scheduler's delay, or the timer expired meanwhile; else the sender
    had nothing to send. `doubt_share`: where the sender's tap missed data that passed it later on, ACKs that it missed look
    lost; when more than this share of them may be such, it is undecided.

    What fools it
    -------------
    Held ACKs arrive in the end and are not lost. Delayed ACKs were never made. An ACK that says nothing new costs nothing,
    but three of them lost may cost a fast retransmission: that shows as a genuine timeout. Where data was lost with the
    ACKs the stall is due to both.

    References
    ----------
    RFC 5690 (what TCP does with few ACKs); RFC 3449 section 2 (asymmetry and lost ACKs); Balakrishnan et al., "The effects
    of asymmetry on TCP performance", 1997.
    """
    facts = Facts.of(trace)
    passage = facts.cached(PacketPaths)
    # The third packet of a handshake is one of a connection without data, too.
    pure = (passage.payload == 0) & (passage.ack != NULL) & (passage.flags & _CONTROL == 0)
    lost = pure & (passage.fate == "not_seen")
    cases: list[_Stall] = []
    harmless: list[_Harmless] = []
    senders = facts.complete_data_keys()
    for key in senders[np.isin(senders ^ 1, passage.key[lost])].tolist():
        rows = passage.of(key ^ 1)
        point = passage.point(key)
        if not point or not passage.starts_at(key, point):
            continue
        mine, got = rows[lost[rows]], rows[pure[rows] & (passage.number[point][rows] != NULL)]
        # What left after the last that came may be under way still.
        mine = mine[passage.first_ns(mine) < passage.first_ns(got[-1:])] if len(got) else mine[:0]
        if not len(mine):
            continue
        missed = _missed(passage, key, point)
        if missed * len(got) > doubt_share * len(mine):
            yield facts.undecided(
                "ack_loss",
                np.full(len(mine), key),
                f"{count(len(mine), 'ACK')} did not show in the sender's capture, but that missed {missed:.2%} of the data as "
                "well: whether the sender got them is not known.",
                t_start_ns=passage.first_ns(mine),
                t_end_ns=passage.first_ns(mine) + int(min_stall_ms * 1e6),
            )
            continue
        stalls, rest = _judge(
            facts, facts.cached(_Told), passage, key, mine, got, int(min_stall_ms * 1e6), int(goes_on_ms * 1e6)
        )
        cases += stalls
        if rest is not None:
            harmless.append(rest)
    yield from _stalls(facts, cases)
    yield from _no_harm(facts, harmless)


def _missed(passage: PacketPaths, key: int, point: str) -> float:
    """Share of the data that was seen behind the sender's tap and not at it."""
    rows = passage.of(key)
    return float((passage.number[point][rows] == NULL).mean()) if len(rows) else 0.0


@dataclass
class _Stall:
    """A silence of a sender that lost ACKs made."""

    key: int
    t_start_ns: int
    t_end_ns: int
    lost: int
    where: str
    expiries: int
    arrived: bool
    evidence: dict[str, list[int]]


@dataclass
class _Harmless:
    """Lost ACKs of a direction that cost nothing."""

    key: int
    t_start_ns: int
    t_end_ns: int
    lost: int
    of: int
    where: str
    longest_ns: int
    evidence: dict[str, list[int]]


class _Told:
    """What the senders' captures tell: their data, their timers' expiries, the ACKs that they got."""

    def __init__(self, facts: Facts) -> None:
        columns = ["t_ns", "packet", "transmission"]
        self.data = facts.rows("segments", columns, where={"kind": ("data",)}, valid=("t_ns",))
        self.expiries = facts.rows("timeouts", ["t_ns", "packet", "kind"], valid=("t_ns",))
        self.acks = facts.rows("segments", ["packet", "rel_ack"], valid=("rel_ack",))


def _judge(
    facts: Facts, told: _Told, passage: PacketPaths, key: int, lost: Array, got: Array, min_stall: int, goes_on: int
) -> tuple[list[_Stall], _Harmless | None]:
    """The stalls of one direction, and what did no harm."""
    first = passage.first_ns(lost)
    came_got = passage.t[passage.point(key)][got]
    due = first + int(np.median(came_got - passage.first_ns(got)))
    acks, one = facts.cached(Acks), np.array([key])
    says = _relative(told.acks.of_key(key ^ 1), passage, key, lost, got)
    reached = acks.first_covering(np.full(len(lost), key), says)
    came = np.where(reached >= 0, acks.t_ns(reached), facts.last_packet_ns(one)[0])
    data, expiries = told.data.of_key(key), told.expiries.of_key(key)
    new = np.sort(data["t_ns"][data["transmission"] == "first"])
    expiries = facts.rows("timeouts", ["t_ns", "packet", "kind"], valid=("t_ns",), keys=one)
    last_new = np.searchsorted(new, came, side="left") - 1
    start = np.maximum(due, np.where(last_new >= 0, new[np.maximum(last_new, 0)], due)) if len(new) else due
    follows = np.zeros(len(lost), bool)
    if len(new):
        nearest = np.searchsorted(new, came, side="left")
        follows = (nearest < len(new)) & (new[np.minimum(nearest, len(new) - 1)] <= came + goes_on)
    expired = np.searchsorted(np.sort(expiries["t_ns"]), came) > np.searchsorted(np.sort(expiries["t_ns"]), start)
    stalled = (came - start >= min_stall) & (follows | expired)
    stalls = []
    for end in np.unique(came[stalled]).tolist():
        group = np.flatnonzero(stalled & (came == end))
        begin = int(start[group].min())
        inside = expiries.take((expiries["t_ns"] > begin) & (expiries["t_ns"] <= end))
        stalls.append(
            _Stall(
                key, begin, end, len(group), _where(passage, lost[group]), len(inside),
                not (inside["kind"] == "genuine").any(), {"segments": [*_ack_at(acks, reached[group]), *inside["packet"]]},
            )
        )  # fmt: skip
    rest = np.flatnonzero(~stalled)
    if not len(rest):
        return stalls, None
    late = np.maximum(came[rest] - due[rest], 0)
    quiet = _Harmless(
        key, int(first[rest].min()), int(max(due[rest].max(), first[rest].max())), len(rest), len(lost) + len(got),
        _where(passage, lost[rest]), int(late[reached[rest] >= 0].max(initial=0)),
        {"segments": _ack_at(acks, reached[rest])},
    )  # fmt: skip
    return stalls, quiet


def _ack_at(acks: Acks, reached: Array) -> list[int]:
    """The packets of the ACKs that made lost ones good."""
    return [int(p) for p in np.unique(acks.packet(reached)) if p != NULL]


def _relative(rows: Rows, passage: PacketPaths, key: int, lost: Array, got: Array) -> Array:
    """What each lost ACK acknowledged, counted from the SYN, by the nearest ACK that came."""
    order = np.argsort(rows["packet"], kind="stable")
    number, relative = rows["packet"][order], rows["rel_ack"][order]
    at_ = np.minimum(np.searchsorted(number, passage.number[passage.point(key)][got]), max(0, len(number) - 1))
    known = (
        np.flatnonzero(number[at_] == passage.number[passage.point(key)][got]) if len(number) else np.zeros(0, np.int64)
    )
    if not len(known):
        return np.zeros(len(lost), np.int64)
    base = relative[at_[known]]
    raw = passage.ack[got[known]]
    near = np.searchsorted(passage.first_ns(got[known]), passage.first_ns(lost))
    near = np.clip(near - 1, 0, len(known) - 1)
    # Sequence numbers wrap: the distance is less than half of their range.
    ahead = (passage.ack[lost] - raw[near] + (1 << 31)) % (1 << 32) - (1 << 31)
    return np.asarray(base[near] + ahead)


def _where(passage: PacketPaths, rows: Array) -> str:
    """Where most of some packets were lost."""
    return Counter(passage.lost[rows].tolist()).most_common(1)[0][0] or "unknown"


def _stalls(facts: Facts, cases: list[_Stall]) -> Iterator[Finding]:
    keys = np.array([case.key for case in cases], np.int64)
    start, end = (np.array([getattr(case, name) for case in cases], np.int64) for name in ("t_start_ns", "t_end_ns"))
    life = facts.lifetime_s(keys)
    listed, others = costliest(end - start)
    for i in listed.tolist():
        case = cases[i]
        cost_s = (case.t_end_ns - case.t_start_ns) / 1e9
        timer = (
            f", and its timer expired {'once' if case.expiries == 1 else f'{case.expiries} times'}"
            if case.expiries
            else ""
        )
        yield facts.finding(
            "ack_loss",
            case.key,
            case.t_start_ns,
            case.t_end_ns,
            cost_s=cost_s,
            lifetime_s=float(life[i]),
            confidence=0.95,
            values={"lost_acks_count": case.lost, "lost": case.where, "expiries_count": case.expiries},
            evidence=case.evidence,
            sentence=(
                f"{facts.subject(case.key)}: {count(case.lost, 'ACK')} left the receiver and never reached the sender, lost "
                f"{_WHERE[case.where]}; from {moment(case.t_start_ns)} the sender sent nothing new for {duration(cost_s)}{timer}"
                + (", though the data had arrived." if case.arrived else "; data was lost as well.")
            ),
        )
    yield from facts.remainder_finding(
        "ack_loss", keys[others], start[others], end[others], (end - start)[others],
        evidence=("segments", np.array([cases[i].evidence["segments"][0] for i in others.tolist()], np.int64)),
        what="a stall for lost ACKs",
    )  # fmt: skip


def _no_harm(facts: Facts, cases: list[_Harmless]) -> Iterator[Finding]:
    for case in cases[:MAX_FINDINGS]:
        yield facts.finding(
            "ack_loss",
            case.key,
            case.t_start_ns,
            case.t_end_ns,
            cost_s=0.0,
            lifetime_s=1.0,
            confidence=0.95,
            values={
                "lost_acks_count": case.lost,
                "acks_count": case.of,
                "lost": case.where,
                "latest_ms": case.longest_ns / 1e6,
            },
            evidence=case.evidence,
            sentence=(
                f"{facts.subject(case.key)}: {case.lost} of {count(case.of, 'ACK')} left the receiver and never reached the "
                f"sender, lost {_WHERE[case.where]}; later ACKs said as much, at most {duration(case.longest_ns / 1e9)} after "
                "they were due: they cost nothing."
            ),
        )
