"""Hostile captures and surroundings: the shared generator and judge, where they are present."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import ROOT

#: The groups of ../shared/badinputs.
GROUPS = ("container", "link", "ip_tcp", "wlan", "usb", "crypto", "compression", "text", "time", "environment")


def _tools() -> Path | None:
    places = [os.environ.get("WLANLENS_SHARED"), ROOT.parent / "shared", ROOT / "shared"]
    return next((p for p in (Path(p) / "badinputs" for p in places if p) if (p / "run_badinputs.py").exists()), None)


TOOLS = _tools()
pytestmark = [
    pytest.mark.skipif(TOOLS is None, reason="the shared bad inputs are not beside this tree (WLANLENS_SHARED)"),
    pytest.mark.timeout(1200),
]


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert TOOLS is not None
    folder = tmp_path_factory.mktemp("badinputs")
    subprocess.run([sys.executable, TOOLS / "make_badinputs.py", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.mark.parametrize("group", GROUPS)
def test_survives(group: str, inputs: Path) -> None:
    assert TOOLS is not None
    judge = [str(TOOLS / "run_badinputs.py")]
    if group == "environment":
        # What is around a process matters here: each command is started anew.
        command, start = f"{sys.executable} -m wlanlens_cli.main analyze {{file}} -o {{out}}", [sys.executable]
    else:
        command, start = "wlanlens analyze {file} -o {out}", [sys.executable, "-m", "tests.warm"]
    done = subprocess.run(
        [*start, *judge, inputs, "--strict", "--only", group, "--cmd", command, "--key-args", "--key {key}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        # As the judge sets it for its commands: other allocators reserve address space, which it limits.
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    judged = done.stdout.splitlines()
    failed = [line for line in judged if not line.startswith("pass")]
    assert done.returncode == 0, "\n".join(failed) + done.stderr
    assert sum(line.startswith("pass") for line in judged) >= 3


@pytest.mark.parametrize("wrong", ["--exit", "analyze {file} --such-option"])
def test_the_judge_sees_a_forked_command_fail(wrong: str, inputs: Path) -> None:
    assert TOOLS is not None
    words = [str(TOOLS / "run_badinputs.py"), inputs, "--only", "ng_cut", "--cmd", f"wlanlens {wrong}"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.warm", *words], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert "FAIL ng_cut" in done.stdout
    assert "exit 2" in done.stdout
