"""Fit a ClockMap to the packets that two captures have in common.

The difference of a packet's two timestamps is the clock offset plus the delay, if the packet passes the reference first, or
the offset minus the delay, if it passes the capture first. So packets of the two directions bound the offset from above and
from below. The lines (offset and drift) within all bounds form a polygon, the feasible region, and its extent is the error
bound. A clock step is where the region becomes empty, or where the least delays of both directions shift at once. (Moon,
Skelly and Towsley 1999; Zhang, Liu and Xia 2002.)
"""

from wlanlens.alignment.clock.direction import passed_first
from wlanlens.alignment.clock.drift import Drift
from wlanlens.alignment.clock.drift_consensus import agreed
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST
from wlanlens.alignment.clock.fitting import Fit, NoClockFit
from wlanlens.alignment.clock.resolution import tick_of, unwrap

__all__ = [
    "DRIFT_PPM_MOST",
    "Drift",
    "Fit",
    "NoClockFit",
    "agreed",
    "passed_first",
    "tick_of",
    "unwrap",
]
