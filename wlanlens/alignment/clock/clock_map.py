"""ClockMap: from one capture's clock to the trace's, with what is known of it and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


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
        The offset is right within this at `at_ns`, though the clock be set once where no pair shows it; None: only one
        direction was seen.
    bound_most_ns : int or None
        The same anywhere between its first and last pair, if it was not set so.
    pairs : int
        Packets on which it was fitted.
    two_way_ns : int or None
        Least sum of the delays of two pairs that follow each other in opposite directions.
    drift_bound_ppm : float or None
        The drift is right within this, though the clock be set once; None: only one direction was seen.
    drift_error_ppm : float or None
        Its standard error, by how far the quickest packets scatter; None: too few tell.
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
    drift_error_ppm: float | None = None


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
        Pairs left out because they fit no clock with their neighbours, or lie at a step and fit either side of it.
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
            f"{self.capture} is {_offset(abs(self.offset_ns))} {ahead} {self.reference} ({within})",
            f"gains {self.drift_ppm:+.2f} ppm{sure}",
            f"{self.pairs} packets in both, half of them within {_short(self.residual_ns)} of the fit, "
            f"99 % within {_short(self.residual_p99_ns)}",
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


def _offset(ns: int) -> str:
    """An offset: hours are known to the us, and one below a second reads better in its own unit."""
    return f"{ns / 1e9:.6f} s" if ns >= 10**9 else _short(ns)


def _short(ns: int) -> str:
    """A length of time in the unit that suits it."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns} ns"
