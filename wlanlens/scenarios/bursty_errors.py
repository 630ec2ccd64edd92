from __future__ import annotations

from dataclasses import dataclass, replace

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Bursts, Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity, scenario

#: The study's five tests: share of bad frames, mean length of ordinary and of long bursts (frames), share of long
#: bursts. Fitted only to the study's error rate and burst lengths, as its receiver counts them on data frames: a bad frame is
#: followed by its retry, a good one by an ACK, so data frames meet more errors than average. Idle time
#: depends steeply on them: within a tenth of test 2's numbers its median throughput is 0.3 to 2.6 Mb/s. Of the values tried
#: for tests 4 and 5 these deviate least from error rate, mean and longest burst and loss, relative to their bands.
TESTS = {
    1: (0.105, 1.5, 9.0, 0.05),
    2: (0.112, 1.7, 14.0, 0.065),
    3: (0.058, 1.08, 5.0, 0.005),
    4: (0.066, 1.2, 14.0, 0.055),
    5: (0.0031, 1.0, 4.0, 0.1),
}

#: Linux 2.2's sender: data marked lost at a timeout is retransmitted before any new data, the window grows with each ACK, and
#: SACK implies FACK. Limited transmit without SACK, undo, F-RTO and D-SACK came later.
LINUX22 = Tcp(
    rto="linux22",
    fack=True,
    repairs_all_first=True,
    counts_segments=False,
    prr=False,
    eifel=False,
    frto=False,
    dsack=False,
    limited_transmit=False,
    quick_acks=0,
)


@scenario("bursty_errors")
@dataclass(frozen=True, kw_only=True)
class BurstyErrors(Scenario):
    """A file over a channel with bursts of errors, some of them long: idle time from RTO backoff.

    The idle-time study's setup: four transmissions per frame, both directions share the bursts, a 32 KB window, Linux 2.2's timer
    that keeps its backoff. `test` is a row of the study; its numbers can also be set one by one. `two_states` makes Gilbert's
    channel with the same error rate and mean burst, whose bursts are too short to do harm.
    """

    duration_s: float = quantity(3000.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    file_bytes: int = quantity(10 << 20, "Size of the file.", least=1, most=1 << 40)
    test: int = quantity(2, "Row of the study's table 1.", least=1, most=5)
    two_states: bool = quantity(False, "Bursts of one kind with the same mean length.")
    frame_error_rate: float = quantity(0.0, "Share of bad frames; 0: that of the row.", least=0.0, most=0.99)
    mean_short: float = quantity(
        0.0, "Mean length of an ordinary burst, frames; 0: that of the row.", least=0.0, most=1e6
    )
    mean_long: float = quantity(0.0, "Mean length of a long burst, frames; 0: that of the row.", least=0.0, most=1e6)
    long_share: float = quantity(-1.0, "Share of long bursts; -1: that of the row.", least=-1.0, most=1.0)
    rto: str = quantity("linux22", "The retransmission timer.", among=("linux22", "linux22_reset", "linux", "rfc6298"))

    def bursts(self) -> Bursts:
        """The channel."""
        error, short, long, share = TESTS[self.test]
        error, short, long = self.frame_error_rate or error, self.mean_short or short, self.mean_long or long
        share = self.long_share if self.long_share >= 0 else share
        mean = share * long + (1 - share) * short
        if self.two_states:
            return Bursts.gilbert(error, mean)
        return Bursts(mean * (1 - error) / error, short, long, share)

    def world(self) -> World:
        return idle_time_world(self.file_bytes, self.bursts(), self.rto)


def idle_time_world(file_bytes: int, bursts: Bursts, rto: str) -> World:
    """The study's two hosts, with a given channel."""
    stations = alike(short_retry_limit=4)
    return pair(
        stations, Flow(0, 1, file(file_bytes), tcp=replace(LINUX22, rto=rto)), both={"bursts": 0}, bursts=(bursts,)
    )
