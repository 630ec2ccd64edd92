"""ClockMap: the map from one capture's clock to the trace's, with its error bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wlanlens.tables.columns import Array


@dataclass(frozen=True)
class Piece:
    """The map between two steps of the clock.

    Attributes
    ----------
    first_packet : int
        First packet of the capture for which it holds.
    from_ns : int
        That packet's time in the capture's clock, ns since 1970.
    at_ns : int
        Time in the capture's clock at which the offset has its smallest error.
    offset_ns : int
        Added to the capture's clock there.
    drift_ppm : float
        Rate of the capture's clock relative to the axis, in parts per million.
    bound_ns : int or None
        The error of the offset at `at_ns` is at most this, even with one clock step that no pair shows; None: packets were
        seen in one direction only, or too few beside a step.
    bound_most_ns : int or None
        The same anywhere between its first and last pair, without such a step.
    pairs : int
        Packets to which it was fitted.
    two_way_ns : int or None
        Least sum of the delays of two consecutive pairs in opposite directions.
    drift_bound_ppm : float or None
        The error of the drift is at most this, even with one clock step; None: packets were seen in one direction only.
    drift_error_ppm : float or None
        Standard error of the drift, from the scatter of the fastest packets; None: too few packets.
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

    A trace of one capture has the identity: its clock is the axis and the bound is 0.

    Attributes
    ----------
    capture : str
        Name of the capture.
    offset_ns : int
        Added to the capture's clock where its error is smallest, in the piece with most pairs.
    drift_ppm : float
        Rate of the capture's clock relative to the axis, in parts per million.
    bound_ns : int or None
        The error of the offset there is at most this; None: packets were seen in one direction only, so that the offset
        includes their delay, or too few beside a step.
    pairs : int
        Common packets to which it was fitted; 0: the identity.
    residual_ns : int
        Half of the pairs are within this of the fit; their delay is part of it.
    residual_p99_ns, residual_most_ns : int
        99 % of them; all.
    two_way_ns : int or None
        Least sum of the delays of two consecutive pairs in opposite directions, in that piece.
    contradictions : int
        Pairs that were excluded: they contradict their neighbours, or lie at a step and fit both sides of it.
    tick_ns : int
        Resolution of the coarser of the two clocks; the bound includes it.
    reference_steps : int
        Steps of the reference's clock, by the times of neighbouring packets.
    reference : str
        Capture to whose clock it was fitted; "" for the axis itself.
    pieces : tuple of Piece
        One, and one more for each step.
    sentence : str
        Remarks, such as clock steps.
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
        """Offset, drift and residuals as text: "receiver.pcap: clock 3.700064 s ± 10.1 ms ahead of sender.pcap; ..."."""
        if not self.pieces:
            return f"{self.capture}: the reference clock"
        relation = "ahead of" if self.offset_ns <= 0 else "behind"
        bound = " (plus the packets' delay)" if self.bound_ns is None else f" ± {_short(self.bound_ns)}"
        main = max(self.pieces, key=lambda p: p.pairs)
        places, error = 2, ""
        if main.drift_bound_ppm is not None:
            bound_ppm = main.drift_bound_ppm
            places, error = 1, f" ± {bound_ppm:.3g}" if bound_ppm < 999.5 else f" ± {bound_ppm:.0f}"
        # The sum makes +0.0 of -0.0.
        drift = f"{round(self.drift_ppm, places) + 0.0:+.{places}f}{error}"
        parts = [
            f"{self.capture}: clock {_offset(abs(self.offset_ns))}{bound} {relation} {self.reference}",
            f"drift {drift} ppm",
            f"{self.pairs} common packets; residuals: median {_short(self.residual_ns)}, "
            f"99 % below {_short(self.residual_p99_ns)}",
        ]
        return "; ".join(part for part in (*parts, self.sentence) if part)

    @property
    def steps(self) -> int:
        """Number of detected clock steps and changes of its rate."""
        return max(0, len(self.pieces) - 1)

    def to_axis(self, time_ns: Array, packets: Array | None = None) -> Array:
        """Times of the capture's clock, ns since 1970, on the axis. Packet numbers decide on which side of a step a time is."""
        time_ns = np.asarray(time_ns, np.int64)
        if not self.pieces:
            return time_ns
        if len(self.pieces) == 1:
            only = self.pieces[0]
            return _mapped(time_ns, only.at_ns, only.offset_ns, only.drift_ppm)
        if packets is not None:
            which = np.searchsorted([p.first_packet for p in self.pieces[1:]], packets, side="right")
        else:
            which = self._by_time(time_ns)
        mapped = self._map(time_ns, which)
        if packets is None:
            # Without packet numbers, times keep their order across a step: an interval must not end before it starts.
            ends = self._map(np.array([p.from_ns for p in self.pieces[1:]]), np.arange(len(self.pieces) - 1))
            least = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(ends)))
            return np.maximum(mapped, np.where(self._jumped_back(), np.iinfo(np.int64).min, least)[which])
        return mapped

    def _map(self, time_ns: Array, which: Array) -> Array:
        """Times on the axis by the given pieces."""
        at, offset, drift = (
            np.array([getattr(p, name) for p in self.pieces])[which] for name in ("at_ns", "offset_ns", "drift_ppm")
        )
        return _mapped(time_ns, at, offset, drift)

    def _jumped_back(self) -> Array:
        """Pieces that begin with a step back: they replace the earlier piece where only the time is given."""
        starts = np.array([p.from_ns for p in self.pieces])
        return np.concatenate(([True], np.diff(starts) < 0))

    def _by_time(self, time_ns: Array) -> Array:
        """The piece of each time; the later one where a step back repeats a time."""
        which = np.zeros(time_ns.shape, np.intp)
        for number, back in enumerate(self._jumped_back()):
            which[np.ones(time_ns.shape, bool) if back else time_ns >= self.pieces[number].from_ns] = number
        return which


def _mapped(time_ns: Array, at_ns: Any, offset_ns: Any, drift_ppm: Any) -> Array:
    """Times on the axis by pieces: one for all, or one for each time."""
    gained = (time_ns - at_ns) * (drift_ppm * 1e-6 / (1 + drift_ppm * 1e-6))
    mapped: Array = time_ns + offset_ns
    mapped -= np.rint(gained, out=gained).astype(np.int64)
    return mapped


def _offset(ns: int) -> str:
    """An offset: to the us from one second on, else in its own unit."""
    return f"{ns / 1e9:.6f} s" if ns >= 10**9 else _short(ns)


def _short(ns: int) -> str:
    """A duration in a suitable unit."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns} ns"
