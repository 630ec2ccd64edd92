"""The generated pages: docs/tables.md, detectors.md, scenarios.md and json-schema.json. `make docs` writes them, a test says when they are stale."""

from __future__ import annotations

from tests import json_schemas
from tests.captures import ROOT
from tests.docs import blocks, generated
from wlanlens import registry
from wlanlens.detection.remedy import Remedy
from wlanlens.tables import reference_page


def detectors() -> str:
    """docs/detectors.md: the documentation of every detector on the shelf."""
    out = ["# Detectors", "", "Made by `make docs` from the docstrings; a test fails when it is stale."]
    for name, unit in registry.units("detectors").items():
        assert isinstance(unit, registry.Tool)
        out += ["", f"## {name}", ""]
        lines = (unit.__doc__ or "").splitlines()
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            if line and set(line) <= {"-"}:
                continue
            out.append(f"### {line}" if below and set(below) <= {"-"} else line)
        out += ["", "### What to do", *_remedy(unit)]
        needs = ", ".join(f"`{table}`" for table in unit.needs)
        thresholds = ", ".join(f"`{key}={value!r}`" for key, value in unit.thresholds.items())
        out += ["", f"Needs {needs}. " + (f"Thresholds: {thresholds}." if thresholds else "No thresholds.")]
    return "\n".join(out) + "\n"


def _remedy(unit: registry.Tool) -> list[str]:
    """The remedy by place, how to verify it, and whether `saved_s` is defined."""
    assert isinstance(unit.remedy, Remedy)
    out = [unit.remedy.change]
    if unit.remedy.changes:
        out += ["", f"By `{unit.remedy.by_value}`:", ""]
        out += [f"* {value}: {change}" for value, change in unit.remedy.changes.items()]
    out += ["", f"To verify: {unit.remedy.check}"]
    return [*out, "", "`saved_s` is estimated." if unit.saving else "`saved_s` is not defined."]


def scenarios() -> str:
    """docs/scenarios.md: every scenario on the shelf with its parameters."""
    from wlanlens.simulation.scenario import ScenarioKind

    out = ["# Scenarios", "", "Made by `make docs` from the docstrings; a test fails when it is stale."]
    for name, unit in registry.units("scenarios").items():
        assert isinstance(unit, ScenarioKind)
        out += ["", f"## {name}", "", unit.__doc__ or "", "", "| parameter | default | |", "|---|---|---|"]
        out += [f"| `{key}` | `{f.default!r}` | {f.metadata['doc']} |" for key, f in unit.parameters.items()]
    return "\n".join(out) + "\n"


def pages() -> dict[str, str]:
    """Path under docs/ -> text."""
    return {
        "tables.md": reference_page.markdown(),
        "detectors.md": detectors(),
        "scenarios.md": scenarios(),
        "json-schema.json": json_schemas.document(),
    }


def every_page() -> dict[str, str]:
    """The same, with the pages of tests/docs/generated.py and the list of commands that no test runs."""
    return pages() | generated.pages() | {"not_run.md": blocks.not_run_page()}


def main() -> None:
    """Write the pages."""
    for name, text in every_page().items():
        path = ROOT / "docs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
