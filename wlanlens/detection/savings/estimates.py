"""Fill in `saved_s`: how much sooner a transfer would have ended without the cause of a finding."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wlanlens import registry
from wlanlens.detection.finding import Finding
from wlanlens.detection.savings.delivery import Span, merged
from wlanlens.detection.savings.transfer import Transfer, Transfers

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: An estimate in seconds and what it assumes; None where it is not defined.
Estimate = tuple[float, str] | None

_SETBACK = "The transfer would have continued at the rate that it had before and after, and nothing else would have stopped it."
_SENDER_NOTICES = (
    "The ACKs would have been as late, but the sender would have retransmitted nothing and kept its window."
)
_SHORT_TIMER = "The timer would have been as short as before the idle time, and the same packets would have been lost."
_NO_LOSS = "None of these packets would have been lost, and the transfer would have continued at the rate that it had before and after."
_PATH_RATE = "The path would have carried the data at the rate that the spacing of the ACKs shows, without losses."
_READER = "The receiver would have read all the time, and the transfer would have continued at the rate that it had before and after."
_COST = "Nothing else would have become the limit, and the lost time would have been used in full."
_AIR_FULL = "The air would have carried the same packets, each at the best rate."
_AIR_SHARED = "The transfer would have used this airtime as far as it used the rest."
_FIRST_TRY = "Each packet would have arrived at its first transmission, and the transfer would have filled the air."
_FAST = "A fast retransmit would have repaired the loss and halved the window."
_ONCE = "The sender would have reduced its window once and repaired one loss a round trip, as NewReno does."
_BUS = "The air would have carried what the faster bus gives it."

#: Categories of the ledger in which a sender repairs losses.
_AFTER_LOSS = ("rto_wait", "rto_backoff", "loss_recovery", "fast_recovery")

#: A window of fewer segments shows no train of ACKs, hence no rate of the path.
_TRAIN_SEGMENTS = 4


def with_savings(trace: Trace, findings: Sequence[Finding], failed: Callable[[str, Exception], None]) -> list[Finding]:
    """The findings of a trace or a window of it, with `saved_s` and `saved_assumption` where their detector defines them.

    `failed` is called with the code of a finding and the error where an estimate fails; that finding has none.
    """
    units = registry.units("detectors")
    transfers = Transfers(trace)
    context = Context(findings)
    out = []
    for f in findings:
        unit = units.get(f.code)
        how = _METHODS.get(unit.saving) if isinstance(unit, registry.Tool) else None
        made: Estimate = None
        # A finding without cost is about an event that lost no time, as a fast retransmit that was rightly left out.
        if how is not None and f.cost_s > 0:
            try:
                transfer = transfers.of(f)
                made = how(f, transfer, context) if transfer is not None else None
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - reported as failed; the finding stays
                failed(f.code, error)
        out.append(
            f
            if made is None or not math.isfinite(made[0])
            else replace(f, saved_s=round(max(0.0, made[0]), 9), saved_assumption=made[1])
        )
    return out


class Context:
    """The findings of a trace, and when each direction was set back.

    Attributes
    ----------
    findings : sequence of Finding
    troubles : mapping
        Spans of the findings about single events, by flow and direction: outside of them a transfer has its usual rate.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = findings
        units = registry.units("detectors")
        out: dict[tuple[int | None, str | None], list[Span]] = {}
        for f in findings:
            unit = units.get(f.code)
            if isinstance(unit, registry.Tool) and unit.saving in _EPISODES:
                out.setdefault((f.flow, f.direction), []).append((f.t_start_ns, f.t_end_ns))
        self.troubles = {which: merged(spans) for which, spans in out.items()}
        starts: dict[tuple[str, int | None, str | None], list[int]] = {}
        for f in findings:
            starts.setdefault((f.code, f.flow, f.direction), []).append(f.t_start_ns)
        self._starts = {which: sorted(times) for which, times in starts.items()}

    def next_start_ns(self, f: Finding, t_ns: int) -> int | None:
        """When the next finding of the same code about the same direction begins, at or after a time."""
        times = self._starts[f.code, f.flow, f.direction]
        at = bisect.bisect_left(times, t_ns)
        return times[at] if at < len(times) else None


def _setbacks(
    f: Finding,
    transfer: Transfer,
    context: Context,
    spans: Sequence[Span],
    *,
    after_ack: bool = False,
) -> float:
    """Seconds by which some spans of a finding set a transfer back; one ends where the next of the same code begins.

    Findings of another code that begin before the transfer has its rate again follow from it: their time is part of it.
    """
    own = merged(spans)
    if not own:
        return 0.0
    other = context.troubles.get((transfer.flow, transfer.direction), [])
    rate = transfer.usual_rate([*other, *own])
    later: list[int | None]
    if after_ack:
        # Recovery does not cause the next silence: what follows, of whatever kind, is another matter.
        begins = [start for start, _ in other]
        later = [begins[at] if (at := bisect.bisect_left(begins, end)) < len(begins) else None for _, end in own]
    else:
        later = [*(start for start, _ in own[1:]), context.next_start_ns(f, own[-1][1])]
    total = 0.0
    for lost_s in transfer.setbacks_s(own, rate, later, after_ack=after_ack):
        total += lost_s
    return total


def _setback(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    return _setbacks(f, transfer, context, [(f.t_start_ns, f.t_end_ns)]), _SETBACK


def _recovery(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    """Without the silence before it: a sender that notices the spurious timeout waits for the same ACK."""
    if "idle_s" not in f.values:
        return None
    begins = f.t_start_ns + round(float(f.values["idle_s"]) * 1e9)
    span = min(begins, f.t_end_ns - 1), f.t_end_ns
    return _setbacks(f, transfer, context, [span], after_ack=True), _SENDER_NOTICES


def _backoff(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    """Of a timer that was kept long, what a reset saves; of a run of expiries, all of its time."""
    if f.values.get("expiries_count") == 1 and "saved_by_reset_s" in f.values:
        return float(f.values["saved_by_reset_s"]), _SHORT_TIMER
    return _setbacks(f, transfer, context, [(f.t_start_ns, f.t_end_ns)]), _NO_LOSS


def _losses(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    return _setbacks(f, transfer, context, transfer.spent(_AFTER_LOSS, f.t_start_ns, f.t_end_ns)), _NO_LOSS


def _window(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    """The window's limit costs what the path's rate would have saved; a closed window costs what was not delivered."""
    closed, limited = transfer.window_spans(f.t_start_ns, f.t_end_ns)
    saved_s = _setbacks(f, transfer, context, closed) if closed else 0.0
    if not limited:
        return saved_s, _READER
    window = f.values.get("window_bytes")
    if not isinstance(window, int) or window < _TRAIN_SEGMENTS * transfer.segment_bytes:
        return (saved_s, _READER) if closed else None
    rate = max(transfer.delivery.path_rate(), transfer.usual_rate([*closed, *limited]))
    for start, end in limited:
        acked = transfer.acked_bytes(start, end)
        saved_s += max(0.0, end - start - acked / rate) / 1e9 if rate > 0 else 0.0
    return saved_s, _PATH_RATE


def _cost(f: Finding, _transfer: Transfer, _: Context) -> Estimate:
    return f.cost_s, _COST


def _bus(f: Finding, transfer: Transfer, _: Context) -> Estimate:
    """What a faster bus saves, as far as the air, where it was captured, would not have taken the time."""
    length_s = (f.t_end_ns - f.t_start_ns) / 1e9
    busy_s = transfer.air_s(f.t_start_ns, f.t_end_ns)
    return (f.cost_s, _BUS) if busy_s is None else (max(0.0, min(f.cost_s, length_s - busy_s)), _COST)


def _rates(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    """Airtime beyond the best steady rate's, and the time in which TCP left the air idle because packets were dropped."""
    excess_s = f.values.get("excess_airtime_s")
    # Rate control drops the SYN and the last packets, too: the whole life of the transfer counts.
    start, end = transfer.start_ns, transfer.end_ns
    busy_s = transfer.air_s(start, end)
    if not isinstance(excess_s, float) or busy_s is None:
        return None
    # Both stations may do so: the idle time is divided between them.
    of_all_s = sum(float(g.values.get("excess_airtime_s", 0.0)) for g in context.findings if g.code == f.code)
    idle_s = max(0.0, (end - start) / 1e9 - busy_s)
    return excess_s + (idle_s * excess_s / of_all_s if of_all_s > 0 else 0.0), _AIR_FULL


def _overhead(f: Finding, transfer: Transfer, _: Context) -> Estimate:
    """Of the overhead during the transfer's life, the share that its packets had to wait for."""
    length_s = (f.t_end_ns - f.t_start_ns) / 1e9
    life_s = (min(f.t_end_ns, transfer.end_ns) - max(f.t_start_ns, transfer.start_ns)) / 1e9
    busy_s = transfer.air_s(transfer.start_ns, transfer.end_ns)
    if busy_s is None or life_s <= 0 or length_s <= 0:
        return None
    overhead_s = f.cost_s * life_s / length_s
    # A beacon while the stations have nothing to send delays nothing.
    used = min(1.0, busy_s / (life_s - overhead_s)) if life_s > overhead_s else 1.0
    return overhead_s * used, _AIR_SHARED


def _failures(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    """The life of the transfer less the time that its packets take on the air, each transmitted once."""
    start, end = transfer.start_ns, transfer.end_ns
    once_s = transfer.air_s(start, end, once=True)
    if once_s is None:
        return None
    # Errors on the way of data and on that of ACKs make two findings.
    of_all_s = sum(g.cost_s for g in context.findings if g.code == f.code)
    return max(0.0, (end - start) / 1e9 - once_s) * f.cost_s / of_all_s, _FIRST_TRY


def _without_timer(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    """The setback, less that of a fast retransmit."""
    return _setbacks(f, transfer, context, [(f.t_start_ns, f.t_end_ns)]) - _repair_s(f, transfer, context, 1), _FAST


def _reduced_once(f: Finding, transfer: Transfer, context: Context) -> Estimate:
    """The setback, less that of a recovery with one reduction."""
    losses = transfer.left_edges(f.t_start_ns, f.t_end_ns)
    return _setbacks(f, transfer, context, [(f.t_start_ns, f.t_end_ns)]) - _repair_s(
        f, transfer, context, losses
    ), _ONCE


def _repair_s(f: Finding, transfer: Transfer, context: Context, losses: int) -> float:
    rate = transfer.usual_rate([*context.troubles.get((transfer.flow, transfer.direction), [])])
    reduced = any(end < f.t_start_ns for _, end in transfer.spent(_AFTER_LOSS, transfer.start_ns, f.t_start_ns))
    return transfer.repair_s(f.t_start_ns, rate, losses, reduced=reduced)


Method = Callable[[Finding, Transfer, Context], Estimate]

#: How a detector's `saving` is estimated.
_METHODS: dict[str, Method] = {
    "setback": _setback,
    "recovery": _recovery,
    "backoff": _backoff,
    "losses": _losses,
    "window": _window,
    "cost": _cost,
    "bus": _bus,
    "rates": _rates,
    "overhead": _overhead,
    "failures": _failures,
    "fast": _without_timer,
    "once": _reduced_once,
}

#: Those of single events that stop or slow a transfer for a while.
_EPISODES = ("setback", "recovery", "backoff", "fast", "once")

#: The names of `_METHODS`, for the contract of detectors.
SAVINGS = tuple(_METHODS)
