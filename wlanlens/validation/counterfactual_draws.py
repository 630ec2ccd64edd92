"""What pairs of worlds are drawn from: random TCPs, lines, cells and times of events."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Reader, Station, Tcp, Wire, World

#: A transfer's time without the cause, s: long enough for several round trips, short enough for hundreds of worlds.
SHORTEST_S, LONGEST_S = 2.0, 8.0

#: A queue in which nothing is lost, packets.
DEEP_PACKETS = 4000


@dataclass(frozen=True)
class Made:
    """What a cause makes of a draw.

    Attributes
    ----------
    codes : tuple of str
        The findings whose `saved_s` the removal should show: the first of them that has an estimate.
    taps : tuple of str
        The captures to analyse.
    before, after : World
        With and without the cause.
    only : tuple of (str, value), optional
        Of the findings only those with this value count; the cause makes no others.
    most_s : float
        Simulated time at most, s: a transfer with a cause ends long before.
    """

    codes: tuple[str, ...]
    taps: tuple[str, ...]
    before: World
    after: World
    only: tuple[str, Any] | None = None
    most_s: float = 600.0


class Draw:
    """Draws of one pair; the same on every machine and with every version of Python."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(f"wlanlens counterfactual {number}")  # noqa: S311 - a world, no secret

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random.random() < probability

    def among(self, values: Any) -> Any:
        """One of the values."""
        return values[int(self._random.random() * len(values))]

    def between(self, least: float, most: float) -> float:
        """A number, uniform."""
        return least + (most - least) * self._random.random()

    def log(self, least: float, most: float) -> float:
        """A number, uniform on a logarithmic scale."""
        return float(least * (most / least) ** self._random.random())

    def tcp(self, **fixed_fields: Any) -> Tcp:
        """A TCP that some stack has."""
        timestamps, sack = self.chance(0.7), self.chance(0.7)
        drawn = {
            "timestamps": timestamps,
            "sack": sack,
            "dsack": sack and self.chance(0.7),
            "eifel": timestamps and self.chance(0.5),
            "frto": self.chance(0.5),
            "recovery": self.among(("newreno", "newreno", "newreno_careless")),
            "tail_loss_probe": sack and self.chance(0.3),
            "initial_window_segments": self.among((2, 3, 4, 10)),
            "rto": self.among(("linux", "linux", "linux24", "rfc6298")),
            "delayed_ack_timer_s": self.among((0.04, 0.1, 0.2)),
            "receive_window_bytes": round(self.log(16_384, 131_072)),
        }
        return Tcp(**{**drawn, **fixed_fields})


@dataclass(frozen=True)
class Line:
    """A wired line: rate, delay and the size of a file that takes a time without any cause."""

    rate_bps: float
    delay_s: float
    size_bytes: int

    @property
    def path_bytes(self) -> float:
        """Bytes that the path holds: rate times round trip."""
        return self.rate_bps / 8 * 2 * self.delay_s

    def world(self, tcp: Tcp, *, sender: Node | None = None, reader: Reader | None = None, **wire: Any) -> World:
        """Sender, router and receiver; `wire`: fields of the slow link."""
        slow = Wire(2, 1, **{"rate_bps": self.rate_bps, "delay_s": self.delay_s, "queue_packets": DEEP_PACKETS, **wire})
        return World(
            nodes=(sender or Node("sender"), Node("receiver"), Node("router", queue_packets=DEEP_PACKETS)),
            wires=(Wire(0, 2, rate_bps=100e6, delay_s=0.0001), slow),
            flows=(Flow(0, 1, file(self.size_bytes), tcp=tcp, reader=reader),),
        )


def line(draw: Draw, tcp: Tcp | None = None) -> Line:
    """A line, with a file that takes 2 to 8 s at what the line and the receiver's window allow."""
    rate_bps, delay_s = draw.log(5e5, 2e7), draw.log(0.001, 0.05)
    possible = rate_bps
    if tcp is not None:
        possible = min(rate_bps, tcp.receive_window_bytes * 8 / (2 * delay_s))
    return Line(rate_bps, delay_s, max(50_000, round(possible / 8 * draw.between(SHORTEST_S, LONGEST_S))))


def times(draw: Draw, within_s: float, most: int = 4) -> list[float]:
    """Times of events, in order, not in the first half second."""
    return sorted(draw.between(0.5, max(0.6, within_s)) for _ in range(1 + int(draw.between(0, most))))


def spaced(draw: Draw, within_s: float, length_s: float) -> tuple[tuple[float, float], ...]:
    """Events of one length that do not overlap."""
    out: list[tuple[float, float]] = []
    for start in times(draw, within_s):
        if not out or start > sum(out[-1]) + 2 * length_s:
            out.append((start, length_s))
    return tuple(out)


def cell(tcp: Tcp, sender: dict[str, Any], receiver: dict[str, Any], size: int, **path: Any) -> World:
    """Two stations in ad hoc mode."""
    cell = Cell(
        (Station(node=0, **sender), Station(node=1, **receiver)),
        ad_hoc=True,
        beacons=False,
        paths=(RadioPath(0, 1, **path), RadioPath(1, 0, **path)) if path else (),
    )
    node = Node("sender", queue_packets=DEEP_PACKETS)
    return World(nodes=(node, Node("receiver")), cell=cell, flows=(Flow(0, 1, file(size), tcp=tcp),))


def air_size(draw: Draw, goodput_bps: float) -> int:
    return round(goodput_bps / 8 * draw.between(SHORTEST_S, LONGEST_S))


def hosts(draw: Draw) -> tuple[str, ...]:
    """A capture at the sender, or one at each end, which together show what was lost."""
    return ("sender",) if draw.chance(0.5) else ("sender", "receiver")
