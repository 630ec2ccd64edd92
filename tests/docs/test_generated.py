"""Pages of findings: remedy, measured scores and thresholds."""

from __future__ import annotations

from types import SimpleNamespace

from tests.docs import generated
from wlanlens import registry


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
