"""The samples give the golden tables. A wanted change is written by `make golden` and reviewed as a diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.write import HERE, golden, samples


@pytest.mark.parametrize("path", samples(), ids=lambda p: p.name)
def test_golden(path: Path) -> None:
    for name, text in golden(path).items():
        kept = (HERE / name).read_text(encoding="utf-8") if (HERE / name).exists() else "(none: run `make golden`)"
        assert text.splitlines() == kept.splitlines(), name


def test_no_golden_table_without_its_sample() -> None:
    stems = {path.name.removesuffix(".pcap") for path in samples()}
    assert {path.name.rsplit(".", 2)[0] for path in HERE.glob("*.csv")} <= stems
