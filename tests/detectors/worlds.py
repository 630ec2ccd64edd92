"""Worlds of the oracle (air.py) by name: each has one fault or one look-alike. `made(name, seed)` simulates one."""

# Every world and channel takes the same arguments, and most ignore some of them.
# ruff: noqa: ARG001, ARG005

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from tests.detectors.air import Air, Arf, Channel, Fixed, Gilbert, Minstrel, Thrashing, World
from wlanlens.trace import Trace


def steps(chances: dict[float, float]) -> Channel:
    """A chance of success for each rate."""
    return lambda rate, t_s, number: chances[rate]


def even(chance: float) -> Channel:
    """The same chance for every rate."""
    return lambda rate, t_s, number: chance


#: SNR in dB at which half the frames of 1500 bytes arrive.
HALF_DB = {1.0: 3.0, 2.0: 5.0, 5.5: 8.0, 11.0: 11.0}


def snr(at: Callable[[float], float], floor: float = 0.005) -> Channel:
    """A chance by rate and current SNR, below 1."""
    return lambda rate, t_s, number: (1 - floor) / (1 + math.exp(-2.0 * (at(t_s) - HALF_DB[rate])))


#: Weak links on which 11 and 5.5 Mbit/s do not work.
WEAK = steps({1.0: 0.95, 2.0: 0.7, 5.5: 0.03, 11.0: 0.0})
POOR = steps({1.0: 0.7, 2.0: 0.4, 5.5: 0.02, 11.0: 0.0})
#: No errors, and 0.7 % of errors.
CLEAN, FLOOR = even(1.0), even(0.993)


def rng(seed: int) -> np.random.Generator:
    """Random numbers of a world outside its DCF."""
    return np.random.default_rng(seed + 10_000)


def fast(channel: Channel, **more: object) -> World:
    """11 Mbit/s both ways."""
    return World(seconds=12, rate_a=Fixed(11.0), rate_b=Fixed(11.0), channel=channel, **more)  # type: ignore[arg-type]


def fading(t: float, depth: float, every: float = 4.0, length: float = 0.6) -> float:
    """dB below the ordinary: fades of `length` s every `every` s."""
    return depth if t % every > every - length else 0.0


def bursts(seed: int, every: float = 4.0, length: float = 0.6) -> Channel:
    """Interference: as the fades, but the signal does not change."""
    return lambda rate, t_s, number: 0.25 if t_s % every > every - length else 0.99


def fade_world(seed: int) -> World:
    """Fades of 15 dB on a link with 8 dB to spare."""
    return fast(
        lambda rate, t, n: 0.2 if fading(t, 15) else 0.99, signal=lambda t: -55 - fading(t, 15), back=even(0.99)
    )


WORLDS: dict[str, Callable[[int], World]] = {
    # Collisions.
    "collisions": lambda seed: fast(FLOOR),
    "collisions heard": lambda seed: fast(FLOOR, collided=True),
    "collisions, ACK each": lambda seed: fast(CLEAN, delack=1),
    "collisions, two stations": lambda seed: fast(FLOOR, two=True),
    "two stations, no ties": lambda seed: fast(even(0.95), two=True, ties=False),
    "collisions and errors": lambda seed: fast(even(0.97)),
    # Channel errors without ties.
    "independent errors": lambda seed: fast(even(0.93), ties=False),
    "independent unheard": lambda seed: fast(even(0.93), ties=False, seen=0.0),
    "random loss 20 %": lambda seed: fast(even(0.8), limit=4),
    "Gilbert 1.8": lambda seed: fast(Gilbert(0.087, 0.556, rng(seed)), ties=False, limit=4),
    "Gilbert 2.4": lambda seed: fast(Gilbert(0.078, 0.417, rng(seed)), ties=False, limit=4),
    "Gilbert 15": lambda seed: fast(Gilbert(0.005, 0.067, rng(seed)), ties=False, limit=4),
    "Gilbert 2.4 unheard": lambda seed: fast(Gilbert(0.078, 0.417, rng(seed)), ties=False, limit=4, seen=0.0),
    "Gilbert 15 unheard": lambda seed: fast(Gilbert(0.005, 0.067, rng(seed)), ties=False, limit=4, seen=0.0),
    "Gilbert 2.4, deaf": lambda seed: fast(Gilbert(0.078, 0.417, rng(seed)), ties=False, limit=4, deaf=0.1),
    "independent, deaf": lambda seed: fast(even(0.93), ties=False, deaf=0.1),
    "independent, very deaf": lambda seed: fast(even(0.9), ties=False, deaf=0.4),
    "collisions, deaf": lambda seed: fast(FLOOR, deaf=0.1),
    "UDP": lambda seed: fast(even(0.993), udp=True),
    "UDP, poor": lambda seed: fast(even(0.93), udp=True),
    # Rate control.
    "thrashing a": lambda seed: World(30, Thrashing(10, 5), Thrashing(10, 5), WEAK, limit=8),
    "thrashing a, 10": lambda seed: World(30, Thrashing(10, 7), Thrashing(10, 7), WEAK, limit=10),
    "thrashing b": lambda seed: World(30, Thrashing(3, 4), Fixed(1.0), POOR, limit=8),
    "thrashing c": lambda seed: World(30, Thrashing(6, 7), Fixed(1.0), POOR, limit=10),
    "thrashing b, fixed": lambda seed: World(30, Fixed(1.0), Fixed(1.0), POOR, limit=8),
    "ARF": lambda seed: World(30, Arf(), Arf(), WEAK),
    "AARF": lambda seed: World(30, Arf(True), Arf(True), WEAK),
    "ARF, poor": lambda seed: World(30, Arf(), Arf(), POOR),
    "AARF, poor": lambda seed: World(30, Arf(True), Arf(True), POOR),
    "ARF, edge": lambda seed: World(30, Arf(), Arf(), snr(lambda t: 5.5)),
    "Minstrel": lambda seed: World(30, Minstrel(rng(seed)), Minstrel(rng(seed + 1)), WEAK),
    "Minstrel, edge": lambda seed: World(30, Minstrel(rng(seed)), Minstrel(rng(seed + 1)), snr(lambda t: 5.5)),
    "Minstrel, poor": lambda seed: World(30, Minstrel(rng(seed)), Minstrel(rng(seed + 1)), POOR),
    "moving, ARF": lambda seed: World(
        30, Arf(), Arf(), snr(lambda t: 14 - 10 * t / 30), signal=lambda t: -60 - 10 * t / 30
    ),
    "moving, Minstrel": lambda seed: World(
        30, Minstrel(rng(seed)), Minstrel(rng(seed + 1)), snr(lambda t: 14 - 10 * t / 30), signal=lambda t: -60 - t / 3
    ),
    "fading, ARF": lambda seed: World(
        30, Arf(), Arf(), snr(lambda t: 12 + 5 * math.sin(t * 2.1)), signal=lambda t: -60 + 5 * math.sin(t * 2.1)
    ),
    "thrashing a, deaf": lambda seed: World(30, Thrashing(10, 5), Thrashing(10, 5), WEAK, limit=8, deaf=0.1),
    "ARF, deaf": lambda seed: World(30, Arf(), Arf(), WEAK, deaf=0.1),
    "Minstrel, deaf": lambda seed: World(30, Minstrel(rng(seed)), Minstrel(rng(seed + 1)), WEAK, deaf=0.1),
    # Stations and their rates.
    "stuck": lambda seed: World(20, Fixed(2.0), Fixed(11.0), FLOOR, signal=lambda t: -48),
    "far": lambda seed: World(20, Fixed(1.0), Arf(), snr(lambda t: 4.5), back=snr(lambda t: 5.5), signal=lambda t: -86),
    "single rate": lambda seed: World(20, Fixed(2.0), Fixed(2.0), FLOOR, signal=lambda t: -48),
    # Signal.
    "fades": fade_world,
    "interference": lambda seed: fast(bursts(seed)),
    "dips": lambda seed: fast(even(0.97), signal=lambda t: -50 - fading(t, 15)),
    "dips beside interference": lambda seed: fast(bursts(seed), signal=lambda t: -50 - fading(t + 2.0, 15)),
    "walk with fades": lambda seed: fast(
        lambda rate, t, n: 0.2 if fading(t, 15) else 0.99,
        signal=lambda t: -45 - 1.5 * t - fading(t, 15),
        back=even(0.99),
    ),
    "fades, deaf": lambda seed: World(**{**vars(fade_world(seed)), "deaf": 0.1}),
    "noisy signal": lambda seed: fast(even(0.9), noise_db=4.0),
}


def made(name: str, seed: int) -> Air:
    """A world simulated with a seed."""
    return Air(WORLDS[name](seed), seed)


@cache
def trace(name: str, seed: int) -> Trace:
    """The tables of a world, made once."""
    return made(name, seed).trace()


#: Worlds in which a code must be found, and worlds in which it may be found because its cause occurs there too.
FIRES: dict[str, tuple[str, ...]] = {
    "data_ack_collision": (
        "collisions", "collisions heard", "collisions, ACK each", "collisions, two stations", "collisions and errors", "collisions, deaf", "stuck",
    ),
    "burst_loss": (
        "Gilbert 1.8", "Gilbert 2.4", "Gilbert 15", "Gilbert 2.4, deaf", "fades", "interference", "walk with fades",
    ),
    "rate_thrashing": ("thrashing a", "thrashing a, 10", "thrashing b", "thrashing c", "thrashing a, deaf"),
    "stuck_rate": ("stuck",),
    "signal_fade": ("fades", "walk with fades", "fades, deaf"),
}  # fmt: skip
MAY: dict[str, Callable[[str], bool]] = {
    # Where data and ACKs can collide.
    "data_ack_collision": lambda name: WORLDS[name](0).ties and not WORLDS[name](0).udp,
    # The other worlds with fades have bursts too. The sniffer receives no failed frame in the last one.
    "burst_loss": lambda name: name in ("fades, deaf", "dips beside interference", "Gilbert 15 unheard"),
    "rate_thrashing": lambda name: False,
    "stuck_rate": lambda name: False,
    "signal_fade": lambda name: False,
}
