"""Who may import whom: imports run one way through the rooms. Read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.captures import ROOT

PACKAGE = ROOT / "wlanlens"

#: The way of the data. A room imports itself and the rooms before it.
ORDER = (
    "formatting",
    "errors",
    "tables",
    "operating_system",
    "threads",
    "registry",
    "parsers",
    "capture",
    "alignment",
    "correlation",
    "ledger",
    "airtime",
    "trace",
    "detection",
    "detectors",
    "plots",
    "report",
    "pipeline",
)

#: Rooms beside it, and what they may import: `wlanlens` is the public names.
BESIDE = {
    "simulation": {"wlanlens", "errors", "operating_system", "formatting", "registry", "detection"},
    "scenarios": {"registry", "simulation"},
    "validation": {"wlanlens", *ORDER, "simulation", "scenarios"},
    "models": {"registry", "reproduction"},
    "reproduction": {"wlanlens", "errors", "formatting", "registry", "report", "simulation"},
    "papers": {"wlanlens", *ORDER, "models", "reproduction", "simulation", "scenarios"},
    "cli": {"wlanlens", *ORDER, "simulation", "validation", "reproduction"},
}

#: Within these rooms what may be imported of other rooms is less than the order allows.
NARROW = {
    "simulation": {"detection": {"detection.finding"}},
    "detectors": {"pipeline": set(), "capture": {"capture.usb"}},
    "trace": {
        "capture": {"capture.capture"},
        "alignment": {"alignment.clock_map"},
        "correlation": set(),
        "ledger": set(),
        "airtime": set(),
    },
}

#: What may touch the compiled core.
CORE = {"tables", "parsers", "capture", "alignment", "simulation", "pipeline", "airtime"}

#: Foreign packages that only some modules import.
ONLY = {
    "scapy": {"cli.show"},  # GPL-2.0-only
    "dpkt": {"cli.evidence"},
    "plotly": {"plots", "report", "papers", "reproduction"},
}
#: What only some runs need, imported when it is used: several captures, and the report; and what is imported while a capture is read.
LAZY = {
    "pipeline.analyze": {
        *("detection.runner", "ledger.ledger", "plots"),
        *(
            "pipeline.aligned_captures",
            "pipeline.output_dir",
            "pipeline.result_dir",
            "pipeline.run",
            "pipeline.sources",
        ),
    },
    "pipeline.run": {"pipeline.report_file"},
}
HEAVY = ("pyarrow", "pandas", "numpy", "plotly", "scapy", "duckdb", "rich", "jinja2", "dpkt", "scipy")


class Import(NamedTuple):
    """One import statement's module; `wlanlens.` is cut off. `typing`: under TYPE_CHECKING; `inner`: inside a function."""

    name: str
    typing: bool
    inner: bool


def modules() -> dict[str, Path]:
    """Every module of wlanlens (without that prefix) and cli, by dotted name."""
    out = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "wlanlens"] = path
    for path in sorted((ROOT / "cli").glob("*.py")):
        out["cli" if path.stem == "__init__" else f"cli.{path.stem}"] = path
    return out


MODULES = modules()


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """What a file imports: own modules without `wlanlens.`, foreign packages by their first name."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    functions = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                inner = full.removeprefix("wlanlens.")
                names.append(full if inner in MODULES or inner == "_core" else node.module)
        for name in names:
            own = name.removeprefix("wlanlens.") if name.startswith("wlanlens") else name.split(".")[0]
            own = own.replace("wlanlens_cli", "cli") if name.startswith("wlanlens_cli") else own
            yield Import(own, id(node) in typing, id(node) in functions)


def room(module: str) -> str:
    """The room of a module: a module at the root is its own."""
    return module.split(".")[0]


def allowed(module: str) -> set[str]:
    """The rooms that a module may import of wlanlens, besides its own."""
    here = room(module)
    if here in BESIDE:
        return BESIDE[here]
    if here in ORDER:
        return set(ORDER[: ORDER.index(here)])
    return set(ORDER) | set(BESIDE)  # wlanlens/__init__.py names everything public


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_one_way(module: str) -> None:
    rooms = set(ORDER) | set(BESIDE) | {"wlanlens"}
    wrong = []
    for found in imports(MODULES[module]):
        there = room(found.name)
        if there in rooms and there != room(module) and there not in allowed(module):
            wrong.append(found.name)
        narrow = NARROW.get(room(module), {})
        if there in narrow and not any(found.name.startswith(name) for name in narrow[there]):
            wrong.append(found.name)
        if there == "_core" and room(module) not in CORE:
            wrong.append("_core")
        if there in ONLY and not any(module == name or module.startswith(f"{name}.") for name in ONLY[there]):
            wrong.append(there)
    assert not wrong, f"{module} must not import {', '.join(sorted(set(wrong)))}"


def test_every_room_is_in_the_order() -> None:
    said = set(ORDER) | set(BESIDE) | {"wlanlens"}
    assert {room(module) for module in MODULES} == said


def test_no_module_imports_itself_by_way_of_others() -> None:
    reached: dict[str, set[str]] = {
        module: {i.name for i in imports(path) if not i.typing and i.name in MODULES and i.name != module}
        for module, path in MODULES.items()
        if module != "wlanlens"
    }
    circles = [module for module in reached if module in _closure(module, reached)]
    assert not circles


def _closure(start: str, reached: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(reached[start])
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += reached.get(here, ())
    return seen


@pytest.mark.parametrize("module", MODULES)
def test_own_modules_are_imported_at_the_top(module: str) -> None:
    lazy = {"wlanlens", *(name for name in MODULES if name.startswith("cli"))}
    if module in lazy:
        pytest.skip("what --help does not need is imported when it is used")
    inner = {i.name for i in imports(MODULES[module]) if i.inner and i.name in MODULES}
    assert inner == LAZY.get(module, set())


def test_the_root_holds_the_nouns() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 8


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_small(module: str) -> None:
    lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    assert lines <= 400


def test_detectors_are_short() -> None:
    sizes = [path.stat().st_size for path in (PACKAGE / "detectors").glob("[a-z]*.py")]
    mean = sum(sizes) / len(sizes)
    assert mean < 9 * 1024


@pytest.mark.parametrize("statement", ["import wlanlens", "from wlanlens_cli.main import cli"])
def test_nothing_heavy_is_imported_early(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", [name for name in MODULES if room(name) == "plots"])
def test_plotly_is_imported_inside_functions(module: str) -> None:
    assert not any(i.name == "plotly" and not (i.inner or i.typing) for i in imports(MODULES[module]))


def test_every_room_is_in_the_package() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    there = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in PACKAGE.rglob("__init__.py")}
    assert set(said) == there | {"wlanlens_cli"}
