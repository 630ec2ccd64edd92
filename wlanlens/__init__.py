"""wlanlens tells why TCP is slow on a wireless LAN, and how many seconds each cause cost.

Open a capture. It is recognised by its content and read when a table is asked for::

    import wlanlens as wl
    capture = wl.open("sender.pcap")
    capture.table("segments")            # pyarrow.Table, one row a TCP segment; .to_pandas() for pandas
    capture.notes                        # what was odd in the file, counted by name

Put it on a time axis and judge it::

    trace = wl.align(["sender.pcap"])    # the only thing that a detector or a plot is given
    trace.view("frames")                 # a table as pandas shows it, its main columns; all=True for all of them
    findings = wl.detect(trace)          # list of Finding, costliest first
    findings[0].sentence                 # one plain sentence; .cost_s, .evidence, .display_filter
    findings.states                      # how each detector fared: found, fine, not_run, undecided, failed

Or do all of it in one pass, for captures of any size, and get a report::

    analysis = wl.analyze(["sender.pcap"], out="sender.wlanlens")
    analysis.verdict.sentence            # what slowed the flow that matters most
    analysis.totals                      # nanoseconds of each category in the ledger, exact
    analysis.report                      # path of the HTML page

Encrypted 802.11 frames are read with `keys=["wpa-pwd:PASSPHRASE:SSID"]` in `open`, `align` and `analyze`.

An analysed directory is read back with `wl.load("sender.wlanlens")`; its tables are Parquet, for anyone to read. Every
column is documented in the schema's field metadata and in docs/tables.md. `wl.list_units("detectors")` names the units
on a shelf. `wl.simulate("ack_holding", out="dir")` writes the captures of a synthetic world with what really happened;
findings are scored against it by `wl.score(findings, truth)`. Whatever cannot be done raises a `WlanlensError` that says
what, where and what to do next.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wlanlens.alignment.clock import ClockMap
    from wlanlens.capture.capture import Capture, open
    from wlanlens.detection.finding import Finding
    from wlanlens.detection.runner import detect
    from wlanlens.errors import WlanlensError
    from wlanlens.pipeline.analyze import Analysis, analyze, load, rewrite_report
    from wlanlens.registry import list_units
    from wlanlens.simulation.simulate import simulate
    from wlanlens.tables import brief_columns
    from wlanlens.trace import Trace, align
    from wlanlens.validation.scoring import score

_HOME = {
    "Analysis": "pipeline.analyze",
    "Capture": "capture.capture",
    "ClockMap": "alignment.clock",
    "Finding": "detection.finding",
    "Trace": "trace",
    "WlanlensError": "errors",
    "align": "trace",
    "analyze": "pipeline.analyze",
    "brief_columns": "tables",
    "detect": "detection.runner",
    "list_units": "registry",
    "load": "pipeline.analyze",
    "open": "capture.capture",
    "rewrite_report": "pipeline.analyze",
    "simulate": "simulation.simulate",
    "score": "validation.scoring",
}

__all__ = [
    "Analysis",
    "Capture",
    "ClockMap",
    "Finding",
    "Trace",
    "WlanlensError",
    "align",
    "analyze",
    "brief_columns",
    "detect",
    "list_units",
    "load",
    "open",
    "rewrite_report",
    "score",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'wlanlens' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"wlanlens.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
