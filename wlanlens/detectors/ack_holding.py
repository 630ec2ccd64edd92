from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detectors._common import NULL, Array, Facts, at, count, most, time
from wlanlens.detectors._keepers import Keepers
from wlanlens.detectors._stamps import PURE_ACKS, SENT, Stamps, ticks_between
from wlanlens.finding import Finding, Undecided
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


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
    ticks are coarser than the hold, a burst after a silence is left undecided; and a tap beside the receiver sees ACKs
    before anything can hold them.

    References
    ----------
    RFC 7323 section 5.4; the study of 802.11b adapters on USB (section 4.2.1, the ACK holding problem), which needed a
    sniffer and an instrumented kernel to see it.
    """
    facts = Facts.of(trace)
    yield from facts.one_sided("ack_holding")
    senders = facts.data_keys()
    blind = senders[facts.of_flow("tap", senders) == "near_receiver"]
    if len(blind):
        yield facts.undecided(
            "ack_holding",
            blind,
            "The tap is beside the receiver: whether ACKs are held on their way is not seen from there.",
        )
    min_hold, burst, spread = (int(ms * 1e6) for ms in (min_hold_ms, burst_ms, min_spread_ms))
    stamps = facts.keep(Stamps)
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
            made.append((start, held, wide))
    first = np.array([m[0] for m in made], np.int64)
    hold = stamps.late_ns(first, first - 1)
    keepers = facts.keep(Keepers) if made and trace.has("links") else None
    listed, others = most(hold)
    for i in listed.tolist():
        yield _finding(facts, stamps, made[i][0], made[i][1], made[i][2], keepers)
    first = first[others]
    yield from facts.rest(
        "ack_holding",
        stamps.key[first] ^ 1,
        stamps.t[first - 1],
        stamps.t[first],
        hold[others],
        evidence=("segments", stamps.packet[first]),
        what="held ACKs",
    )
    open_ = np.concatenate((coarse, _unstamped(facts, min_hold, burst, min_burst_acks)))
    open_ = open_[~np.isin(open_, blind)]
    if len(open_):
        yield facts.undecided(
            "ack_holding",
            open_,
            f"{count(len(open_), 'silence')} ended by a burst of ACKs, but without fine timestamps it cannot be told "
            "whether the ACKs were held or were made late; a sniffer or a capture at the receiver would tell.",
        )


def _candidates(key: Array, t: Array, min_hold: int, burst: int, min_acks: int) -> Array:
    """Positions of ACKs that follow a silence of their key and begin a burst."""
    n, more = len(key), min_acks - 1
    i = np.flatnonzero((np.diff(t) >= min_hold) & (key[1:] == key[:-1])) + 1
    i = i[i + more < n]
    return np.asarray(i[(key[i + more] == key[i]) & (t[i + more] - t[i] <= burst)])


def _bursts(stamps: Stamps, min_hold: int, burst: int, min_acks: int) -> Array:
    """Candidates whose first ACK was made long before it came, against the ACK before it."""
    i = _candidates(stamps.key, stamps.t, min_hold, burst, min_acks)
    tick = stamps.tick[i]
    fine = (tick > 0) & (tick * 2 <= min_hold)
    i, tick = i[fine], tick[fine]
    # One tick of doubt: a timestamp says when its tick began.
    return np.asarray(i[stamps.late_ns(i, i - 1) - tick >= min_hold])


def _coarse(stamps: Stamps, min_hold: int) -> Array:
    """Data keys, one a candidate of which the timestamps are too coarse or too few to judge."""
    i = _candidates(stamps.key, stamps.t, min_hold, burst=5_000_000, min_acks=3)
    i = i[(stamps.tick[i] == 0) | (stamps.tick[i] * 2 > min_hold)]
    return np.asarray(stamps.key[i] ^ 1)


def _held(stamps: Stamps, start: int, burst: int) -> Array:
    """Positions of the burst's ACKs that were made before it began."""
    i, reach = start, stamps.t[start] + burst
    end = min(len(stamps.t), start + 4096)
    stop = start + int(np.argmax(np.append((stamps.t[i:end] > reach) | (stamps.key[i:end] != stamps.key[i]), True)))
    part = np.arange(start, stop)
    late = stamps.late_ns(part, np.full(len(part), start - 1))
    held = part[late - stamps.tick[start] > 0]
    return held if len(held) else part[:1]


def _finding(facts: Facts, stamps: Stamps, start: int, held: Array, spread: int, keepers: Keepers | None) -> Finding:
    key = int(stamps.key[start]) ^ 1
    hold = int(stamps.late_ns(np.array([start]), np.array([start - 1]))[0])
    released, gap = int(stamps.t[start]), int(stamps.t[start] - stamps.t[start - 1])
    one = np.array([key])
    keeper = (
        keepers.of(key ^ 1, int(stamps.packet[start]), int(stamps.packet[start - 1]), hold)
        if keepers is not None
        else None
    )
    by = keeper.says if keeper is not None else "by the adapter, its driver or a queue on the way back"
    return facts.finding(
        "ack_holding",
        key,
        released - hold,
        released,
        cost_s=hold / 1e9,
        life_s=facts.life_s(one)[0],
        confidence=0.95 if keeper is not None else 0.85,
        values={
            "held_s": hold / 1e9,
            "held_acks_count": len(held),
            "silence_s": gap / 1e9,
            "tsval_spread_s": spread / 1e9,
            "burst_ms": int(stamps.t[held[-1]] - released) / 1e6,
            "tick_ms": int(stamps.tick[start]) / 1e6,
            **({"kept_by": keeper.name} if keeper is not None else {}),
        },
        evidence={"segments": [stamps.packet[start - 1], *stamps.packet[held]]},
        sentence=(
            f"{facts.subject(key)}: {count(len(held), 'ACK')} came within "
            f"{time((int(stamps.t[held[-1]]) - released) / 1e9)} at {at(released)} after {time(gap / 1e9)} without "
            f"any, though by their timestamps the receiver had made them over {time(spread / 1e9)}; the first was held "
            f"for {time(hold / 1e9)} {by}."
        ),
    )


def _unstamped(facts: Facts, min_hold: int, burst: int, min_acks: int) -> Array:
    """Data keys, one a burst of ACKs without timestamps after a silence that the round trip does not explain."""
    rows = facts.rows(
        "segments",
        ["t_ns", "rel_ack", "flight_bytes", "srtt_ns", "tsval"],
        where={"kind": PURE_ACKS, "transmission": SENT},
        valid=("t_ns", "rel_ack"),
    )
    if len(rows) and (rows["tsval"] != NULL).all():
        return np.zeros(0, np.int64)
    rows = rows.take(rows["tsval"] == NULL)
    i = _candidates(rows.key, rows["t_ns"], min_hold, burst, min_acks)
    silence = rows["t_ns"][i] - rows["t_ns"][i - 1]
    srtt = np.where(rows["srtt_ns"][i - 1] == NULL, 0, rows["srtt_ns"][i - 1])
    # Data was outstanding, its ACK overdue by the hold, and the first to come no jump as after lost ACKs: it
    # acknowledges no more than the burst's ACKs do on average, plus one.
    step = (rows["rel_ack"][i + min_acks - 1] - rows["rel_ack"][i]) / max(1, min_acks - 1)
    jump = rows["rel_ack"][i] - rows["rel_ack"][i - 1]
    mine = (rows["flight_bytes"][i - 1] > 0) & (silence - srtt >= min_hold) & (jump <= 2 * step)
    return np.asarray(rows.key[i[mine]] ^ 1)
