"""Pairs of worlds for the counterfactual: a random transfer with a planted cause, and the same world without it.

A pair is a function of one number. Both worlds have the same seed, the same size of the file, the same TCP; only the cause differs.
What depends on chance elsewhere (frame errors) is off unless it is the cause, so that the difference of the durations is the cause's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from wlanlens.simulation.config import World
from wlanlens.simulation.scenario import Scenario
from wlanlens.validation import counterfactual_air as air
from wlanlens.validation import counterfactual_tcp as tcp
from wlanlens.validation.counterfactual_draws import Draw, Made


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
    made : Made
        The two worlds, their captures, and the findings to judge.
    """

    number: int
    cause: str
    made: Made


#: Kinds of causes that can be removed.
CAUSES: dict[str, Callable[[Draw], Made]] = {
    made.__name__: made
    for made in (
        tcp.holds, tcp.window, tcp.reader_pauses, tcp.outages, tcp.single_losses, tcp.tail, tcp.lost_acks,
        tcp.delayed_acks, tcp.startup, tcp.spurious, tcp.backoff_kept, tcp.no_fast_retransmit, tcp.reduces_again, tcp.clock,
        air.bus, air.slow_rate, air.thrashing, air.fades, air.short_queue, air.beacons, air.bursts,
    )
}  # fmt: skip


def pair(number: int) -> Pair:
    """The pair of a number."""
    draw = Draw(number)
    cause = draw.among(tuple(CAUSES))
    return Pair(number, cause, CAUSES[cause](draw))
