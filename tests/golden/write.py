"""Golden tables: what the samples give, as text that a person reviews. `make golden` writes them again."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.captures import SAMPLES
from wlanlens.detection.runner import detect
from wlanlens.ledger import ledger
from wlanlens.pipeline.align import align
from wlanlens.trace import Trace

HERE = Path(__file__).parent

#: Tables that are small enough to review whole.
WHOLE = ("timeouts", "recoveries", "intervals")

#: Columns of `segments` that tell what happened; only rows that are not plain data, ACKs or their first copies.
SEGMENTS = (
    "packet", "t_ns", "flow", "direction", "kind", "rel_seq", "rel_ack", "len", "transmission", "lost_before_tap", "trigger",
    "trigger_evidence", "backoff", "copy", "spurious", "spurious_evidence", "dupacks", "phase",
)  # fmt: skip


def samples() -> list[Path]:
    """The captures that have golden tables."""
    return sorted(SAMPLES.glob("*.pcap"))


def golden(path: Path) -> dict[str, str]:
    """File name -> text of one sample's golden tables."""
    trace = align([path])
    stem = path.name.removesuffix(".pcap")
    out = {f"{stem}.{name}.csv": _csv(trace.table(name).drop(["capture"]).to_pylist()) for name in WHOLE}
    out[f"{stem}.segments.csv"] = _csv(_odd_segments(trace))
    out[f"{stem}.ledger.csv"] = _csv(ledger.summary(trace.table("ledger")).drop(["capture"]).to_pylist())
    out[f"{stem}.findings.csv"] = _csv(
        [
            {
                "code": f.code, "t_start_ns": f.t_start_ns, "t_end_ns": f.t_end_ns, "severity": f.severity,
                "confidence": f"{f.confidence:.3f}", "cost_s": f"{f.cost_s:.6f}", "sentence": f.sentence,
            }
            for f in sorted(detect(trace), key=lambda f: (f.t_start_ns, f.code))
        ]
    )  # fmt: skip
    return out


def _odd_segments(trace: Trace) -> list[dict[str, object]]:
    rows = trace.table("segments").select(SEGMENTS).to_pylist()
    usual = ("data", "ack", "dupack")
    return [row for row in rows if row["transmission"] != "first" or row["kind"] not in usual]


def _csv(rows: list[dict[str, object]]) -> str:
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
    for path in samples():
        for name, text in golden(path).items():
            (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
