"""wlanlens: why TCP is slow on a wireless LAN, and how many seconds each cause cost.

Open a capture. Its format is recognised by its content; the file is read when a table is first needed::

    import wlanlens as wl
    capture = wl.open("sender.pcap")
    capture.table("segments")            # pyarrow.Table, one row per TCP segment; .to_pandas() for pandas
    capture.notes                        # named counts of what was odd in the file

Put captures on one time axis and run the detectors::

    trace = wl.align(["sender.pcap"])    # the input of detectors and plots
    trace.view("frames")                 # a table's main columns as a pandas DataFrame; all=True for all columns
    findings = wl.detect(trace)          # list of Finding, costliest first
    findings[0].sentence                 # one sentence; also .cost_s, .evidence, .display_filter
    findings.states                      # each detector's state: found, fine, not_run, undecided, failed

Or do all of it at once, for captures of any size, with a report::

    analysis = wl.analyze(["sender.pcap"], out="sender.wlanlens")
    analysis.verdict.sentence            # the main cause of lost time
    analysis.totals                      # nanoseconds of each category of the ledger, exact
    analysis.report                      # the path of the HTML page

Encrypted 802.11 frames are read with `keys=["wpa-pwd:PASSPHRASE:SSID"]` in `open`, `align` and `analyze`.

`wl.compare("before.wlanlens", "after.wlanlens")` says what changed, and by what.
Many captures, each in a process of its own, and their small tables in one place::

    batch = wl.batch(["captures/"], "out")       # out/runs/NAME/, out/runs.parquet, out/index.html; again: only what is missing
    fleet = wl.collect("out", "fleet")           # fleet.table("findings"): the rows of all runs, with the column `run`
    fleet.analysis("lab1")                       # one run; `wl.load_fleet("fleet")` reads a fleet back

`wl.doctor(["sender.pcap"])` says what a better capture would need. `analysis.figure("time_sequence")` and
`wl.plots.time_sequence(trace)` draw; `wl.plots.names()` lists the figures. `findings.to_pandas()`, `wl.to_pandas(table)`.

`wl.load("sender.wlanlens")` reads an analysed directory back; its tables are Parquet files. Every column is documented in
the schema's field metadata and in docs/tables.md. `wl.list_units("detectors")` lists the units on a shelf.
`wl.simulate("ack_holding", out="dir")` writes the captures of a simulated network and the true causes;
`wl.score(findings, truth)` compares findings with them. An error is a `WlanlensError`: it says what is wrong, where, and
what to do next.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wlanlens import plots
    from wlanlens.alignment.clock_map import ClockMap
    from wlanlens.capture.capture import Capture, open
    from wlanlens.capture.doctor import doctor
    from wlanlens.detection.finding import Finding
    from wlanlens.detection.findings import Findings
    from wlanlens.detection.runner import detect
    from wlanlens.errors import FileError, WlanlensError
    from wlanlens.pipeline.align import align
    from wlanlens.pipeline.analyze import Analysis, analyze, load
    from wlanlens.pipeline.batch.batch import Batch, batch
    from wlanlens.pipeline.compare.compare import compare
    from wlanlens.pipeline.fleet.collect import collect
    from wlanlens.pipeline.fleet.fleet import Fleet, load_fleet
    from wlanlens.pipeline.report_file import rewrite_report
    from wlanlens.registry import list_units
    from wlanlens.simulation.simulate import simulate
    from wlanlens.tables import brief_columns, to_pandas
    from wlanlens.trace import Trace
    from wlanlens.validation.scoring import score

_HOME = {
    "Analysis": "pipeline.analyze",
    "Batch": "pipeline.batch.batch",
    "Capture": "capture.capture",
    "ClockMap": "alignment.clock_map",
    "FileError": "errors",
    "Finding": "detection.finding",
    "Findings": "detection.findings",
    "Fleet": "pipeline.fleet.fleet",
    "Trace": "trace",
    "WlanlensError": "errors",
    "align": "pipeline.align",
    "analyze": "pipeline.analyze",
    "batch": "pipeline.batch.batch",
    "brief_columns": "tables",
    "compare": "pipeline.compare.compare",
    "collect": "pipeline.fleet.collect",
    "detect": "detection.runner",
    "doctor": "capture.doctor",
    "list_units": "registry",
    "load": "pipeline.analyze",
    "load_fleet": "pipeline.fleet.fleet",
    "open": "capture.capture",
    "rewrite_report": "pipeline.report_file",
    "simulate": "simulation.simulate",
    "score": "validation.scoring",
    "to_pandas": "tables",
}

__all__ = [
    "Analysis",
    "Batch",
    "Capture",
    "ClockMap",
    "FileError",
    "Finding",
    "Findings",
    "Fleet",
    "Trace",
    "WlanlensError",
    "align",
    "analyze",
    "batch",
    "brief_columns",
    "collect",
    "compare",
    "detect",
    "doctor",
    "list_units",
    "load",
    "load_fleet",
    "open",
    "plots",
    "rewrite_report",
    "score",
    "simulate",
    "to_pandas",
]


#: Version of the installed package.
__version__: str


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value = importlib.import_module("importlib.metadata").version("wlanlens")
    elif name == "plots":
        return importlib.import_module("wlanlens.plots")
    elif name in _HOME:
        value = getattr(importlib.import_module(f"wlanlens.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'wlanlens' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
