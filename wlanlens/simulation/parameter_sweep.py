"""Sweeps over parameters and seeds: a folder for each run, or only tables of all runs. An interrupted sweep can continue."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import shutil
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens.detection.finding import to_table
from wlanlens.errors import OutputError, refuse_file
from wlanlens.simulation.parameters import ScenarioError
from wlanlens.simulation.scenario import find
from wlanlens.simulation.simulate import Run, simulate
from wlanlens.simulation.sweep_dataset import Dataset, part_name, parts
from wlanlens.simulation.worker_pool import sweep

if TYPE_CHECKING:
    import pyarrow as pa

#: Most runs of one sweep: a wrong step must not start a year of work.
RUNS_MOST = 1_000_000

#: Finished runs of a running sweep, one on each line; the table replaces it at the end.
JOURNAL = "runs.partial.jsonl"
TABLE, TEXT = "runs.parquet", "runs.csv"


def values(text: str) -> list[str]:
    """The values of "A,B,C", of "A..B" (whole numbers) or of "A..B:STEP", both ends included, also mixed."""
    out: list[str] = []
    for part in text.split(","):
        low, dots, rest = part.partition("..")
        if dots:
            out += _range(part, low, *rest.split(":", 1))
        elif part.strip():
            out.append(part.strip())
    if not out:
        raise ScenarioError(f"{text!r} names no value", next="for example 1,2,5.5 or 10..50:10")
    return list(dict.fromkeys(out))


def _range(part: str, low: str, high: str, step: str = "1") -> Iterator[str]:
    try:
        a, b, by = float(low), float(high), float(step)
        whole = all(math.isfinite(x) and x == int(x) for x in (a, b, by))
        count = math.floor((b - a) / by + 1e-9) + 1
    except (ValueError, OverflowError, ZeroDivisionError):
        raise ScenarioError(f"{part!r} is no range of numbers", next="for example 10..50:10") from None
    if not 1 <= count <= RUNS_MOST:
        raise ScenarioError(
            f"the range {part!r} holds {max(0, count)} values",
            next=f"1 to {RUNS_MOST} are possible, for example 10..50:10",
        )
    # By multiplication, so that 0..1:0.1 has no 0.30000000000000004.
    return (str(int(a + i * by)) if whole else f"{a + i * by:.12g}" for i in range(count))


def seeds(text: str) -> list[int]:
    """The seeds of "7", "1,2,5" or "1..50"."""
    try:
        return [int(value) for value in values(text)]
    except ValueError:
        raise ScenarioError(f"{text!r} is no list of seeds", next="for example 1..50 or 1,2,7") from None


@dataclass(frozen=True)
class Job:
    """One run of a sweep.

    Attributes
    ----------
    scenario : str
    seed : int
    parameters : tuple of (name, value)
        All parameters of the scenario.
    varied : tuple of str
        The varied parameters: they name the run.
    folder : str
        Where the sweep writes.
    taps : tuple of str or None
        Captures to write; () none, and no folder for the run; None all.
    """

    scenario: str
    seed: int
    parameters: tuple[tuple[str, Any], ...]
    varied: tuple[str, ...]
    folder: str
    taps: tuple[str, ...] | None

    @property
    def key(self) -> str:
        """Key of the run in one line: equal keys give equal runs."""
        return json.dumps([self.scenario, self.seed, dict(sorted(self.parameters))], sort_keys=True)

    @property
    def name(self) -> str:
        """Its folder's name: "rate_mbps=11,seed=3"."""
        given = dict(self.parameters)
        parts = [f"{key}={urllib.parse.quote(str(given[key]), safe='')}" for key in self.varied]
        name = ",".join([*parts, f"seed={self.seed}"])
        return name if len(name) <= 200 else hashlib.sha256(self.key.encode()).hexdigest()


def plan(
    scenario: str,
    folder: Path,
    swept: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    fixed: Mapping[str, Any],
    taps: tuple[str, ...] | None,
) -> list[Job]:
    """Every combination of the swept values with every seed. All of them are checked before any of them runs."""
    count = math.prod(len(v) for v in swept.values()) * len(seeds)
    if count > RUNS_MOST:
        raise ScenarioError(f"that makes {count} runs", next=f"at most {RUNS_MOST} are possible")
    kind = find(scenario)
    jobs = []
    for chosen in itertools.product(*swept.values()):
        made = kind.make({**fixed, **dict(zip(swept, chosen, strict=True))})
        known = made.world().taps
        if unknown := [tap for tap in taps or () if tap not in known]:
            raise ScenarioError(f"{scenario} has no tap {unknown[0]!r}", next="it has " + ", ".join(known))
        parameters = tuple(sorted(dataclasses.asdict(made).items()))
        jobs += [Job(scenario, seed, parameters, tuple(swept), str(folder), taps) for seed in seeds]
    return jobs


def run_all(jobs: Sequence[Job], *, workers: int | None = None, progress: Callable[[int], None] | None = None) -> int:
    """Run what is missing; write runs.parquet, runs.csv and the datasets truth/ and truth_ledger/. Returns the number of new runs.

    Ctrl-C or an error keeps the finished runs, in the tables too; the same call continues from there.
    """
    if not jobs:
        return 0
    folder = Path(jobs[0].folder)
    refuse_file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    done = _done(folder, jobs[0].scenario)
    left = [job for job in jobs if job.key not in done or (job.taps != () and not (folder / job.name).is_dir())]
    if progress is not None:
        progress(len(jobs) - len(left))
    tell = None if progress is None else lambda count: progress(len(jobs) - len(left) + count)
    waiting: list[tuple[str, dict[str, Any], dict[str, pa.Table]]] = []
    truth = Dataset(folder, [row["part"] for row in done.values()])
    try:
        with (folder / JOURNAL).open("a", encoding="utf-8") as journal:

            def write() -> None:
                # Ctrl-C may have ended the last call at any line: what is done is not written again, and the rest under the same number.
                new = [entry for entry in waiting if entry[0] not in done]
                if new:
                    part = 1 + max((row["part"] for row in done.values()), default=-1)
                    truth.write(part, {row["run"]: tables for _, row, tables in new})
                    rows = {key: {**row, "part": part} for key, row, _ in new}
                    journal.writelines(json.dumps({"key": key, "row": row}) + "\n" for key, row in rows.items())
                    journal.flush()
                    done.update(rows)
                waiting.clear()

            try:
                for job, (row, tables) in sweep(_run, left, workers=workers, progress=tell):
                    # A run whose folder was removed runs again; its rows are in the dataset already.
                    if job.key not in done:
                        waiting.append((job.key, {"run": job.name, **row}, tables))
                    if truth.due:
                        write()
            finally:
                write()
    finally:
        for job in left:
            shutil.rmtree(folder / (job.name + ".partial"), ignore_errors=True)
        _write(folder, done)
    return len(left)


def tables(folder: Path) -> dict[str, list[Path]]:
    """The files of each table of a sweep: `runs`, `truth`, `truth_ledger`. {} if the folder holds no sweep."""
    runs = folder / TABLE
    found = parts(folder)
    return {"runs": [runs], **found} if runs.is_file() and not runs.is_symlink() and all(found.values()) else {}


def _run(job: Job) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The row of a run, and its truth tables."""
    if job.taps == ():
        run = simulate(job.scenario, seed=job.seed, **dict(job.parameters))
        return measure(run), _truth(run)
    place = Path(job.folder, job.name)
    partial = place.with_name(place.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    run = simulate(job.scenario, partial, seed=job.seed, taps=job.taps, **dict(job.parameters))
    row = measure(run)
    shutil.rmtree(place, ignore_errors=True)
    partial.rename(place)
    return row, _truth(run)


def _truth(run: Run) -> dict[str, pa.Table]:
    return {"truth": to_table(run.truth), "truth_ledger": run.facts.ledger}


def measure(run: Run) -> dict[str, Any]:
    """One row of the table: parameters, and results from the ground truth."""
    import numpy as np
    import pyarrow.compute as pc

    packets, events = run.facts.packets, run.facts.events
    length = packets.column("len_bytes").to_numpy().astype(np.int64)
    copy = packets.column("copy").to_numpy()
    arrived = pc.equal(packets.column("fate").cast("string"), "delivered").to_numpy()
    end = packets.column("t_end_ns").to_numpy()
    new, lasted_s = _new_bytes(run, arrived), float(end.max()) / 1e9 if len(end) else 0.0
    codes = [f.code for f in run.truth]
    what = events.column("what").to_pylist()
    fates = run.facts.frames.column("fate").cast("string")
    parameters = dict(sorted(dataclasses.asdict(run.scenario).items()))
    return {
        "scenario": run.scenario.name,
        "seed": run.seed,
        **parameters,
        "lasted_s": lasted_s,
        "goodput_bps": 8 * new / lasted_s if lasted_s else 0.0,
        "delivered_bytes": new,
        "packets": len(length),
        "data_packets": int((length > 0).sum()),
        "retransmissions": int(((length > 0) & (copy > 0)).sum()),
        "lost_packets": int(sum(fate not in ("delivered", "under_way") for fate in packets.column("fate").to_pylist())),
        "timeouts": what.count("timeout"),
        "spurious_timeouts": codes.count("spurious_timeout"),
        "recoveries": what.count("recovery_began"),
        "frames": len(fates),
        "collisions": int(pc.sum(pc.equal(fates, "collision")).as_py() or 0),
        "damaged_frames": int(pc.sum(pc.equal(fates, "damaged")).as_py() or 0),
        "idle_s": sum(f.cost_s for f in run.truth if f.code in ("spurious_timeout", "genuine_timeout")),
        "events_to_find": len(codes),
    }


def _new_bytes(run: Run, arrived: Any) -> int:
    """Payload that arrived for the first time, over all flows."""
    import numpy as np
    import pyarrow.compute as pc

    packets = run.facts.packets
    flow, seq, length = (packets.column(n).to_numpy().astype(np.int64) for n in ("flow", "rel_seq", "len_bytes"))
    back = pc.equal(packets.column("direction").cast("string"), "b2a").to_numpy()
    mine = arrived & (length > 0)
    _, first = np.unique(np.stack((flow, back, seq))[:, mine], axis=1, return_index=True)
    return int(length[mine][first].sum())


def _done(folder: Path, scenario: str) -> dict[str, dict[str, Any]]:
    """Rows, by key, of the runs already in a folder; runs whose part of the dataset is missing are not."""
    rows: dict[str, dict[str, Any]] = {}
    if (folder / TABLE).exists():
        import pyarrow.parquet as pq

        for row in pq.read_table(folder / TABLE).to_pylist():
            rows[row.pop("key")] = row
    if (folder / JOURNAL).exists():
        for line in (folder / JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
                rows[entry["key"]] = entry["row"]
            except (ValueError, KeyError, TypeError):
                continue  # a line cut off by a crash
    other = {row["scenario"] for row in rows.values()} - {scenario}
    if other:
        raise OutputError(
            f"{folder} holds runs of {', '.join(sorted(other))}", next=f"give {scenario} a folder of its own"
        )
    whole = set.intersection(*({path.name for path in paths} for paths in parts(folder).values()))
    return {key: row for key, row in rows.items() if part_name(row.get("part", -1)) in whole}


def _write(folder: Path, done: Mapping[str, dict[str, Any]]) -> None:
    """The table, in order of the parameters; only then the journal may go."""
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if not done:
        (folder / JOURNAL).unlink(missing_ok=True)
        return
    table = _table(done)
    partial = folder / (TABLE + ".partial")
    pq.write_table(table, partial)
    partial.replace(folder / TABLE)
    partial = folder / (TEXT + ".partial")
    pc.write_csv(table.drop_columns(["key"]), partial)
    partial.replace(folder / TEXT)
    (folder / JOURNAL).unlink(missing_ok=True)


def _table(done: Mapping[str, dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    rows = sorted(({**row, "key": key} for key, row in done.items()), key=_order)
    # A parameter added to the scenario after the first runs is null in those runs.
    names: dict[str, None] = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def _order(row: Mapping[str, Any]) -> list[tuple[float, str]]:
    _, seed, parameters = json.loads(row["key"])
    return [(v, "") if isinstance(v, int | float) else (0, str(v)) for v in (*parameters.values(), seed)]
