"""ClockMap: from one capture's clock to the trace's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClockMap:
    """How one capture's clock maps to the trace's axis.

    A trace of one capture has the identity: its own clock is the axis, nothing was fitted, the bound is 0.

    Attributes
    ----------
    capture : str
        Name of the capture.
    offset_ns : int
        Added to the capture's clock.
    drift_ppm : float
        Rate difference in parts per million.
    bound_ns : int
        The mapped time is right within this.
    pairs : int
        Packets seen by both captures on which it was fitted; 0: nothing was fitted.
    residual_ns : int
        Largest distance of a pair from the fit.
    """

    capture: str
    offset_ns: int = 0
    drift_ppm: float = 0.0
    bound_ns: int = 0
    pairs: int = 0
    residual_ns: int = 0

    @classmethod
    def identity(cls, capture: str) -> ClockMap:
        """The map of the capture whose clock is the axis."""
        return cls(capture)
