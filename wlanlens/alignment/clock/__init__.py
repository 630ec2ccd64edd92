"""ClockMap: from one capture's clock to the trace's, fitted to packets that both captures hold.

A packet that passes the reference first shows the capture's clock ahead by at most the difference of its stamps: the
offset plus its delay. One that passes the capture first shows it ahead by at least the difference. Between the two
envelopes lies every line that the true offset can be; all of them are kept as a polygon of offset and drift, from which
the bound follows. Steps are where no line is left, or where both envelopes shift at once. (Moon, Skelly and Towsley 1999;
Zhang, Liu and Xia 2002.)
"""

from wlanlens.alignment.clock.clock_map import ClockMap, Piece
from wlanlens.alignment.clock.direction import passed_first
from wlanlens.alignment.clock.drift import Drift
from wlanlens.alignment.clock.drift_consensus import agreed
from wlanlens.alignment.clock.feasible_region import DRIFT_PPM_MOST
from wlanlens.alignment.clock.fitting import Fit, Unfit
from wlanlens.alignment.clock.resolution import tick_of, unwrap

__all__ = [
    "DRIFT_PPM_MOST",
    "ClockMap",
    "Drift",
    "Fit",
    "Piece",
    "Unfit",
    "agreed",
    "passed_first",
    "tick_of",
    "unwrap",
]
