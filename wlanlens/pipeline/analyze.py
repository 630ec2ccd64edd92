"""`analyze`: a capture of any size, in one pass and flat memory, to tables, findings, ledger and report."""

from __future__ import annotations

import importlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens import airtime, tables
from wlanlens.alignment import align
from wlanlens.alignment.clock import ClockMap
from wlanlens.capture import decryption_keys as key_lines
from wlanlens.capture import quality
from wlanlens.capture.capture import Capture, stamp
from wlanlens.capture.reader_thread import Feed
from wlanlens.correlation.combined_tables import FACTS, HEARD, leaders
from wlanlens.detection import verdict
from wlanlens.detection.finding import Finding, join_windows, to_json, to_table
from wlanlens.detection.runner import DetectorRunner, Findings
from wlanlens.errors import WlanlensError
from wlanlens.formatting import printable
from wlanlens.ledger import ledger
from wlanlens.pipeline import time_chunks
from wlanlens.pipeline.allocator import give_back
from wlanlens.pipeline.flow_window import Window
from wlanlens.pipeline.output_dir import ANALYSIS, FINDINGS, REPORT, Output, Scratch
from wlanlens.pipeline.result_dir import Stored, StoredTables
from wlanlens.pipeline.spill import Spilled, SpillWriter
from wlanlens.pipeline.table_writers import Pen, TableWriter
from wlanlens.report import downsampling
from wlanlens.trace import Path as AnyPath
from wlanlens.trace import Trace, gather

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.decryption_keys import Keys

#: Tables whose rows have a time: the last of them ends the trace.
TIMED = ("packets", "frames", "urbs")

#: Findings kept of one analysis, costliest first: more are counted, not listed. A flood of 60 000 one-packet
#: connections must not become a report of 60 000 entries.
FINDINGS_KEPT = 10_000


@dataclass(frozen=True)
class Progress:
    """How far the reading is: records, bytes of them, and the file's size where it can be told."""

    records: int
    offset_bytes: int
    size_bytes: int | None


class Analysis:
    """What `analyze` found.

    Attributes
    ----------
    out : Path
        The directory.
    report : Path or None
        report.html, unless it was not wanted.
    trace : Trace
        The captures with all tables, read from the directory when asked for.
    findings : Findings
        Costliest first; `.states` says how each detector fared.
    verdict : Verdict
        The sentence.
    totals : dict
        Nanoseconds of each category over all flows.
    air : Summary
        What the air was used for; of a capture without 802.11 frames all its sums are 0.
    description : dict
        analysis.json.
    """

    def __init__(self, stored: Stored) -> None:
        self.out, self.trace, self.findings = stored.path, stored.trace, stored.findings
        self.description = stored.description
        self.verdict = verdict.Verdict(**stored.description["verdict"])
        self.totals: dict[str, int] = dict(stored.description["ledger_ns"])
        self.air = stored.air
        report = stored.path / REPORT
        self.report = report if report.exists() else None

    def __repr__(self) -> str:
        return f"<Analysis {printable(str(self.out))}: {len(self.findings)} findings; {self.verdict.sentence}>"

    @property
    def ledger(self) -> pa.Table:
        """The table `ledger`, read whole."""
        return self.trace.table("ledger")


def analyze(
    captures: Sequence[AnyPath | Capture] | AnyPath,
    *,
    out: str | os.PathLike[str] | None = None,
    only: Iterable[str] | None = None,
    roles: Mapping[str, AnyPath] | None = None,
    report: bool = True,
    progress: Callable[[Progress], None] | None = None,
    keys: Keys | Iterable[str] | None = None,
    nat: bool = False,
) -> Analysis:
    """Decode, align, detect, and write tables/, findings.json, analysis.json and report.html.

    `out` is by default the first capture's name with `.wlanlens`, in the working directory. `only` names the detectors
    to run; `keys` is as in `open`, `nat` as in `align`. Nothing in `out` changes unless all of it succeeded. Memory is flat
    in the captures' length; several are decoded once, to a scratch folder in `out`, and put on one axis from there.
    """
    judge = DetectorRunner(only)
    chosen = [captures] if isinstance(captures, str | bytes | os.PathLike | Capture) else list(captures)
    given = key_lines.of(keys)
    run: _Run
    if len(chosen) + len(roles or {}) != 1:
        opened = gather(chosen, roles=roles, keys=given)
        with Output(out if out is not None else default_out(opened[0])) as output, Scratch(output) as scratch:
            run = _RunTogether(opened, judge, output, progress, scratch, nat=nat)
            run.go(report)
            output.commit()
        return Analysis(Stored(output.path))
    capture = _single(chosen, roles or {}, given)
    with Output(out if out is not None else default_out(capture)) as output:
        run = _Run(capture, judge, output, progress)
        run.go(report)
        output.commit()
    return Analysis(Stored(output.path))


def _single(chosen: Sequence[AnyPath | Capture], roles: Mapping[str, AnyPath], keys: Keys) -> Capture:
    for role, path in roles.items():
        return Capture(path, point=role, keys=keys)
    first = chosen[0]
    return first if isinstance(first, Capture) else Capture(first, keys=keys)


def default_out(capture: Capture) -> Path:
    """The capture's name without its suffix, with `.wlanlens`, in the working directory."""
    name = Path(os.fsdecode(capture.raw_path)).name if capture.path != "-" else "stdin"
    return Path((name.removesuffix(Path(name).suffix) or name or "capture") + ".wlanlens")


def load(folder: str | os.PathLike[str]) -> Analysis:
    """An analysed directory, as `analyze` returned it."""
    return Analysis(Stored(folder))


def rewrite_report(folder: str | os.PathLike[str]) -> Path:
    """Write report.html of an analysed directory again."""
    stored = Stored(folder)
    flows = downsampling.top_flows(stored.tables, stored.findings)
    trace = stored.trace
    small = downsampling.digest(
        trace.captures, stored.tables, flows, start_ns=trace.start_ns, duration_ns=trace.duration_ns
    )
    small.clocks = trace.clocks
    with Output(stored.path) as output:
        said, connections = stored.description["verdict"]["sentence"], stored.description["connections"]
        _write_report(output, small, stored.findings, str(said), int(connections), stored.air)
        output.replace()
    return stored.path / REPORT


def _write_report(
    output: Output, trace: Trace, findings: Findings, sentence: str, connections: int, used: airtime.Summary
) -> None:
    """Make the report from a trace of bounded size, beside its final name."""
    path = output.file(REPORT)
    write = importlib.import_module("wlanlens.report").write
    with output.writing():
        write(
            output.path,
            trace=trace,
            findings=findings,
            ledger=trace.table("ledger"),
            states=findings.states,
            out_path=path,
            verdict=sentence,
            connections=connections,
            air=used,
            beside=output.file,
        )


class _Run:
    """One pass over one capture."""

    def __init__(
        self, capture: Capture, judge: DetectorRunner, output: Output, progress: Callable[[Progress], None] | None
    ) -> None:
        self.capture, self.judge, self.output, self.progress = capture, judge, output, progress
        self.pen = Pen()
        self.writers = {name: TableWriter(output, self.pen, name) for name in tables.names()}
        self.window = Window([capture])
        self.quality = quality.Quality()
        self.air = airtime.Air()
        self.found: list[Finding] = []
        self.left_out: Counter[str] = Counter()
        self.ledger_ns = [0] * len(ledger.CATEGORIES)
        self.last_t_ns = 0
        self.mended = 0
        self.captures, self.clocks = [capture], [ClockMap.identity(capture.name)]
        #: Whose frames the sums of the air are of.
        self.air_capture = capture.name

    @property
    def start_ns(self) -> int:
        """Epoch ns of t = 0."""
        return self.capture.start_ns or 0

    @property
    def connections(self) -> int:
        """TCP connections seen."""
        return self.window.connections

    def quality_rows(self) -> list[dict[str, Any]]:
        """The rows of the table `quality`."""
        return [self.quality.row(self.capture)]

    def go(self, report: bool) -> None:
        """Read everything, then write what is known only at the end."""
        try:
            self._read()
            self._finish(report)
        finally:
            self.pen.stop()
            for writer in self.writers.values():
                writer.drop()

    def _read(self) -> None:
        feed = self.capture.feed()
        size = self.capture.size_bytes()
        try:
            for batches in feed:
                for name, batch in batches:
                    self._take(name, stamp(batch, self.capture.name, name))
                if self.window.full:
                    self._conclude(last=False)
                self._tell(feed, size)
        except WlanlensError as error:
            error.path = error.path or printable(self.capture.path)
            raise
        self.capture.take(feed)
        self.capture.point = self.quality.point(self.capture)
        self._conclude(last=True)
        if self.mended:
            self.capture.add_note("ledger_mended", "error", self.mended, ledger.MENDED)

    def _take(self, name: str, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        self.writers[name].append(batch)
        self.quality.add(name, batch)
        self.air.add(name, batch)
        self.window.add(name, batch)
        if name in TIMED:
            self.last_t_ns = max(self.last_t_ns, pc.max(batch.column("t_ns")).as_py() or 0)

    def _conclude(self, *, last: bool) -> None:
        """Judge the window's flows and enter them in the ledger."""
        held = self.window.cut(last=last)
        trace = self.window.trace(
            held, start_ns=self.start_ns, duration_ns=self.last_t_ns, clocks=self.clocks if self.captures[1:] else None
        )
        entered = self._enter(held)
        self.writers["ledger"].append(entered)
        if "links" in held:
            points = {capture.name: capture.point for capture in self.captures}
            if "air" in points.values():
                self.air.linked_retransmissions(held["segments"], held["links"], points)
        else:
            self.air.retransmissions(held["segments"])
        self.ledger_ns = [a + b for a, b in zip(self.ledger_ns, ledger.sums(entered), strict=True)]
        self.found = join_windows(self.found, self.judge.run(trace))
        self.window.forget()
        del held, trace, entered
        give_back()
        self.found.sort(key=lambda f: (-f.cost_s, f.t_start_ns, f.code, f.subject))
        for finding in self.found[FINDINGS_KEPT:]:
            self.left_out[finding.code] += 1
        del self.found[FINDINGS_KEPT:]

    def _enter(self, held: Mapping[str, pa.Table]) -> pa.Table:
        """The ledger of a window. Facts that do not tile are our bug: mended, counted, and told as an error note."""
        try:
            return ledger.from_intervals(held["intervals"], held["timeouts"], held)
        except ledger.LedgerError:
            mended, faults = ledger.mend(held["intervals"])
            self.mended += faults
            return ledger.from_intervals(mended, held["timeouts"], held)

    def _tell(self, feed: Feed, size: int | None) -> None:
        if self.progress is not None:
            packed = bool(feed.info.get("compression"))
            self.progress(Progress(feed.info["records"], feed.info["offset"], None if packed else size))

    def _finish(self, report: bool) -> None:
        findings = Findings(self.found, self.judge.states())
        self.writers["quality"].append(quality.to_table(self.quality_rows()))
        self.writers["findings"].append(to_table(findings))
        self.air.finish()
        for name, table in self.air.tables(self.air_capture).items():
            self.writers[name].append(table)
        used = self.air.summary(self.last_t_ns)
        for writer in self.writers.values():
            writer.finish()
        self.pen.wait()
        stored = StoredTables({name: writer.paths for name, writer in self.writers.items()})
        start_ns = self.start_ns
        flows = downsampling.top_flows(stored, findings)
        small = downsampling.digest(self.captures, stored, flows, start_ns=start_ns, duration_ns=self.last_t_ns)
        small.clocks = self.clocks
        said = verdict.judge(
            small,
            small.table("ledger"),
            findings,
            packets=self.writers["packets"].rows,
            connections=self.connections,
            records=sum(int(capture.info.get("records", 0)) for capture in self.captures),
            air=used,
        )
        description = {
            "wlanlens": version(),
            "verdict": asdict(said),
            "start_ns": start_ns,
            "duration_ns": self.last_t_ns,
            "connections": self.connections,
            "ledger_ns": {name: ns for name, ns in zip(ledger.CATEGORIES, self.ledger_ns, strict=True) if ns},
            "air": asdict(used),
            "findings": {"kept": len(findings), "left_out": dict(sorted(self.left_out.items()))},
            "detectors": [asdict(state) for state in findings.states],
            "tables": {name: {"rows": w.rows, "parts": w.parts} for name, w in self.writers.items()},
            "captures": [capture.describe() for capture in self.captures],
            "clocks": [asdict(clock_map) for clock_map in self.clocks],
        }
        self.output.write_text(FINDINGS, to_json(findings))
        self.output.write_text(ANALYSIS, json.dumps(description, indent=1, default=str) + "\n")
        if report:
            _write_report(self.output, small, findings, said.sentence, self.connections, used)


class _RunTogether(_Run):
    """Several captures: each read once to the disk, aligned, and then gone through slice by slice."""

    def __init__(
        self,
        captures: Sequence[Capture],
        judge: DetectorRunner,
        output: Output,
        progress: Callable[[Progress], None] | None,
        scratch: Scratch,
        *,
        nat: bool,
    ) -> None:
        super().__init__(captures[0], judge, output, progress)
        self.captures, self.scratch, self.nat = list(captures), scratch, nat
        self.window = Window(self.captures)
        self._start_ns = 0

    @property
    def start_ns(self) -> int:
        return self._start_ns

    def quality_rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = quality.of(self.captures).to_pylist()
        return rows

    def _read(self) -> None:
        """Write all tables; of connections the facts of the capture that tells most of each."""
        align.tell_apart(self.captures)
        for number, capture in enumerate(self.captures):
            if not capture.loaded:
                self._stage(capture, str(number))
        joined = align.join(self.captures, nat=self.nat, scratch=self.scratch.path)
        self._start_ns, self.clocks = joined.start_ns, joined.clocks
        give_back()
        best = leaders(self.captures, joined)
        self.air_capture = max(self.captures, key=lambda capture: capture.rows("frames")).name
        for piece in time_chunks.cut(self.captures, joined, best):
            self._take_slice(piece, best)
            if self.window.full:
                self._conclude(last=False)
        self._conclude(last=True)

    def _stage(self, capture: Capture, folder: str) -> None:
        """Read a capture once, its tables to the disk."""
        feed, size = capture.feed(), capture.size_bytes()
        writers = {name: SpillWriter(self.scratch, self.pen, name, folder) for name in tables.core_schemas()}
        try:
            for batches in feed:
                for name, batch in batches:
                    writers[name].append(stamp(batch, capture.name, name))
                self._tell(feed, size)
            for writer in writers.values():
                writer.finish()
            self.pen.wait()
        except WlanlensError as error:
            error.path = error.path or printable(capture.path)
            raise
        finally:
            # The pen has stopped, or has nothing to do, or its next job is dropped with the scratch folder.
            for writer in writers.values():
                writer.drop()
        capture.keep(Spilled(writers), feed)
        give_back()

    def _take_slice(self, piece: time_chunks.Slice, best: Any) -> None:
        """Write a slice's own rows, and hold those that detectors are given."""
        import pyarrow as pa

        for name in tables.core_schemas():
            for number, part in enumerate(piece.parts(name)):
                rows = part
                if name in FACTS and part.num_rows:
                    rows = part.filter(pa.array(best[part.column("flow").to_numpy()] == number))
                self._keep(name, rows, hold=name not in HEARD)
        # What is judged of the air has each frame once, whoever heard it.
        for name in HEARD:
            for batch in piece.heard(name).to_batches(max_chunksize=16 * 1024):
                self.window.add(name, batch)
                self.air.add(name, batch)
        for name, rows in piece.linked(self.writers["links"].rows).items():
            self._keep(name, rows)
        give_back()

    def _keep(self, name: str, table: pa.Table, *, hold: bool = True) -> None:
        """Write rows, and hold them for the detectors."""
        import pyarrow.compute as pc

        rows = table.cast(tables.schema(name))
        self.writers[name].append(rows)
        for batch in rows.to_batches() if hold else ():
            self.window.add(name, batch)
        if name in TIMED:
            self.last_t_ns = max(self.last_t_ns, pc.max(rows.column("t_ns")).as_py() or 0)


def version() -> str:
    """The version of wlanlens."""
    from wlanlens import _core

    return str(_core.build_info()[0])
