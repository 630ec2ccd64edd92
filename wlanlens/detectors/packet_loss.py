from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    AFTER_LOSS,
    NULL,
    Acks,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    Rows,
    Undecided,
    Value,
    count,
    duration,
    key_groups,
    open_repairs,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "packet_loss"

_TIMERS = ("rto_wait", "backoff_wait", "loss_recovery")


def _sentence(values: Mapping[str, Value]) -> str:
    lost, before, sent = (int(values.get(k, 0)) for k in ("lost_count", "lost_before_tap_count", "data_packets"))
    part = "" if lost == 1 else "all of them " if before == lost else f"{before} of them "
    of, where = f" of {sent}" if sent else "", f", {part}before the tap" if before else ""
    episodes = count(max(1, int(values["episodes_count"])), "episode")
    either, timers = "repairs of undetermined trigger", "timers and the recovery after them"
    parts = (("fast_recovery_s", "fast recovery"), ("timers_s", timers), ("undecided_s", either))
    took = [f"{what} took {duration(float(values[name]))}" for name, what in parts if values.get(name)]
    return (
        f"{lost}{of} data segments {'was' if lost == 1 else 'were'} lost{where}, in {episodes}"
        f"{'; ' if took else ''}{', '.join(took)}."
    )


@detector(
    CODE,
    needs=("segments", "recoveries", "timeouts", "intervals", "flows"),
    explains=AFTER_LOSS,
    whole=_sentence,
    saving="losses",
    remedy=Remedy(
        "Link that loses the packets: a capture at a second point shows which. Full queue: active queue "
        "management and a longer queue; radio: signal, channel, retry limit. Sender and receiver: SACK and "
        "RACK-TLP on, which repair losses without the timer.",
        "capture at the same point again: retransmissions are rarer, and none waits for the timer.",
    ),
)
def packet_loss(trace: Trace, *, min_lost_packets: int = 1) -> Iterator[Finding | Undecided]:
    """Data of a connection was lost on the path.

    What it finds
    -------------
    Directions in which data was lost: how many segments, and in how many episodes, from the sending of the first lost copy to the ACK
    of the last repair. The cost is the time in fast recovery
    and in waits for the retransmission timer because of losses, with the recovery after them.

    Why it happens
    --------------
    A queue was full, the air damaged frames until the retry limit was reached, or the link was down. Other detectors say
    which, where the capture shows it: startup_overflow, periodic_loss, burst_loss, ap_buffer_loss, signal_fade.

    How it decides
    --------------
    A retransmission that was needed (`segments.spurious` is false) repairs a lost copy. An episode is a fast recovery that
    was not spurious, or a genuine timeout. Time counts if it is in the ledger as such: that of recoveries in which nothing was
    lost, and of timeouts of undetermined kind, does not; nor does time of which only that it was one of both is known.
    `min_lost_packets`: one is enough; the cost says whether it matters.

    What fools it
    -------------
    Reordering and late ACKs make retransmissions that were not needed: they are not counted. Where it is undetermined whether
    a retransmission was needed, it is not counted either, and is undecided. ACKs that were lost are ack_loss.

    References
    ----------
    RFC 5681 section 3.2, RFC 6298, RFC 6675.
    """
    facts = Facts.of(trace)
    copies = facts.rows(
        "segments",
        ["packet", "t_ns", "spurious", "len", "lost_before_tap", "since_previous_ns", "rel_seq"],
        where={"transmission": ("retransmission",)},
        valid=("t_ns",),
    )
    copies = copies.take(copies["len"] > 0)
    lost = copies.take(copies["spurious"] == 0)
    recoveries = facts.rows("recoveries", ["t_start_ns", "t_end_ns", "spurious"])
    yield from _undecided(facts, copies.take(copies["spurious"] != 1), recoveries.take(recoveries["spurious"] < 0))
    if not len(lost):
        return
    recoveries = recoveries.take(recoveries["spurious"] == 0)
    genuine = facts.rows("timeouts", ["packet"], where={"kind": ("genuine",)})
    # A needed copy of a lone segment may be a probe's: the wait for it counts as well.
    by_timer = np.union1d(genuine["packet"], lost["packet"])
    first, size = key_groups(lost.key)
    first, size = first[size >= min_lost_packets], size[size >= min_lost_packets]
    keys = lost.key[first]
    in_recovery, of_timers = _in_recovery(facts, recoveries, keys), _of_timers(facts, by_timer, keys)
    fast, timers, either = (_seconds(part, keys) for part in (in_recovery, of_timers, open_repairs(facts, keys)))
    episodes = _number(recoveries.key, keys) + _number(genuine.key, keys)
    number_sent = facts.flow_values("data_packets", keys)

    def describe(i: int) -> Description:
        part = slice(int(first[i]), int(first[i] + size[i]))
        values: dict[str, Value] = {
            "lost_count": int(size[i]),
            "lost_before_tap_count": int(lost["lost_before_tap"][part].sum()),
            "episodes_count": int(episodes[i]),
            "fast_recovery_s": float(fast[i]),
            "timers_s": float(timers[i]),
            **({"undecided_s": float(either[i])} if either[i] else {}),
            **({"data_packets": int(number_sent[i])} if number_sent[i] != NULL else {}),
        }
        return Description(_sentence(values), values, {"segments": lost["packet"][part]}, 0.95)

    sent = lost["t_ns"] - np.maximum(lost["since_previous_ns"], 0)
    acks = facts.cached(Acks)
    answered = acks.t_ns(acks.first_covering(lost.key, lost["rel_seq"] + lost["len"]))
    answered = np.where(answered != NULL, answered, facts.last_packet_ns(lost.key))
    groups, _ = key_groups(lost.key)
    enough = np.isin(groups, first)
    start, end = np.minimum.reduceat(sent, groups)[enough], np.maximum.reduceat(answered, groups)[enough]
    lost_from, lost_until = _hull(start.copy(), end.copy(), keys, in_recovery, of_timers)
    cases = Cases(
        facts,
        CODE,
        keys,
        start,
        end,
        fast + timers,
        lost["packet"][first],
        lost_from_ns=lost_from,
        lost_until_ns=lost_until,
    )
    yield from cases.findings(describe, what="lost packets")


def _in_recovery(facts: Facts, recoveries: Rows, keys: Array) -> Rows:
    """Intervals of each key's `fast_recovery` in recoveries that were needed."""
    spans = facts.rows("intervals", ["t_start_ns", "t_end_ns"], where={"state": ("fast_recovery",)}, keys=keys)
    recoveries = recoveries.sorted_by("t_start_ns")
    at = recoveries.last_until("t_start_ns", spans.key, spans["t_start_ns"])
    inside = at >= 0
    if len(recoveries):
        inside &= spans["t_start_ns"] < recoveries["t_end_ns"][np.maximum(at, 0)]
    return spans.take(inside)


def _hull(start: Array, end: Array, keys: Array, *parts: Rows) -> tuple[Array, Array]:
    """Each key's span, widened by parts: the wait for a timer begins before the retransmission, a recovery ends after it."""
    for spans in parts:
        at = np.searchsorted(keys, spans.key)
        np.minimum.at(start, at, spans["t_start_ns"])
        np.maximum.at(end, at, spans["t_end_ns"])
    return start, end


def _undecided(facts: Facts, copies: Rows, recoveries: Rows) -> Iterator[Undecided]:
    """Directions with retransmissions that may have been spurious: one case each, as one finding, over all that may be losses."""
    keys = np.unique(copies.key[copies["spurious"] < 0])
    if not len(keys):
        return
    copies = copies.take(np.isin(copies.key, keys))
    acks = facts.cached(Acks)
    answered = acks.t_ns(acks.first_covering(copies.key, copies["rel_seq"] + copies["len"]))
    sent = copies["t_ns"] - np.maximum(copies["since_previous_ns"], 0)
    known = np.where(answered != NULL, answered, copies["t_ns"])
    first, _ = key_groups(copies.key)
    start, end = np.minimum.reduceat(sent, first), np.maximum.reduceat(known, first)
    open_ = copies.take(copies["spurious"] < 0)
    start, end = _hull(
        start, end, keys, _in_recovery(facts, recoveries, keys), _of_timers(facts, open_["packet"], keys)
    )
    yield facts.undecided(
        CODE,
        keys,
        f"Nothing shows whether {count(len(open_), 'retransmission')} replaced lost data; a capture at the other end would.",
        t_start_ns=start,
        t_end_ns=end,
    )


def _of_timers(facts: Facts, packets: Array, keys: Array) -> Rows:
    """Each key's waits for the timers that sent these packets, and the recovery after them."""
    spans = facts.rows("intervals", ["t_start_ns", "t_end_ns", "timeout_packet"], where={"state": _TIMERS}, keys=keys)
    return spans.take(np.isin(spans["timeout_packet"], packets))


def _seconds(spans: Rows, keys: Array) -> Array:
    out = np.zeros(len(keys))
    at = np.searchsorted(keys, spans.key)
    np.add.at(out, at, (spans["t_end_ns"] - spans["t_start_ns"]) / 1e9)
    return out


def _number(key: Array, keys: Array) -> Array:
    return np.asarray(np.searchsorted(key, keys, side="right") - np.searchsorted(key, keys, side="left"))
