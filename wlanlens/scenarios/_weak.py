"""A position where only the two lowest rates work: the USB study's experiments on rate adaptation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wlanlens.scenarios._pair import alike, pair
from wlanlens.simulation.applications import bulk
from wlanlens.simulation.config import Flow, Tcp, World
from wlanlens.simulation.scenario import Scenario, quantity

#: The study's sender and receiver, as far as it states: Linux 2.4 with SACK (its rules are those of `tcp_input.c` and
#: `tcp_output.c`), and SunOS 5.8 without D-SACK, with a buffer of 24 KB and a delayed ACK of about 100 ms.
LINUX24 = Tcp(
    receive_window_bytes=24_576,
    fack=True,
    dsack=False,
    prr=False,
    rate_halving=True,
    lost_retransmissions=True,
    linux24_scoreboard=True,
    burst_segments=3,
    counts_segments=False,
    frto=False,
    quick_acks=0,
    delayed_ack_timer_s=0.1,
    rto="linux24",
)


@dataclass(frozen=True, kw_only=True)
class Weak(Scenario):
    """Both stations at such a position; subclasses choose the rate control."""

    duration_s: float = quantity(30.0, "Simulated time, s.", least=1e-3, most=1e6)
    retry_limit: int = quantity(10, "Attempts of a frame.", least=1, most=255)
    frame_error_rate: float = quantity(
        0.02, "Share of bad frames in addition to noise, MAC ACKs included.", least=0.0, most=1.0
    )
    snr_db: float = quantity(
        2.2,
        "Signal-to-noise ratio in 22 MHz, dB: 2 Mb/s needs 2, 5.5 Mb/s 5.5 and 11 Mb/s 8.5.",
        least=-20.0,
        most=60.0,
    )

    def rate_control(self) -> dict[str, Any]:
        """Rate control of both stations."""
        raise NotImplementedError

    def air(self) -> dict[str, Any]:
        """Further errors of the channel."""
        return {}

    def world(self) -> World:
        stations = alike(
            rate_control=self.rate_control(),
            short_retry_limit=self.retry_limit,
            control_rate_mbps=1.0,
            # Signal above a noise of -95 dBm.
            signal_dbm=-95.0 + self.snr_db,
        )
        ways = {"snr_db": self.snr_db, "frame_error_rate": self.frame_error_rate}
        return pair(stations, Flow(0, 1, bulk(), tcp=LINUX24), both=ways, **self.air())
