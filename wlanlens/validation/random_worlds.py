"""Random worlds: a scenario of the shelf with random parameters, a random TCP sender and receiver, and random taps.

A world is a function of one number. The same number gives the same world on every machine and with every version of
Python (the draws use only `random.Random(text).random()`).

* The scenario is drawn with equal chances.
* Each parameter keeps its default (a third of the time), takes a value near it (a third), any value of its range, or
  rarely an end of the range. Values are drawn uniformly on a logarithmic scale where the range spans more than a
  decade, otherwise uniformly; words and booleans uniformly. `wild=False` leaves out the ends and the whole range.
* Two worlds of three have the TCP of their scenario replaced in part: SACK, DSACK, FACK, timestamps, the recovery, the
  timer, what undoes a timeout, the tail loss probe, delayed ACKs. Combinations that no stack can have are not drawn: the
  fields that need SACK or timestamps are off without them.
* One world of four has lines that reorder packets.
* `varied` worlds have more drawn, one of three each: the queues of lines and routers, further connections beside those of the
  scenario, and errors on the paths of the air.
* Parameters that a scenario refuses together (more flows than ports) are drawn again.
* Worlds are short, and shorter still where many packets a second are possible, so that a thousand take minutes; worlds
  of few packets a second are longer.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from wlanlens.registry import units
from wlanlens.simulation.applications import bulk, file, paced, request
from wlanlens.simulation.config import Flow, RadioPath, TapClock, World
from wlanlens.simulation.parameters import ScenarioError
from wlanlens.simulation.scenario import Scenario, ScenarioKind

#: Packets that a world may have and should have, roughly: an analysis of each tap takes a tenth of a second at most.
PACKETS_MOST, PACKETS_LEAST = 20_000, 2_000

#: Simulated time, s: from a few round trips to some expiries of a timer that backs off; and that of a slow world.
SHORTEST_S, LONGEST_S, SLOW_S = 2.0, 8.0, 300.0

#: The least number that a logarithmic scale reaches where the range begins at 0, as a share of the range's end.
_LEAST_SHARE = 1e-4

#: Worlds of many connections get no more.
_FLOWS_MOST = 1_000

#: Snap lengths of taps: all of a packet, or only its headers.
_SNAPLENS = (262_144, 262_144, 128, 96)


@dataclass(frozen=True, kw_only=True)
class RandomWorld(Scenario):
    """A scenario whose TCP and taps are replaced in part.

    Attributes
    ----------
    seed : int
        The number that it was drawn from; also a good seed for `simulate`.
    base : Scenario
        A scenario of the shelf with its parameters.
    tcp : mapping
        Fields of `Tcp` that replace those of every TCP flow.
    jitter : mapping
        Fields of `Wire` that replace those of every line.
    clocks : mapping of str to TapClock
        The taps' clocks, snap lengths and missed packets.
    queue_packets : int
        The length of every line's queue and of every router's; 0: as in the scenario.
    flows : tuple of Flow
        Further connections.
    frame_error_rate : float
        The least on every path between the first two stations.
    """

    seed: int
    base: Scenario
    tcp: Mapping[str, Any] = field(default_factory=dict)
    jitter: Mapping[str, Any] = field(default_factory=dict)
    clocks: Mapping[str, TapClock] = field(default_factory=dict)
    queue_packets: int = 0
    flows: tuple[Flow, ...] = ()
    frame_error_rate: float = 0.0

    name: ClassVar[str] = "random_world"

    def __post_init__(self) -> None:
        object.__setattr__(self, "duration_s", self.base.duration_s)

    @property
    def drawn(self) -> str:
        """The world as the command line of `simulate` and the fields of `Tcp`: for reports."""
        fields = dataclasses.fields(self.base)
        differ = {f.name: getattr(self.base, f.name) for f in fields if getattr(self.base, f.name) != f.default}
        text = f"{self.base.name} seed={self.seed} " + " ".join(f"{k}={v!r}" for k, v in differ.items())
        more = {**{f"tcp.{k}": v for k, v in self.tcp.items()}, **{f"wire.{k}": v for k, v in self.jitter.items()}}
        more |= {"flows": len(self.flows)} if self.flows else {}
        more |= {k: v for k in ("queue_packets", "frame_error_rate") if (v := getattr(self, k))}
        return text + "".join(f" {k}={v!r}" for k, v in more.items())

    def world(self) -> World:
        world = self.base.world()
        flows = tuple(replace(f, tcp=replace(f.tcp, **self.tcp)) if f.tcp is not None else f for f in world.flows)
        clocks = {tap: clock for tap, clock in self.clocks.items() if tap in world.taps}
        lines = {**self.jitter, **({"queue_packets": self.queue_packets} if self.queue_packets else {})}
        wires = tuple(replace(wire, **lines) for wire in world.wires)
        nodes, cell = world.nodes, world.cell
        if self.queue_packets:
            # A host's own queue is short: TCP keeps little in it (Linux's TCP small queues).
            ends = {end for flow in world.flows for end in (flow.client, flow.server)}
            queued = (replace(node, queue_packets=self.queue_packets) for node in nodes)
            nodes = tuple(node if i in ends else q for i, (node, q) in enumerate(zip(nodes, queued, strict=True)))
        if cell is not None and self.frame_error_rate:
            given = {(path.start, path.end): path for path in cell.paths}
            for pair in ((0, 1), (1, 0)):
                path = given.get(pair, RadioPath(*pair))
                given[pair] = replace(path, frame_error_rate=max(path.frame_error_rate, self.frame_error_rate))
            cell = replace(cell, paths=tuple(given.values()))
        return replace(
            world,
            nodes=nodes,
            cell=cell,
            flows=(*flows, *self.flows),
            wires=wires,
            clocks={**world.clocks, **clocks},
        )


def drawn_scenarios() -> list[str]:
    """Names of the scenarios that random worlds are made of."""
    kinds = [kind for kind in units("scenarios").values() if isinstance(kind, ScenarioKind)]
    return sorted(kind.name for kind in kinds if not kind.kind.scripted)


def random_world(
    seed: int,
    *,
    wild: bool = True,
    varied: bool = False,
    scenarios: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> RandomWorld:
    """The world of a number.

    Parameters
    ----------
    seed : int
    wild : bool
        Whether parameters may be anywhere in their ranges, ends included; otherwise they are near their defaults.
    varied : bool
        Whether to draw queues, further connections and errors on the air, too.
    scenarios : sequence of str
        Names to draw from; by default the whole shelf, but for scripted ones.
    settings : mapping
        Parameters that are given, not drawn, where the scenario has them.
    """
    shelf = units("scenarios")
    names = sorted(scenarios) if scenarios is not None else drawn_scenarios()
    draw = _Draw(seed)
    duration_s = draw.log(SHORTEST_S, LONGEST_S)
    clocks = {tap: TapClock(snaplen_bytes=draw.among(_SNAPLENS)) for tap in ("sender", "usb", "air", "receiver")}
    tcp = draw.tcp() if draw.chance(2 / 3) else {}
    reorders = draw.chance(1 / 4)
    jitter = {"jitter_share": draw.log(1e-3, 1.0), "jitter_s": draw.log(1e-4, 0.1)} if reorders else {}
    kind = shelf[draw.among(names)]
    assert isinstance(kind, ScenarioKind)
    while True:
        chosen = {name: draw.parameter(f, wild=wild) for name, f in kind.parameters.items() if name != "duration_s"}
        given = {name: value for name, value in (settings or {}).items() if name in kind.parameters}
        try:
            base = kind.make({**chosen, "duration_s": duration_s, **given})
            made = RandomWorld(seed=seed, base=base, tcp=tcp, jitter=jitter, clocks=clocks)
            if varied:
                made = _varied(made)
            rate = packets_per_second(made.world())
        except ScenarioError:
            continue
        if "duration_s" in given:
            return made
        duration_s = max(duration_s, min(SLOW_S, PACKETS_LEAST / rate))
        return replace(made, base=replace(made.base, duration_s=min(duration_s, max(0.01, PACKETS_MOST / rate))))


def _varied(made: RandomWorld) -> RandomWorld:
    """The world with other queues, further connections, and errors on the air."""
    draw = _Draw(made.seed, "varied")
    world = made.base.world()
    queue_packets = round(draw.log(4, 1000)) if draw.chance(1 / 3) else 0
    error_rate = draw.log(1e-3, 0.3) if draw.chance(1 / 3) and world.cell is not None else 0.0
    some = [flow for flow in world.flows if flow.tcp is not None]
    count = draw.among((1, 1, 2, 3)) if draw.chance(1 / 3) and some and len(world.flows) < _FLOWS_MOST else 0
    flows = tuple(draw.flow(draw.among(some), made) for _ in range(count))
    # A short record of the bus would hold no packet: its headers alone take 64 bytes and those of the frame more.
    clocks = {
        tap: replace(clock, snaplen_bytes=262_144) if tap == "usb" else clock for tap, clock in made.clocks.items()
    }
    return replace(made, queue_packets=queue_packets, frame_error_rate=error_rate, flows=flows, clocks=clocks)


def packets_per_second(world: World) -> float:
    """A rough upper bound of the packets that a world's flows send in a second; of flows in a row, the first."""
    rate_bps = min((wire.rate_bps for wire in world.wires), default=math.inf)
    if world.cell is not None:
        rate_bps = min(rate_bps, 30e6)
    trip_s = 2 * sum(wire.delay_s for wire in world.wires) + 1e-3
    tcp = datagrams = 0.0
    for flow in world.flows:
        application = flow.application
        if flow.tcp is None:
            datagrams += application["rate_bps"] / 8 / application["payload_bytes"]
        elif flow.after is None:
            tcp += min(rate_bps / 8, flow.tcp.receive_window_bytes / trip_s) / min(flow.tcp.mss_bytes, 1448)
    tcp = min(tcp, max(rate_bps / 8 / 300, 1.0))
    return 2 * tcp + datagrams + 1.0


class _Draw:
    """Draws of one world."""

    def __init__(self, seed: int, more: str = "") -> None:
        self._random = random.Random(f"wlanlens random world {seed}{more}")  # noqa: S311 - a world, no secret

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def among(self, values: Sequence[Any]) -> Any:
        return values[int(self._random.random() * len(values))]

    def between(self, least: float, most: float) -> float:
        return least + (most - least) * self._random.random()

    def log(self, least: float, most: float) -> float:
        return min(most, max(least, math.exp(self.between(math.log(least), math.log(most)))))

    def parameter(self, f: dataclasses.Field[Any], *, wild: bool) -> Any:
        """A value of a parameter within its range."""
        default: Any = f.default
        kind, how = type(default), self._random.random()
        if kind is bool:
            return default if how < 1 / 2 else not default
        if kind is str:
            return default if how < 1 / 2 else self.among(f.metadata["among"])
        if f.metadata["among"] is not None:
            return default if how < 1 / 2 else self.among(f.metadata["among"])
        least, most = f.metadata["least"], f.metadata["most"]
        if how < 1 / 3:
            return default
        if how < 2 / 3 or not wild:
            low, high = sorted((default / 8, default * 8)) if default else (0.0, min(most, 1.0))
            value = self._scaled(max(least, low), min(most, high))
        elif how < 0.95:
            value = self._scaled(least, most)
        else:
            value = self.among((least, most))
        return kind(value) if kind is float else min(int(most), max(int(least), round(value)))

    def _scaled(self, least: float, most: float) -> float:
        """On a logarithmic scale if the range spans more than a decade."""
        if least < 0 or most <= 10 * least or most <= 0:
            return self.between(least, most)
        return self.log(least or _LEAST_SHARE * most, most)

    def flow(self, like: Flow, made: RandomWorld) -> Flow:
        """A connection between the ends of another, with another application."""
        ends = (like.client, like.server) if self.chance(2 / 3) else (like.server, like.client)
        application: dict[str, Any] = self.among(
            (
                bulk(),
                file(round(self.log(1e3, 1e6))),
                paced(round(self.log(10, 1e4)), self.log(0.01, 1.0)),
                request(round(self.log(100, 1e4)), round(self.log(1e3, 1e6))),
            )
        )
        assert like.tcp is not None
        tcp = replace(like.tcp, **made.tcp, receive_window_script=(), send_buffer=None)
        start_s = self.between(0.0, made.base.duration_s / 2)
        return Flow(ends[0], ends[1], application=application, start_s=start_s, tcp=tcp)

    def tcp(self) -> dict[str, Any]:
        """Fields of a TCP that some stack could have."""
        sack, timestamps = self.chance(0.6), self.chance(0.6)
        return {
            "sack": sack,
            "dsack": sack and self.chance(0.6),
            "fack": sack and self.chance(0.3),
            "tail_loss_probe": sack and self.chance(0.4),
            "timestamps": timestamps,
            "eifel": timestamps and self.chance(0.6),
            "frto": self.chance(0.5),
            "recovery": self.among(("newreno", "newreno", "newreno_careless", "reno")),
            "prr": self.chance(0.5),
            "limited_transmit": self.chance(0.6),
            "repairs_all_first": self.chance(0.15),
            "counts_segments": self.chance(0.6),
            "initial_window_segments": self.among((1, 2, 3, 4, 10)),
            "rto": self.among(("linux", "linux", "linux24", "linux22", "linux22_reset", "rfc6298")),
            "delayed_ack_segments": self.among((1, 2, 2, 2)),
            "delayed_ack_timer_s": self.among((0.04, 0.1, 0.2)),
            "quick_acks": self.among((0, 16)),
            "ack_pushed": self.chance(0.2),
            "nagle": self.chance(0.8),
            "stale_dupacks": self.chance(0.2),
        }
