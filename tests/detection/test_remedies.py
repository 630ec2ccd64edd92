"""Every detector says what to do, and how it estimates what that saves."""

from __future__ import annotations

import pytest

from tests.captures import sample
from wlanlens import registry
from wlanlens.detection.finding import Finding, from_table, to_table
from wlanlens.detection.remedy import Remedy, with_remedies
from wlanlens.detection.runner import detect
from wlanlens.detection.savings import SAVINGS, estimates
from wlanlens.detection.windows import join_windows

DETECTORS = registry.units("detectors")


@pytest.mark.parametrize("code", DETECTORS)
def test_a_detector_has_a_remedy_with_a_place_and_a_check(code: str) -> None:
    unit = DETECTORS[code]
    assert isinstance(unit, registry.Tool)
    assert isinstance(unit.remedy, Remedy)
    changes = [unit.remedy.change, *unit.remedy.changes.values()]
    for change in changes:
        # "Sender: ...", "Access point: ...", "Host's USB: ...": what to change begins with where.
        assert change.split(":")[0] != change, change
        assert change.endswith("."), change
    assert " To verify: capture " in unit.remedy()
    assert unit.remedy().endswith(".")
    assert not unit.saving or unit.saving in SAVINGS


def held(**values: str) -> Finding:
    return Finding("ack_holding", 0, 1, "c", "a > b", "info", 0.9, 0.1, values=dict(values))


def test_the_place_decides_what_to_change() -> None:
    driver, adapter, other = with_remedies([held(kept_by="driver"), held(kept_by="adapter"), held()])
    assert driver.remedy.startswith("Sender's driver:")
    assert adapter.remedy.startswith("Sender's adapter:")
    assert other.remedy != driver.remedy


def test_the_three_fields_survive_arrow() -> None:
    made = Finding("x", 0, 1, "c", "s", "info", 0.9, 0.1, remedy="R.", saved_s=0.5, saved_assumption="A.")
    none = Finding("y", 0, 1, "c", "s", "info", 0.9, 0.1)
    assert from_table(to_table([made, none])) == [made, none]


def test_halves_of_a_finding_save_together() -> None:
    a = Finding("x", 0, 10, "c", "s", "info", 0.9, 0.1, saved_s=0.5)
    b = Finding("x", 10, 20, "c", "s", "info", 0.9, 0.1, saved_s=0.25)
    assert join_windows([a], [b])[0].saved_s == 0.75


def test_a_negative_saving_is_refused() -> None:
    with pytest.raises(ValueError, match="saved_s"):
        Finding("x", 0, 1, "c", "s", "info", 0.9, 0.1, saved_s=-1.0)


def test_a_finding_without_cost_saves_nothing_and_one_with_cost_says_what() -> None:
    """Three duplicate ACKs that a sender rightly ignored; timeouts because of losses."""
    found = detect(sample("mixed_newreno.sender"))
    assert all(f.remedy for f in found)
    assert [f.saved_s for f in found if f.cost_s == 0] == [None] * sum(f.cost_s == 0 for f in found)
    losses = next(f for f in found if f.code == "packet_loss")
    assert losses.saved_s is not None
    assert 0 < losses.saved_s < losses.duration_s
    assert losses.saved_assumption.endswith(".")


def test_a_failing_estimate_keeps_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no rate")

    monkeypatch.setattr(estimates, "_METHODS", dict.fromkeys(SAVINGS, broken))
    found = detect(sample("usb_ack_holding"), only=["ack_holding"])
    assert [f.saved_s for f in found] == [None]
    assert [(state.state, state.reason) for state in found.states] == [("failed", "ValueError: no rate")]
