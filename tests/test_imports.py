"""Who may import whom (DESIGN.md 1), read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import ROOT

#: May touch the compiled core.
CORE = {"capture", "tables", "clock", "trace", "scenario", "pairs", "parsers", "feed", "analysis", "keys"}

#: Rooms and what they may import of wlanlens; a room may always import itself and `errors`, `text`.
ROOMS = {
    "cli": {
        "wlanlens",
        "memory",
        "finding",
        "ledger",
        "verdict",
        "output",
        "stored",
        "capture",
        "keys",
        "analysis",
        "trace",
        "registry",
        "air",
        "scenario",
        "sweep",
        "validate",
        "validation_page",
        "clock_trial",
        "clock_page",
        "runs",
        "reproduce",
    },
    "report": {"air", "bus", "plots", "ledger", "trace", "finding", "registry", "judge", "tables", "verdict"},
    "plots": {"air", "bus", "trace", "finding", "tables", "registry", "ledger"},
    "detectors": {"bus", "pace", "trace", "finding", "tables", "registry"},
    "models": {"trace", "finding", "tables", "registry", "model"},
    "truth": {"finding", "world"},
    "papers": {
        "paper",
        "scenario",
        "scenarios",
        "capture",
        "trace",
        "judge",
        "finding",
        "models",
        "plots",
        "truth",
        "wlanlens",
    },
    "scenarios": {"scenario", "registry", "world"},
    "parsers": {"registry", "_core"},
}


def files() -> list[tuple[str, Path]]:
    """(room, file) of every module; a top-level module is its own room."""
    out = [("cli", path) for path in sorted((ROOT / "cli").glob("*.py"))]
    for path in sorted((ROOT / "wlanlens").rglob("*.py")):
        first = path.relative_to(ROOT / "wlanlens").parts[0]
        out.append((first.removesuffix(".py"), path))
    return out


def imported(path: Path) -> set[str]:
    """Top-level names of wlanlens that a file imports ("wlanlens" itself for the public API), and foreign packages."""
    out: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inner = node.module == "wlanlens"
            names = [f"wlanlens.{alias.name}" for alias in node.names] if inner else [node.module]
        for name in names:
            parts = name.split(".")
            out.add(parts[1] if parts[0] == "wlanlens" and len(parts) > 1 else parts[0])
    return out


def _own() -> set[str]:
    return {path.stem for path in (ROOT / "wlanlens").iterdir()} | {"_core", "wlanlens"}


@pytest.mark.parametrize(("room", "path"), files(), ids=lambda value: str(getattr(value, "name", value)))
def test_import_arrows(room: str, path: Path) -> None:
    names = imported(path)
    own = names & _own()
    if room not in CORE:
        assert "_core" not in own, "only " + ", ".join(sorted(CORE)) + " touch the core"
    if room in ROOMS:
        assert own <= ROOMS[room] | {room, "errors", "text"}
    if path.name != "show.py" or room != "cli":
        assert "scapy" not in names, "scapy (GPL-2.0-only) is imported in cli/show.py alone"
    if path.name != "evidence.py" or room != "cli":
        assert "dpkt" not in names
    if room not in ("plots", "report", "papers", "paper", "reproduce"):
        assert "plotly" not in names


@pytest.mark.parametrize("statement", ["import wlanlens", "from wlanlens_cli.main import cli"])
def test_nothing_heavy_is_imported_early(statement: str) -> None:
    heavy = ("pyarrow", "pandas", "numpy", "plotly", "scapy", "duckdb", "rich", "jinja2", "dpkt")
    code = f"{statement}\nimport sys\nprint([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plotly_is_imported_inside_functions() -> None:
    for path in (ROOT / "wlanlens" / "plots").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
        top |= {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert not any(name.startswith("plotly") for name in top), path.name


def test_every_room_is_in_the_package() -> None:
    import tomllib

    said = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    there = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in (ROOT / "wlanlens").rglob("__init__.py")
    }
    assert set(said) == there | {"wlanlens_cli"}
