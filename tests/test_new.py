"""`make new` writes units that run at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import ROOT

UNITS = {"detector": "slow_opening", "scenario": "slow_wire", "plot": "byte_progress"}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with a new unit of each kind."""
    folder = tmp_path_factory.mktemp("new") / "repository"
    folder.mkdir()
    for name in ("wlanlens", "cli", "tests", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.csv"))
    for name in ("docs", "sample_traces"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for kind, name in UNITS.items():
        assert new(folder, kind, name).returncode == 0
    return folder


def new(folder: Path, kind: str, name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/new", f"--{kind}", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_its_tests_and_the_contract_pass(scratch: Path) -> None:
    names = " or ".join(UNITS.values())
    files = [
        str(path.relative_to(scratch)) for name in UNITS.values() for path in scratch.glob(f"tests/*/test_{name}.py")
    ]
    assert len(files) == len(UNITS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "tests/test_contract.py"]
    # Its own folder: else it would first remove what earlier runs left, which may be 250 000 files.
    command += ["--basetemp", str(scratch.parent / "temporary")]
    command += ["-k", f"({names} or named_after_its_file) and not deterministic"]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # Each unit's own tests, and the contract's about a detector and a plot.
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 15


def test_it_keeps_the_style(scratch: Path) -> None:
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "-q", "wlanlens", "tests", "tools"],
            cwd=scratch, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["Upper", "1st", "a-b", "a__b", "../x", "class", "x" * 41, ""])
def test_a_bad_name_is_refused(scratch: Path, name: str) -> None:
    done = new(scratch, "detector", name)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


def test_nothing_is_overwritten(scratch: Path) -> None:
    path = scratch / "wlanlens/detectors/slow_opening.py"
    before = path.read_text(encoding="utf-8")
    done = new(scratch, "detector", "slow_opening")
    assert done.returncode != 0
    assert "exists" in done.stderr
    assert path.read_text(encoding="utf-8") == before
