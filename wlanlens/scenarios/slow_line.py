from __future__ import annotations

from dataclasses import dataclass

from wlanlens.scenarios._slow_line import SlowLineWorld
from wlanlens.simulation.scenario import scenario


@scenario("slow_line")
@dataclass(frozen=True, kw_only=True)
class SlowLine(SlowLineWorld):
    """A file over a link of 9600 bit/s with a small buffer, which may lose packets at random.

    The wireless wide-area setup of the Seawind study: 200 ms each way, segments of 256 bytes, PPP, delayed ACKs. Its
    tables vary the parameters: error rate, buffer, initial and receive window, SACK, New Reno, MSS.
    """
