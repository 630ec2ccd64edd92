"""What differs between operating systems stands in one module, and its absence is an error in words or is left out."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.captures import ROOT, SAMPLES
from tests.test_imports import MODULES
from wlanlens import operating_system
from wlanlens.errors import UnsupportedSystem

#: Modules and names that not every system has.
_MODULES = {"fcntl", "resource", "ctypes", "msvcrt", "pwd", "grp", "termios"}
_NAMES = {
    "os": {"memfd_create", "geteuid", "getuid", "sysconf", "uname", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC"},
    "signal": {"SIGALRM", "SIGPIPE", "SIGKILL", "SIGABRT", "SIGXCPU", "SIGHUP", "setitimer", "alarm", "pthread_sigmask"},
    "sys": {"platform"},
}  # fmt: skip


#: The other places that docs and operating_system.py name: glibc's allocator, and handlers of signals that stand first.
_ELSEWHERE = {"pipeline.allocator": {"ctypes"}, "cli.main": _NAMES["signal"], "cli.start": _NAMES["signal"]}


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"operating_system"}))
def test_only_one_module_knows_the_system(module: str) -> None:
    used = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names} & _MODULES
        elif isinstance(node, ast.ImportFrom):
            used |= {node.module} & _MODULES
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used |= {node.attr} if node.attr in _NAMES.get(node.value.id, ()) else set()
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith(("/proc/", "/dev/"))
        ):
            used.add(node.value)
    assert used <= _ELSEWHERE.get(module, set())


#: Python without what Windows lacks, as far as a process on Linux can be made so.
_BARE = """
import os, signal, sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "fork", "geteuid", "memfd_create", "sysconf"):
    delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGXCPU", "SIGPIPE", "setitimer", "pthread_sigmask"):
    delattr(signal, name)
import wlanlens as wl
"""


def _bare(code: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    """Run code in such a Python."""
    command = [sys.executable, "-c", _BARE + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=ROOT, check=False)


def test_a_capture_is_read_and_judged_on_a_bare_system() -> None:
    code = "print(len(wl.detect(wl.align([sys.argv[1]]))))"
    ended = _bare(code, SAMPLES / "mixed_newreno.sender.pcap")
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 0


@pytest.mark.parametrize(
    "code",
    [
        "wl.analyze([sys.argv[1]], out=sys.argv[2])",
        "wl.simulate('clean_link', sys.argv[2], duration_s=0.1)",
        "wl.batch([sys.argv[1]], sys.argv[2])",
    ],
)
def test_nothing_is_written_without_locks(code: str, tmp_path: Path) -> None:
    code = f"""
try:
    {code}
except wl.WlanlensError as error:
    print(error)
"""
    ended = _bare(code, SAMPLES / "clean_cubic.sender.pcap", tmp_path / "out")
    assert ended.returncode == 0, ended.stderr
    assert "this system has no " in ended.stdout
    assert "run it on Linux" in ended.stdout
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    operating_system.lock(first)
    with pytest.raises(BlockingIOError):
        operating_system.lock(second)
    os.close(first)
    operating_system.lock(second)
    os.close(second)


def test_a_system_without_locks_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operating_system, "fcntl", None)
    with pytest.raises(UnsupportedSystem, match="file locks"):
        operating_system.lock(0)


def test_signals_wait_until_the_block_ends() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: came.append(number))
    try:
        with operating_system.held_back((signal.SIGUSR1,)):
            signal.pthread_kill(
                threading.get_ident(), signal.SIGUSR1
            )  # a thread of the test runner does not hold it back
            assert not came
        assert came == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_memory_on_macos_is_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert operating_system.peak_bytes(3) == 3072
    monkeypatch.setattr(operating_system.sys, "platform", "darwin")
    assert operating_system.peak_bytes(3) == 3


def test_ctrl_c_while_a_temporary_folder_is_made_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wlanlens.simulation import temporary_folder

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    locked = temporary_folder._lock

    def interrupted(folder: Path) -> int | None:
        signal.raise_signal(signal.SIGINT)
        return locked(folder)

    monkeypatch.setattr(temporary_folder, "_lock", interrupted)
    with pytest.raises(KeyboardInterrupt), temporary_folder.temporary_folder("test"):
        pass
    assert list(tmp_path.iterdir()) == []
