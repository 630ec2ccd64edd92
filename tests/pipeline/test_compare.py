"""`compare`: the right cause in words, differences by chance called so, and sides that cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import wlanlens as wl
from tests.captures import CLEAN, MIXED
from tests.warm import completed
from wlanlens.errors import WlanlensError
from wlanlens.pipeline.compare.significance import holm, rank_test, rank_tests


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs of a clean link and four with an adapter that holds ACKs."""
    place = tmp_path_factory.mktemp("compare")
    for scenario in ("clean_link", "ack_holding"):
        for seed in range(1, 5):
            made = wl.simulate(scenario, place / "captures" / scenario / str(seed), seed=seed, duration_s=6.0)
            wl.analyze(made.captures["sender"], out=place / scenario / str(seed), report=False)
    return place


def test_the_sentence_names_the_cause(runs: Path) -> None:
    compared = wl.compare(runs / "clean_link" / "1", {"held": runs / "ack_holding" / "1"})
    (said,) = compared.sentences
    assert said.startswith("held was ")
    assert "slower than 1" in said
    assert "RTO wait" in said
    assert "ack holding is new" in said
    assert "spurious timeout is new" in said
    assert compared.worse(0.05) == ["held"]
    assert compared.worse(0.5) == []
    (back,) = wl.compare({"held": runs / "ack_holding" / "1", "clean": runs / "clean_link" / "1"}).sentences
    assert "faster than held" in back
    assert "ack holding is gone" in back


def test_different_thresholds_are_said(runs: Path, tmp_path: Path) -> None:
    capture = runs / "captures" / "clean_link" / "1" / "sender.pcap"
    for name, shortest_ms in (("low", 20.0), ("same", 20.0), ("high", 60.0)):
        wl.analyze(capture, out=tmp_path / name, report=False, thresholds={"ack_holding": {"min_hold_ms": shortest_ms}})
    assert not any("thresholds" in said for said in wl.compare(tmp_path / "low", tmp_path / "same").remarks)
    (said,) = (s for s in wl.compare(tmp_path / "low", tmp_path / "high").remarks if "thresholds" in s)
    assert "ack_holding.min_hold_ms (low 20.0, high 60.0)" in said
    (said,) = (s for s in wl.compare(runs / "clean_link" / "1", tmp_path / "high").remarks if "thresholds" in s)
    assert "(1 default, high 60.0)" in said


def test_several_runs(runs: Path) -> None:
    compared = wl.compare(runs / "clean_link", runs / "ack_holding")
    difference = compared.goodput.difference("ack_holding")
    assert difference.sure
    assert difference.p_value == pytest.approx(2 / 70)
    assert compared.worse(0.05) == ["ack_holding"]
    json.dumps(compared.to_dict(), allow_nan=False)
    half = {name: [runs / "clean_link" / n for n in numbers] for name, numbers in (("a", "12"), ("b", "34"))}
    unsure = wl.compare(half).goodput.difference("b")
    assert unsure.sure is None


def test_runs_without_data_and_other_sides(runs: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    wl.analyze(CLEAN, out=empty, only=["packet_loss"], report=False)
    with pytest.raises(WlanlensError, match="no data transfer"):
        wl.compare({"none": empty, "clean": runs / "clean_link" / "1"}, port=1)
    with pytest.raises(WlanlensError, match="only one side"):
        wl.compare(empty)
    # The runs of the simulator use port 5001, as the sample does.
    assert wl.compare(empty, runs / "clean_link" / "1", port=5001).per_megabyte


@pytest.mark.parametrize(("a", "b"), [([1, 2, 3, 4], [5, 6, 7, 8.5]), ([1, 4, 6, 9, 2], [3, 5, 7, 8]), ([1, 2], [3])])
def test_the_rank_test_is_that_of_scipy(a: list[float], b: list[float]) -> None:
    assert rank_test(a, b) == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)


def test_the_level_holds_with_ties_and_many_measures() -> None:
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(400):
        values = rng.exponential(size=(6, 10))
        values[3:] = np.where(values[3:] < 1.0, 0.0, values[3:])
        alarms += min(rank_tests(values[:, :5].tolist(), values[:, 5:].tolist())) < 0.05
    assert alarms <= 0.05 * 400 + 3 * (400 * 0.05 * 0.95) ** 0.5
    assert rank_test([0, 0, 0], [0, 0, 0]) == 1.0
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_command(runs: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["compare", "--side", f"clean={runs}/clean_link/*", "--side", f"\x1b<b>={runs}/ack_holding", "-o", page]
    done = completed(tmp_path, *words, "--fail-on", "worse>5%")
    assert done.returncode == 1, done.stderr
    assert "more than chance" in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout
    text = page.read_text()
    assert "script-src &#39;none&#39;" in text
    assert "<b>=" not in text
    assert "&lt;b&gt;" in text
    assert completed(tmp_path, *words, "--fail-on", "worse>50%", "--quiet").returncode == 0
    (tmp_path / "mine.html").write_text("mine")
    assert completed(tmp_path, *words[:-1], tmp_path / "mine.html").returncode == 2
    assert completed(tmp_path, "compare", runs / "clean_link" / "1").returncode == 2
    assert completed(tmp_path, *words, "--fail-on", "worse").returncode == 2


def test_captures_are_analysed_to_a_temporary_folder(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    done = completed(tmp_path, "compare", CLEAN, MIXED, "--json", TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is analysed to a temporary folder") == 2
    assert json.loads(done.stdout)["goodput"]["differences"][0]["change"] < 0
    assert list((tmp_path / "tmp").iterdir()) == []
