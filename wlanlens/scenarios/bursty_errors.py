from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenario import Scenario, quantity, scenario
from wlanlens.world import Bursts, Cell, Flow, Node, RadioPath, Station, Tcp, World, file


@scenario("bursty_errors")
@dataclass(frozen=True, kw_only=True)
class BurstyErrors(Scenario):
    """A file over a channel whose errors come in bursts, now and then long ones: idle times from a backed-off timer.

    The idle-time study's setup, its test 2 by default: four attempts a frame, both directions share the bursts, a 32 KB
    window, Linux 2.2's timer that keeps its backoff. `long_share` 0 makes Gilbert's channel of two states, whose bursts
    are too short to do harm: the look-alike.
    """

    duration_s: float = quantity(300.0, "Simulated time at most, s.", least=1e-3, most=1e6)
    file_bytes: int = quantity(10 << 20, "Size of the file.", least=1, most=1 << 40)
    frame_error_rate: float = quantity(0.157, "Share of bad frames.", least=1e-6, most=0.99)
    mean_short: float = quantity(1.74, "Mean length of an ordinary burst, frames.", least=1.0, most=1e6)
    mean_long: float = quantity(15.0, "Mean length of a long one, frames.", least=1.0, most=1e6)
    long_share: float = quantity(0.05, "Share of bursts that are long.", least=0.0, most=1.0)
    rto: str = quantity("linux22", 'The retransmission timer: "linux22", "linux" or "rfc6298".')

    def world(self) -> World:
        mean = self.long_share * self.mean_long + (1 - self.long_share) * self.mean_short
        gap = mean * (1 - self.frame_error_rate) / self.frame_error_rate
        bursts = Bursts(gap, self.mean_short, self.mean_long, self.long_share)
        stations = tuple(Station(node=n, short_retry_limit=4) for n in (0, 1))
        tcp = Tcp(rto=self.rto, prr=False, eifel=False, frto=False, dsack=False, quick_acks=0)
        return World(
            nodes=(Node("sender"), Node("receiver")),
            cell=Cell(
                stations,
                ad_hoc=True,
                beacons=False,
                bursts=(bursts,),
                paths=(RadioPath(0, 1, bursts=0), RadioPath(1, 0, bursts=0)),
            ),
            flows=(Flow(0, 1, file(self.file_bytes), tcp=tcp),),
        )
