"""An interrupted `validate` or `reproduce` ends with its status, prints no traceback and leaves no temporary files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMANDS = {
    "validate": ["--seeds", "500", "-s", "clean_link", "-s", "ack_holding", "-j", "2"],
    "reproduce": ["-o", "page.html", "--jobs", "2"],
}


@pytest.mark.parametrize(
    ("command", "after", "number"),
    [
        ("validate", "its folder", signal.SIGINT),
        ("validate", "its first run", signal.SIGINT),
        ("validate", "its first run", signal.SIGTERM),
        # Before there are workers, nobody is left to remove the folder but the next run.
        ("validate", "its first run", signal.SIGKILL),
        ("reproduce", "its folder", signal.SIGINT),
    ],
)
def test_nothing_is_left(command: str, after: str, number: signal.Signals, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = [sys.executable, "-m", "wlanlens_cli.main", command, *COMMANDS[command]]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    pattern = f"wlanlens-{command}-*" if after == "its folder" else f"wlanlens-{command}-*/*/*"
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as child:
        try:
            end = time.monotonic() + 60
            while not any(temporary.glob(pattern)):
                assert time.monotonic() < end
                time.sleep(0.01)
            # Ctrl-C reaches every process of the terminal; kill -9 one.
            (os.kill if number == signal.SIGKILL else os.killpg)(child.pid, number)
            _, said = child.communicate(timeout=30)
        finally:
            child.kill()
    assert child.returncode in (128 + number, -signal.SIGKILL)
    assert b"Traceback" not in said
    assert b"Exception" not in said
    end = time.monotonic() + 15
    while any(temporary.iterdir()) and time.monotonic() < end:
        time.sleep(0.1)  # the workers of a killed process remove what it left
    assert list(temporary.iterdir()) == []


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wlanlens.simulation.temporary_folder import temporary_folder

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("wlanlens-validate-left", "wlanlens-other-mine"):
        (tmp_path / name / "run").mkdir(parents=True)
    (tmp_path / "wlanlens-validate-link").symlink_to(tmp_path / "wlanlens-other-mine")
    with temporary_folder("validate") as used, temporary_folder("validate") as second:
        assert used.exists()
        assert second.exists()
        assert not (tmp_path / "wlanlens-validate-left").exists()
    assert {p.name for p in tmp_path.iterdir()} == {"wlanlens-other-mine", "wlanlens-validate-link"}
    assert (tmp_path / "wlanlens-other-mine" / "run").exists()
