from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    ON_THE_PATH,
    TIMERS,
    BurstSearch,
    Cases,
    Description,
    Facts,
    Finding,
    HeldBurst,
    HoldingPoints,
    Undecided,
    count,
    duration,
    moment,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "ack_holding"

#: Where ACKs were held, for the verdict.
_HELD = {
    "adapter": " by the adapter",
    "adapter_or_driver": " by the adapter or its driver",
    "driver": " by the driver",
    "air": " by retries on the air",
    "queue": " in a queue before the air",
}


def _timeout_reason(findings: Sequence[Finding]) -> str:
    places = {str(f.values.get("kept_by", "")) for f in findings}
    return "because ACKs were held" + (_HELD.get(places.pop(), "") if len(places) == 1 else "")


def _phrase(finding: Finding) -> str:
    return "ACKs were held" + _HELD.get(str(finding.values.get("kept_by", "")), "")


@detector(
    CODE,
    needs=("segments", "flows"),
    phrase=_phrase,
    timeout_reason=("spurious", _timeout_reason),
    explains=(*TIMERS, "spurious_recovery", "receiver_window", "delayed_ack", *ON_THE_PATH),
    saving="setback",
    remedy=Remedy(
        "Sender's adapter: update driver and firmware; turn its power saving off (Linux: `iw dev wlan0 set "
        "power_save off`).",
        "capture at the sender again: the timestamps of ACKs no longer spread over a silence, and no burst "
        "follows one.",
        by_value="kept_by",
        changes={
            "adapter": "Sender's adapter: update its firmware or use another adapter; turn power saving off; move it to a "
            "USB port without a hub.",
            "adapter_or_driver": "Sender's adapter and its driver: update both; turn off power saving and interrupt coalescing of "
            "the adapter. A usbmon capture shows which of them held the ACKs.",
            "driver": "Sender's driver: update it; let it submit several receive transfers (URBs) and turn off interrupt "
            "moderation and USB autosuspend.",
            "air": "Channel between access point and sender: remove what makes frames fail (distance, interference, a "
            "full channel), or limit the retries of a frame.",
            "queue": "Access point: shorten its queue towards the sender or use fq_codel, so that ACKs do not wait "
            "behind other traffic.",
            "path": "Path from the receiver to the sender: capture at a sniffer or the access point as well, to see "
            "which device holds packets; if it is the sender's adapter, turn off its power saving and update "
            "its driver.",
        },
    ),
)
def ack_holding(
    trace: Trace,
    *,
    min_hold_ms: float = 50.0,
    burst_ms: float = 5.0,
    min_burst_acks: int = 3,
    max_burst_acks: int = 4096,
    min_spread_ms: float = 10.0,
) -> Iterator[Finding | Undecided]:
    """Received ACKs were held and delivered in a burst.

    What it finds
    -------------
    A silence in the ACKs of a flow, then several within milliseconds that the receiver had sent one by one during the
    silence. The cost is how long the first of them was held: for that time the sender got no report of arrived data.

    Why it happens
    --------------
    The adapter's firmware or its driver keeps received frames (interrupts off, a USB transfer not completed, power
    save) and delivers them together. Held beyond the retransmission timeout, they make the sender retransmit data that had
    arrived.

    How it decides
    --------------
    The timestamps (RFC 7323) in the ACKs show when each was made, without synchronised clocks: the distance of two ACKs in
    arrival, less their distance in TSval, is how long the later one was held.
    `min_hold_ms`: the first ACK of the burst was held longer than the shortest delayed ACK (40 ms in Linux) and normal jitter.
    `burst_ms`: ACKs delivered together come within a fraction of a millisecond; 5 ms allows for a slow host.
    `min_burst_acks`: fewer than three are no burst.
    `max_burst_acks`: only this many are looked at, to bound the work.
    `min_spread_ms`: their TSvals cover at least this much of the silence, and more than the burst took: ACKs made at one moment
    were not held one by one.
    One capture does not separate the adapter from a blocked queue on the ACKs' path. A sniffer or a usbmon capture does: the ACKs
    were held between the two captures where the first took longer than the ACK before, by half of the hold or more. `kept_by`
    names the place: adapter, driver, adapter_or_driver (without the bus), air (from its first transmission to the last), queue
    (before the air) or path (no capture between the hosts).

    What fools it
    -------------
    A silent receiver makes its ACKs after the silence: their TSvals are new. So is the first ACK after lost ones. A
    delayed ACK is one ACK, made late: no finding. Without timestamps, or with ticks coarser than the hold, a
    burst after a silence is undecided, unless the ACKs have no timestamps and another capture saw them pass before: one at the
    receiver shows whether they were held, one on the path that they were. A tap at the receiver sees ACKs before they are held.

    References
    ----------
    RFC 7323 section 5.4; the study of 802.11b adapters on USB (section 4.2.1, the ACK holding problem), which needed a
    sniffer and an instrumented kernel to see it.
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks(CODE)
    keys = facts.complete_data_keys()
    at_receiver = keys[facts.flow_values("tap", keys) == "near_receiver"]
    if len(at_receiver):
        yield facts.undecided(
            CODE, at_receiver, "The tap is at the receiver: it does not show whether ACKs are held on their path."
        )
    min_hold_ns, burst_ns, min_spread_ns = (int(ms * 1e6) for ms in (min_hold_ms, burst_ms, min_spread_ms))
    search = BurstSearch(min_hold_ns, burst_ns, min_burst_acks, max_burst_acks, min_spread_ns)
    by_timestamps, coarse = search.by_timestamps(facts)
    by_captures, unknown = search.by_other_captures(facts)
    yield from _findings(facts, by_timestamps + by_captures)
    open_ = np.concatenate((coarse, unknown))
    open_ = open_[~np.isin(open_, at_receiver)]
    if len(open_):
        yield facts.undecided(
            CODE,
            open_,
            f"{count(len(open_), 'silence')} ended with a burst of ACKs, but without fine timestamps it is unknown whether the "
            "ACKs were held or were made late; a sniffer or a capture at the receiver would show it.",
        )


def _findings(facts: Facts, bursts: list[HeldBurst]) -> Iterator[Finding]:
    points = facts.cached(HoldingPoints) if bursts and facts.trace.has("links") else None

    def describe(i: int) -> Description:
        burst = bursts[i]
        acks, released = len(burst.packets) - 1, int(burst.t_ns[1])
        silence_s, burst_s = (released - int(burst.t_ns[0])) / 1e9, (int(burst.t_ns[-1]) - released) / 1e9
        hold_s, spread_s = burst.hold_ns / 1e9, burst.spread_ns / 1e9
        values: dict[str, float | int | str] = {
            "held_s": hold_s,
            "held_acks_count": acks,
            "silence_s": silence_s,
            "burst_ms": (int(burst.t_ns[-1]) - released) / 1e6,
        }
        if burst.tick_ns:
            values |= {"tsval_spread_s": spread_s, "tick_ms": burst.tick_ns / 1e6}
            proof = f"their timestamps show that the receiver sent them over {duration(spread_s)}"
        else:
            values |= {"seen_spread_s": spread_s, "seen_at": burst.seen_at}
            proof = f"the capture at the {burst.seen_at} shows that they passed it over {duration(spread_s)}"
        together = f"within {duration(burst_s)}" if burst_s > 0 else "together"
        where = "by the adapter, its driver or a queue on the ACKs' path"
        point = points.find(burst.key, int(burst.packets[1]), int(burst.packets[0]), burst.hold_ns) if points else None
        if point is not None:
            values["kept_by"], where = point.name, point.evidence
        return Description(
            f"{count(acks, 'ACK')} arrived {together} at {moment(released)}, after {duration(silence_s)} "
            f"without any, but {proof}; the first was held for {duration(hold_s)} {where}.",
            values,
            evidence={"segments": burst.packets},
            confidence=0.95 if point is not None else 0.85,
        )

    rows = [(b.key ^ 1, b.t_ns[1] - b.hold_ns, b.t_ns[1], b.hold_ns, b.packets[1]) for b in bursts]
    key, start, end, hold_ns, packet = np.array(rows, np.int64).reshape(-1, 5).T
    yield from Cases(facts, CODE, key, start, end, hold_ns / 1e9, packet).findings(describe, what="held ACKs")
