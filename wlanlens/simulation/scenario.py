"""Scenarios: frozen descriptions of synthetic worlds, and `simulate()`, which turns one into captures with ground truth."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from wlanlens.detection.finding import Finding
from wlanlens.errors import NoSuchUnit, WlanlensError, did_you_mean
from wlanlens.registry import Unit, units
from wlanlens.simulation.ground_truth import Truth

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.simulation.config import TapClock, World

#: The first packet of every simulation: 2001-09-09T01:46:40Z. Runs are alike whenever they are made.
EPOCH_NS = 1_000_000_000_000_000_000

#: The greatest seed.
SEED_MOST = (1 << 63) - 1

#: Times at which one thing may happen again and again: they are listed one by one.
TIMES_MOST = 100_000

#: Flows of a world: each has a port of its own (rust/sim/src/limits.rs).
FLOWS_MOST = 20_000

#: The file that is written last: where it is, the run is whole.
MARK = "scenario.json"

#: All that a run may leave in its folder: what another run left there does not stay beside it.
WRITTEN = (
    "sender.pcap", "usb.pcap", "air.pcap", "receiver.pcap", "truth.json", "truth_packets.parquet", "truth_frames.parquet",
    "truth_events.parquet", "truth_queues.parquet", "truth_urbs.parquet",
)  # fmt: skip

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
        return self.kind(**_converted(self.name, self.parameters, parameters))


def scenario(name: str) -> Callable[[type[Scenario]], ScenarioKind]:
    """Put a frozen dataclass of `Scenario` on the shelf `scenarios`."""

    def put(kind: type[Scenario]) -> ScenarioKind:
        kind.name = name
        return ScenarioKind(name, kind)

    return put


def _converted(
    scenario: str, known: Mapping[str, dataclasses.Field[Any]], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    for name in parameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.0)
            raise ScenarioError(
                f"{scenario} has no parameter {name!r}",
                next=f"did you mean {near[0]!r}? it has " + ", ".join(sorted(known)),
            )
    return {name: _convert(scenario, known[name], value) for name, value in parameters.items()}


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
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError
        if kind is str:
            if not isinstance(value, str):
                raise TypeError
            return value
        number = _number(value)
        if kind is float:
            return float(number) if abs(number) < 1e308 or number != number else math.copysign(math.inf, number)
        if number != number or (math.isfinite(number) and number != int(number)):
            raise ValueError
        return int(number) if math.isfinite(number) else (1 if number > 0 else -1) << 64
    except (ValueError, TypeError, KeyError):
        what = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}[kind]
        raise ScenarioError(
            f"{name}: {f.name} must be {what}, not {_shown(value)}", next=f"for example {f.default!r}"
        ) from None


def _number(value: str | int | float) -> int | float:
    """A number as precise as it was given; one too large to be one is infinite."""
    if isinstance(value, str) and value.strip().lstrip("+-").isdecimal() and len(value) < 400:
        value = int(value)
    if isinstance(value, int) and abs(value) >= 10**300:
        return math.copysign(math.inf, 1 if value > 0 else -1)
    return value if isinstance(value, int) else float(value)


def _shown(value: Any) -> str:
    text = (
        repr(value) if not isinstance(value, int) or abs(value) < 10**60 else f"a number of {value.bit_length()} bits"
    )
    return text if len(text) <= 80 else text[:77] + "..."


def _check(name: str, f: dataclasses.Field[Any], value: Any) -> None:
    among = f.metadata.get("among")
    if among is not None and value not in among:
        near = difflib.get_close_matches(str(value), among, 1, 0.0)
        raise ScenarioError(
            f"{name}: {f.name} must be one of {', '.join(among)}, not {_shown(value)}",
            next=f"did you mean {near[0] if near else among[0]!r}?",
        )
    if f.default is dataclasses.MISSING:
        return
    kind = type(f.default)
    wanted = int | float if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise ScenarioError(f"{name}: {f.name} must be a {kind.__name__}, not {_shown(value)}")
    if kind not in (int, float):
        return
    least, most = f.metadata.get("least"), f.metadata.get("most")
    low, high = least is not None and not value >= least, most is not None and not value <= most
    if low or high or not -math.inf < value < math.inf:
        # What is no number is nearest to the default.
        nearest = f.default if value != value or (not low and not high) else least if low else most
        bounds = " and ".join(
            f"at {word} {bound:.12g}" for word, bound in (("least", least), ("most", most)) if bound is not None
        )
        raise ScenarioError(
            f"{name}: {f.name} must be {bounds or 'a number'}, not {_shown(value)}",
            next=f"the nearest is {nearest:.12g}",
        )


def find(name: str) -> ScenarioKind:
    """A scenario's class by its name."""
    shelf = units("scenarios")
    unit = shelf.get(name) if isinstance(name, str) else None
    if not isinstance(unit, ScenarioKind):
        hint = did_you_mean(str(name), shelf, "`wlanlens list scenarios` lists them")
        raise NoSuchUnit(f"there is no scenario {_shown(name)}", next=hint)
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
    facts : Truth
        What really happened, packet by packet.
    """

    scenario: Scenario
    seed: int
    captures: dict[str, Path]
    facts: Truth

    @cached_property
    def truth(self) -> list[Finding]:
        """What must be found; worked out when first asked for."""
        return self.scenario.truth(self.facts)


def simulate(
    scenario: str | Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    seed: int = 1,
    taps: tuple[str, ...] | None = None,
    clocks: Mapping[str, TapClock] | None = None,
    truth: bool = True,
    progress: Callable[[float], None] | None = None,
    **parameters: Any,
) -> Run:
    """Simulate a scenario and write its captures, the truth and scenario.json into the directory `out`.

    `taps` leaves out capture points, `clocks` says by tap how its clock is off, `truth=False` leaves out truth.json and the
    truth's tables; without `out` nothing is written. `progress` is told the share that is done.
    Parameters are the scenario's. The same scenario and seed give the same bytes. ScenarioError says what cannot be.
    """
    made = _made(scenario, parameters)
    _check_seed(seed)
    world = made.world()
    if clocks is not None:
        world = dataclasses.replace(world, clocks=clocks)
    wanted = world.taps if taps is None else taps
    if unknown := [tap for tap in wanted if tap not in world.taps]:
        raise ScenarioError(f"{made.name} has no tap {unknown[0]!r}", next="it has " + ", ".join(world.taps))
    if out is None:
        return Run(made, seed, {}, _facts(_run(made, seed, world, {}, progress), world))
    folder = Path(out)
    with _staged(folder) as staging:
        tables = _run(made, seed, world, {tap: staging / f"{tap}.pcap" for tap in wanted}, progress)
        run = Run(made, seed, {tap: folder / f"{tap}.pcap" for tap in wanted}, _facts(tables, world))
        if truth:
            _write_truth(staging, run, tables)
        described = {"scenario": made.name, "seed": seed, "parameters": dataclasses.asdict(made)}
        (staging / MARK).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    return run


def _made(scenario: str | Scenario, parameters: Mapping[str, Any]) -> Scenario:
    if not isinstance(scenario, Scenario):
        return find(scenario).make(parameters)
    known = {f.name: f for f in dataclasses.fields(scenario)}
    return type(scenario)(**{**vars(scenario), **_converted(scenario.name, known, parameters)})


def _check_seed(seed: Any) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ScenarioError(f"seed must be a whole number, not {seed!r}", next="for example 1")
    if not 0 <= seed <= SEED_MOST:
        raise ScenarioError(
            f"seed must be 0 to 2^63 - 1, not {seed}", next=f"the nearest is {min(max(seed, 0), SEED_MOST)}"
        )


def _run(
    made: Scenario,
    seed: int,
    world: World,
    captures: dict[str, Path],
    progress: Callable[[float], None] | None,
) -> dict[str, pa.Table]:
    """Run it, writing the captures; the truth's tables."""
    from wlanlens import _core

    description = world.description(seed=seed, duration_s=made.duration_s, epoch_ns=EPOCH_NS, captures=captures)
    try:
        run = _core.Simulation(description)
    except ValueError as error:
        raise ScenarioError(f"{made.name}: {error}") from None
    now = 0
    try:
        while (reached := run.run(now + _STEP_NS)) is not None:
            now = reached
            if progress is not None:
                progress(min(1.0, reached / 1e9 / made.duration_s))
    except OverflowError as error:
        what, reached_ns = error.args
        raise ScenarioError(
            f"{made.name}: {what} within {reached_ns / 1e9:.6g} s of simulated time",
            next=f"the nearest duration_s is {math.floor(reached_ns / 1e6) / 1e3:g}",
        ) from None
    return _tables(run)


def _facts(tables: Mapping[str, pa.Table], world: World) -> Truth:
    return Truth(**{name.removeprefix("truth_"): table for name, table in tables.items()}, world=world)


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder inside `folder` whose files take their places when all of them are whole, scenario.json last.

    So a folder with a scenario.json holds one whole run, and a failed run changes nothing.
    """
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".simulating-", dir=folder))
    try:
        yield staging
        (folder / MARK).unlink(missing_ok=True)
        for name in WRITTEN:
            (folder / name).unlink(missing_ok=True)
        for path in sorted(staging.iterdir(), key=lambda path: path.name == MARK):
            path.replace(folder / path.name)
        staging.rmdir()
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        if not existed:
            with suppress(OSError):  # what others put there stays
                folder.rmdir()
        raise


def _tables(run: Any) -> dict[str, pa.Table]:
    import pyarrow as pa

    return {name: _ordered(pa.Table.from_batches([batch])) for name, batch in run.finish()}


def _ordered(table: pa.Table) -> pa.Table:
    """Metadata in order of its keys, so that the same run gives the same file."""
    import pyarrow as pa

    fields = [f.with_metadata(dict(sorted((f.metadata or {}).items()))) for f in table.schema]
    return table.cast(pa.schema(fields, dict(sorted((table.schema.metadata or {}).items()))))


def _write_truth(folder: Path, run: Run, tables: Mapping[str, pa.Table]) -> None:
    import pyarrow.parquet as pq

    from wlanlens.detection import finding

    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", **_encodings(table.schema))
    (folder / "truth.json").write_text(finding.to_json(run.truth), encoding="utf-8")


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """Dictionaries for words, differences for numbers, compression for the rest; nobody asks for the ranges of columns.

    A fifth of the time and a third of the bytes of the default.
    """
    import pyarrow as pa

    words = [f.name for f in schema if pa.types.is_dictionary(f.type) or pa.types.is_string(f.type)]
    numbers = [f.name for f in schema if pa.types.is_integer(f.type)]
    return {
        "use_dictionary": words,
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        "compression": {f.name: "snappy" if pa.types.is_floating(f.type) else "none" for f in schema},
        "write_statistics": False,
    }


def parameters_of(name: str) -> str:
    """The parameters of a scenario as text: name, default, what it is."""
    kind = find(name)
    lines = [inspect.cleandoc(kind.__doc__ or ""), ""]
    for f in kind.parameters.values():
        lines.append(f"{f.name}={f.default!r}  {f.metadata.get('doc', '')}")
    return "\n".join(lines)
