"""Scenarios: frozen descriptions of synthetic worlds, and `simulate()`, which turns one into captures with ground truth."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from wlanlens.detection.finding import Finding
from wlanlens.errors import NoSuchUnit
from wlanlens.registry import Unit, units
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.parameters import ScenarioError, check, converted, shown

if TYPE_CHECKING:
    from wlanlens.simulation.config import World

#: Times at which one thing may happen again and again: they are listed one by one.
TIMES_MOST = 100_000

#: Flows of a world: each has a port of its own (rust/sim/src/limits.rs).
FLOWS_MOST = 20_000


def quantity(
    default: Any,
    doc: str,
    *,
    least: float | None = None,
    most: float | None = None,
    among: tuple[str, ...] | None = None,
) -> Any:
    """A parameter: its default, one sentence, and the values that it may have, both ends included, or `among` words."""
    return field(default=default, metadata={"doc": doc, "least": least, "most": most, "among": among})


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A synthetic world. Subclasses add parameters by `quantity` and say in `world` what they make."""

    name: ClassVar[str] = ""
    #: Codes of detectors that must find something here.
    shows: ClassVar[tuple[str, ...]] = ()
    #: Codes of detectors that must stay silent: it is their look-alike.
    resembles: ClassVar[tuple[str, ...]] = ()
    #: Nothing above info may be found.
    clean: ClassVar[bool] = False

    duration_s: float = quantity(10.0, "Simulated time, s.", least=1e-3, most=1e6)

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            check(self.name, f, getattr(self, f.name))

    def world(self) -> World:
        """What the simulator is given."""
        raise NotImplementedError

    def truth(self, facts: Truth) -> list[Finding]:
        """What must be found, from what really happened: the same rules in every world (`wlanlens.simulation.ground_truth`)."""
        return facts.findings()


def repeated(scenario: Scenario, first_s: float, every_s: float) -> list[float]:
    """Times from `first_s` on, `every_s` apart, to the end of the run; an error where they are too many to be held."""
    count = max(0, math.floor((scenario.duration_s - first_s) / every_s) + 1)
    if count > TIMES_MOST:
        raise ScenarioError(
            f"{scenario.name}: every {every_s:g} s for {scenario.duration_s:g} s makes {count} times, more than {TIMES_MOST}",
            next=f"the nearest duration_s is {first_s + (TIMES_MOST - 1) * every_s:g}",
        )
    return [first_s + k * every_s for k in range(count)]


def few_flows(scenario: Scenario, count: int, key: str, nearest: int) -> None:
    """An error that names the nearest value of `key` where a world would have more flows than can be told apart."""
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
        """The scenario with these parameters; an error names the nearest valid one."""
        return self.kind(**converted(self.name, self.parameters, parameters))


def scenario(name: str) -> Callable[[type[Scenario]], ScenarioKind]:
    """Put a frozen dataclass of `Scenario` on the shelf `scenarios`."""

    def put(kind: type[Scenario]) -> ScenarioKind:
        kind.name = name
        return ScenarioKind(name, kind)

    return put


def find(name: str) -> ScenarioKind:
    """A scenario's class by its name."""
    shelf = units("scenarios")
    unit = shelf.get(name) if isinstance(name, str) else None
    if not isinstance(unit, ScenarioKind):
        near = difflib.get_close_matches(str(name), shelf, 1)
        raise NoSuchUnit(
            f"there is no scenario {shown(name)}",
            next=(f"did you mean {near[0]!r}? " if near else "") + "`wlanlens list scenarios` names them",
        )
    return unit


def parameters_of(name: str) -> str:
    """The parameters of a scenario as text: name, default, what it is."""
    kind = find(name)
    lines = [inspect.cleandoc(kind.__doc__ or ""), ""]
    for f in kind.parameters.values():
        lines.append(f"{f.name}={f.default!r}  {f.metadata.get('doc', '')}")
    return "\n".join(lines)
