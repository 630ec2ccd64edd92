"""`analyze --fail-on`."""

from __future__ import annotations

from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import MIXED
from tests.warm import completed


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("lost>20%", 1), ("lost > 47.5%", 1), ("lost>48%", 0), ("spurious_timeout", 1), ("no_answer", 0), ("lost>", 2), ("lost>20", 2), ("lost>-1%", 2),
        ("lost>9999%", 2), ("losses", 2), ("\x1b[31m", 2),
    ],
)  # fmt: skip
def test_fail_on(tmp_path: Path, what: str, status: int) -> None:
    done = completed(tmp_path, "analyze", MIXED, "-o", "out", "--no-report", "--quiet", "--fail-on", what)
    assert done.returncode == status, done.stderr
    assert "\x1b" not in done.stderr
    assert (tmp_path / "out").exists() == (status != 2)


def test_the_share_is_that_of_the_ledger(tmp_path: Path) -> None:
    analysis = wl.analyze(MIXED, out=tmp_path / "out", report=False)
    causes = ("rto_wait", "spurious_recovery", "loss_recovery", "fast_recovery")
    life = sum(analysis.totals.values())
    assert analysis.verdict.lost_share == pytest.approx(sum(analysis.totals[c] for c in causes) / life)
