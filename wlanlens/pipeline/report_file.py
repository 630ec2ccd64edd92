"""report.html of an analysed directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wlanlens import report
from wlanlens.pipeline.file_names import REPORT

if TYPE_CHECKING:
    from wlanlens.airtime import Summary
    from wlanlens.detection.runner import Findings
    from wlanlens.pipeline.output_dir import Output
    from wlanlens.trace import Trace


def write_report(
    output: Output, trace: Trace, findings: Findings, sentence: str, connections: int, used: Summary
) -> None:
    """Write the report of a trace of bounded size, as `downsampling.digest` makes it."""
    path = output.file(REPORT)
    with output.writing():
        report.write(
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
