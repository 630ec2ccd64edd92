"""report.html of an analysed directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from wlanlens.errors import file_errors
from wlanlens.pipeline.allocator import leave_out_pandas
from wlanlens.pipeline.file_names import REPORT
from wlanlens.pipeline.output_dir import Output
from wlanlens.pipeline.result_dir import Stored
from wlanlens.plots._rows import FlowKey
from wlanlens.report import downsampling, page

if TYPE_CHECKING:
    from wlanlens.airtime import Summary
    from wlanlens.detection.findings import Findings
    from wlanlens.detection.verdict import Verdict
    from wlanlens.trace import Trace


def write_report(
    output: Output, trace: Trace, findings: Findings, conclusion: Verdict, connections: int, used: Summary
) -> None:
    """Write the report of a trace of bounded size, as `downsampling.Digest` makes it."""
    path = output.file(REPORT)
    about = None
    if conclusion.flow is not None and conclusion.direction is not None:
        about = FlowKey(conclusion.capture, conclusion.flow, conclusion.direction)
    with output.writing():
        page.write(
            output.path,
            trace=trace,
            findings=findings,
            ledger=trace.table("ledger"),
            states=findings.states,
            out_path=path,
            verdict=conclusion.sentence,
            about=about,
            connections=connections,
            air=used,
            beside=output.file,
        )


@file_errors()
def rewrite_report(folder: str | os.PathLike[str]) -> Path:
    """Write report.html of an analysed directory again, without reading the captures.

    Parameters
    ----------
    folder : path
        The directory.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    WlanlensError
        It is not an analysed directory, not a whole one, or cannot be written.
    """
    leave_out_pandas()
    stored = Stored(folder)
    stored.check()
    trace = stored.trace
    small = downsampling.Digest(
        trace.captures,
        stored.tables,
        downsampling.top_flows(stored.tables, stored.findings),
        start_ns=trace.start_ns,
        duration_ns=trace.duration_ns,
        clocks=trace.clocks,
    )
    connections = stored.description["connections"]
    with Output(stored.path) as output:
        write_report(output, small, stored.findings, stored.verdict, connections, stored.air)
        output.replace()
    return stored.path / REPORT
