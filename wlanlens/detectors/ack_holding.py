from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.ack_timestamps import PURE_ACKS, SENT, AckTimestamps, ticks_between
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.holding_point import HoldingPoints
from wlanlens.detection.toolkit.packet_paths import PacketPaths
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.formatting import count, duration, moment
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: ACKs of a burst that are looked at.
_BURST_MOST = 4096


@detector("ack_holding", needs=("segments", "flows"))
def ack_holding(
    trace: Trace,
    *,
    min_hold_ms: float = 50.0,
    burst_ms: float = 5.0,
    min_burst_acks: int = 3,
    min_spread_ms: float = 10.0,
) -> Iterator[Finding | Undecided]:
    """Received ACKs were held back and handed over in a burst.

    What it finds
    -------------
    A silence in the ACKs of a flow, then several within milliseconds that their sender had made one by one during the
    silence. The cost is how long the first of them was held: so long the sender heard nothing of what had arrived.

    Why it happens
    --------------
    The adapter's firmware or its driver keeps received frames (interrupts off, a USB transfer not completed, power
    save) and hands them over together. Held beyond the retransmission timeout, they make the sender repeat data that
    had arrived.

    How it decides
    --------------
    From the timestamps (RFC 7323) in the ACKs, which tell when each was made, without any need for equal clocks: the
    distance of two ACKs in arrival, less their distance in TSval, is by how much the later was held. `min_hold_ms`: the
    first ACK of the burst was held for longer than the shortest delayed ACK (40 ms in Linux) and any ordinary jitter.
    `burst_ms`: ACKs handed over together come within a fraction of a millisecond; 5 ms allows for a slow host.
    `min_burst_acks`: fewer than three are no burst. `min_spread_ms`: their TSvals spread over at least so much of the
    silence, more than the burst itself took, for ACKs made at one moment were not held one by one. One capture cannot
    tell the adapter from a queue on the way back that stood still. A sniffer can, and a capture of the USB bus: what kept
    the ACKs lies between the two captures from one to the other of which the first took longer than the ACK before, by half
    of the hold or more. `kept_by` names it: adapter, driver, adapter_or_driver (without the bus), air (from its first
    attempt to the last), queue (before the air) or way (where no capture stands between the hosts).

    What fools it
    -------------
    A receiver that was silent makes its ACKs after the silence: their TSvals are new. After lost ACKs the first to come
    is new, too. A delayed ACK is one ACK, made late. All three stay silent here. Without timestamps, or when their
    ticks are coarser than the hold, a burst after a silence is left undecided, unless the ACKs have no timestamps and
    another capture saw them pass before: one at the receiver tells whether they were held, one between, such as a
    sniffer's, that they were. A tap beside the receiver sees ACKs before anything can hold them.

    References
    ----------
    RFC 7323 section 5.4; the study of 802.11b adapters on USB (section 4.2.1, the ACK holding problem), which needed a
    sniffer and an instrumented kernel to see it.
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks("ack_holding")
    senders = facts.complete_data_keys()
    blind = senders[facts.flow_values("tap", senders) == "near_receiver"]
    if len(blind):
        yield facts.undecided(
            "ack_holding",
            blind,
            "The tap is beside the receiver: whether ACKs are held on their way is not seen from there.",
        )
    min_hold, burst, spread = (int(ms * 1e6) for ms in (min_hold_ms, burst_ms, min_spread_ms))
    stamps = facts.cached(AckTimestamps)
    coarse = _coarse(stamps, min_hold)
    starts = _bursts(stamps, min_hold, burst, min_burst_acks)
    until, made = -1, []
    for start in starts.tolist():
        if start <= until:
            continue
        held = _held(stamps, start, burst)
        wide = int(ticks_between(stamps.tsval[held[0]], stamps.tsval[held[-1]])) * int(stamps.tick[start])
        took = int(stamps.t[held[-1]] - stamps.t[held[0]])
        if len(held) >= min_burst_acks and wide >= max(spread, 2 * took):
            until = int(held[-1])
            hold = int(stamps.lateness_ns(np.array([start]), np.array([start - 1]))[0])
            acks = stamps.packet[[start - 1, *held]], stamps.t[[start - 1, *held]]
            made.append(_Burst(int(stamps.key[start]), *acks, hold, wide, tick_ns=int(stamps.tick[start])))
    rows, unstamped = _unstamped(facts, min_hold, burst, min_burst_acks)
    if len(unstamped) and trace.has("links"):
        seen, unstamped = _seen_before(facts, rows, unstamped, min_hold, burst, min_burst_acks, spread)
        made += seen
    keepers = facts.cached(HoldingPoints) if made and trace.has("links") else None
    hold_ns = np.array([b.hold_ns for b in made], np.int64)
    listed, others = costliest(hold_ns)
    for i in listed.tolist():
        yield _finding(facts, made[i], keepers)
    rest = [made[i] for i in others.tolist()]
    yield from facts.remainder_finding(
        "ack_holding",
        np.array([b.key ^ 1 for b in rest], np.int64),
        np.array([b.t_ns[0] for b in rest], np.int64),
        np.array([b.t_ns[1] for b in rest], np.int64),
        hold_ns[others],
        evidence=("segments", np.array([b.packets[1] for b in rest], np.int64)),
        what="held ACKs",
    )
    open_ = np.concatenate((coarse, rows.key[unstamped] ^ 1))
    open_ = open_[~np.isin(open_, blind)]
    if len(open_):
        yield facts.undecided(
            "ack_holding",
            open_,
            f"{count(len(open_), 'silence')} ended by a burst of ACKs, but without fine timestamps it cannot be told "
            "whether the ACKs were held or were made late; a sniffer or a capture at the receiver would tell.",
        )


@dataclass(frozen=True)
class _Burst:
    """A burst of held ACKs.

    Attributes
    ----------
    key : int
        Of the direction in which they travel.
    packets, t_ns : array
        Of the ACK before, and of each that was held.
    hold_ns, spread_ns : int
        By how much the first was later than the ACK before, and over how long they had been made, or seen before.
    tick_ns : int
        Of the timestamps that tell it; 0 where another capture does.
    seen_at : str
        Where that one stands.
    """

    key: int
    packets: Array
    t_ns: Array
    hold_ns: int
    spread_ns: int
    tick_ns: int = 0
    seen_at: str = ""


def _candidates(key: Array, t: Array, min_hold: int, burst: int, min_acks: int) -> Array:
    """Positions of ACKs that follow a silence of their key and begin a burst."""
    n, more = len(key), min_acks - 1
    i = np.flatnonzero((np.diff(t) >= min_hold) & (key[1:] == key[:-1])) + 1
    i = i[i + more < n]
    return np.asarray(i[(key[i + more] == key[i]) & (t[i + more] - t[i] <= burst)])


def _bursts(stamps: AckTimestamps, min_hold: int, burst: int, min_acks: int) -> Array:
    """Candidates whose first ACK was made long before it came, against the ACK before it."""
    i = _candidates(stamps.key, stamps.t, min_hold, burst, min_acks)
    tick = stamps.tick[i]
    fine = (tick > 0) & (tick * 2 <= min_hold)
    i, tick = i[fine], tick[fine]
    # One tick of doubt: a timestamp says when its tick began.
    return np.asarray(i[stamps.lateness_ns(i, i - 1) - tick >= min_hold])


def _coarse(stamps: AckTimestamps, min_hold: int) -> Array:
    """Data keys, one a candidate of which the timestamps are too coarse or too few to judge."""
    i = _candidates(stamps.key, stamps.t, min_hold, burst=5_000_000, min_acks=3)
    i = i[(stamps.tick[i] == 0) | (stamps.tick[i] * 2 > min_hold)]
    return np.asarray(stamps.key[i] ^ 1)


def _held(stamps: AckTimestamps, start: int, burst: int) -> Array:
    """Positions of the burst's ACKs that were made before it began."""
    i, reach = start, stamps.t[start] + burst
    end = min(len(stamps.t), start + _BURST_MOST)
    stop = start + int(np.argmax(np.append((stamps.t[i:end] > reach) | (stamps.key[i:end] != stamps.key[i]), True)))
    part = np.arange(start, stop)
    late = stamps.lateness_ns(part, np.full(len(part), start - 1))
    held = part[late - stamps.tick[start] > 0]
    return held if len(held) else part[:1]


def _finding(facts: Facts, b: _Burst, keepers: HoldingPoints | None) -> Finding:
    before, released = int(b.t_ns[0]), int(b.t_ns[1])
    keeper = keepers.find(b.key, int(b.packets[1]), int(b.packets[0]), b.hold_ns) if keepers is not None else None
    by = keeper.evidence if keeper is not None else "by the adapter, its driver or a queue on the way back"
    came = int(b.t_ns[-1]) - released
    told = (
        f"by their timestamps the receiver had made them over {duration(b.spread_ns / 1e9)}"
        if b.tick_ns
        else f"at the {b.seen_at} they had passed over {duration(b.spread_ns / 1e9)}"
    )
    return facts.finding(
        "ack_holding",
        b.key ^ 1,
        released - b.hold_ns,
        released,
        cost_s=b.hold_ns / 1e9,
        lifetime_s=facts.lifetime_s(np.array([b.key ^ 1]))[0],
        confidence=0.95 if keeper is not None else 0.85,
        values={
            "held_s": b.hold_ns / 1e9,
            "held_acks_count": len(b.packets) - 1,
            "silence_s": (released - before) / 1e9,
            **({"tsval_spread_s": b.spread_ns / 1e9} if b.tick_ns else {"seen_spread_s": b.spread_ns / 1e9}),
            "burst_ms": came / 1e6,
            **({"tick_ms": b.tick_ns / 1e6} if b.tick_ns else {"seen_at": b.seen_at}),
            **({"kept_by": keeper.name} if keeper is not None else {}),
        },
        evidence={"segments": b.packets},
        sentence=(
            f"{facts.subject(b.key ^ 1)}: {count(len(b.packets) - 1, 'ACK')} came within {duration(came / 1e9)} at "
            f"{moment(released)} after {duration((released - before) / 1e9)} without any, though {told}; the first was held "
            f"for {duration(b.hold_ns / 1e9)} {by}."
        ),
    )


def _seen_before(
    facts: Facts, rows: Rows, starts: Array, min_hold: int, burst: int, min_acks: int, spread: int
) -> tuple[list[_Burst], Array]:
    """Bursts without timestamps that were held, by when another capture on the way saw their ACKs; and those of which
    none can tell. A capture at the receiver tells of each whether it was; one between only that it was."""
    passage = facts.cached(PacketPaths)
    made, open_ = [], []
    until = -1
    for start in starts.tolist():
        if start <= until:
            continue
        key, t = int(rows.key[start]), rows["t_ns"]
        stop = int(np.searchsorted(t[start : start + _BURST_MOST], t[start] + burst, side="right")) + start
        part = np.arange(start - 1, stop)
        part = part[rows.key[part] == key]
        point, way = passage.point(key), passage.path(key)
        at_ = passage.at(key, point, rows["packet"][part]) if point in way else np.full(len(part), -1)
        decided = False
        for stop_before in way[: way.index(point)] if (at_ >= 0).all() else []:
            left = passage.t[stop_before][at_]
            if NULL in left[:2]:
                continue
            late = np.where(left == NULL, 0, (t[part] - left) - (t[part[0]] - left[0]))
            held = np.flatnonzero(late > 0)
            took = int(t[part[held[-1]]] - t[start]) if len(held) else 0
            wide = int(left[held[-1]] - left[1]) if len(held) else 0
            if late[1] >= min_hold and len(held) >= min_acks and wide >= max(spread, 2 * took):
                chosen = part[[0, *held]]
                acks = rows["packet"][chosen], t[chosen]
                made.append(_Burst(key, *acks, int(late[1]), wide, seen_at=stop_before))
                until = int(part[held[-1]])
                decided = True
                break
            decided |= stop_before == "receiver"
        if not decided:
            open_.append(start)
    return made, np.array(open_, np.int64)


def _unstamped(facts: Facts, min_hold: int, burst: int, min_acks: int) -> tuple[Rows, Array]:
    """ACKs without timestamps, and the first of each burst of them after a silence that the round trip does not explain."""
    rows = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_ack", "flight_bytes", "srtt_ns", "tsval"],
        where={"kind": PURE_ACKS, "transmission": SENT},
        valid=("t_ns", "rel_ack"),
    )
    rows = rows.take(rows["tsval"] == NULL)
    i = _candidates(rows.key, rows["t_ns"], min_hold, burst, min_acks)
    silence = rows["t_ns"][i] - rows["t_ns"][i - 1]
    srtt = np.where(rows["srtt_ns"][i - 1] == NULL, 0, rows["srtt_ns"][i - 1])
    # Data was outstanding, its ACK overdue by the hold, and the first to come no jump as after lost ACKs: it
    # acknowledges no more than the burst's ACKs do on average, plus one.
    step = (rows["rel_ack"][i + min_acks - 1] - rows["rel_ack"][i]) / max(1, min_acks - 1)
    jump = rows["rel_ack"][i] - rows["rel_ack"][i - 1]
    mine = (rows["flight_bytes"][i - 1] > 0) & (silence - srtt >= min_hold) & (jump <= 2 * step)
    return rows, i[mine]
