"""The names of the files in an analysed directory."""

from __future__ import annotations

import re

#: The description of the analysis, its findings and its report.
ANALYSIS, FINDINGS, REPORT = "analysis.json", "findings.json", "report.html"
#: The folder of the tables; below it one folder a table with its Parquet files.
TABLES = "tables"
PART = re.compile(r"part-\d{5,}\.parquet(\.tmp)?")
#: The folder of a large report's data, and the files in it.
REPORT_DATA, REPORT_PIECE = "report_data", re.compile(r"flow-\d+\.js(\.tmp)?")
#: The packets behind a finding, as `wlanlens evidence` writes them.
EVIDENCE = re.compile(r"evidence-\d+\.pcapng(\.tmp)?")
#: While a run lasts: its lock, and the folder for what only this run needs.
LOCK, SCRATCH = ".wlanlens.lock", ".wlanlens.scratch"


def part(number: int) -> str:
    """The name of a table's Parquet file, from 0."""
    return f"part-{number:05}.parquet"


def evidence(number: int) -> str:
    """The name of the file with the packets behind a finding, counted from 1."""
    return f"evidence-{number}.pcapng"
