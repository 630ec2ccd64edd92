"""`batch`: analyse many traces; what is finished already is not analysed again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens import operating_system
from wlanlens.capture import decryption_keys
from wlanlens.detection.runner import DetectorRunner
from wlanlens.errors import OutputError, WlanlensError, WrongUse, file_errors, refuse_file
from wlanlens.formatting import printable
from wlanlens.pipeline.batch import cluster, run_names, runs_table
from wlanlens.pipeline.batch.job import Job, Options, Row, finished_row, read_record
from wlanlens.pipeline.batch.local_workers import ForkServer
from wlanlens.pipeline.batch.trace_files import AnyPath, Listing, find, sizes
from wlanlens.pipeline.description import version
from wlanlens.pipeline.file_names import REPORT
from wlanlens.report import fleet_page

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.decryption_keys import Keys
    from wlanlens.pipeline.batch.cluster import Security

#: The folder of the runs, the page of all traces, and the file that says that the directory is a batch.
RUNS, PAGE, MARK = "runs", "index.html", "batch.json"
#: Least memory of an analysis, MiB: with less a thread may not start, and the analysis waits for it until its time is over.
LEAST_MB = 64
#: A trace takes as long as this many bytes besides its own: for the estimate of the remaining time.
_FIXED_BYTES = 1_000_000


@dataclass(frozen=True)
class BatchProgress:
    """How far a batch is.

    Attributes
    ----------
    done, total : int
        Traces; those that were finished before count as done.
    before : int
        Traces that were finished before.
    failed : int
        Traces that were not analysed.
    share : float
        Share of the work of this call that is done, by the size of the traces.
    """

    done: int
    total: int
    before: int
    failed: int
    share: float


class Batch:
    """The result of `batch`.

    Attributes
    ----------
    out : Path
        The directory.
    page : Path
        The page of all traces.
    runs : pa.Table
        The table `runs`: one row per trace.
    new : int
        How many traces this call analysed or tried.
    left_out : int
        Files that are not part of any trace.
    missing : int
        Traces of other shards that are not finished.
    """

    def __init__(self, out: Path, runs: pa.Table, *, new: int, left_out: int, missing: int) -> None:
        self.out, self.page, self.runs = out, out / PAGE, runs
        self.new, self.left_out, self.missing = new, left_out, missing

    def __repr__(self) -> str:
        told = ", ".join(f"{number} {status}" for status, number in self.counts.items())
        return f"<Batch {printable(str(self.out))}: {told}>"

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of traces of each status."""
        return dict(Counter(self.runs.column("status").to_pylist()).most_common())


@file_errors()
def batch(
    sources: Sequence[AnyPath] | AnyPath,
    out: AnyPath,
    *,
    pattern: str | None = None,
    jobs: int | None = None,
    shard: str | None = None,
    timeout_s: float = 3600.0,
    memory_mb: int = 2048,
    report: bool = True,
    only: Iterable[str] | None = None,
    nat: bool = False,
    keys: Keys | Iterable[str] | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    key_file: AnyPath | None = None,
    retry: bool = False,
    scheduler: str | None = None,
    security: Security | None = None,
    progress: Callable[[BatchProgress], None] | None = None,
) -> Batch:
    """Analyse many traces, each in a process of its own; write a folder for each, runs.parquet and index.html.

    The same call again analyses what is missing, what has changed, and nothing else. A trace that cannot be analysed is a row
    with its reason.

    Parameters
    ----------
    sources : path or sequence of paths
        Folders, globs, captures, and manifests (`.csv`, `.tsv` with the columns trace, capture, point).
    out : path
        The output directory; `runs/NAME/` is the analysed directory of a trace.
    pattern : str, optional
        `{trace}.{point}.pcap`: which files belong to one trace; by default each file is a trace.
    jobs : int, optional
        Analyses at a time; by default one per core.
    shard : str, optional
        "3/64": only the traces of the third of 64 shards, for job arrays.
    timeout_s, memory_mb : float, int
        Limits of one analysis: seconds by the clock, and MiB besides the program.
    report, only, nat, keys, thresholds
        As in `analyze`.
    key_file : path, optional
        A file of keys that the analysing processes read, also those of a cluster.
    retry : bool
        Whether to try again what could not be analysed before.
    scheduler : str, optional
        `tcp://HOST:PORT` or `tls://HOST:PORT` of a Dask scheduler, or "local" for a cluster on this machine.
    security : Security, optional
        The certificates for `tls://`.
    progress : callable, optional
        Called with a `BatchProgress` after each trace.

    Returns
    -------
    Batch

    Raises
    ------
    WlanlensError
        No trace is found, the directory cannot be written or is not a batch, or the scheduler cannot be reached.
    """
    listing = find([sources] if isinstance(sources, str | os.PathLike) else sources, pattern=pattern, out=out)
    chosen = tuple(only or ())
    changed = DetectorRunner(chosen or None, thresholds).thresholds  # raises now, and not once for each trace
    if memory_mb < LEAST_MB or not timeout_s > 0:
        raise WrongUse(f"an analysis needs at least {LEAST_MB} MB and more than 0 s")
    known = decryption_keys.of(keys)
    with _directory(Path(out), shard or "1/1") as folder:
        mark = _keys_mark(folder, known, key_file)
        options = Options(report, nat, chosen, changed, mark, timeout_s, memory_mb << 20)
        file_of_keys = os.path.abspath(key_file) if key_file is not None else ""
        everyone = _jobs(listing, folder, options, file_of_keys)
        mine = everyone
        if shard is not None:
            number, count = run_names.shard(shard)
            mine = [job for job in everyone if run_names.in_shard(job.trace, number, count)]
        rows = {job.run: row for job in mine if (row := finished_row(job, retry=retry)) is not None}
        left = sorted((job for job in mine if job.run not in rows), key=lambda job: (-job.size_bytes, job.run))
        if scheduler is not None:
            cluster.check(scheduler, security, known)
            work: Callable[[], Iterator[Row]] = partial(cluster.run, left, scheduler, jobs, security)
        else:
            work = partial(_run_here, left, known, min(jobs or operating_system.cores(), max(1, len(left))))
        watch = _Watch(mine, left, rows, progress)
        try:
            with contextlib.closing(work()) as arriving:  # type: ignore[type-var]
                for row in arriving:
                    rows[row["run"]] = row
                    watch.took(row)
        finally:
            table = _write_summary(folder, everyone, rows)
    return Batch(Path(out), table, new=len(left), left_out=listing.left_out, missing=len(everyone) - table.num_rows)


def _run_here(left: Sequence[Job], keys: Keys, count: int) -> Iterator[Row]:
    with ForkServer(keys) as server:
        yield from server.run(left, count)


def _jobs(listing: Listing, folder: Path, options: Options, key_file: str) -> list[Job]:
    names = run_names.run_names(trace.name for trace in listing.traces)
    place = os.path.abspath(folder / RUNS)
    return [
        Job(run, trace.name, trace.captures, tuple(sizes(trace.captures)), os.path.join(place, run), options, key_file)
        for trace in listing.traces
        for run in (names[trace.name],)
    ]


class _Watch:
    """Tells the caller how far the batch is."""

    def __init__(
        self,
        mine: Sequence[Job],
        left: Sequence[Job],
        rows: Mapping[str, Row],
        tell: Callable[[BatchProgress], None] | None,
    ) -> None:
        self._weights = {job.run: job.size_bytes + _FIXED_BYTES for job in left}
        self._all, self._done_weight = sum(self._weights.values()), 0
        self._total, self._before, self._tell = len(mine), len(rows), tell
        self._done = self._before
        self._failed = sum(row["status"] != "done" for row in rows.values())
        self._say()

    def took(self, row: Row) -> None:
        self._done += 1
        self._failed += row["status"] != "done"
        self._done_weight += self._weights[row["run"]]
        self._say()

    def _say(self) -> None:
        if self._tell is not None:
            share = self._done_weight / self._all if self._all else 1.0
            self._tell(BatchProgress(self._done, self._total, self._before, self._failed, share))


@contextlib.contextmanager
def _directory(out: Path, shard: str) -> Iterator[Path]:
    """The output directory, made where it is missing, and locked for this shard."""
    shown = printable(str(out))
    refuse_file(out)
    if not (out / MARK).is_file():
        taken = [name for name in (RUNS, runs_table.RUNS, PAGE, MARK) if os.path.lexists(out / name)]
        if taken:
            raise OutputError(
                f"the directory holds {taken[0]} that `wlanlens batch` did not write",
                path=shown,
                next="choose another with -o",
            )
    try:
        (out / RUNS).mkdir(parents=True, exist_ok=True)
        if not (out / MARK).exists():
            about = {"wlanlens": version(), "salt": os.urandom(16).hex()}
            runs_table.replace_file(out / MARK, lambda path: _write(path, json.dumps(about) + "\n"))
        lock = os.open(
            out / f".{shard.replace('/', '-of-')}.lock", os.O_RDWR | os.O_CREAT | operating_system.NO_FOLLOW, 0o666
        )
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=shown) from error
    try:
        operating_system.lock(lock)
    except BlockingIOError:
        os.close(lock)
        raise OutputError("another `wlanlens batch` is writing to this directory", path=shown) from None
    try:
        yield out
    finally:
        with contextlib.suppress(OSError):
            os.unlink(out / f".{shard.replace('/', '-of-')}.lock")
        os.close(lock)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _keys_mark(folder: Path, keys: Keys, key_file: AnyPath | None) -> str:
    """A hash of the keys. It is as slow and as salted as the handshake in a capture, which tells as much about them."""
    every = keys.for_core() + (decryption_keys.from_file(key_file).for_core() if key_file is not None else [])
    if not any(every):
        return ""
    try:
        salt = bytes.fromhex(json.loads((folder / MARK).read_bytes())["salt"])
    except (ValueError, KeyError, TypeError) as error:
        raise WlanlensError("its batch.json is not what wlanlens writes", path=printable(str(folder))) from error
    return hashlib.scrypt(b"\n".join(sorted(every)), salt=salt, n=1 << 14, r=8, p=1, dklen=16).hex()


def _write_summary(folder: Path, jobs: Sequence[Job], rows: Mapping[str, Row]) -> pa.Table:
    """Write runs.parquet and index.html of the traces that are finished, those of other shards too."""
    with open(folder / MARK, "rb") as mark:
        # One shard at a time: the last one sees the records of all others.
        operating_system.lock(mark.fileno(), wait=True)
        every: list[dict[str, Any]] = list(rows.values())
        for job in jobs:
            if job.run not in rows and (record := read_record(job.folder)) is not None:
                every.append(dict(record["row"]))
        table = runs_table.to_table(every)
        runs_table.write_table(table, folder / runs_table.RUNS)
        reports = {str(row["run"]) for row in every if (folder / RUNS / str(row["run"]) / REPORT).exists()}
        text = fleet_page.html(table, {run: f"{RUNS}/{run}/{REPORT}" for run in reports})
        runs_table.replace_file(folder / PAGE, lambda path: _write(path, text))
    return table
