"""Scenarios: frozen descriptions of synthetic worlds, and `simulate()`, which turns one into captures with ground truth."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from wlanlens.errors import NoSuchUnit, WlanlensError
from wlanlens.finding import Finding
from wlanlens.registry import Unit, units
from wlanlens.truth import Truth

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.world import World

#: The first packet of every simulation: 2001-09-09T01:46:40Z. Runs are alike whenever they are made.
EPOCH_NS = 1_000_000_000_000_000_000

#: Simulated time between two looks at Ctrl-C and the progress.
_STEP_NS = 1_000_000_000


class ScenarioError(WlanlensError):
    """A scenario or a parameter that cannot be."""


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
            _check(self.name, f, getattr(self, f.name))

    def world(self) -> World:
        """What the simulator is given."""
        raise NotImplementedError

    def truth(self, facts: Truth) -> list[Finding]:
        """What must be found, from what really happened: the same rules in every world (`wlanlens.truth`)."""
        return facts.findings()


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
        known = self.parameters
        for name in parameters:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, 0.0)
                raise ScenarioError(
                    f"{self.name} has no parameter {name!r}",
                    next=f"did you mean {near[0]!r}? it has " + ", ".join(sorted(known)),
                )
        return self.kind(**{name: _convert(self.name, known[name], value) for name, value in parameters.items()})


def scenario(name: str) -> Callable[[type[Scenario]], ScenarioKind]:
    """Put a frozen dataclass of `Scenario` on the shelf `scenarios`."""

    def put(kind: type[Scenario]) -> ScenarioKind:
        kind.name = name
        return ScenarioKind(name, kind)

    return put


def _convert(name: str, f: dataclasses.Field[Any], value: Any) -> Any:
    """Text (from `--set`) and JSON's numbers as the type of the parameter's default."""
    kind: type[Any] = type(f.default)
    try:
        if kind is bool:
            if isinstance(value, str):
                return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[value.lower()]
            if isinstance(value, bool):
                return value
            raise ValueError
        if kind is int:
            if float(value) != int(float(value)):
                raise ValueError
            return int(float(value))
        return kind(value)
    except (ValueError, TypeError, KeyError, OverflowError):
        raise ScenarioError(
            f"{name}: {f.name} must be a {kind.__name__}, not {value!r}", next=f"for example {f.default!r}"
        ) from None


def _check(name: str, f: dataclasses.Field[Any], value: Any) -> None:
    among = f.metadata.get("among")
    if among is not None and value not in among:
        near = difflib.get_close_matches(str(value), among, 1, 0.0)
        raise ScenarioError(
            f"{name}: {f.name} must be one of {', '.join(among)}, not {value!r}", next=f"did you mean {near[0]!r}?"
        )
    least, most = f.metadata.get("least"), f.metadata.get("most")
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = least is not None and not value >= least, most is not None and not value <= most
        if low or high or value != value:
            nearest = least if low or value != value else most
            bounds = " and ".join(
                [f"at least {least:g}" for _ in [0] if least is not None]
                + [f"at most {most:g}" for _ in [0] if most is not None]
            )
            raise ScenarioError(f"{name}: {f.name} must be {bounds}, not {value!r}", next=f"the nearest is {nearest:g}")


def find(name: str) -> ScenarioKind:
    """A scenario's class by its name."""
    shelf = units("scenarios")
    unit = shelf.get(name)
    if not isinstance(unit, ScenarioKind):
        near = difflib.get_close_matches(name, shelf, 1)
        raise NoSuchUnit(
            f"there is no scenario {name!r}",
            next=(f"did you mean {near[0]!r}? " if near else "") + "`wlanlens list scenarios` names them",
        )
    return unit


@dataclass(frozen=True)
class Run:
    """A finished simulation.

    Attributes
    ----------
    scenario : Scenario
    seed : int
    captures : dict
        Path of the capture at each point: sender, usb, air, receiver.
    truth : list of Finding
        What must be found.
    facts : Truth
        What really happened, packet by packet.
    """

    scenario: Scenario
    seed: int
    captures: dict[str, Path]
    truth: list[Finding]
    facts: Truth


def simulate(
    scenario: str | Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    seed: int = 1,
    taps: tuple[str, ...] | None = None,
    progress: Callable[[float], None] | None = None,
    **parameters: Any,
) -> Run:
    """Simulate a scenario and write its captures, the truth and scenario.json into the directory `out`.

    `taps` leaves out capture points; without `out` nothing is written. `progress` is told the share that is done.
    Parameters are the scenario's. The same scenario and seed give the same bytes. ScenarioError says what cannot be.
    """
    from wlanlens import _core

    made = find(scenario).make(parameters) if isinstance(scenario, str) else dataclasses.replace(scenario, **parameters)
    if not 0 <= int(seed) < 1 << 63:
        raise ScenarioError(f"seed must be 0 to 2^63 - 1, not {seed}", next="for example 1")
    world = made.world()
    wanted = world.taps if taps is None else taps
    if unknown := [tap for tap in wanted if tap not in world.taps]:
        raise ScenarioError(f"{made.name} has no tap {unknown[0]!r}", next="it has " + ", ".join(world.taps))
    folder = Path(out) if out is not None else None
    captures: dict[str, Path] = {}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        captures = {tap: folder / f"{tap}.pcap" for tap in wanted}
    description = world.description(seed=int(seed), duration_s=made.duration_s, epoch_ns=EPOCH_NS, captures=captures)
    try:
        run = _core.Simulation(description)
    except ValueError as error:
        raise ScenarioError(f"{made.name}: {error}") from None
    end = made.duration_s * 1e9
    try:
        now = _STEP_NS
        while run.run(now):
            if progress is not None:
                progress(min(1.0, now / end))
            now += _STEP_NS
        tables = _tables(run)
    except BaseException:
        for path in captures.values():
            path.with_suffix(".pcap.partial").unlink(missing_ok=True)
        raise
    facts = Truth(**{name.removeprefix("truth_"): table for name, table in tables.items()}, world=world)
    done = Run(made, int(seed), captures, made.truth(facts), facts)
    if folder is not None:
        _write(folder, done, tables)
    return done


def _tables(run: Any) -> dict[str, pa.Table]:
    import pyarrow as pa

    return {name: _ordered(pa.Table.from_batches([batch])) for name, batch in run.finish()}


def _ordered(table: pa.Table) -> pa.Table:
    """Metadata in order of its keys, so that the same run gives the same file."""
    import pyarrow as pa

    fields = [f.with_metadata(dict(sorted((f.metadata or {}).items()))) for f in table.schema]
    return table.cast(pa.schema(fields, dict(sorted((table.schema.metadata or {}).items()))))


def _write(folder: Path, run: Run, tables: Mapping[str, pa.Table]) -> None:
    import pyarrow.parquet as pq

    from wlanlens import finding

    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        partial = path.with_suffix(".partial")
        pq.write_table(table, partial, **_encodings(table.schema))
        partial.replace(path)
    described = {"scenario": run.scenario.name, "seed": run.seed, "parameters": dataclasses.asdict(run.scenario)}
    for name, text in (
        ("truth.json", finding.to_json(run.truth)),
        ("scenario.json", json.dumps(described, indent=1) + "\n"),
    ):
        partial = folder / (name + ".partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """Dictionaries for words and differences for numbers: a quarter of the time and a third of the bytes of the default."""
    import pyarrow as pa

    words = [f.name for f in schema if pa.types.is_dictionary(f.type) or pa.types.is_string(f.type)]
    numbers = [f.name for f in schema if pa.types.is_integer(f.type)]
    return {"use_dictionary": words, "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED")}


def parameters_of(name: str) -> str:
    """The parameters of a scenario as text: name, default, what it is."""
    kind = find(name)
    lines = [inspect.cleandoc(kind.__doc__ or ""), ""]
    for f in kind.parameters.values():
        lines.append(f"{f.name}={f.default!r}  {f.metadata.get('doc', '')}")
    return "\n".join(lines)
