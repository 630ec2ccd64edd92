"""Captures of one trace put together: whose clock is the axis, how the others map to it, which connections are the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import clock, pairs, quality, tables
from wlanlens.clock import ClockMap, Unfit
from wlanlens.errors import AlignmentError
from wlanlens.pairs import Pairs
from wlanlens.text import count, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture import Capture

Array = np.ndarray[Any, Any]

#: Whose clock is the axis, if there is a choice: hosts see every packet of theirs, sniffers miss some.
_AXIS_ORDER = ("sender", "receiver", "ap", "usb", "unknown", "air")

#: Fewer pairs prove nothing unless they are a good part of the smaller capture: broadcasts are heard in many places.
MIN_PAIRS, MIN_SHARE = 16, 0.1

#: More pairs than this share that fit no clock are pairs of packets that only look alike.
MAX_CONTRADICTIONS = 0.2

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
    """

    clocks: list[ClockMap]
    start_ns: int
    pairs: dict[tuple[int, int], Pairs]
    flows: list[Array]
    turned: list[Array]


def join(captures: Sequence[Capture], *, nat: bool = False) -> Joined:
    """Find what several captures have in common; `AlignmentError` says why they cannot be one trace."""
    _not_twice(captures)
    said = [capture.vantage != "unknown" for capture in captures]
    for capture in captures:
        capture.vantage = _vantage(capture)
    _doubt([capture for capture, told in zip(captures, said, strict=True) if not told])
    sides = [_Side(capture) for capture in captures]
    found = {
        (i, j): pairs.of_tables(sides[i].packets, sides[j].packets, nat=nat)
        for i, j in combinations(range(len(sides)), 2)
    }
    for (i, j), made in found.items():
        if _same_tap(sides[i], sides[j], made):
            raise AlignmentError(
                f"{_name(captures[i])} and {_name(captures[j])} hold the same packets with the same time stamps",
                next="they are copies of one capture: give it once",
            )
    clocks = _clocks(sides, found)
    starts = [
        int(clock_map.to_axis(np.array([side.start_ns]))[0])
        for clock_map, side in zip(clocks, sides, strict=True)
        if side.start_ns is not None
    ]
    _place(sides, found, clocks)
    flows, turned = _connections(sides, found)
    return Joined(clocks, min(starts, default=0), found, flows, turned)


def _name(capture: Capture) -> str:
    return printable(capture.name)


def _not_twice(captures: Sequence[Capture]) -> None:
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
    counts = quality.Quality()
    for name in ("segments", "intervals", "flows"):
        for batch in capture.table(name).to_batches():
            counts.add(name, batch)
    return counts.vantage(capture)


def _doubt(inferred: Sequence[Capture]) -> None:
    """Two hosts cannot both be the sender: which is which, the order of their packets will tell."""
    vantages = [capture.vantage for capture in inferred]
    for capture, vantage in zip(inferred, vantages, strict=True):
        if vantage in ("sender", "receiver") and vantages.count(vantage) > 1:
            capture.vantage = "unknown"


class _Side:
    """What alignment reads of one capture."""

    def __init__(self, capture: Capture) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.capture = capture
        self.packets: pa.Table = capture.table("packets")
        self.start_ns = capture.start_ns
        self.number: Array = self.packets.column("packet").to_numpy()
        self.stamped: Array = self.packets.column("time").is_valid().to_numpy()
        self.time_ns: Array = self.packets.column("time").cast(pa.int64()).fill_null(0).to_numpy()
        self.ttl: Array = self.packets.column("ip_ttl").cast(pa.int16()).fill_null(-1).to_numpy()
        self.sizes: Array = self.packets.column("payload_bytes").fill_null(0).to_numpy()
        #: On the air, rows of attempts before which others may have been: whoever received one had it earlier.
        self.repeated: Array = np.isin(self.number, _retries(capture))
        self.flow: Array = self.packets.column("flow").cast(pa.int64()).fill_null(-1).to_numpy()
        directions = self.packets.column("direction").cast(pa.string())
        self.back: Array = np.asarray(pc.equal(directions, "b2a").fill_null(False), bool)

    def hosts(self) -> tuple[Array, Array]:
        """Source and destination of each packet as numbers."""
        import pyarrow as pa

        both = pa.chunked_array(
            [c for name in ("ip_src", "ip_dst") for c in self.packets.column(name).cast(pa.string()).chunks],
            type=pa.string(),
        )
        keys = both.dictionary_encode().combine_chunks()
        keys = keys.indices if isinstance(keys, pa.DictionaryArray) else keys.chunk(0).indices
        numbers = np.asarray(keys.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        return numbers[: self.packets.num_rows], numbers[self.packets.num_rows :]

    @property
    def tick_ns(self) -> int:
        """Resolution of its clock."""
        return clock.tick_of(self.time_ns[self.stamped])


def _retries(capture: Capture) -> Array:
    """The packets of a capture that came in a frame with the Retry bit."""
    frames = capture.table("frames")
    numbers: Array = frames.filter(frames.column("retry").fill_null(False)).column("packet").to_numpy()
    return numbers


def _columns(made: Pairs) -> tuple[Array, Array, Array, Array]:
    """Rows of a and of b, whether a pair is of the same packet, and whether its copy is sure."""
    import pyarrow.compute as pc

    rows = made.rows
    same = np.asarray(pc.equal(rows.column("kind").cast("string"), "same"), bool)
    sure = np.asarray(rows.column("copy_safe").to_numpy(zero_copy_only=False), bool)
    return rows.column("row_a").to_numpy(), rows.column("row_b").to_numpy(), same, sure


def _same_tap(a: _Side, b: _Side, made: Pairs) -> bool:
    """Whether two captures are copies: every packet of the smaller is in the other at the same time."""
    rows_a, rows_b, same, _ = _columns(made)
    smaller = min(a.packets.num_rows, b.packets.num_rows)
    if smaller == 0 or int(same.sum()) < max(2, 0.9 * smaller):
        return False
    # Two taps never agree to the microsecond on every packet; clocks of milliseconds may.
    fine = max(a.tick_ns, b.tick_ns) <= 1000
    return fine and bool((a.time_ns[rows_a] == b.time_ns[rows_b]).all())


def _clocks(sides: Sequence[_Side], found: dict[tuple[int, int], Pairs]) -> list[ClockMap]:
    """The clock of every capture on the axis: that of a capture whose own clock was not set."""
    order = sorted(range(len(sides)), key=lambda i: _AXIS_ORDER.index(sides[i].capture.vantage))
    fits: dict[tuple[int, int], ClockMap | Unfit] = {}

    def fitted(reference: int, other: int) -> ClockMap | Unfit:
        if (reference, other) not in fits:
            try:
                fits[reference, other] = _fit(sides, found, reference, other)
            except Unfit as reason:
                fits[reference, other] = reason
        return fits[reference, other]

    best: tuple[int, list[ClockMap]] | None = None
    for axis in order:
        maps = _chain(axis, [side.capture.name for side in sides], fitted)
        steps = int(sum(m.reference_steps for m in maps))
        if best is None or steps < best[0]:
            best = (steps, maps)
        if steps == 0:
            break
    assert best is not None
    return best[1]


def _chain(axis: int, names: Sequence[str], fitted: Any) -> list[ClockMap]:
    """The map of every capture to the axis, through others where the two have nothing in common."""
    reached: dict[int, ClockMap] = {}
    refused: list[str] = []
    while len(reached) < len(names):
        if not reached:
            reached[axis] = ClockMap.identity(names[axis])
            continue
        for other in (i for i in range(len(names)) if i not in reached):
            tried = {known: fitted(known, other) for known in reached}
            good = [
                made if known == axis else _composed(reached[known], made)
                for known, made in tried.items()
                if isinstance(made, ClockMap) and (known == axis or not (reached[known].steps or made.steps))
            ]
            if good:
                reached[other] = min(good, key=lambda m: (m.bound_ns is None, m.bound_ns or 0))
                break
            refused += [str(made) for made in tried.values() if isinstance(made, Unfit)]
        else:
            raise AlignmentError(
                "the captures cannot be put on one clock: " + "; ".join(dict.fromkeys(refused)),
                next="analyse each on its own, or give captures of the same traffic at the same time",
            )
    return [reached[i] for i in range(len(names))]


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
        drift_ppm=last.drift_ppm + first.drift_ppm,
        drift_bound_ppm=None
        if first.drift_bound_ppm is None or last.drift_bound_ppm is None
        else first.drift_bound_ppm + last.drift_bound_ppm,
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


def _fit(sides: Sequence[_Side], found: dict[tuple[int, int], Pairs], reference: int, other: int) -> ClockMap:
    """The map of one capture to another's clock."""
    ref, cap = sides[reference], sides[other]
    key = (min(reference, other), max(reference, other))
    rows_a, rows_b, same, sure = _columns(found[key])
    rows_ref, rows_cap = (rows_a, rows_b) if reference < other else (rows_b, rows_a)
    usable = same & ref.stamped[rows_ref] & cap.stamped[rows_cap]
    rows_ref, rows_cap, sure = rows_ref[usable], rows_cap[usable], sure[usable]
    order = np.argsort(rows_ref, kind="stable")
    rows_ref, rows_cap, sure = rows_ref[order], rows_cap[order], sure[order]
    t_ref, t_cap = ref.time_ns[rows_ref], cap.time_ns[rows_cap]
    src, dst = ref.hosts()
    known = (ref.ttl[rows_ref] >= 0) & (cap.ttl[rows_cap] >= 0)
    hops = np.where(known, ref.ttl[rows_ref] - cap.ttl[rows_cap], 0)
    # Copies that only their order tells apart show the direction, but may be off by a copy: they bound no offset.
    before = clock.passed_first(t_ref, t_cap, src[rows_ref], dst[rows_ref], hops)
    if (before == 0).all():
        before = np.full(len(before), _by_vantage(ref.capture.vantage, cap.capture.vantage), np.int8)
    exact = sure & ~ref.repeated[rows_ref] & ~cap.repeated[rows_cap]
    _enough(ref, cap, int(exact.sum()), reference < other)
    rows_cap, t_ref, t_cap, before = (v[exact] for v in (rows_cap, t_ref, t_cap, before))
    made = clock.fit(
        cap.capture.name,
        ref.capture.name,
        t_ref,
        t_cap,
        before,
        cap.number[rows_cap],
        tick_ns=cap.tick_ns,
        reference_tick_ns=ref.tick_ns,
        sizes=cap.sizes[rows_cap],
    )
    if made.contradictions > MAX_CONTRADICTIONS * made.pairs or made.steps > max(2, made.pairs // MIN_PAIRS):
        raise Unfit(
            f"{_name(ref.capture)} and {_name(cap.capture)}: {count(made.pairs, 'pair')} of packets that look alike "
            "fit no clock"
        )
    return made


def _by_vantage(reference: str, other: str) -> int:
    """Which tap comes first where packets go one way only: the sender's side."""
    order = ("sender", "usb", "air", "ap", "receiver")
    if reference not in order or other not in order:
        return 0
    return int(np.sign(order.index(other) - order.index(reference)))


def _enough(a: _Side, b: _Side, found: int, forward: bool) -> None:
    """Refuse too few pairs, with the reason."""
    first, second = (a, b) if forward else (b, a)
    who = f"{_name(first.capture)} and {_name(second.capture)}"
    packets = [
        int(np.count_nonzero(np.asarray(side.packets.column("protocol").is_valid(), bool) & side.stamped))
        for side in (first, second)
    ]
    if min(packets) == 0:
        empty = first if packets[0] == 0 else second
        raise Unfit(f"{who}: {_name(empty.capture)} holds no readable IP packet{_why_unreadable(empty)}")
    if found < 2 or (found < MIN_PAIRS and found < MIN_SHARE * min(packets)):
        times = [(side.time_ns[side.stamped].min(), side.time_ns[side.stamped].max()) for side in (first, second)]
        apart = max(times[0][0], times[1][0]) - min(times[0][1], times[1][1])
        clocks = f", and by their clocks they lie {apart / 1e9:.3g} s apart" if apart > 0 else ""
        have = "no packet" if found == 0 else f"only {count(found, 'packet')}"
        raise Unfit(f"{who} have {have} in common{clocks}")


def _why_unreadable(side: _Side) -> str:
    if side.capture.vantage == "air":
        return " (encrypted frames need keys)"
    if side.capture.vantage == "usb":
        return " (its transfers are no network adapter's)"
    return ""


def _place(sides: Sequence[_Side], found: dict[tuple[int, int], Pairs], clocks: Sequence[ClockMap]) -> None:
    """The vantage of captures that do not tell it themselves: the first that most payload passes is the sender's."""
    ahead = np.zeros((len(sides), len(sides)))
    for (i, j), made in found.items():
        rows_i, rows_j, same, _ = _columns(made)
        rows_i, rows_j = rows_i[same], rows_j[same]
        if not len(rows_i):
            continue
        on_axis = [
            clocks[k].to_axis(sides[k].time_ns[rows], sides[k].number[rows]) for k, rows in ((i, rows_i), (j, rows_j))
        ]
        payload = sides[i].packets.column("payload_bytes").fill_null(0).to_numpy()[rows_i].astype(float)
        later = np.sign(on_axis[1] - on_axis[0])
        # As much both ways: whoever spoke first.
        ahead[i, j] = np.sign(later @ payload) or later[0]
        ahead[j, i] = -ahead[i, j]
    before, behind = (ahead > 0).sum(axis=0), (ahead < 0).sum(axis=0)
    taken = {side.capture.vantage for side in sides}
    for k, side in enumerate(sides):
        if side.capture.vantage != "unknown" or not (before[k] or behind[k]):
            continue
        place = "sender" if not before[k] else "receiver" if not behind[k] else "ap"
        if place not in taken:
            side.capture.vantage = place
            taken.add(place)


def _connections(sides: Sequence[_Side], found: dict[tuple[int, int], Pairs]) -> tuple[list[Array], list[Array]]:
    """One number for each connection, whichever captures saw it: that of the first capture, new ones behind them."""
    flows: list[Array] = []
    turned: list[Array] = []
    total = 0
    for j, side in enumerate(sides):
        numbers = np.full(int(side.flow.max(initial=-1)) + 1, -1, np.int64)
        turn = np.zeros(len(numbers), bool)
        for i in range(j):
            rows_i, rows_j, same, _ = _columns(found[i, j])
            rows_i, rows_j = rows_i[same], rows_j[same]
            both = (sides[i].flow[rows_i] >= 0) & (side.flow[rows_j] >= 0)
            rows_i, rows_j = rows_i[both], rows_j[both]
            theirs, ours = flows[i][sides[i].flow[rows_i]], side.flow[rows_j]
            opposite = sides[i].back[rows_i] ^ turned[i][sides[i].flow[rows_i]] ^ side.back[rows_j]
            links, at = np.unique(theirs * len(numbers) + ours, return_inverse=True)
            weight, against = np.bincount(at, minlength=len(links)), np.bincount(at, opposite, len(links))
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
