"""Golden tables: what the samples give, as text that a person reviews. `make golden` writes them again.

A sample is one capture, or the captures of one world together (`STEM.POINT.pcap` of several points). Of long tables
rows at even distances are kept; a table of many columns is written with a line a column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.captures import sample, samples
from wlanlens import tables
from wlanlens.detection.runner import detect
from wlanlens.ledger import ledger
from wlanlens.trace import Trace

HERE = Path(__file__).parent

#: Tables that are kept whole.
WHOLE = ("timeouts", "recoveries", "intervals", "segments", "ledger", "findings")

#: Rows of the others, and columns above which a table is written with a line a column.
MOST_ROWS, MOST_COLUMNS = 20, 100

#: Columns of `segments` that say what happened; only rows that are not plain data, ACKs or their first copies.
SEGMENTS = (
    "packet", "t_ns", "flow", "direction", "kind", "rel_seq", "rel_ack", "len", "transmission", "lost_before_tap", "trigger",
    "trigger_evidence", "backoff", "copy", "spurious", "spurious_evidence", "dupacks", "phase",
)  # fmt: skip

Rows = Sequence[dict[str, Any]]


def golden(name: str) -> dict[str, str]:
    """File name -> text of one sample's golden tables; a table without rows has no file."""
    out = {table: _csv(_rows(sample(name), table)) for table in tables.names()}
    return {f"{name}.{table}.csv": text for table, text in out.items() if text}


def _rows(trace: Trace, table: str) -> Rows:
    if table == "findings":
        return _findings(trace)
    if table == "ledger":
        return _without_capture(trace, ledger.summary(trace.table("ledger")).to_pylist())
    if not trace.has(table):
        return []
    rows = _without_capture(trace, trace.table(table).to_pylist())
    if table == "segments":
        usual = ("data", "ack", "dupack")
        odd = [row for row in rows if row["transmission"] != "first" or row["kind"] not in usual]
        return [{key: row[key] for key in ("capture", *SEGMENTS) if key in row} for row in odd]
    if table not in WHOLE and len(rows) > MOST_ROWS:
        rows = [rows[i * (len(rows) - 1) // (MOST_ROWS - 1)] for i in range(MOST_ROWS)]
    if rows and len(rows[0]) > MOST_COLUMNS:
        return [{"column": key, **{f"row {i}": row[key] for i, row in enumerate(rows, 1)}} for key in rows[0]]
    return rows


def _without_capture(trace: Trace, rows: Rows) -> list[dict[str, Any]]:
    if len(trace.captures) > 1:
        return list(rows)
    return [{key: value for key, value in row.items() if key != "capture"} for row in rows]


def _findings(trace: Trace) -> Rows:
    return [
        {
            "code": f.code, "t_start_ns": f.t_start_ns, "t_end_ns": f.t_end_ns, "severity": f.severity,
            "confidence": f"{f.confidence:.3f}", "cost_s": f"{f.cost_s:.6f}", "sentence": f.sentence,
        }
        for f in sorted(detect(trace), key=lambda f: (f.t_start_ns, f.code, f.subject))
    ]  # fmt: skip


def _csv(rows: Rows) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()


def main() -> None:
    """Write every golden table."""
    for old in HERE.glob("*.csv"):
        old.unlink()
    for name in samples():
        for file, text in golden(name).items():
            (HERE / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
