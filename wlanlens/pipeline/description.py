"""analysis.json: what was analysed, and the numbers that describe the whole of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from wlanlens import _core
from wlanlens.detection.finding import SCHEMA_VERSION
from wlanlens.pipeline.file_names import ANALYSIS

if TYPE_CHECKING:
    from wlanlens.airtime import Summary
    from wlanlens.detection.findings import Findings
    from wlanlens.detection.thresholds import Thresholds
    from wlanlens.detection.verdict import Verdict
    from wlanlens.pipeline.output_dir import Output
    from wlanlens.pipeline.table_writers import ParquetWriter
    from wlanlens.trace import Trace


#: Times of undecided cases that are kept of each sentence.
SPANS_KEPT = 1000


def write(
    output: Output,
    trace: Trace,
    *,
    verdict: Verdict,
    connections: int,
    ledger_ns: Mapping[str, int],
    air: Summary,
    findings: Findings,
    left_out: Mapping[str, int],
    writers: Mapping[str, ParquetWriter],
    thresholds: Thresholds,
) -> None:
    """Write analysis.json.

    Parameters
    ----------
    output : Output
        The directory.
    trace : Trace
        Captures, clocks, start and duration.
    verdict : Verdict
        The verdict.
    connections : int
        TCP connections seen.
    ledger_ns : mapping
        Nanoseconds of each category over all connections; categories without time are left out.
    air : Summary
        What the air was used for.
    findings : Findings
        The findings that are kept, with the detectors' states.
    left_out : mapping
        Findings that are not kept, by code.
    writers : mapping
        The writers of the tables.
    thresholds : dict
        Thresholds that differ from their defaults, by detector and name.
    """
    content = {
        "wlanlens": version(),
        "schema_version": SCHEMA_VERSION,
        "thresholds": thresholds,
        "verdict": asdict(verdict),
        "start_ns": trace.start_ns,
        "duration_ns": trace.duration_ns,
        "connections": connections,
        "ledger_ns": {name: ns for name, ns in ledger_ns.items() if ns},
        "air": asdict(air),
        "findings": {"kept": len(findings), "left_out": dict(sorted(left_out.items()))},
        "detectors": [asdict(state) for state in findings.states],
        "undecided": [asdict(replace(case, spans=case.spans[:SPANS_KEPT])) for case in findings.undecided],
        "tables": {name: {"rows": writer.rows, "parts": writer.parts} for name, writer in writers.items()},
        "captures": [capture.describe() for capture in trace.captures],
        "clocks": [asdict(clock_map) for clock_map in trace.clocks],
    }
    output.write_text(ANALYSIS, json.dumps(content, indent=1, default=str) + "\n")


def version() -> str:
    """The version of wlanlens."""
    return str(_core.build_info()[0])
