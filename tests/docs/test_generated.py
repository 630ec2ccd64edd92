"""Pages of findings: remedy, measured scores and thresholds."""

from __future__ import annotations

from types import SimpleNamespace

from tests.docs import generated
from tests.docs.study_figures import FIGURES, Sweep, command, file_name
from wlanlens import registry
from wlanlens.reproduction.experiment import STUDIES


def _unit(name: str) -> registry.Tool:
    unit = registry.units("detectors")[name]
    assert isinstance(unit, registry.Tool)
    return unit


def test_a_remedy_is_shown_and_its_absence_is_said() -> None:
    given = SimpleNamespace(remedy=lambda finding=None: f"Change the driver. To verify: {finding}")
    assert generated._remedy(given) == ["Change the driver. To verify: None"]  # type: ignore[arg-type]
    assert "wlanlens compare" in " ".join(generated._remedy(SimpleNamespace()))  # type: ignore[arg-type]


def test_scores_are_those_of_the_validation_page() -> None:
    row = generated._measured()["ack_holding"]
    text = " ".join(generated._scores(_unit("ack_holding")))
    assert f"precision {row['precision']}, recall {row['recall']}" in text
    assert 0.9 < float(row["precision"]) <= 1.0


def test_a_detector_without_true_events_has_no_scores() -> None:
    assert generated._measured()["ack_loss"]["true"] == "0"
    assert "were not measured" in " ".join(generated._scores(_unit("ack_loss")))


def test_thresholds_in_a_section_become_a_list() -> None:
    body = "First.\n`min_ms`: because of\nthis.\n`max_ms`: so.\nAfter."
    assert generated._listed(body) == "First.\n\n* `min_ms`: because of\n  this.\n* `max_ms`: so.\n\nAfter."


def test_a_detector_without_a_case_has_a_page() -> None:
    assert generated._figure("no_such_detector") == []
    assert generated._figure("ack_holding")


def test_each_study_shows_figures_of_wlanlens() -> None:
    assert set(FIGURES) == set(STUDIES)
    shown = {one.plot for figures in FIGURES.values() for one in figures}
    assert {"time_sequence_points", "tcp_view", "retransmission_pairs", "rate_over_time", "burst_lengths", "snr_distribution",
            "rto_backoff", "throughput_sweep", "inter_loss", "usb_occupancy"} == shown <= set(registry.units("plots"))  # fmt: skip
    for study, figures in FIGURES.items():
        page = generated.study(study)
        for one in figures:
            assert f"]({file_name(study, one)})" in page
            assert one.says in page
            assert command(one.world) in page
            assert f"(../plots.md#{one.plot})" in page


def test_the_command_of_a_study_figure_makes_its_runs() -> None:
    sweep = Sweep("clean_link", {"duration_s": (0.1, 0.2)}, {}, 2)
    assert command(sweep) == "wlanlens simulate -s clean_link --sweep duration_s=0.1,0.2 --seeds 1..2 --tap none"


def test_each_plot_is_described() -> None:
    page = generated.plots()
    for name, unit in registry.units("plots").items():
        assert f"## {name}\n\n{unit.__doc__}" in page
