"""`simulate()`: run a scenario and write its captures and its ground truth."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens import _core, operating_system
from wlanlens.detection import finding
from wlanlens.detection.finding import Finding
from wlanlens.errors import OutputError, file_errors, refuse_file
from wlanlens.formatting import html_table, printable
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.parameters import ScenarioError, converted
from wlanlens.simulation.scenario import Scenario, find

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.simulation.config import TapClock, World

#: The first packet of every simulation: 2001-09-09T01:46:40Z. The same run gives the same bytes at any time.
EPOCH_NS = 1_000_000_000_000_000_000

#: The greatest seed.
SEED_MOST = (1 << 63) - 1

#: The file written last: if it exists, the run is complete.
MARK = "scenario.json"

#: All files that a run may write: those of an earlier run are removed.
WRITTEN = (
    "sender.pcap", "usb.pcap", "air.pcap", "receiver.pcap", "truth.json", "truth_packets.parquet", "truth_frames.parquet",
    "truth_events.parquet", "truth_queues.parquet", "truth_urbs.parquet", "truth_ledger.parquet",
)  # fmt: skip

#: Folders of runs that are not complete.
_STAGING = ".simulating-"

#: Simulated time between two checks for Ctrl-C and progress.
_STEP_NS = 1_000_000_000


@dataclass(frozen=True, repr=False)
class Run:
    """A finished simulation.

    Attributes
    ----------
    scenario : Scenario
    seed : int
    captures : dict
        Path of the capture at each point: sender, usb, air, receiver.
    facts : Truth
        Ground truth, packet by packet.
    """

    scenario: Scenario
    seed: int
    captures: dict[str, Path]
    facts: Truth

    def __repr__(self) -> str:
        points = ", ".join(self.captures) or "no captures"
        return f"<Run of {self.scenario.name}, seed {self.seed}: {points}>"

    def _repr_html_(self) -> str:
        captures = [(point, path) for point, path in self.captures.items()]
        return html_table(f"Run of {self.scenario.name}, seed {self.seed}", ("point", "capture"), captures)

    @cached_property
    def truth(self) -> list[Finding]:
        """The true findings, computed when first used."""
        return self.scenario.truth(self.facts)


@file_errors()
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

    Parameters
    ----------
    scenario : str or Scenario
        A name on the shelf `scenarios`, or a scenario.
    out : path
        Directory for the files; without it nothing is written.
    seed : int
        The same scenario and seed give the same bytes.
    taps : tuple of str
        Capture points to write; by default all.
    clocks : mapping of str to TapClock
        Clock error of each tap.
    truth : bool
        Whether to write truth.json and the truth tables, and to make the true ledger.
    progress : callable
        Called with the finished share.
    **parameters
        Those of the scenario.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        Unknown scenario, or a parameter out of its range.
    OutputError
        The directory is in use, or holds files under the names of a run that wlanlens did not write.
    FileError
        The system does not let it write there.
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
        return Run(made, seed, {}, _facts(_run(made, seed, world, {}, progress, ledger=truth), world))
    folder = Path(out)
    with _staged(folder) as staging:
        tables = _run(made, seed, world, {tap: staging / f"{tap}.pcap" for tap in wanted}, progress, ledger=truth)
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
    return type(scenario)(**{**vars(scenario), **converted(scenario.name, known, parameters)})


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
    *,
    ledger: bool,
) -> dict[str, pa.Table]:
    """Run the world and write its captures. Returns the truth tables; `truth_ledger` is empty without `ledger`."""
    description = world.description(
        seed=seed, duration_s=made.duration_s, epoch_ns=EPOCH_NS, captures=captures, ledger=ledger
    )
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
    """A folder inside `folder` whose files are moved into place when all of them are complete, scenario.json last.

    So a folder with scenario.json holds one complete run, and a failed run changes nothing.
    """
    refuse_file(folder)
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        if not _holds_a_run(folder) and (foreign := [name for name in (MARK, *WRITTEN) if (folder / name).exists()]):
            raise OutputError(
                f"the directory holds {foreign[0]}, which wlanlens did not write",
                path=printable(str(folder)),
                next="choose another with -o",
            )
        for left in folder.glob(_STAGING + "*"):
            shutil.rmtree(left)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
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
                with suppress(OSError):  # other files remain
                    folder.rmdir()
            raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """A lock that keeps two runs from writing to one directory; it ends with the process."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            operating_system.lock(lock)
        except BlockingIOError:
            raise OutputError("another wlanlens is writing to this directory", path=printable(str(folder))) from None
        yield
    finally:
        os.close(lock)


def _holds_a_run(folder: Path) -> bool:
    """Whether scenario.json of a directory is one of ours."""
    try:
        described = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(described, dict) and {"scenario", "seed", "parameters"} <= described.keys()


def _tables(run: Any) -> dict[str, pa.Table]:
    import pyarrow as pa

    return {name: _ordered(pa.Table.from_batches([batch])) for name, batch in run.finish()}


def _ordered(table: pa.Table) -> pa.Table:
    """The table with sorted metadata keys, so that the same run gives the same file."""
    import pyarrow as pa

    fields = [f.with_metadata(dict(sorted((f.metadata or {}).items()))) for f in table.schema]
    return table.cast(pa.schema(fields, dict(sorted((table.schema.metadata or {}).items()))))


def _write_truth(folder: Path, run: Run, tables: Mapping[str, pa.Table]) -> None:
    import pyarrow.parquet as pq

    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", **_encodings(table.schema))
    (folder / "truth.json").write_text(finding.to_json(run.truth), encoding="utf-8")


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """Dictionaries for text, delta encoding for numbers, compression for floats, no statistics.

    This takes a fifth of the time and a third of the bytes of the default.
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
