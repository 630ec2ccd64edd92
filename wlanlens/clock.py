"""ClockMap: from one capture's clock to the trace's, fitted to packets that both captures hold.

A packet that passes the reference first shows the capture's clock ahead by at most the difference of its stamps: the
offset plus its delay. One that passes the capture first shows it ahead by at least the difference. Between the two
envelopes lies every line that the true offset can be; all of them are kept as a polygon of offset and drift, from which
the bound follows. Steps are where no line is left. (Moon, Skelly and Towsley 1999; Zhang, Liu and Xia 2002.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Most that two clocks' rates are believed to differ: crystals keep 100 ppm, NTP slews by at most 500 (RFC 5905, MAXFREQ).
DRIFT_PPM_MOST = 500.0

#: Points of each envelope that are looked at one by one; of more the tightest of a few neighbours each. What is left out
#: can only widen the bound.
_POINTS = 8000

#: How far an offset may lie from a pair, ns: no packet is under way longer.
_FARTHEST_NS = 1e11

#: Pairs after one that contradicts all lines: when they contradict them too, the clock was stepped.
_LOOK_AHEAD = 8

#: So many contradictions among so many pairs are no chance: the clock's rate changed.
_BENT, _BENT_OF = 3, 64

#: Bins in which an envelope's tightness is measured.
_BINS = 16

#: Ticks from which on the envelopes are staircases.
_COARSE_NS = 100_000

_WRAP_32_NS = (1 << 32) * 1000


@dataclass(frozen=True)
class Piece:
    """The map from one step of the clock to the next.

    Attributes
    ----------
    first_packet : int
        Packet of the capture from which on it holds.
    from_ns : int
        That packet's time in the capture's clock, ns since 1970.
    at_ns : int
        Time in the capture's clock at which the offset is known best.
    offset_ns : int
        Added to the capture's clock there.
    drift_ppm : float
        How much the capture's clock gains on the axis.
    bound_ns : int or None
        The offset is right within this at `at_ns`; None: only one direction was seen.
    bound_most_ns : int or None
        The same anywhere between its first and last pair.
    pairs : int
        Packets on which it was fitted.
    two_way_ns : int or None
        Least sum of the delays of two pairs that follow each other in opposite directions.
    drift_bound_ppm : float or None
        The drift is right within this; None: only one direction was seen.
    """

    first_packet: int
    from_ns: int
    at_ns: int
    offset_ns: int
    drift_ppm: float
    bound_ns: int | None
    bound_most_ns: int | None
    pairs: int
    two_way_ns: int | None
    drift_bound_ppm: float | None


@dataclass(frozen=True)
class ClockMap:
    """How one capture's clock maps to the trace's axis.

    A trace of one capture has the identity: its own clock is the axis, nothing was fitted, the bound is 0.

    Attributes
    ----------
    capture : str
        Name of the capture.
    offset_ns : int
        Added to the capture's clock, where it is known best; of the piece with most pairs.
    drift_ppm : float
        How much the capture's clock gains on the axis, in parts per million.
    bound_ns : int or None
        The offset is right within this there; None when packets were seen in one direction only: then it is known up to
        their delay.
    pairs : int
        Packets seen by both captures on which it was fitted; 0: nothing was fitted.
    residual_ns : int
        Half of the pairs lie within this of the fit; their delay is part of it.
    residual_p99_ns, residual_most_ns : int
        99 % of them; all.
    two_way_ns : int or None
        Least sum of the delays of two pairs that follow each other in opposite directions; of that piece.
    contradictions : int
        Pairs left out because they fit no clock with their neighbours.
    tick_ns : int
        Resolution of the coarser of the two clocks, which the bound allows for.
    reference_steps : int
        Steps at which it was the reference's clock that jumped, by the times of neighbouring packets.
    reference : str
        Capture whose clock it was fitted to; "" for the axis itself.
    pieces : tuple of Piece
        One, and one more for each step.
    sentence : str
        What is to be known of it besides.
    """

    capture: str
    offset_ns: int = 0
    drift_ppm: float = 0.0
    bound_ns: int | None = 0
    pairs: int = 0
    residual_ns: int = 0
    residual_p99_ns: int = 0
    residual_most_ns: int = 0
    two_way_ns: int | None = None
    contradictions: int = 0
    tick_ns: int = 0
    reference_steps: int = 0
    reference: str = ""
    pieces: tuple[Piece, ...] = field(default=(), repr=False)
    sentence: str = ""

    @classmethod
    def identity(cls, capture: str) -> ClockMap:
        """The map of the capture whose clock is the axis."""
        return cls(capture)

    @classmethod
    def described(cls, row: Mapping[str, Any]) -> ClockMap:
        """A map from analysis.json."""
        return cls(**{**row, "pieces": tuple(Piece(**piece) for piece in row["pieces"])})

    def words(self) -> str:
        """What it says, for people: "receiver.pcap is 3.700064 s ahead of sender.pcap (within 10.1 ms) ..."."""
        if not self.pieces:
            return f"{self.capture}: its clock is the axis"
        ahead = "ahead of" if self.offset_ns <= 0 else "behind"
        within = "up to the packets' delay" if self.bound_ns is None else f"within {_short(self.bound_ns)}"
        main = max(self.pieces, key=lambda p: p.pairs)
        sure = "" if main.drift_bound_ppm is None else f" (within {main.drift_bound_ppm:.3g})"
        parts = [
            f"{self.capture} is {abs(self.offset_ns) / 1e9:.6f} s {ahead} {self.reference} ({within})",
            f"gains {self.drift_ppm:+.2f} ppm{sure}",
            f"{self.pairs} packets in both, half of them within {_short(self.residual_ns)} of the fit",
        ]
        return "; ".join(part for part in (*parts, self.sentence) if part)

    @property
    def steps(self) -> int:
        """How often the clock was set, or its rate changed, as far as it shows."""
        return max(0, len(self.pieces) - 1)

    def to_axis(self, time_ns: Array, packets: Array | None = None) -> Array:
        """Times of the capture's clock, ns since 1970, on the axis. `packets` tells times before a step from those after."""
        time_ns = np.asarray(time_ns, np.int64)
        if not self.pieces:
            return time_ns
        if len(self.pieces) == 1:
            which = np.zeros(time_ns.shape, np.intp)
        elif packets is not None:
            which = np.searchsorted([p.first_packet for p in self.pieces[1:]], packets, side="right")
        else:
            which = self._by_time(time_ns)
        mapped = self._map(time_ns, which)
        if packets is None and len(self.pieces) > 1:
            # Without packet numbers times keep their order over a step, so that intervals stay intervals.
            ends = self._map(np.array([p.from_ns for p in self.pieces[1:]]), np.arange(len(self.pieces) - 1))
            least = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(ends)))
            return np.maximum(mapped, np.where(self._jumped_back(), np.iinfo(np.int64).min, least)[which])
        return mapped

    def _map(self, time_ns: Array, which: Array) -> Array:
        """Times on the axis by the lines of their pieces."""
        at, offset, drift = (
            np.array([getattr(p, name) for p in self.pieces])[which] for name in ("at_ns", "offset_ns", "drift_ppm")
        )
        gained = (time_ns - at) * (drift * 1e-6 / (1 + drift * 1e-6))
        mapped: Array = time_ns + offset - np.rint(gained).astype(np.int64)
        return mapped

    def _jumped_back(self) -> Array:
        """Pieces before which the clock was set back: they take the place of the earlier ones, where only times tell."""
        starts = np.array([p.from_ns for p in self.pieces])
        return np.concatenate(([True], np.diff(starts) < 0))

    def _by_time(self, time_ns: Array) -> Array:
        """The piece of each time; where a step back makes a time come twice, the later."""
        which = np.zeros(time_ns.shape, np.intp)
        for number, back in enumerate(self._jumped_back()):
            which[np.ones(time_ns.shape, bool) if back else time_ns >= self.pieces[number].from_ns] = number
        return which


def _short(ns: int) -> str:
    """A length of time in the unit that suits it."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns} ns"


class Unfit(ValueError):
    """Why no clock can be fitted, in words."""


def fit(
    capture: str,
    reference: str,
    t_ref_ns: Array,
    t_cap_ns: Array,
    before: Array,
    packets: Array,
    *,
    tick_ns: int = 1,
) -> ClockMap:
    """The map from a capture's clock to the reference's.

    Parameters
    ----------
    t_ref_ns, t_cap_ns : int64 arrays
        Times of the same packets at both taps, each in its own clock, ns since 1970.
    before : int8 array
        1: the packet passed the reference first; -1: the capture first; 0: not known, which tells no bound.
    packets : int64 array
        Their numbers in the capture.
    tick_ns : int
        Resolution of the coarser clock.
    """
    if not len(t_ref_ns):
        raise Unfit("the captures have no packet in common")
    # In the order of the capture, so that a packet under way when its clock is stepped is on the right side.
    order = np.argsort(packets, kind="stable")
    t_ref_ns, t_cap_ns, before, packets = (np.asarray(v)[order] for v in (t_ref_ns, t_cap_ns, before, packets))
    x = (t_ref_ns - t_ref_ns[0]) / 1e9
    d = t_cap_ns - t_ref_ns
    base = int(np.median(d))
    points = _Points(x, (d - base).astype(float), np.asarray(before, np.int8), float(tick_ns))
    cuts, out = _cut(points)
    pieces: list[Piece] = []
    theta = np.zeros(len(x))
    for start, end in zip([0, *cuts], [*cuts, len(x)], strict=True):
        line = _Line.of(points, start, end, out)
        theta[start:end] = line.at(x[start:end])
        at_cap = int(t_ref_ns[start]) + round((line.x - x[start]) * 1e9) + base + round(float(line.at(line.x)))
        pieces.append(
            Piece(
                first_packet=int(packets[start]) if pieces else 0,
                from_ns=int(t_cap_ns[start]),
                at_ns=at_cap,
                offset_ns=-(base + round(float(line.at(line.x)))),
                drift_ppm=line.slope / 1e3,
                bound_ns=line.bound,
                bound_most_ns=line.bound_most,
                pairs=end - start - int(out[start:end].sum()),
                two_way_ns=_two_way(points, start, end),
                drift_bound_ppm=line.drift_bound_ppm,
            )
        )
    residual = np.abs(points.y - theta)[~out]
    half, most_of, most = (round(float(v)) for v in np.percentile(residual, (50, 99, 100)))
    main = max(pieces, key=lambda p: p.pairs)
    return ClockMap(
        capture,
        offset_ns=main.offset_ns,
        drift_ppm=main.drift_ppm,
        bound_ns=main.bound_ns,
        pairs=len(x),
        residual_ns=half,
        residual_p99_ns=most_of,
        residual_most_ns=most,
        two_way_ns=main.two_way_ns,
        contradictions=int(out.sum()),
        tick_ns=tick_ns,
        reference_steps=sum(abs(t_ref_ns[k] - t_ref_ns[k - 1]) > abs(t_cap_ns[k] - t_cap_ns[k - 1]) for k in cuts),
        reference=reference,
        pieces=tuple(pieces),
        sentence=_sentence(pieces, points),
    )


def _sentence(pieces: Sequence[Piece], points: _Points) -> str:
    said = []
    if main_one_sided := [p for p in pieces if p.bound_ns is None]:
        known = "in one direction only" if (points.side != 0).any() else "whose direction is not known"
        said.append(
            f"packets were seen {known}{'' if len(main_one_sided) == len(pieces) else ' for a part of the time'}: "
            "the offset is known up to their delay"
        )
    for earlier, later in pairwise(pieces):
        by = earlier.offset_ns - later.offset_ns
        wrapped = abs(abs(by) - _WRAP_32_NS) < 1e9
        what = "a 32-bit counter of microseconds wrapped" if wrapped else f"the clock was set by {by / 1e9:+.6f} s"
        said.append(f"{what} at packet {later.first_packet}")
    return "; ".join(said)


def tick_of(time_ns: Array) -> int:
    """Resolution of a clock by its stamps, ns: what all their differences are multiples of."""
    stamps = np.unique(np.asarray(time_ns, np.int64))
    steps = np.unique(np.diff(stamps))
    if len(steps) >= _LOOK_AHEAD:
        return int(np.gcd.reduce(steps))
    # Few packets, or regular ones, can be any multiple apart: the clocks that there are tick in powers of ten.
    largest = 1000 if len(stamps) < _LOOK_AHEAD else 10**9
    ticks = [tick for tick in (10**k for k in range(10)) if tick <= largest and not (stamps % tick).any()]
    return max(ticks, default=1)


def unwrap(counter: Array, bits: int = 32) -> Array:
    """A counter that starts again at 2^bits, counted on (a 32-bit TSF in us does so each 71.6 minutes)."""
    counter = np.asarray(counter, np.int64)
    turns = np.cumsum(np.diff(counter, prepend=counter[:1]) < -(1 << (bits - 1)))
    counted: Array = counter + (turns.astype(np.int64) << bits)
    return counted


def passed_first(t_ref_ns: Array, t_cap_ns: Array, src: Array, dst: Array, hops: Array | None = None) -> Array:
    """Which tap each packet passed first: 1 the reference, -1 the capture, 0 not known.

    `src` and `dst` are numbers of hosts, `hops` the time to live at the reference less that at the capture. Routers count
    it down, which decides. Otherwise, of the two directions between two hosts, the one whose stamps differ more passes
    the reference first: its delay adds to the offset, that of the other is taken from it. Hosts whose side is known so
    tell it of their packets to others.
    """
    out = np.zeros(len(src), np.int8)
    if hops is not None:
        out = np.sign(hops).astype(np.int8)
    d = t_cap_ns - t_ref_ns
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    up = src <= dst
    order = np.lexsort((t_ref_ns, high, low))
    changes = np.flatnonzero(np.diff(low[order]) | np.diff(high[order])) + 1
    sides: dict[int, int] = {}
    for rows in np.split(order, changes):
        ways = up[rows]
        if ways.all() or not ways.any():
            continue
        one, other = rows[ways], rows[~ways]
        near = np.clip(np.searchsorted(t_ref_ns[other], t_ref_ns[one]), 0, len(other) - 1)
        apart = d[one] - d[other[near]]
        sign = int(np.sign(np.median(apart))) or int(np.sign(np.mean(apart)))
        unknown = rows[out[rows] == 0]
        out[unknown] = np.where(up[unknown], sign, -sign)
        sides.setdefault(int(low[rows[0]]), sign)
        sides.setdefault(int(high[rows[0]]), -sign)
    if sides and (open_rows := np.flatnonzero(out == 0)).size:
        for i in open_rows:
            out[i] = sides.get(int(src[i])) or -sides.get(int(dst[i]), 0)
    return out


class _Points:
    """Pairs as limits of the offset: ns over seconds of the reference."""

    def __init__(self, x: Array, y: Array, side: Array, tick: float) -> None:
        self.x, self.y, self.side, self.tick = x, y, side, tick
        #: The offset is at most this (side 1), or at least this (side -1).
        self.limit = y + side * tick

    def tightest(self, start: int, end: int, side: int, left_out: Array, slope: float = 0.0) -> Array:
        """The tightest of neighbouring limits of one side, at most `_POINTS`."""
        rows = start + np.flatnonzero((self.side[start:end] == side) & ~left_out[start:end])
        group = -(-len(rows) // _POINTS)
        if group <= 1:
            return rows
        values = side * (self.limit[rows] - slope * self.x[rows])
        full = len(rows) // group * group
        best = values[:full].reshape(-1, group).argmin(1) + np.arange(0, full, group)
        tail = [full + int(values[full:].argmin())] if full < len(rows) else []
        chosen: Array = rows[np.concatenate((best, np.array(tail, np.intp)))]
        return chosen


def _rough_slope(points: _Points) -> float:
    """Drift to within what detrending needs, ns a second: over the medians of many short stretches, steps left out."""
    stretches = min(64, len(points.x) // 8)
    if stretches < 4:
        return 0.0
    edges = np.linspace(0, len(points.x), stretches + 1).astype(int)
    middles = [(np.median(points.x[a:b]), np.median(points.y[a:b])) for a, b in pairwise(edges)]
    xs, ys = np.array(middles).T
    rises = np.diff(ys) / np.maximum(np.diff(xs), 1e-9)
    return float(np.clip(np.median(rises), -DRIFT_PPM_MOST * 1e3, DRIFT_PPM_MOST * 1e3))


class _Polygon:
    """Every line (offset at `origin`, slope) that no pair contradicts."""

    def __init__(self, origin: float, middle: float) -> None:
        self.origin = origin
        wide, steep = _FARTHEST_NS, DRIFT_PPM_MOST * 1e3
        self.corners = [
            (middle - wide, -steep),
            (middle + wide, -steep),
            (middle + wide, steep),
            (middle - wide, steep),
        ]

    def excess(self, x: float, limit: float, side: int) -> float:
        """How far even the best line is on the wrong side of a limit; negative: some line is right."""
        at = x - self.origin
        return min(side * (a + b * at - limit) for a, b in self.corners)

    def clip(self, x: float, limit: float, side: int) -> bool:
        """Keep the lines on the right side of a limit; False, and no change, when there is none."""
        at = x - self.origin
        over = [side * (a + b * at - limit) for a, b in self.corners]
        if max(over) <= 0:
            return True
        if min(over) > 0:
            return False
        kept: list[tuple[float, float]] = []
        for i, (corner, value) in enumerate(zip(self.corners, over, strict=True)):
            before, was = self.corners[i - 1], over[i - 1]
            if (value > 0) != (was > 0):
                share = was / (was - value)
                kept.append((before[0] + share * (corner[0] - before[0]), before[1] + share * (corner[1] - before[1])))
            if value <= 0:
                kept.append(corner)
        # A corner on the limit itself comes twice.
        self.corners = [corner for i, corner in enumerate(kept) if corner != kept[i - 1]] or kept[:1]
        return True


def _cut(points: _Points) -> tuple[list[int], Array]:
    """Where the clock was stepped (rows at which a piece begins), and rows that contradict all their neighbours."""
    n = len(points.x)
    out = np.zeros(n, bool)
    slope = _rough_slope(points)
    rows = np.sort(np.concatenate([points.tightest(0, n, side, out, slope) for side in (1, -1)]))
    x, limit, side = points.x[rows].tolist(), points.limit[rows].tolist(), points.side[rows].tolist()
    later = {s: np.flatnonzero(points.side[rows] == s) for s in (1, -1)}
    cuts: list[int] = []
    if not len(rows):
        return cuts, out
    polygon = _Polygon(x[0], limit[0])
    odd: dict[int, list[int]] = {1: [], -1: []}
    i = began = 0
    while i < len(rows):
        if polygon.clip(x[i], limit[i], side[i]):
            i += 1
            continue
        same = later[side[i]]
        place = int(np.searchsorted(same, i))
        following = same[place + 1 : place + 1 + _LOOK_AHEAD]
        against = sum(polygon.excess(x[k], limit[k], side[k]) > 0 for k in following)
        recent = [k for k in odd[side[i]] if place - int(np.searchsorted(same, k)) < _BENT_OF]
        begin = i if len(following) and 2 * against > len(following) else None
        if begin is None and len(recent) + 1 >= _BENT:
            begin = recent[0]
        if begin is None:
            odd[side[i]].append(i)
            i += 1
            continue
        start = _step_row(points, polygon, int(rows[begin]), int(rows[same[place - 1]]) if place else -1)
        # A piece holds a pair at least.
        i = began = max(int(np.searchsorted(rows, start)), began + 1)
        start = min(start, int(rows[i])) if start > rows[began - 1] else int(rows[i])
        cuts.append(start)
        for k in odd[1] + odd[-1]:
            out[rows[k]] |= rows[k] < start
        odd = {1: [], -1: []}
        polygon = _Polygon(x[i], limit[i])
    out[rows[odd[1] + odd[-1]]] = True
    return cuts, out


def _step_row(points: _Points, polygon: _Polygon, row: int, last: int) -> int:
    """The first row after a step: of those left out between the last that fitted and the one that contradicts, and of
    the other direction, which shows it before."""
    side = int(points.side[row])
    for k in last + 1 + np.flatnonzero(points.side[last + 1 : row] == side):
        if polygon.excess(float(points.x[k]), float(points.limit[k]), side) > 0:
            row = int(k)
            break
    earlier = np.flatnonzero(points.side[:row] == side)
    if not len(earlier):
        return row
    last = int(earlier[-1])
    step = points.y[row] - points.y[last]
    before = np.flatnonzero(points.side[:last] == -side)
    between = last + 1 + np.flatnonzero(points.side[last + 1 : row] == -side)
    if not len(before) or not len(between):
        return row
    jumped = np.abs(points.y[between] - points.y[before[-1]]) > abs(step) / 2
    return int(between[jumped.argmax()]) if jumped.any() else row


class _Line:
    """The offset over time in one piece: the best line, and how far a true one can be from it."""

    def __init__(self, origin: float, offset: float, slope: float, x: float) -> None:
        self.origin, self.offset, self.slope, self.x = origin, offset, slope, x
        self.bound: int | None = None
        self.bound_most: int | None = None
        self.drift_bound_ppm: float | None = None

    def at(self, x: Any) -> Any:
        """The offset at x, ns."""
        return self.offset + self.slope * (x - self.origin)

    @classmethod
    def of(cls, points: _Points, start: int, end: int, out: Array) -> _Line:
        """The best line of the pairs from `start` to `end`."""
        first, last = float(points.x[start:end].min()), float(points.x[start:end].max())
        origin = (first + last) / 2
        kept = start + np.flatnonzero(~out[start:end])
        if not len(kept):
            kept = np.arange(start, end)
        polygon = _Polygon(origin, float(np.median(points.y[kept])))
        slope = _rough_slope(points)
        hulls = {}
        for side in (1, -1):
            rows = points.tightest(start, end, side, out, slope)
            hulls[side] = _hull(points.x[rows], points.limit[rows], side)
            hulls[side] = [(x, limit) for x, limit in hulls[side] if polygon.clip(x, limit, side)]
        sides = [s for s in (1, -1) if len(hulls[s]) > 1]
        estimates = [_edge(points, start, end, out, hulls[s], s, (first, last)) for s in sides]
        if points.tick >= _COARSE_NS:
            estimates += [_means(points, start, end, out, s, (first, last)) for s in sides]
        slopes = [b for _, b in polygon.corners]
        # Nothing told of the drift: as little as can be.
        guess = 0.0
        if total := sum(weight for _, weight in estimates):
            guess = sum(s * weight for s, weight in estimates) / total
        guess = min(max(guess, min(slopes)), max(slopes))
        two_sided = bool(hulls[1]) and bool(hulls[-1])
        if not two_sided:
            return cls._one_sided(points, kept, hulls, origin, guess)
        low, high = _span(polygon.corners, guess)
        line = cls(origin, (low + high) / 2, guess, origin)
        places = sorted({first, last, *(x for hull in hulls.values() for x, _ in hull)})
        off = [max(abs(a + b * (x - origin) - line.at(x)) for a, b in polygon.corners) for x in places]
        line.x = places[int(np.argmin(off))]
        line.drift_bound_ppm = max(abs(b - guess) for b in slopes) / 1e3
        line.bound, line.bound_most = int(np.ceil(min(off))), int(np.ceil(max(off)))
        return line

    @classmethod
    def _one_sided(
        cls, points: _Points, kept: Array, hulls: dict[int, list[tuple[float, float]]], origin: float, slope: float
    ) -> _Line:
        """As if the quickest packet had no delay; where no direction is known, the middle of all."""
        flat = points.y[kept] - slope * (points.x[kept] - origin)
        offset = float(flat.min() if hulls[1] else flat.max() if hulls[-1] else np.median(flat))
        return cls(origin, offset, slope, origin)


def _span(corners: list[tuple[float, float]], slope: float) -> tuple[float, float]:
    """Least and greatest offset of the polygon's lines of one slope."""
    found = [a for a, b in corners if b == slope]
    for (a1, b1), (a2, b2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if (b1 - slope) * (b2 - slope) < 0:
            found.append(a1 + (slope - b1) / (b2 - b1) * (a2 - a1))
    if not found:
        found = [min(corners, key=lambda c: abs(c[1] - slope))[0]]
    return min(found), max(found)


def _hull(x: Array, limit: Array, side: int) -> list[tuple[float, float]]:
    """The corners of the lower (side 1) or upper (side -1) convex hull of the limits, in order of time."""
    hull: list[tuple[float, float]] = []
    order = np.lexsort((side * limit, x))
    for point in zip(x[order].tolist(), limit[order].tolist(), strict=True):
        if hull and point[0] == hull[-1][0]:
            continue
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2], hull[-1]
            if side * ((y1 - y0) * (point[0] - x0) - (point[1] - y0) * (x1 - x0)) < 0:
                break
            hull.pop()
        hull.append(point)
    return hull


def _edge(
    points: _Points,
    start: int,
    end: int,
    out: Array,
    hull: list[tuple[float, float]],
    side: int,
    span: tuple[float, float],
) -> tuple[float, float]:
    """Slope of the hull's edge over the middle, and its weight: how tight the envelope is elsewhere."""
    middle = (span[0] + span[1]) / 2
    k = next((i for i in range(1, len(hull) - 1) if hull[i][0] > middle), len(hull) - 1)
    (x0, y0), (x1, y1) = hull[k - 1], hull[k]
    if x1 <= x0:
        return 0.0, 0.0
    slope = (y1 - y0) / (x1 - x0)
    rows = start + np.flatnonzero((points.side[start:end] == side) & ~out[start:end])
    above = side * (points.limit[rows] - y0 - slope * (points.x[rows] - x0))
    bins = ((points.x[rows] - span[0]) / max(span[1] - span[0], 1e-9) * _BINS).astype(int).clip(0, _BINS - 1)
    least = np.full(_BINS, np.inf)
    np.minimum.at(least, bins, above)
    filled = least[np.isfinite(least)]
    tightness = float(np.median(filled)) + 100.0
    return slope, ((x1 - x0) / tightness) ** 2


def _means(
    points: _Points, start: int, end: int, out: Array, side: int, span: tuple[float, float]
) -> tuple[float, float]:
    """Slope of the mean differences over time, and its weight.

    A coarse clock's envelope is a staircase, but packets come at any phase of its ticks, so that the mean of their
    stamps is that of their times.
    """
    rows = start + np.flatnonzero((points.side[start:end] == side) & ~out[start:end])
    count = min(2 * _BINS, len(rows) // (2 * _LOOK_AHEAD))
    if count < _LOOK_AHEAD:
        return 0.0, 0.0
    bins = ((points.x[rows] - span[0]) / max(span[1] - span[0], 1e-9) * count).astype(int).clip(0, count - 1)
    xs, ys = [], []
    for number in range(count):
        of_bin = rows[bins == number]
        # Queues and held packets are none of the clock's doing.
        near = (
            of_bin[np.abs(points.y[of_bin] - np.median(points.y[of_bin])) <= 4 * points.tick] if len(of_bin) else of_bin
        )
        if len(near) >= _LOOK_AHEAD:
            xs.append(points.x[near].mean())
            ys.append(points.y[near].mean())
    if len(xs) < _LOOK_AHEAD:
        return 0.0, 0.0
    x, y = np.array(xs), np.array(ys)
    i, j = np.triu_indices(len(x), 1)
    slope = float(np.median((y[j] - y[i]) / (x[j] - x[i])))
    off = y - slope * x
    scatter = 1.5 * float(np.median(np.abs(off - np.median(off)))) + 100.0
    return slope, float((x - x.mean()) @ (x - x.mean())) / scatter**2


def _two_way(points: _Points, start: int, end: int) -> int | None:
    """Least sum of the delays of two neighbouring pairs in opposite directions, as the stamps have it."""
    there, back = (start + np.flatnonzero(points.side[start:end] == s) for s in (1, -1))
    if not len(there) or not len(back):
        return None
    after = np.searchsorted(back, there)
    sums = [points.y[there] - points.y[back[np.clip(k, 0, len(back) - 1)]] for k in (after, after - 1)]
    return max(0, round(float(min(s.min() for s in sums))))
