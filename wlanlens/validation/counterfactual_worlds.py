"""Pairs of worlds for the counterfactual: a random transfer with a planted cause, and the same world without it.

A pair is a function of one number. Both worlds have the same seed, the same size of the file, the same TCP; only the cause differs.
What depends on chance elsewhere (frame errors) is off unless it is the cause, so that the difference of the durations is the cause's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Cell, Flow, Node, RadioPath, Reader, SendBuffer, Station, Tcp, Usb, Wire, World
from wlanlens.simulation.rate_control import automatic, fixed, multiplicative
from wlanlens.simulation.scenario import Scenario

#: A transfer's time without the cause, s: long enough for several round trips, short enough for hundreds of worlds.
SHORTEST_S, LONGEST_S = 2.0, 8.0

#: Simulated time at most, s: a transfer with a cause ends long before.
MOST_S = 600.0

#: A queue in which nothing is lost, packets.
DEEP_PACKETS = 4000


@dataclass(frozen=True, kw_only=True)
class GivenWorld(Scenario):
    """A world as it is given."""

    given: World

    name: ClassVar[str] = "counterfactual"

    def __post_init__(self) -> None:
        """The world is made here: there is no parameter to check."""

    def world(self) -> World:
        return self.given


@dataclass(frozen=True)
class Pair:
    """A world with a cause, and the same world without it.

    Attributes
    ----------
    number : int
        The number that it was drawn from, and the seed of both.
    cause : str
        Name of the kind of cause: a key of `CAUSES`.
    codes : tuple of str
        The findings whose `saved_s` the removal should show; of several codes, the one that saves most.
    taps : tuple of str
        The captures to analyse.
    before, after : World
        With and without the cause.
    """

    number: int
    cause: str
    codes: tuple[str, ...]
    taps: tuple[str, ...]
    before: World
    after: World


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


def _cell(tcp: Tcp, sender: dict[str, Any], receiver: dict[str, Any], size: int, **path: Any) -> World:
    """Two stations in ad hoc mode."""
    cell = Cell(
        (Station(node=0, **sender), Station(node=1, **receiver)),
        ad_hoc=True,
        beacons=False,
        paths=(RadioPath(0, 1, **path), RadioPath(1, 0, **path)) if path else (),
    )
    node = Node("sender", queue_packets=DEEP_PACKETS)
    return World(nodes=(node, Node("receiver")), cell=cell, flows=(Flow(0, 1, file(size), tcp=tcp),))


def _size(draw: Draw, goodput_bps: float) -> int:
    return round(goodput_bps / 8 * draw.between(SHORTEST_S, LONGEST_S))


Made = tuple[tuple[str, ...], tuple[str, ...], World, World]


def holds(draw: Draw) -> Made:
    """The sender's adapter holds received ACKs, on a line or on the air."""
    tcp = draw.tcp(timestamps=True)
    length = draw.log(0.08, 1.2)
    if draw.chance(0.5):
        at = line(draw, tcp)
        held = Node("sender", holds_s=_spaced(draw, LONGEST_S, length))
        return ("ack_holding",), ("sender",), at.world(tcp, sender=held), at.world(tcp)
    world = _cell(tcp, {}, {}, _size(draw, 5e6))
    held = replace(world.nodes[0], holds_s=_spaced(draw, LONGEST_S, length))
    return ("ack_holding",), ("sender",), replace(world, nodes=(held, world.nodes[1])), world


def _spaced(draw: Draw, within_s: float, length_s: float) -> tuple[tuple[float, float], ...]:
    """Events of one length that do not overlap."""
    out: list[tuple[float, float]] = []
    for start in times(draw, within_s):
        if not out or start > sum(out[-1]) + 2 * length_s:
            out.append((start, length_s))
    return tuple(out)


def window(draw: Draw) -> Made:
    """The receiver's buffer is smaller than what the path holds; without the cause it is eight times that."""
    at = line(draw)
    at = replace(at, delay_s=max(at.delay_s, 0.01, 12 * 1448 * 8 / at.rate_bps))
    least = max(5 * 1448, round(at.path_bytes * draw.between(0.15, 0.8)))
    small = draw.tcp(receive_window_bytes=least)
    large = replace(small, receive_window_bytes=round(8 * max(at.path_bytes, least)))
    return ("window_limited",), ("sender",), at.world(small), at.world(large)


def reader_pauses(draw: Draw) -> Made:
    """The receiving application stops reading for a time."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    # A window that limits the transfer as well would remain without the pauses.
    tcp = replace(tcp, receive_window_bytes=max(tcp.receive_window_bytes, round(2 * at.path_bytes)))
    pauses = _spaced(draw, LONGEST_S, draw.log(0.5, 4.0))
    reader = Reader(1 << 20, 0.001, pauses)
    before, after = at.world(tcp, reader=reader), at.world(tcp, reader=replace(reader, pauses_s=()))
    return ("window_limited",), ("sender",), before, after


def outages(draw: Draw) -> Made:
    """The line loses everything for some times."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    gone = _spaced(draw, LONGEST_S, draw.log(0.05, 1.5))
    return ("packet_loss", "idle_backoff"), ("sender",), at.world(tcp, blackouts_s=gone), at.world(tcp)


def single_losses(draw: Draw) -> Made:
    """Some packets of data are lost, one by one or a few in a row."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    packets = at.size_bytes // tcp.mss_bytes
    lost: set[int] = set()
    for _ in range(1 + int(draw.between(0, 6))):
        first = int(draw.between(5, max(6, packets - 5)))
        lost |= set(range(first, first + draw.among((1, 1, 2, 4))))
    return ("packet_loss",), ("sender",), at.world(tcp, lose_data=tuple(sorted(lost))), at.world(tcp)


def tail(draw: Draw) -> Made:
    """The last packets of the transfer are lost."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    at = replace(at, size_bytes=max(20_000, at.size_bytes // 8))
    packets = -(-at.size_bytes // tcp.mss_bytes)
    count = draw.among((1, 2, 3))
    lost = tuple(range(packets - count, packets))
    return ("tail_loss",), ("sender",), at.world(tcp, lose_data=lost), at.world(tcp)


def lost_acks(draw: Draw) -> Made:
    """All ACKs are lost for some times."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    gone = _spaced(draw, LONGEST_S, draw.log(0.1, 1.0))
    return ("ack_loss",), ("sender", "receiver"), at.world(tcp, ack_blackouts_s=gone), at.world(tcp)


def delayed_acks(draw: Draw) -> Made:
    """The send buffer holds one segment at a time, so that each waits for the delayed-ACK timer."""
    tcp = draw.tcp(quick_acks=0, send_buffer=SendBuffer(1448, write_bytes=1448))
    at = line(draw)
    at = replace(at, size_bytes=round(1448 * draw.between(30, 90)))
    return ("delayed_ack_deadlock",), ("sender",), at.world(tcp), at.world(replace(tcp, delayed_ack_segments=1))


def startup(draw: Draw) -> Made:
    """A short queue overflows in slow start; without the cause it is deep."""
    tcp = draw.tcp(receive_window_bytes=262_144)
    if draw.chance(0.6):
        tcp = replace(tcp, sack=False, dsack=False, tail_loss_probe=False)
    at = line(draw)
    # After the start the halved window still fills the path: what is lost is lost in slow start.
    short = max(7, round(draw.between(1.0, 2.0) * at.path_bytes / 1448))
    return ("startup_overflow",), ("sender",), at.world(tcp, queue_packets=short), at.world(tcp)


def spurious(draw: Draw) -> Made:
    """ACKs are held beyond the timer; the remedy is a sender that notices (Eifel, F-RTO)."""
    tcp = draw.tcp(timestamps=True, sack=True, dsack=True, eifel=False, frto=False, tail_loss_probe=False, rto="linux")
    at = line(draw, tcp)
    held = Node("sender", holds_s=_spaced(draw, LONGEST_S, draw.log(0.4, 1.5)))
    able = replace(tcp, eifel=True, frto=True)
    return ("spurious_timeout",), ("sender",), at.world(tcp, sender=held), at.world(able, sender=held)


def bus(draw: Draw) -> Made:
    """The host controller's mode limits the adapter; without the cause it uses each frame to its end."""
    tcp = draw.tcp()
    usb = Usb(depth_first=draw.chance(0.5), reclamation=False, urbs_out=draw.among((1, 4)))
    better = replace(usb, reclamation=True, urbs_out=4)

    def world(adapter: Usb) -> World:
        station = Station(node=0, rate_control=fixed(rate), usb=adapter)
        return World(
            nodes=(Node("laptop", queue_packets=DEEP_PACKETS), Node("server"), Node("access point")),
            cell=Cell((station, Station(node=2, access_point=True, rate_control=fixed(rate)))),
            wires=(Wire(2, 1),),
            flows=(Flow(0, 1, file(size), tcp=tcp),),
        )

    rate = draw.among((11.0, 54.0))
    size = round(2.5e6 / 8 * draw.between(SHORTEST_S, LONGEST_S))
    return ("usb_bottleneck",), ("sender", "usb", "air"), world(usb), world(better)


def slow_rate(draw: Draw) -> Made:
    """The sender's driver never leaves a low rate."""
    tcp = draw.tcp()
    low = draw.among((1.0, 2.0, 5.5))
    size = _size(draw, 2e6)
    other = {"rate_control": automatic("arf")}
    before = _cell(tcp, {"rate_control": fixed(low)}, other, size, snr_db=40.0)
    after = _cell(tcp, {"rate_control": fixed(11.0)}, other, size, snr_db=40.0)
    return ("stuck_rate",), ("sender", "air"), before, after


def thrashing(draw: Draw) -> Made:
    """Rate control climbs to rates that do not work; without the cause it keeps the one that does."""
    tcp = draw.tcp()
    size = _size(draw, 6e5)
    ladder = ((11.0, draw.among((2, 3, 4))), (5.5, 100), (1.0, 1))
    climbs = {"rate_control": multiplicative(ladder, 1.0, draw.among((8, 10, 16))), "short_retry_limit": 10}
    steady = {"rate_control": fixed(1.0), "short_retry_limit": 10}
    more = {"control_rate_mbps": 1.0, "signal_dbm": -92.0}
    sides = [_cell(tcp, {**s, **more}, {**s, **more}, size, snr_db=2.6) for s in (climbs, steady)]
    return ("rate_thrashing",), ("sender", "air"), sides[0], sides[1]


def fades(draw: Draw) -> Made:
    """The signal fades for some times."""
    tcp = draw.tcp()
    size = _size(draw, 5e6)
    length = draw.log(0.3, 1.5)
    gone = tuple((start, length, 40.0, 0.0) for start, length in _spaced(draw, LONGEST_S, length))
    plain = {"signal_dbm": -65.0}
    before = _cell(tcp, {**plain, "fades_s": gone}, plain, size, snr_db=30.0)
    after = _cell(tcp, plain, plain, size, snr_db=30.0)
    return ("signal_fade",), ("sender", "air"), before, after


#: Kinds of causes that can be removed.
CAUSES: dict[str, Callable[[Draw], Made]] = {
    made.__name__: made
    for made in (
        holds, window, reader_pauses, outages, single_losses, tail, lost_acks, delayed_acks, startup,
        spurious, bus, slow_rate, thrashing, fades,
    )
}  # fmt: skip


def pair(number: int) -> Pair:
    """The pair of a number."""
    draw = Draw(number)
    cause = draw.among(tuple(CAUSES))
    codes, taps, before, after = CAUSES[cause](draw)
    return Pair(number, cause, codes, taps, before, after)
