"""Captures of one trace put together: whose clock is the axis, how the others map to it, which connections are the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.alignment import clock, duplicate_frames, length_matching
from wlanlens.alignment.clock import ClockMap, Unfit
from wlanlens.alignment.length_matching import Inferred
from wlanlens.alignment.packet_matching import Pairs
from wlanlens.alignment.sampling import Meeting, Side, survey
from wlanlens.capture import quality
from wlanlens.errors import AlignmentError
from wlanlens.formatting import count, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: Whose clock is the axis, if there is a choice: hosts see every packet of theirs, sniffers miss some.
_AXIS_ORDER = ("sender", "receiver", "ap", "usb", "unknown", "air")

#: Fewer pairs prove nothing unless they are a good part of the smaller capture: broadcasts are heard in many places.
MIN_PAIRS, MIN_SHARE = 16, 0.1

#: More pairs than this share that fit no clock are pairs of packets that only look alike.
MAX_CONTRADICTIONS = 0.2

_INFERRED = "one of the two hides its packets: they were known by length, direction and order"

#: Vantages of taps that hear a frame as it is sent: none of them is before another.
_AIR = ("air",)


@dataclass(frozen=True)
class Joined:
    """What was found out about some captures.

    Attributes
    ----------
    clocks : list of ClockMap
        One a capture, in their order.
    start_ns : int
        Time of the first packet on the axis, ns since 1970.
    pairs : dict
        Pairs of captures i < j, by (i, j).
    flows : list of arrays
        The trace's number of each connection of a capture.
    turned : list of arrays
        Whether its directions a2b and b2a are exchanged.
    sides : list of Side
        What was learned of each capture on the way.
    ends : (int, int) or None
        The two captures that lie farthest apart, by the time that packets need between them.
    inferred : dict
        By (capture that shows packets, capture that hides them): pairs by length, direction and order.
    duplicate_frames : list of arrays
        The frames of each capture, by number, that a sniffer before it in the list heard too.
    """

    clocks: list[ClockMap]
    start_ns: int
    pairs: dict[tuple[int, int], Pairs]
    flows: list[Array]
    turned: list[Array]
    sides: list[Side]
    ends: tuple[int, int] | None
    inferred: dict[tuple[int, int], Inferred]
    duplicate_frames: list[Array]


def join(captures: Sequence[Capture], *, nat: bool = False, scratch: Path | None = None) -> Joined:
    """Find what several captures have in common; `AlignmentError` says why they cannot be one trace.

    Captures are gone through batch by batch; with a folder `scratch` nothing that grows with them stays in memory.
    """
    tell_apart(captures)
    said = [capture.point != "unknown" for capture in captures]
    for capture in captures:
        capture.point = _vantage(capture)
    _doubt([capture for capture, told in zip(captures, said, strict=True) if not told])
    sides, found = survey(captures, nat=nat, scratch=scratch)
    for (i, j), made in found.items():
        if made.of_one_tap(sides[i], sides[j]):
            raise _copies(captures[i], captures[j])
    pairs = {both: made.pairs for both, made in found.items()}
    for (i, j), those in pairs.items():
        if those.clipped:
            why = f"Windows of rows in which more of {_name(captures[j])} could match than are held: links may be missing."
            captures[i].add_note("pairing_clipped", "loss", those.clipped, why)
    inferred = _infer(sides, found)
    heard = _echoes(sides, found)
    clocks = _clocks(sides, found)
    starts = [
        int(clock_map.to_axis(np.array([start_ns]))[0])
        for clock_map, capture in zip(clocks, captures, strict=True)
        if (start_ns := capture.start_ns) is not None
    ]
    _place(sides, found, clocks)
    flows, turned = _connections(sides, found)
    return Joined(clocks, min(starts, default=0), pairs, flows, turned, sides, _ends(found, clocks), inferred, heard)


def _infer(sides: Sequence[Side], found: dict[tuple[int, int], Meeting]) -> dict[tuple[int, int], Inferred]:
    """Where bytes tell of no common packets, what length, direction and order tell of those that a capture hides."""
    out = {}
    for (i, j), made in list(found.items()):
        if made.exact >= MIN_PAIRS:
            continue
        for shown, hider in ((i, j), (j, i)):
            if sides[hider].capture.point in ("air", "usb") and sides[shown].capture.point not in ("air", "usb"):
                told = length_matching.infer(sides[shown], sides[hider])
                if told is not None:
                    out[shown, hider] = told
                    found[i, j] = length_matching.meeting(told, shown == i)
    return out


def _echoes(sides: Sequence[Side], found: dict[tuple[int, int], Meeting]) -> list[Array]:
    """The frames of each sniffer that one before it heard; they tell of two sniffers' clocks where packets do not."""
    again: list[list[Array]] = [[np.zeros(0, np.int64)] for _ in sides]
    for (i, j), made in list(found.items()):
        if not all(sides[k].capture.point == "air" and sides[k].capture.rows("frames") for k in (i, j)):
            continue
        numbers_i, numbers_j, heard = duplicate_frames.meet(sides[i], sides[j])
        again[j].append(numbers_j)
        if _same_stamps(heard, sides[i], sides[j], len(numbers_i)):
            raise _copies(sides[i].capture, sides[j].capture)
        if made.exact < MIN_PAIRS <= heard.exact:
            heard.pairs = made.pairs
            heard.echo = True
            found[i, j] = heard
    return [np.unique(np.concatenate(numbers)) for numbers in again]


def _same_stamps(heard: Meeting, a: Side, b: Side, count: int) -> bool:
    """Whether two sniffers' captures are one: nearly all frames of the smaller are in both at the same time."""
    sample = heard.sample
    smaller = min(a.capture.rows("frames"), b.capture.rows("frames"))
    if count < max(2, 0.9 * smaller) or not len(sample["row_a"]):
        return False
    return bool((sample["time_ns_a"] == sample["time_ns_b"]).all())


def _copies(a: Capture, b: Capture) -> AlignmentError:
    return AlignmentError(
        f"{_name(a)} and {_name(b)} hold the same packets with the same time stamps",
        next="they are copies of one capture: give it once",
    )


def _name(capture: Capture) -> str:
    return printable(capture.name)


def tell_apart(captures: Sequence[Capture]) -> None:
    """Give captures of one name names of their own; `AlignmentError` when a file was given twice."""
    for a, b in combinations(captures, 2):
        if "-" in (a.path, b.path):
            continue
        if os.path.samefile(a.raw_path, b.raw_path):
            raise AlignmentError(f"{_name(a)} was given twice", next="name each capture once")
    names = [capture.name for capture in captures]
    for number, capture in enumerate(captures):
        if names.count(capture.name) > 1:
            # Rows are known by their capture's name.
            capture.name = f"{number + 1}:{capture.name}"


def _vantage(capture: Capture) -> str:
    return quality.counted(capture).point(capture)


def _doubt(inferred: Sequence[Capture]) -> None:
    """Two hosts cannot both be the sender: which is which, the order of their packets will tell."""
    points = [capture.point for capture in inferred]
    for capture, point in zip(inferred, points, strict=True):
        if point in ("sender", "receiver") and points.count(point) > 1:
            capture.point = "unknown"


def _clocks(sides: Sequence[Side], found: dict[tuple[int, int], Meeting]) -> list[ClockMap]:
    """The clock of every capture on the axis: that of a capture whose own clock was not set."""
    order = sorted(range(len(sides)), key=lambda i: _AXIS_ORDER.index(sides[i].capture.point))
    fits: dict[tuple[int, int], _Fitted | Unfit] = {}

    def fitted(reference: int, other: int) -> _Fitted | Unfit:
        if (reference, other) not in fits:
            try:
                fits[reference, other] = _fit(sides, found, reference, other)
            except Unfit as reason:
                fits[reference, other] = reason
        return fits[reference, other]

    best: tuple[int, list[_Reached]] | None = None
    for axis in order:
        chain = _chain(axis, [side.capture.name for side in sides], fitted)
        steps = int(sum(reached.map.reference_steps for reached in chain))
        if best is None or steps < best[0]:
            best = (steps, chain)
        if steps == 0:
            break
    assert best is not None
    return _agreed(best[1], {pair: made for pair, made in fits.items() if isinstance(made, _Fitted)})


@dataclass(frozen=True)
class _Fitted:
    """Two captures' clocks compared, and the map by their own drift. `inferred`: which packets are pairs was inferred."""

    fit: clock.Fit
    map: ClockMap
    inferred: bool

    @classmethod
    def of(cls, fit: clock.Fit, *, inferred: bool) -> _Fitted:
        made = cls(fit, fit.map(), inferred)
        return replace(made, map=made._said(made.map))

    def turned(self, drift: clock.Drift) -> ClockMap:
        """The map by another drift."""
        return self._said(self.fit.map(drift))

    def _said(self, made: ClockMap) -> ClockMap:
        if not self.inferred:
            return made
        return replace(made, sentence="; ".join(s for s in (_INFERRED, made.sentence) if s))


@dataclass(frozen=True)
class _Reached:
    """The map of a capture to the axis, by way of which capture: None for the axis itself."""

    number: int
    map: ClockMap
    through: int | None = None


def _chain(axis: int, names: Sequence[str], fitted: Any) -> list[_Reached]:
    """The map of every capture to the axis, through others where the two have nothing in common; nearest first."""
    reached = {axis: _Reached(axis, ClockMap.identity(names[axis]))}
    refused: list[str] = []
    while len(reached) < len(names):
        for other in (i for i in range(len(names)) if i not in reached):
            tried = {known: fitted(known, other) for known in reached}
            good = [
                _Reached(other, _composed(reached[known].map, made.map), known)
                for known, made in tried.items()
                if isinstance(made, _Fitted) and (known == axis or not (reached[known].map.steps or made.map.steps))
            ]
            if good:
                reached[other] = min(good, key=lambda r: (r.map.bound_ns is None, r.map.bound_ns or 0))
                break
            refused += [str(made) for made in tried.values() if isinstance(made, Unfit)]
        else:
            raise AlignmentError(
                "the captures cannot be put on one clock: " + "; ".join(dict.fromkeys(refused)),
                next="analyse each on its own, or give captures of the same traffic at the same time",
            )
    return list(reached.values())


def _agreed(chain: Sequence[_Reached], fits: dict[tuple[int, int], _Fitted]) -> list[ClockMap]:
    """The maps by the drifts that all captures agree on, in the captures' order."""
    # Compared both ways round, two clocks are best compared beside the one that was not set.
    once = {
        (i, j): made
        for (i, j), made in fits.items()
        if (j, i) not in fits or (made.fit.reference_steps, i) < (fits[j, i].fit.reference_steps, j)
    }
    own = {pair: made.fit.drift for pair, made in once.items() if made.fit.drift is not None}
    # Two clocks have no other to agree with.
    drifts = clock.agreed(own, {pair: made.fit.steps for pair, made in once.items()}) if len(chain) > 2 else {}
    maps: dict[int, ClockMap] = {}
    for reached in chain:
        if reached.through is None:
            maps[reached.number] = reached.map
            continue
        pair = reached.through, reached.number
        made = fits[pair].map
        if pair in drifts:
            made = fits[pair].turned(drifts[pair])
        elif pair[::-1] in drifts:
            made = fits[pair].turned(drifts[pair[::-1]].turned())
        maps[reached.number] = _composed(maps[reached.through], made)
    return [maps[number] for number in sorted(maps)]


def _composed(inner: ClockMap, outer: ClockMap) -> ClockMap:
    """A capture's map to the axis by way of another capture's."""
    if not inner.pieces:
        return outer
    first, last = inner.pieces[0], outer.pieces[0]
    there = np.array([last.at_ns + last.offset_ns])
    onwards = int(inner.to_axis(there)[0] - there[0])
    # Where the outer map is known best the inner may be known less.
    bound = None if first.bound_most_ns is None or last.bound_ns is None else first.bound_most_ns + last.bound_ns
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
    said = "; ".join(s for s in (f"through {outer.reference}", outer.sentence) if s)
    return replace(
        outer,
        offset_ns=piece.offset_ns,
        drift_ppm=piece.drift_ppm,
        bound_ns=piece.bound_ns,
        reference=inner.reference,
        pieces=(piece,),
        sentence=said,
    )


def _fit(sides: Sequence[Side], found: dict[tuple[int, int], Meeting], reference: int, other: int) -> _Fitted:
    """One capture's clock beside another's."""
    ref, cap = sides[reference], sides[other]
    meeting = found[min(reference, other), max(reference, other)]
    near, far = ("a", "b") if reference < other else ("b", "a")
    sample = meeting.sample
    rows = sample[f"row_{near}"]
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        sample = {name: values[order] for name, values in sample.items()}
    t_ref, t_cap = sample[f"time_ns_{near}"], sample[f"time_ns_{far}"]
    ttl_ref, ttl_cap = sample[f"ttl_{near}"], sample[f"ttl_{far}"]
    hops = np.where((ttl_ref >= 0) & (ttl_cap >= 0), ttl_ref - ttl_cap, 0)
    # Copies that only their order tells apart show the direction, but may be off by a copy: they bound no offset.
    before = clock.passed_first(t_ref, t_cap, sample[f"src_{near}"], sample[f"dst_{near}"], hops)
    if (before == 0).all() and not meeting.echo:
        before = np.full(len(before), _by_point(ref.capture.point, cap.capture.point), np.int8)
    if not meeting.inferred and not meeting.echo:
        _enough(ref, cap, meeting.exact, reference < other)
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
        raise Unfit(
            f"{_name(ref.capture)} and {_name(cap.capture)}: {count(pairs, 'pair')} of packets that look alike fit no clock"
        )
    return _Fitted.of(made, inferred=meeting.inferred)


def _by_point(reference: str, other: str) -> int:
    """Which tap comes first where packets go one way only: the sender's side."""
    order = ("sender", "usb", "air", "ap", "receiver")
    if reference not in order or other not in order:
        return 0
    return int(np.sign(order.index(other) - order.index(reference)))


def _enough(a: Side, b: Side, found: int, forward: bool) -> None:
    """Refuse too few pairs, with the reason."""
    first, second = (a, b) if forward else (b, a)
    who = f"{_name(first.capture)} and {_name(second.capture)}"
    packets = [side.readable for side in (first, second)]
    if min(packets) == 0:
        empty = first if packets[0] == 0 else second
        raise Unfit(f"{who}: {_name(empty.capture)} holds no readable IP packet{_why_unreadable(empty)}")
    if found < 2 or (found < MIN_PAIRS and found < MIN_SHARE * min(packets)):
        begins, ends = ([t for side in (first, second) if (t := at(side)) is not None] for at in (_first, _last))
        apart = max(begins) - min(ends)
        clocks = f", and by their clocks they lie {apart / 1e9:.3g} s apart" if apart > 0 else ""
        have = "no packet" if found == 0 else f"only {count(found, 'packet')}"
        raise Unfit(f"{who} have {have} in common{clocks}")


def _first(side: Side) -> int | None:
    return side.first_ns


def _last(side: Side) -> int | None:
    return side.last_ns


def _why_unreadable(side: Side) -> str:
    if side.capture.point == "air":
        return " (encrypted frames need keys)"
    if side.capture.point == "usb":
        return " (its transfers are no network adapter's)"
    return ""


def _place(sides: Sequence[Side], found: dict[tuple[int, int], Meeting], clocks: Sequence[ClockMap]) -> None:
    """The point of captures that do not tell it themselves: the first that most payload passes is the sender's."""
    ahead = np.zeros((len(sides), len(sides)))
    for (i, j), made in found.items():
        sample = made.sample
        if not len(sample["row_a"]):
            continue
        on_axis = [clocks[k].to_axis(sample[f"time_ns_{s}"], sample[f"number_{s}"]) for k, s in ((i, "a"), (j, "b"))]
        payload = sample["payload"].astype(float)
        later = np.sign(on_axis[1] - on_axis[0])
        # As much both ways: whoever spoke first.
        ahead[i, j] = np.sign(later @ payload) or later[0]
        ahead[j, i] = -ahead[i, j]
    before, behind = (ahead > 0).sum(axis=0), (ahead < 0).sum(axis=0)
    taken = {side.capture.point for side in sides}
    for k, side in enumerate(sides):
        if side.capture.point != "unknown" or not (before[k] or behind[k]):
            continue
        place = "sender" if not before[k] else "receiver" if not behind[k] else "ap"
        if place not in taken:
            side.capture.point = place
            taken.add(place)


def _ends(found: dict[tuple[int, int], Meeting], clocks: Sequence[ClockMap]) -> tuple[int, int] | None:
    """The two captures that lie farthest apart."""
    apart = {}
    for (i, j), made in found.items():
        t_i, t_j = (
            clocks[k].to_axis(made.sample[f"time_ns_{s}"], made.sample[f"number_{s}"]) for k, s in ((i, "a"), (j, "b"))
        )
        if len(t_i) and not made.inferred:
            apart[i, j] = float(np.median(np.abs(t_j - t_i)))
    return max(apart, key=lambda both: apart[both], default=None)


def _connections(sides: Sequence[Side], found: dict[tuple[int, int], Meeting]) -> tuple[list[Array], list[Array]]:
    """One number for each connection, whichever captures saw it: that of the first capture, new ones behind them."""
    flows: list[Array] = []
    turned: list[Array] = []
    total = 0
    for j, side in enumerate(sides):
        numbers = np.full(side.flows, -1, np.int64)
        turn = np.zeros(len(numbers), bool)
        for i in range(j):
            own, ours, weight, against = found[i, j].links
            theirs = flows[i][own]
            opposite = np.where(turned[i][own], weight - against, against)
            # Several connections of a capture may be one of the trace.
            links, at = np.unique(theirs * len(numbers) + ours, return_inverse=True)
            weight, against = (np.bincount(at, v, len(links)).astype(np.int64) for v in (weight, opposite))
            used = set(numbers[numbers >= 0].tolist())
            for k in np.argsort(-weight, kind="stable").tolist():
                whose, mine = divmod(int(links[k]), len(numbers))
                if numbers[mine] < 0 and whose not in used:
                    numbers[mine] = whose
                    used.add(whose)
                    turn[mine] = 2 * against[k] > weight[k]
        new = np.flatnonzero(numbers < 0)
        numbers[new] = total + np.arange(len(new))
        total += len(new)
        flows.append(numbers)
        turned.append(turn)
    return flows, turned


def mapped(capture: Capture, name: str, joined: Joined, number: int) -> pa.Table:
    """A capture's table on the common axis: its times, its connections' numbers and directions."""
    import pyarrow as pa

    table = capture.table(name)
    clock_map, own_start = joined.clocks[number], capture.start_ns or 0
    numbers = table.column("packet").to_numpy() if "packet" in table.column_names else None
    for column in tables.axis_columns(name):
        values = table.column(column)
        own = values.fill_null(0).to_numpy().astype(np.int64) + own_start
        on_axis = clock_map.to_axis(own, numbers) - joined.start_ns
        null = values.is_null().to_numpy() if values.null_count else None
        table = _with(table, column, pa.array(on_axis, pa.int64(), mask=null))
    if "flow" in table.column_names:
        values = table.column("flow")
        own = values.fill_null(0).to_numpy().astype(np.int64)
        known = joined.flows[number]
        null = values.is_null().to_numpy() if values.null_count else None
        if len(known):
            table = _with(table, "flow", pa.array(known[own].astype(np.uint32), pa.uint32(), mask=null))
        if joined.turned[number].any() and "direction" in table.column_names:
            turn = joined.turned[number][own]
            table = _with(table, "direction", _turned(table.column("direction"), turn))
    return table


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, table.schema.field(at), values.cast(table.schema.field(at).type))


def _turned(directions: pa.ChunkedArray, turn: Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = directions.cast(pa.string())
    other = pc.if_else(pc.equal(text, "a2b"), "b2a", "a2b")
    swapped = pc.if_else(pa.array(turn), other, text)
    swapped = swapped.combine_chunks() if isinstance(swapped, pa.ChunkedArray) else swapped
    names = pa.array(["a2b", "b2a"])
    keys = pc.index_in(swapped, names).cast(pa.int8())
    return pa.DictionaryArray.from_arrays(keys, names)
