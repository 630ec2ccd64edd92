"""The clock of every capture on one axis, which is the clock of one of the captures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wlanlens.alignment import clock
from wlanlens.alignment.capture_summary import CaptureSummary
from wlanlens.alignment.clock import NoClockFit
from wlanlens.alignment.clock_map import ClockMap
from wlanlens.alignment.common_packets import CommonPackets
from wlanlens.alignment.path_order import PathOrder
from wlanlens.errors import AlignmentError
from wlanlens.formatting import count, printable

#: Fewer common packets prove nothing unless they are this share of the smaller capture: broadcasts are heard in many places.
MIN_PAIRS, MIN_SHARE = 16, 0.1

#: More pairs than this share that fit no clock are pairs of different packets that look alike.
MAX_CONTRADICTIONS = 0.2

_INFERRED = "one of the two captures has no readable packets: pairs were inferred from length, direction and order"

Found = dict[tuple[int, int], CommonPackets]

#: Pairs of captures that an error names: of twenty unrelated ones there are 190.
PAIRS_NAMED = 3

_DAY_NS = 86_400 * 10**9


def fit_clocks(summaries: Sequence[CaptureSummary], found: Found) -> list[ClockMap]:
    """The map of every capture's clock to the axis, in their order. The axis is a clock that was not stepped."""
    order = sorted(range(len(summaries)), key=lambda i: PathOrder.CLOCK_REFERENCES.index(summaries[i].capture.point))
    fits: dict[tuple[int, int], _FittedPair | NoClockFit] = {}

    def fitted(reference: int, other: int) -> _FittedPair | NoClockFit:
        if (reference, other) not in fits:
            try:
                fits[reference, other] = _fit(summaries, found, reference, other)
            except NoClockFit as reason:
                fits[reference, other] = reason
        return fits[reference, other]

    best: tuple[int, list[_Reached]] | None = None
    for axis in order:
        chain = _chain(axis, [summary.capture.name for summary in summaries], fitted)
        steps = int(sum(reached.map.reference_steps for reached in chain))
        if best is None or steps < best[0]:
            best = (steps, chain)
        if steps == 0:
            break
    assert best is not None
    return _with_agreed_drifts(best[1], {pair: made for pair, made in fits.items() if isinstance(made, _FittedPair)})


@dataclass(frozen=True)
class _FittedPair:
    """Two clocks compared, and the map by the drift of the two alone. `inferred`: the pairs of packets were inferred."""

    fit: clock.Fit
    map: ClockMap
    inferred: bool

    @classmethod
    def of(cls, fit: clock.Fit, *, inferred: bool) -> _FittedPair:
        made = cls(fit, fit.map(), inferred)
        return replace(made, map=made._annotated(made.map))

    def with_drift(self, drift: clock.Drift) -> ClockMap:
        """The map by another drift."""
        return self._annotated(self.fit.map(drift))

    def _annotated(self, made: ClockMap) -> ClockMap:
        if not self.inferred:
            return made
        return replace(made, sentence="; ".join(s for s in (_INFERRED, made.sentence) if s))


@dataclass(frozen=True)
class _Reached:
    """The map of a capture to the axis, and the capture through which it was made: None for the axis itself."""

    number: int
    map: ClockMap
    through: int | None = None


def _chain(axis: int, names: Sequence[str], fitted: Callable[[int, int], _FittedPair | NoClockFit]) -> list[_Reached]:
    """The map of every capture to the axis, through others where the two have no common packets; nearest first."""
    reached = {axis: _Reached(axis, ClockMap.identity(names[axis]))}
    refused: list[str] = []
    while len(reached) < len(names):
        for other in (i for i in range(len(names)) if i not in reached):
            tried = {known: fitted(known, other) for known in reached}
            good = [
                _Reached(other, _composed(reached[known].map, made.map), known)
                for known, made in tried.items()
                if isinstance(made, _FittedPair) and (known == axis or not (reached[known].map.steps or made.map.steps))
            ]
            if good:
                reached[other] = min(good, key=lambda r: (r.map.bound_ns is None, r.map.bound_ns or 0))
                break
            refused += [str(made) for made in tried.values() if isinstance(made, NoClockFit)]
        else:
            why = list(dict.fromkeys(refused))
            more = [f"and {len(why) - PAIRS_NAMED} more pairs"] if len(why) > PAIRS_NAMED + 1 else why[PAIRS_NAMED:]
            raise AlignmentError(
                "the captures cannot be put on one clock: " + "; ".join(why[:PAIRS_NAMED] + more),
                next="analyse each on its own (`wlanlens batch`), or give captures of the same traffic at the same time",
            )
    return list(reached.values())


def _with_agreed_drifts(chain: Sequence[_Reached], fits: dict[tuple[int, int], _FittedPair]) -> list[ClockMap]:
    """The maps by the drifts on which all captures agree, in the captures' order."""
    # Of two comparisons of the same clocks, the one whose reference was not stepped is better.
    once = {
        (i, j): made
        for (i, j), made in fits.items()
        if (j, i) not in fits or (made.fit.reference_steps, i) < (fits[j, i].fit.reference_steps, j)
    }
    own = {pair: made.fit.drift for pair, made in once.items() if made.fit.drift is not None}
    # Two clocks have no third to agree with.
    drifts = clock.agreed(own, {pair: made.fit.steps for pair, made in once.items()}) if len(chain) > 2 else {}
    maps: dict[int, ClockMap] = {}
    for reached in chain:
        if reached.through is None:
            maps[reached.number] = reached.map
            continue
        pair = reached.through, reached.number
        made = fits[pair].map
        if pair in drifts:
            made = fits[pair].with_drift(drifts[pair])
        elif pair[::-1] in drifts:
            made = fits[pair].with_drift(drifts[pair[::-1]].reversed())
        maps[reached.number] = _composed(maps[reached.through], made)
    return [maps[number] for number in sorted(maps)]


def _composed(inner: ClockMap, outer: ClockMap) -> ClockMap:
    """A capture's map to the axis through another capture."""
    if not inner.pieces:
        return outer
    first, last = inner.pieces[0], outer.pieces[0]
    there = np.array([last.at_ns + last.offset_ns])
    onwards = int(inner.to_axis(there)[0] - there[0])
    # The inner map is not at its best at the time at which the outer map is.
    bound = (
        None
        if first.bound_ns is None or first.bound_most_ns is None or last.bound_ns is None
        else max(first.bound_ns, first.bound_most_ns) + last.bound_ns
    )
    most = (
        None if first.bound_most_ns is None or last.bound_most_ns is None else first.bound_most_ns + last.bound_most_ns
    )
    piece = replace(
        last,
        offset_ns=last.offset_ns + onwards,
        drift_ppm=last.drift_ppm + first.drift_ppm + last.drift_ppm * first.drift_ppm * 1e-6,
        drift_bound_ppm=None
        if first.drift_bound_ppm is None or last.drift_bound_ppm is None
        else first.drift_bound_ppm + last.drift_bound_ppm,
        drift_error_ppm=None
        if first.drift_error_ppm is None or last.drift_error_ppm is None
        else float(np.hypot(first.drift_error_ppm, last.drift_error_ppm)),
        bound_ns=bound,
        bound_most_ns=most,
    )
    sentence = "; ".join(s for s in (f"compared through {outer.reference}", outer.sentence) if s)
    return replace(
        outer,
        offset_ns=piece.offset_ns,
        drift_ppm=piece.drift_ppm,
        bound_ns=piece.bound_ns,
        reference=inner.reference,
        pieces=(piece,),
        sentence=sentence,
    )


def _fit(summaries: Sequence[CaptureSummary], found: Found, reference: int, other: int) -> _FittedPair:
    """One capture's clock compared with another's; `NoClockFit` says why they cannot be compared."""
    ref, cap = summaries[reference], summaries[other]
    common = found[min(reference, other), max(reference, other)]
    near, far = ("a", "b") if reference < other else ("b", "a")
    sample = common.sample
    rows = sample[f"row_{near}"]
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        sample = {name: values[order] for name, values in sample.items()}
    t_ref, t_cap = sample[f"time_ns_{near}"], sample[f"time_ns_{far}"]
    ttl_ref, ttl_cap = sample[f"ttl_{near}"], sample[f"ttl_{far}"]
    hops = np.where((ttl_ref >= 0) & (ttl_cap >= 0), ttl_ref - ttl_cap, 0)
    # Copies that only their order distinguishes show the direction; they do not bound the offset.
    before = clock.passed_first(t_ref, t_cap, sample[f"src_{near}"], sample[f"dst_{near}"], hops)
    if (before == 0).all() and not common.same_frames:
        # Packets of one direction only.
        before = np.full(len(before), PathOrder.first_of(ref.capture.point, cap.capture.point), np.int8)
    if not common.inferred and not common.same_frames:
        _check_enough(ref, cap, common.exact, reference < other)
    exact = sample["exact"]
    made = clock.Fit(
        cap.capture.name,
        ref.capture.name,
        t_ref[exact],
        t_cap[exact],
        before[exact],
        sample[f"number_{far}"][exact],
        tick_ns=cap.tick_ns,
        reference_tick_ns=ref.tick_ns,
        sizes=sample["payload"][exact],
    )
    pairs = int(exact.sum())
    if made.contradictions > MAX_CONTRADICTIONS * pairs or made.steps > max(2, pairs // MIN_PAIRS):
        names = (printable(summary.capture.name) for summary in (ref, cap))
        raise NoClockFit(f"{' and '.join(names)}: {count(pairs, 'pair')} of similar packets fit no clock")
    return _FittedPair.of(made, inferred=common.inferred)


def _check_enough(a: CaptureSummary, b: CaptureSummary, found: int, forward: bool) -> None:
    """Raise `NoClockFit` with the reason where two captures have too few common packets."""
    first, second = (a, b) if forward else (b, a)
    who = f"{printable(first.capture.name)} and {printable(second.capture.name)}"
    packets = [summary.readable for summary in (first, second)]
    if min(packets) == 0:
        empty = first if packets[0] == 0 else second
        raise NoClockFit(f"{who}: {printable(empty.capture.name)} has no readable IP packet{_why_unreadable(empty)}")
    if found < 2 or (found < MIN_PAIRS and found < MIN_SHARE * min(packets)):
        begins = [summary.first_ns for summary in (first, second) if summary.first_ns is not None]
        ends = [summary.last_ns for summary in (first, second) if summary.last_ns is not None]
        apart = max(begins) - min(ends)
        days = apart // _DAY_NS
        long = count(days, "day") if days else f"{apart / 1e9:.3g} s"
        clocks = f", and their clocks are {long} apart" if apart > 0 else ""
        have = "no packet" if found == 0 else f"only {count(found, 'packet')}"
        raise NoClockFit(f"{who} have {have} in common{clocks}")


def _why_unreadable(summary: CaptureSummary) -> str:
    if summary.capture.point == "air":
        return " (encrypted frames need keys)"
    if summary.capture.point == "usb":
        return " (its transfers are not those of a network adapter)"
    return ""
