"""The samples give the golden tables. A wanted change is written by `make golden` and reviewed as a diff."""

from __future__ import annotations

import pytest

from tests.captures import samples
from tests.golden.write import HERE, golden
from wlanlens import tables


@pytest.mark.parametrize("sample", samples())
def test_golden(sample: str) -> None:
    made = golden(sample)
    kept = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob(f"{sample}.*.csv")}
    for name, text in made.items():
        assert text.splitlines() == kept.get(name, "(none: run `make golden`)").splitlines(), name
    assert set(kept) <= set(made), "a golden table that the sample no longer gives: run `make golden`"


def test_every_golden_table_has_its_sample() -> None:
    assert {path.name.rsplit(".", 2)[0] for path in HERE.glob("*.csv")} == set(samples())


def test_every_table_has_a_golden_one() -> None:
    assert {path.name.rsplit(".", 2)[1] for path in HERE.glob("*.csv")} == set(tables.names())
