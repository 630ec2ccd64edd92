"""Published experiments: their exact rows, a small part of the others, and what `wlanlens reproduce` prints."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wlanlens_cli import main

from wlanlens.errors import NoSuchUnit
from wlanlens.papers.usb_sequence_plots import _views
from wlanlens.registry import units
from wlanlens.reproduction import runner
from wlanlens.reproduction.experiment import STUDIES, Experiment, Lab, Result, Row

SHELF = runner.select()

#: Experiments that are also run in the tests, with few seeds and shortly: each takes a second or two.
QUICK = (
    "dcf_ack_timer",
    "dcf_delayed_acks",
    "dcf_saturation",
    "dcf_short_transfers",
    "idle_rto_simulated",
    "usb_clean_link",
    "usb_host_modes",
)


class NeedsSimulation(Exception):
    """Raised by a lab that has nothing to measure with."""


class DryLab(Lab):
    """A lab without a simulator: what needs none still runs."""

    def measure_all(self, *_args: Any, **_more: Any) -> list[list[Any]]:
        raise NeedsSimulation


class QuickLab(Lab):
    """Two seeds, ten simulated seconds, no other process."""

    def __init__(self) -> None:
        super().__init__(workers=1)

    def measure_all(self, measure: Any, cases: Iterable[Any], *, seeds: int = 5, taps: Sequence[str] = ()) -> Any:
        short = [
            (
                name,
                {**p, **{key: min(p[key], most) for key, most in (("duration_s", 10.0), ("files", 200)) if key in p}},
            )
            for name, p in cases
        ]
        return super().measure_all(measure, short, seeds=min(seeds, 2), taps=taps)


def test_every_exact_row_that_needs_no_simulation_holds() -> None:
    dry = 0
    for one in SHELF:
        try:
            result = one(DryLab())
        except NeedsSimulation:
            continue
        dry += 1
        wrong = [
            (row.what, row.measured, row.band) for row in result.rows if row.kind == "E" and row.verdict != "holds"
        ]
        assert not wrong, one.name
    assert dry >= 1


@pytest.mark.parametrize("name", QUICK)
def test_a_short_run_of_it_holds(name: str) -> None:
    (one,) = runner.select(name)
    assert [(row.what, row.measured, row.band) for row in one(QuickLab()).rows if row.verdict == "fails"] == []


def test_every_experiment_names_its_study_and_where_in_it() -> None:
    for one in SHELF:
        assert one.study in STUDIES
        assert one.source, one.name
    assert [e.name for e in SHELF] == [e.name for study in STUDIES for e in SHELF if e.study == study]
    for study in STUDIES:
        assert {e.study for e in runner.select(study)} <= {study}
    assert [e.name for e in runner.select("dcf_saturation")] == ["dcf_saturation"]


def test_an_unknown_study_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NoSuchUnit, match="did you mean 'dcf_tcp'"):
        runner.select("dfc_tcp")
    assert main.run(["reproduce", "seawindd"]) == main.USAGE
    assert "seawind" in capsys.readouterr().err


def test_the_model_has_all_its_equations() -> None:
    told = " ".join(v.what for v in runner.equations(units("models")["dcf_tcp"]))  # type: ignore[arg-type]
    numbers = {int(word.strip(",:s)")) for word in told.replace("(", " ").split() if word.strip(",:s)").isdigit()}
    assert set(range(1, 24)) <= numbers


def _seed(run: Any) -> int:
    return int(run.seed)


def test_more_seeds_are_run_except_of_deterministic_worlds() -> None:
    lab = Lab(least_seeds=3, workers=1)
    short = {"duration_s": 0.1}
    assert lab.measure("clean_link", _seed, seeds=2, **short) == [1, 2, 3]
    assert lab.measure("clean_link", _seed, seeds=1, **short) == [1]


def test_a_run_without_a_hold_gives_no_view() -> None:
    measured = Lab(workers=1).measure("ack_holding_over_usb", _views, seeds=13, duration_s=6.0)
    assert [n for n, view in enumerate(measured, 1) if view is None] == [13]


# ---- a shelf of our own


def _one(name: str, *rows: Row, study: str = "seawind", fails: BaseException | None = None) -> Experiment:
    def function(lab: Lab) -> Result:  # noqa: ARG001
        if fails is not None:
            raise fails
        return Result(rows)

    function.__doc__ = f"What {name} shows."
    return Experiment(name, function, study, "table 1")


GOOD = Row("speed, Mb/s", "5.16", "Q", 5.1, (5.0, 5.3), because="the air")
BAD = Row("speed of the other, Mb/s", "5.22", "Q", 4.0, (5.0, 5.3), because="the air, too")
SHOWN = Row("idle time, s", "57", "N", 12.0, because="one draw from a tail")


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)

    def put(*experiments: Experiment) -> None:
        kept = units("models")
        monkeypatch.setattr(
            runner, "units", lambda name: {e.name: e for e in experiments} if name == "papers" else kept
        )

    return put


def test_rows_that_hold_end_well(shelf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shelf(_one("first", GOOD, SHOWN))
    assert main.run(["reproduce", "-o", "page.html"]) == 0
    told = capsys.readouterr().out
    assert "1 of 1 asserted computed rows hold; 1 is shown and not asserted." in told
    assert "holds" in told
    assert "FAILS" not in told
    assert Path("page.html").stat().st_size > 1000
    assert not list(Path().glob("*.partial"))


def test_a_row_that_fails_is_shown_as_failing(shelf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shelf(_one("first", GOOD, BAD))
    assert main.run(["reproduce", "-o", "page.html"]) == main.MATCHED
    told = capsys.readouterr().out
    assert "1 of 2 asserted computed rows hold, 1 fails." in told
    assert told.count("FAILS") == 1
    page = Path("page.html").read_text()
    assert page.count('<tr class="fails">') == 1
    assert page.count('<tr class="holds">') == 1
    assert main.run(["reproduce", "--json"]) == main.MATCHED
    said = json.loads(capsys.readouterr().out)
    assert said["counts"]["fails"] == 1
    assert [row["verdict"] for row in said["experiments"][0]["rows"]] == ["holds", "fails"]


def test_an_experiment_that_breaks_fails_and_costs_the_others_nothing(
    shelf: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf(_one("a_broken", fails=ZeroDivisionError("no runs")), _one("b_whole", GOOD))
    assert main.run(["reproduce"]) == main.MATCHED
    told = capsys.readouterr().out
    assert "could not be run: ZeroDivisionError: no runs" in told
    assert "1 of 1 asserted computed rows hold; 1 of 2 experiments could not be run." in told
    assert "no runs" in Path("reproduce.html").read_text()


def test_an_interrupt_keeps_what_is_done(shelf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shelf(_one("a_done", GOOD), _one("b_stopped", fails=main.Stopped(2)), _one("c_never", GOOD))
    assert main.run(["reproduce", "-o", "page.html"]) == 130
    told = capsys.readouterr().out
    assert "a_done" in told
    assert "2 were not run: b_stopped, c_never." in told
    page = Path("page.html").read_text()
    assert "5.16" in page
    assert "Not run: b_stopped, c_never." in page


def test_an_interrupt_before_anything_is_done_writes_nothing(shelf: Any) -> None:
    shelf(_one("a_stopped", fails=main.Stopped(15)))
    assert main.run(["reproduce", "-o", "page.html"]) == 143
    assert not Path("page.html").exists()


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["reproduce", "dcf_tcp", "--list"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("dcf_tcp: ")
    assert "dcf_printed_numbers" in told
    assert main.run(["list", "papers"]) == 0
    assert main.run(["list", "models"]) == 0
    assert "dcf_tcp " in capsys.readouterr().out


def test_a_page_that_cannot_be_written_is_said_before_anything_runs(shelf: Any) -> None:
    shelf(_one("a", fails=main.Stopped(2)))
    assert main.run(["reproduce", "-o", "nowhere/page.html"]) == main.USAGE


def test_a_place_that_cannot_be_written_is_said_before_anything_runs(shelf: Any) -> None:
    shelf(_one("a", fails=main.Stopped(2)))
    Path("page.html.partial").mkdir()
    assert main.run(["reproduce", "-o", "page.html"]) == main.UNREADABLE


def test_a_full_disk_costs_the_page_and_not_the_text(
    shelf: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf(_one("a", GOOD))

    def full(*_args: Any, **_more: Any) -> None:
        raise OSError(28, "No space left on device", "page.html")

    monkeypatch.setattr("wlanlens.report.experiments.write", full)
    assert main.run(["reproduce", "-o", "page.html"]) == main.UNREADABLE
    told = capsys.readouterr()
    assert "1 of 1 asserted computed rows hold." in told.out
    assert "Page" not in told.out
    assert "No space left on device" in told.err
    assert list(Path().iterdir()) == []


def test_a_band_is_shown_with_as_many_digits_as_distinguish_its_ends() -> None:
    def shown(low: float, high: float) -> str:
        return runner.band(Row("", "", "E", low, (low, high)))

    assert shown(5.0, 5.3) == "5 to 5.3"
    assert shown(0.00181665, 0.00181675) == "0.00181665 to 0.00181675"
    assert shown(512 - 1e-9, 512 + 1e-9) == "exactly 512"
    assert shown(24, 24) == "exactly 24"
    assert shown(0.0, 0.4) == "0 to 0.4"


def test_what_is_no_number_fails_and_is_null_in_json(shelf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shelf(_one("a", Row("speed", "5.16", "Q", float("nan"), (5.0, 5.3))))
    assert main.run(["reproduce", "--json"]) == main.MATCHED
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said["experiments"][0]["rows"][0]["measured"] is None


def test_numpys_values_become_plain_ones(shelf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shelf(_one("a", Row("order", "", "S", np.float32(2), holds=np.bool_(True))))
    assert main.run(["reproduce", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["experiments"][0]["rows"][0]["measured"] == 2


def test_seeds_and_jobs_reach_the_lab(shelf: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def function(lab: Lab) -> Result:
        return Result((Row("seeds and jobs", "", "N", f"{lab.least_seeds} and {lab.workers}"),))

    shelf(Experiment("a", function, "seawind", "table 1"))
    assert main.run(["reproduce", "--seeds", "7", "--jobs", "3"]) == 0
    assert "7 and 3" in capsys.readouterr().out


def test_text_of_a_row_is_no_markup(shelf: Any) -> None:
    bait = "</script><script>alert(1)</script><img src=x>\x1b[31m"
    shelf(_one("a", Row(bait, bait, "N", bait, because=bait)))
    assert main.run(["reproduce", "-o", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert "<img" not in page
    assert "alert(1)</script>" not in page
    assert html.escape("<img src=x>") in page
    assert "\x1b" not in page
