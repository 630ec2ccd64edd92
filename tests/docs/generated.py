"""Pages of the site made from code: a page a finding, a page a study, the commands. tests/pages.py writes them."""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

import click

from tests.captures import ROOT
from tests.docs.cases import CASES
from tests.docs.study_figures import FIGURES, command, file_name
from wlanlens import registry
from wlanlens.reproduction.experiment import STUDIES

_MADE = "<!-- Made by `make docs`; a test fails when it is stale. -->"


def _title(name: str) -> str:
    return (
        name.replace("_", " ")
        .capitalize()
        .replace("Usb", "USB")
        .replace("Ack", "ACK")
        .replace(" ack", " ACK")
        .replace("Ap ", "AP ")
    )


@cache
def _measured() -> dict[str, dict[str, str]]:
    """The first table of docs/validation.md: detector -> column -> text."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / "docs" / "validation.md").read_text(encoding="utf-8").split("\n## ")[0].split("\n")
        if line.startswith("|")
    ]
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}


def finding(unit: registry.Tool) -> str:
    """docs/findings/NAME.md."""
    lines = (unit.__doc__ or "").splitlines()
    sections: dict[str, list[str]] = {"": []}
    at = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) <= {"-"}:
            at = line
            sections[at] = []
        elif not (line and set(line) <= {"-"}):
            sections[at].append(line)
    text = {name: "\n".join(body).strip() for name, body in sections.items()}
    out = [_MADE, "", f"# {_title(unit.name)}", "", f"Code: `{unit.name}`. {text.pop('')}"]
    for name in ("What it finds", "Why it happens"):
        out += ["", f"## {name}", "", text.pop(name)]
    out += _figure(unit.name)
    out += ["", "## What to do", "", *_remedy(unit)]
    out += ["", "## How well it works", "", *_scores(unit)]
    for name, body in text.items():
        out += ["", f"## {name}", "", _listed(body)]
    thresholds = [f"| `{key}` | {value!r} |" for key, value in unit.thresholds.items()]
    out += ["", "## Tables and thresholds", "", "Needs " + ", ".join(f"`{t}`" for t in unit.needs) + "."]
    if thresholds:
        out += ["", "| threshold | default |", "|---|---|", *thresholds]
    return "\n".join(out) + "\n"


def _figure(code: str) -> list[str]:
    """The case and its look-alike; nothing for a detector that has none yet."""
    if code not in CASES:
        return []
    case = CASES[code]
    seconds = {case.shown: case.shown.duration_s, case.alike: case.alike.duration_s}
    return [
        "", "## The case and its look-alike", "",
        f"![{code} above, its look-alike below]({code}.png)", "",
        f"Above: the simulated world [{case.shown.scenario}](../scenarios.md#{case.shown.scenario}), {seconds[case.shown]:g} s, "
        f"seed {case.shown.seed}. The shaded time is the finding.",
        f"Below: [{case.alike.scenario}](../scenarios.md#{case.alike.scenario}), {seconds[case.alike]:g} s, seed {case.alike.seed}. "
        f"It looks alike, and this detector finds nothing there: {case.instead}",
    ]  # fmt: skip


def _listed(body: str) -> str:
    """A section in which lines that begin with a threshold's name are a list."""
    out: list[str] = []
    inside = False
    for line in body.split("\n"):
        if re.match(r"`\w+`: ", line):
            out += [] if inside else [""]
            out.append(f"* {line}")
            inside = True
        elif inside and not out[-1].endswith("."):
            out.append(f"  {line}")
        else:
            out += ["", line] if inside else [line]
            inside = False
    return "\n".join(out)


def _remedy(unit: registry.Tool) -> list[str]:
    given = getattr(unit, "remedy", None)
    if given is None:
        return ["No general remedy is written for this finding. *Why it happens* names the part to look at; take a second",
                "capture after each change, and compare both with `wlanlens compare`."]  # fmt: skip
    return [str(given() if callable(given) else given)]


def _scores(unit: registry.Tool) -> list[str]:
    row = _measured().get(unit.name)
    if row is None or row["true"] == "0":
        return [
            "The simulated worlds of [validation](../validation.md) have no event of this kind that one capture alone could show:",
            "precision and recall were not measured there.",
        ]
    return [
        f"In {row['runs']} simulated runs with {row['true']} true events, judged at the capture point "
        f"*{row['judged at']}*: precision {row['precision']}, recall {row['recall']}, cost off by {row['cost off']}.",
        "[Validation](../validation.md) says how this is counted, and which scenarios it must find or leave alone.",
    ]


def findings_index(units: dict[str, registry.Unit]) -> str:
    """docs/findings/index.md."""
    out = [
        _MADE,
        "",
        "# Findings",
        "",
        "What wlanlens can find, with a figure of the case and of what looks like it.",
        "",
    ]
    out += ["| finding | what it is |", "|---|---|"]
    out += [f"| [{name}]({name}.md) | {unit.summary} |" for name, unit in units.items()]
    out += ["", "```{toctree}", ":hidden:", "", *units, "```"]
    return "\n".join(out) + "\n"


def study(name: str) -> str:
    """docs/studies/NAME.md: the experiments of one study."""
    out = [_MADE, "", f"# {STUDIES[name]}", ""]
    out += [
        f"`wlanlens reproduce {name}` runs these experiments again and compares each number with the published one.",
        "",
    ]
    out += study_pictures(name)
    for code, unit in registry.units("papers").items():
        if getattr(unit, "study", None) == name:
            source: Any = getattr(unit, "source", "")
            out += [
                f"## {code}",
                "",
                unit.__doc__ or "",
                "",
                f"In the study: {source}. Run it alone: `wlanlens reproduce {code}`.",
                "",
            ]
    return "\n".join(out).rstrip() + "\n"


def study_pictures(name: str) -> list[str]:
    """The study's figures as wlanlens draws them, each with the commands that make it."""
    out = ["## Figures", ""]
    for one in FIGURES[name]:
        at = f"plots.md#{one.plot}"
        out += [
            f"![{one.plot} of {one.world.scenario}]({file_name(name, one)})", "",
            f"As {one.of}: {one.says} Plot [{one.plot}](../{at}) of `{command(one.world)}`.", "",
        ]  # fmt: skip
    return out


def plots() -> str:
    """docs/plots.md: every plot on the shelf."""
    out = [
        _MADE, "", "# Plots", "",
        "Each plot is a function `wl.plots.NAME(trace)` that returns a plotly Figure, and `analysis.figure(NAME)` with the findings",
        "marked in it; `wlanlens list plots` lists them. A plot that has nothing to draw raises `NothingToDraw`, a `MissingTable`,",
        "which says what the capture lacks and what to do. [Studies](studies/index.md) shows most of them.", "",
    ]  # fmt: skip
    for name, unit in registry.units("plots").items():
        assert isinstance(unit, registry.Tool)
        options = ", ".join(f"`{key}={value!r}`" for key, value in unit.thresholds.items())
        needs = ", ".join(f"`{table}`" for table in unit.needs)
        out += [f"## {name}", "", unit.__doc__ or "", "", f"Needs {needs}. Options: {options}.", ""]
    return "\n".join(out).rstrip() + "\n"


def studies_index() -> str:
    """docs/studies/index.md."""
    out = [
        _MADE,
        "",
        "# Studies",
        "",
        "Published measurements that wlanlens repeats in its simulator. Their references are in the",
        "[citation file](../../CITATION.cff).",
        "",
    ]
    out += ["| study | experiments |", "|---|---|"]
    for name, title in STUDIES.items():
        count = sum(getattr(unit, "study", None) == name for unit in registry.units("papers").values())
        out.append(f"| [{title}]({name}.md) | {count} |")
    out += ["", "```{toctree}", ":hidden:", "", *STUDIES, "```"]
    return "\n".join(out) + "\n"


def commands() -> str:
    """docs/commands.md: the help of every command."""
    main = importlib.import_module("wlanlens_cli.main")
    out = [_MADE, "", "# Commands", "", "What `wlanlens COMMAND --help` prints.", ""]
    names = list(main.cli.list_commands(click.Context(main.cli)))
    for name in names:
        command = main.cli.get_command(click.Context(main.cli), name)
        context = click.Context(command, info_name=f"wlanlens {name}", terminal_width=100, max_content_width=100)
        text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.M)
        out += [f"## {name}", "", "```text", text, "```", ""]
    return "\n".join(out).rstrip() + "\n"


def python() -> str:
    """docs/python.md: the public names, read by Sphinx from their docstrings."""
    import wlanlens as wl

    out = [
        _MADE,
        "",
        "# Python",
        "",
        "`import wlanlens as wl` has these names. They follow semantic versioning ([what is public](install.md#versions)).",
        "",
    ]
    for name in sorted(wl.__all__, key=str.lower):
        unit = getattr(wl, name)
        if not callable(unit):
            continue
        kind = "autoclass" if isinstance(unit, type) else "autofunction"
        members = "\n:members:" if kind == "autoclass" else ""
        out += [
            f"## wl.{name}",
            "",
            "```{eval-rst}",
            f".. {kind}:: {unit.__module__}.{unit.__qualname__}{members.replace(chr(10), chr(10) + '   ')}",
            "```",
            "",
        ]
    return "\n".join(out).rstrip() + "\n"


def pages() -> dict[str, str]:
    """Path under docs/ -> text."""
    units = registry.units("detectors")
    made = {"findings/index.md": findings_index(units), "studies/index.md": studies_index()}
    made |= {"commands.md": commands(), "python.md": python(), "plots.md": plots()}
    for name, unit in units.items():
        assert isinstance(unit, registry.Tool)
        made[f"findings/{name}.md"] = finding(unit)
    return made | {f"studies/{name}.md": study(name) for name in STUDIES}
