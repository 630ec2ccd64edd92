"""What `make` builds for tests: once for all workers of pytest, and not again if no source is newer."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.captures import ROOT
from wlanlens import operating_system


def make(target: str, *tools: str) -> None:
    """Run `make TARGET`, one worker at a time; skip the test where make or one of the tools is absent."""
    for tool in ("make", *tools):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    (ROOT / "build").mkdir(exist_ok=True)
    held = os.open(ROOT / "build", os.O_RDONLY)
    try:
        operating_system.lock(held, wait=True)
        made = subprocess.run(
            ["make", target], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    finally:
        os.close(held)
    assert made.returncode == 0, made.stdout
