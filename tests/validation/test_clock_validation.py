"""A small part of `wlanlens validate --clocks`: wrong clocks in every capture of a run, against the truth."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner
from wlanlens_cli.main import cli

from wlanlens.validation import clock_page, clock_validation
from wlanlens.validation.clock_validation import Trial, TrialScore

#: Fast trials of all kinds: both directions, few packets, a slow line, a bus with 1 ms frames, a step of 1 ms, losses.
TRIALS = (
    Trial("slow_line", 1, 65.0),
    Trial("keep_alives", 1, 65.0),
    Trial("delayed_ack_stall", 1, 65.0),
    Trial("idle_usb_sender", 2, 65.0),
    Trial("small_window_loss", 1, 65.0),
    Trial("nagle_stall", 2, 65.0),
)


@pytest.fixture(scope="module")
def scores() -> list[TrialScore]:
    return [clock_validation.tried(trial) for trial in TRIALS]


def test_every_offset_is_inside_its_bound(scores: list[TrialScore]) -> None:
    assert not clock_page.faults(scores)
    assert not clock_page.outside(scores)
    clocks = [c for score in scores for c in score.clocks]
    assert len(clocks) >= 10
    assert any(c.step_ns for c in clocks)
    assert {max(c.ticks_ns) for c in clocks} == {1_000, 1_000_000}
    for c in clocks:
        assert c.bounds_ns
        assert c.two_way_ns is not None
        assert c.drift_bound_ppm is not None
        assert c.drift_error_ppm <= c.drift_bound_ppm
    assert np.median([c.bound_ratio for c in clocks]) <= 1


def test_a_third_capture_gives_the_drift_of_two_coarse_clocks() -> None:
    """Two clocks with 1 ms ticks and 600 packets each way give it to 2.5 ppm; the sniffer with 1 us ticks improves it."""
    (score,) = (c for c in clock_validation.tried(Trial("delayed_ack_stall", 11)).clocks if c.capture == "receiver")
    assert score.ticks_ns == (1_000_000, 1_000_000)
    assert score.drift_error_ppm <= 1
    assert score.drift_stated_ppm is not None
    assert score.drift_error_ppm <= 2 * score.drift_stated_ppm
    assert score.drift_bound_ppm is not None
    assert score.drift_error_ppm <= score.drift_bound_ppm


def test_every_packet_in_two_captures_is_linked(scores: list[TrialScore]) -> None:
    shared, linked, wrong = clock_page.links(scores)
    assert shared > 10_000
    assert (linked, wrong) == (shared, 0)


def test_faults_are_reported(scores: list[TrialScore]) -> None:
    """A clock outside its bound, a wrong link, and a refusal are faults."""
    good = next(s for s in scores if s.clocks)
    off = tuple(dataclasses.replace(c, errors_ns=(10**9,) * len(c.bounds_ns)) for c in good.clocks)
    off = tuple(dataclasses.replace(c, drift_error_ppm=9.0, drift_stated_ppm=0.01) for c in off)
    bad = [dataclasses.replace(good, clocks=off, wrong=1), dataclasses.replace(good, clocks=(), refused="no packet")]
    said = "\n".join([*clock_page.faults(bad), *clock_page.outside(bad)])
    for word in (
        "0.0000 of those resolved to 1 ppm",
        "no packet",
        "0.0000 inside",
        "1 join different packets",
        "1000000000 ns off",
    ):
        assert word in said
    page = clock_page.markdown(bad)
    assert all(line in page for line in clock_page.faults(bad))


def test_unresolved_drifts_are_counted_apart(scores: list[TrialScore]) -> None:
    clocks = [c for score in scores for c in score.clocks if c.span_s >= clock_validation.JUDGED_S]
    made = [dataclasses.replace(c, step_ns=0, drift_error_ppm=9.0, drift_stated_ppm=None) for c in clocks]
    made[0] = dataclasses.replace(made[0], drift_error_ppm=0.5, drift_stated_ppm=0.5)
    made[1] = dataclasses.replace(made[1], drift_error_ppm=9.0, drift_stated_ppm=5.0)
    total = clock_page.summaries([dataclasses.replace(scores[0], clocks=tuple(made))])[-1]
    assert len(total.drift_errors_ppm) == len(made)
    assert total.drift_resolved_ppm == (0.5,)
    # A drift without an error is not stated.
    assert total.drift_stated == 2


def test_clocks_are_drawn_from_the_documented_ranges() -> None:
    drawn = [clock_validation.clocks_of(Trial("ack_holding", seed)) for seed in range(60)]
    clocks = [c for made in drawn for c in made.values()]
    offsets = np.array([c.offset_ns for c in clocks])
    assert offsets.min() < -0.9 * clock_validation.HOUR_NS
    assert offsets.max() > 0.9 * clock_validation.HOUR_NS
    assert max(abs(c.drift_ppm) for c in clocks) <= 200
    assert {c.tick_ns for c in clocks} == {1_000, 1_000_000}
    assert {sum(c.step_ns != 0 for c in made.values()) for made in drawn} == {0, 1}
    assert drawn[7] == clock_validation.clocks_of(Trial("ack_holding", 7))


def test_the_command() -> None:
    done = CliRunner().invoke(cli, ["validate", "--clocks", "-s", "slow_line", "--seeds", "1", "-j", "1", "--json"])
    assert done.exit_code == 0, done.output
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["scenario"], run["wrong"], run["refused"]) == ("slow_line", 0, "")
