"""Each scenario keeps its promises at default parameters: what it shows is found, what it resembles is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from wlanlens import registry
from wlanlens.simulation.ground_truth import codes
from wlanlens.simulation.scenario import ScenarioKind
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.validate import View, at_home, judged_at

#: Three draws of chance: a rule that holds for one seed only is no rule. `wlanlens validate` judges more.
SEEDS = (1, 2, 3)

KINDS = {unit.name: unit.kind for unit in registry.units("scenarios").values() if isinstance(unit, ScenarioKind)}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(name for name, kind in KINDS.items() if kind.shows or kind.resembles))
def test_promises(name: str, seed: int, tmp_path: Path) -> None:
    """Found at the tap where the detector is judged, at the time and of the flow of the truth; undecided is not found."""
    run = simulate(name, tmp_path, seed=seed)
    views = [(tap,) for tap in run.captures] + [tuple(run.captures)] * (len(run.captures) > 1)
    kind = KINDS[name]
    promised = (*kind.shows, *kind.resembles)
    at = {code: [taps for taps in views if at_home(code, taps)] for code in promised}
    judged: dict[tuple[str, ...], View] = {
        taps: judged_at(run, taps, tuple(code for code in promised if taps in at[code][:1]))
        for taps in {taps for views in at.values() for taps in views[:1]}
    }
    found = {code: judged[at[code][0]].right[code] for code in promised if at[code]}
    wrong = {code: judged[at[code][0]].wrong[code] for code in promised if at[code]}
    assert all(at[code] for code in kind.shows), "no tap where a shown code is judged"
    assert set(promised) <= codes(), "the truth decides what a scenario promises"
    assert [code for code in kind.shows if not found[code]] == []
    assert {code: wrong[code] for code in kind.resembles if wrong.get(code)} == {}
