"""Scenarios: frozen descriptions of simulated worlds, with their parameters."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from wlanlens.detection.finding import Finding
from wlanlens.errors import NoSuchUnit, did_you_mean
from wlanlens.registry import Unit, units
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.parameters import ScenarioError, check, converted, shown

if TYPE_CHECKING:
    from wlanlens.simulation.config import World

#: Most times at which a periodic event may happen: they are listed one by one.
TIMES_MOST = 100_000

#: Most flows of a world: each has its own port (rust/sim/src/limits.rs).
FLOWS_MOST = 20_000


def quantity(
    default: Any,
    doc: str,
    *,
    least: float | None = None,
    most: float | None = None,
    among: tuple[str, ...] | tuple[float, ...] | None = None,
) -> Any:
    """A parameter: its default, one sentence, and its range (both ends included), or the only values allowed: `among`."""
    return field(default=default, metadata={"doc": doc, "least": least, "most": most, "among": among})


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A simulated world. Subclasses add parameters with `quantity` and build the world in `world`."""

    name: ClassVar[str] = ""
    #: Codes that must be found here.
    shows: ClassVar[tuple[str, ...]] = ()
    #: Codes that must not be found: the scenario is their look-alike.
    resembles: ClassVar[tuple[str, ...]] = ()
    #: No finding above info is allowed.
    clean: ClassVar[bool] = False
    #: Losses are numbered packets: random parameters would only lose others. Not among the random worlds.
    scripted: ClassVar[bool] = False

    duration_s: float = quantity(10.0, "Simulated time, s.", least=1e-3, most=1e6)

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            check(self.name, f, getattr(self, f.name))

    def world(self) -> World:
        """The world for the simulator."""
        raise NotImplementedError

    def truth(self, facts: Truth) -> list[Finding]:
        """The true findings, by the same rules in every world (`wlanlens.simulation.ground_truth`)."""
        return facts.findings()


def repeated(scenario: Scenario, first_s: float, every_s: float) -> list[float]:
    """Times from `first_s` on, `every_s` apart, to the end of the run; ScenarioError if there are too many."""
    count = max(0, math.floor((scenario.duration_s - first_s) / every_s) + 1)
    if count > TIMES_MOST:
        raise ScenarioError(
            f"{scenario.name}: every {every_s:g} s for {scenario.duration_s:g} s makes {count} times, more than {TIMES_MOST}",
            next=f"the nearest duration_s is {first_s + (TIMES_MOST - 1) * every_s:g}",
        )
    return [first_s + k * every_s for k in range(count)]


def few_flows(scenario: Scenario, count: int, key: str, nearest: int) -> None:
    """Raise ScenarioError, with the nearest value of `key`, if a world has more flows than ports."""
    if count > FLOWS_MOST:
        raise ScenarioError(
            f"{scenario.name}: {count} flows are too many, at most {FLOWS_MOST}", next=f"the nearest {key} is {nearest}"
        )


class ScenarioKind(Unit):
    """A scenario on its shelf: a class of `Scenario`."""

    def __init__(self, name: str, kind: type[Scenario]) -> None:
        super().__init__("scenarios", name, kind.__module__, kind.__doc__ or "")
        self.kind = kind

    @property
    def parameters(self) -> dict[str, dataclasses.Field[Any]]:
        """Its parameters by name."""
        return {f.name: f for f in dataclasses.fields(self.kind)}

    def make(self, parameters: Mapping[str, Any]) -> Scenario:
        """The scenario with these parameters; ScenarioError names the nearest valid value."""
        return self.kind(**converted(self.name, self.parameters, parameters))


def scenario(name: str) -> Callable[[type[Scenario]], ScenarioKind]:
    """Put a frozen dataclass of `Scenario` on the shelf `scenarios`."""

    def put(kind: type[Scenario]) -> ScenarioKind:
        kind.name = name
        return ScenarioKind(name, kind)

    return put


def find(name: str) -> ScenarioKind:
    """A scenario by its name."""
    shelf = units("scenarios")
    unit = shelf.get(name) if isinstance(name, str) else None
    if not isinstance(unit, ScenarioKind):
        hint = did_you_mean(str(name), shelf, "`wlanlens list scenarios` lists them")
        raise NoSuchUnit(f"there is no scenario {shown(name)}", next=hint)
    return unit


def parameters_of(name: str) -> str:
    """The parameters of a scenario as text: name, default, sentence."""
    kind = find(name)
    lines = [inspect.cleandoc(kind.__doc__ or ""), ""]
    for f in kind.parameters.values():
        lines.append(f"{f.name}={f.default!r}  {f.metadata.get('doc', '')}")
    return "\n".join(lines)
