"""Mutated captures through `wlanlens batch`; `python -m tests.pipeline.mutated_captures` runs thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline import mutated_captures
from tests.pipeline.mutated_captures import SHARED

COUNT, SEED = 120, "ci"


def test_no_mutation_ends_as_a_bug(tmp_path: Path) -> None:
    if not (SHARED / "captures").is_dir():
        pytest.skip("the shared captures are not here")
    (tmp_path / "in").mkdir()
    mutated_captures.write(tmp_path / "in", COUNT, SEED)
    wrong, ended = mutated_captures.faults(tmp_path / "in", tmp_path / "out")
    assert not wrong
    assert sum(ended.values()) == COUNT
    # Most mutations leave something to analyse; a run in which all are refused tests nothing.
    assert ended["done"] > COUNT / 2
