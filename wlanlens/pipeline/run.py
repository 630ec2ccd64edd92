"""A run: the rows of a source to tables, ledger, findings and report, in one pass and bounded memory."""

from __future__ import annotations

import contextlib
import importlib
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from wlanlens import airtime, tables, threads
from wlanlens.capture.decryption_keys import SECURITY_OF_NOTE
from wlanlens.detection import verdict
from wlanlens.detection.finding import Finding, to_json, to_table
from wlanlens.detection.findings import Findings
from wlanlens.detection.flow_facts import Refusals
from wlanlens.detection.root_cause import with_causes
from wlanlens.detection.runner import DetectorRunner
from wlanlens.detection.windows import join_windows
from wlanlens.ledger import ledger
from wlanlens.pipeline import description
from wlanlens.pipeline.allocator import give_back, leave_out_pandas, require_spare
from wlanlens.pipeline.file_names import FINDINGS
from wlanlens.pipeline.flow_window import LEDGER_ONLY, Window
from wlanlens.pipeline.judge_thread import JudgeThread
from wlanlens.pipeline.table_writers import ParquetWriter, WriterThread
from wlanlens.report import downsampling, plotly_script
from wlanlens.tables.stored_tables import ParquetTables
from wlanlens.trace import TIMED, Trace

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.pipeline.output_dir import Output
    from wlanlens.pipeline.sources import Rows, Source

#: Findings kept of one analysis, costliest first; the others are counted. A flood of 60 000 one-packet connections
#: must not become a report of 60 000 entries.
FINDINGS_KEPT = 10_000


def _import_report() -> None:
    """An error is raised where the report is written."""
    with contextlib.suppress(Exception):
        importlib.import_module("wlanlens.pipeline.report_file")


class Run:
    """One pass over one source."""

    def __init__(self, source: Source, judge: DetectorRunner, output: Output) -> None:
        leave_out_pandas()
        self._source, self._judge, self._output = source, judge, output
        # The tables of every capture take about as long as those that only some have.
        self._threads = everywhere, elsewhere = WriterThread(), WriterThread()
        self._writers = {
            name: ParquetWriter(output, everywhere if name in ("packets", "segments") else elsewhere, name)
            for name in tables.names()
        }
        self._window = Window(source.captures, source.tables)
        self._air = airtime.Air()
        self._found: list[Finding] = []
        self._refusals = Refusals()
        self._left_out: Counter[str] = Counter()
        self._ledger_ns = [0] * len(ledger.CATEGORIES)
        self._last_t_ns = 0
        self._mended = 0
        self._judging: JudgeThread[tuple[pa.Table, list[Finding]]] = JudgeThread()

    def go(self, *, report: bool) -> None:
        """Read everything, then write what is known only at the end."""
        if report:
            plotly_script.begin_packing()
            # The page is imported while the reader decodes without Python.
            threads.start(_import_report)
        try:
            self._read()
            self._finish(report)
        finally:
            self._judging.stop()
            for thread in self._threads:
                thread.stop()
            for writer in self._writers.values():
                writer.drop()

    def _read(self) -> None:
        for step in self._source.steps():
            for rows in step:
                self._take(rows)
            if self._window.full:
                self._judge_window(last=False)
        # What the source says of its captures at the end is for the last window.
        self._collect()
        self._source.end()
        self._judge_window(last=True)
        # The last rows are written while the last window is judged.
        for name in self._source.tables:
            self._writers[name].finish()
        self._collect()
        if self._mended:
            self._source.captures[0].add_note("ledger_mended", "error", self._mended, ledger.REPAIRED)

    def _take(self, rows: Rows) -> None:
        """Write some rows, and hold them for the detectors."""
        import pyarrow.compute as pc

        require_spare()
        name, batch = rows.table, rows.batch
        if rows.stored:
            self._writers[name].append(batch)
            if name == "networks":
                self._judge.tcp_seen.add_networks(batch)
            if name in TIMED:
                self._last_t_ns = max(self._last_t_ns, pc.max(batch.column("t_ns")).as_py() or 0)
        if rows.entered:
            self._window.enter(name, batch)
        if rows.judged:
            self._air.add(name, batch)
            self._window.add(name, batch)

    def _judge_window(self, *, last: bool) -> None:
        """Take rows out of the window, and judge them in a thread while the next rows are read and written."""
        self._collect()
        require_spare()
        held = self._window.cut(last=last)
        more = {name: held.pop(key) for key, name in LEDGER_ONLY.items()}
        self._follow_retransmissions(held)
        source, duration_ns, endpoints = self._source, self._last_t_ns, self._window.take_endpoints()

        def judge() -> tuple[pa.Table, list[Finding]]:
            entered = self._enter(held, more)
            trace = Trace(
                source.captures,
                {**held, "ledger": entered},
                start_ns=source.start_ns,
                duration_ns=duration_ns,
                endpoints=endpoints,
                clocks=source.clocks,
            )
            self._refusals.add(trace)
            return entered, self._judge.run(trace)

        self._judging.begin(judge)

    def _collect(self) -> None:
        """Wait for the thread that judges, and keep what it found."""
        done = self._judging.wait()
        if done is None:
            return
        entered, found = done
        self._writers["ledger"].append(entered)
        self._ledger_ns = [a + b for a, b in zip(self._ledger_ns, ledger.sums(entered), strict=True)]
        self._found = join_windows(self._found, found)
        give_back()
        self._found.sort(key=lambda f: (-f.cost_s, f.t_start_ns, f.code, f.subject))
        for finding in self._found[FINDINGS_KEPT:]:
            self._left_out[finding.code] += 1
        del self._found[FINDINGS_KEPT:]

    def _enter(self, held: Mapping[str, pa.Table], more: Mapping[str, pa.Table]) -> pa.Table:
        """The ledger of a window; `more` are the rows that are for it alone."""
        require_spare()
        leaders = self._source.leaders
        if leaders is None:
            return self._tiled(held)
        names = [capture.name for capture in self._source.captures]
        return leaders.labelled(self._tiled({**held, **leaders.for_ledger(held, more)}), names)

    def _tiled(self, held: Mapping[str, pa.Table]) -> pa.Table:
        """The ledger of facts. Intervals that do not tile are a bug in wlanlens: they are mended and counted."""
        try:
            return ledger.build(held)
        except ledger.LedgerError:
            mended, faults = ledger.repaired(held["intervals"])
            self._mended += faults
            return ledger.build({**held, "intervals": mended})

    def _follow_retransmissions(self, held: Mapping[str, pa.Table]) -> None:
        """Count what became on the air of the original of each TCP retransmission."""
        if not self._writers["frames"].rows:
            return
        if "links" not in held:
            self._air.retransmissions(held["segments"])
            return
        points = {capture.name: capture.point for capture in self._source.captures}
        if "air" in points.values():
            self._air.linked_retransmissions(held["segments"], held["links"], points)

    def _finish(self, report: bool) -> None:
        source, writers = self._source, self._writers
        findings = Findings(with_causes(self._found), self._judge.states(), self._judge.undecided())
        writers["quality"].append(source.quality())
        writers["findings"].append(to_table(findings))
        self._air.finish()
        for name, table in self._air.tables(source.air_capture).items():
            writers[name].append(table)
        used = self._air.summary(self._last_t_ns)
        noted = {note.name for capture in source.captures for note in capture.notes}
        used.security = [kind for name, kind in SECURITY_OF_NOTE.items() if name in noted]
        for writer in writers.values():
            writer.finish()
        for thread in self._threads:
            thread.wait()
        stored = ParquetTables({name: writer.paths for name, writer in writers.items()})
        flows = downsampling.top_flows(stored, findings)
        small = downsampling.Digest(
            source.captures,
            stored,
            flows,
            start_ns=source.start_ns,
            duration_ns=self._last_t_ns,
            clocks=source.clocks,
        )
        connections = self._window.connections
        conclusion = verdict.judge(
            small,
            small.table("ledger"),
            findings,
            packets=writers["packets"].rows,
            connections=connections,
            records=sum(int(capture.info.get("records", 0)) for capture in source.captures),
            air=used,
            refusals=self._refusals,
        )
        self._output.write_text(FINDINGS, to_json(findings))
        description.write(
            self._output,
            small,
            verdict=conclusion,
            connections=connections,
            ledger_ns=dict(zip(ledger.CATEGORIES, self._ledger_ns, strict=True)),
            air=used,
            findings=findings,
            left_out=self._left_out,
            writers=writers,
            thresholds=self._judge.thresholds,
        )
        if report:
            from wlanlens.pipeline.report_file import write_report  # --no-report needs no templates

            write_report(self._output, small, findings, conclusion, connections, used)
