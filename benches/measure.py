"""What commands cost: CPU and elapsed seconds and peak memory, the least of several interleaved runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Runs a command from a small process: a child's peak memory includes what its parent held when the child was started,
#: and the caller may hold millions of packets. The child's standard input comes from a second command, if one is given.
LAUNCH = """
import json, os, subprocess, sys, time
command, source = json.loads(sys.argv[1]), json.loads(sys.argv[2])
given = os.open(os.devnull, os.O_RDONLY)
if source:
    given, end = os.pipe()
    feeding = subprocess.Popen(source, stdout=end)
    os.close(end)
actions = [(os.POSIX_SPAWN_DUP2, given, 0)]
actions += [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
begun = time.perf_counter()
child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
os.close(given)
_, status, usage = os.wait4(child, 0)
wall_s = time.perf_counter() - begun
print(json.dumps([status, usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024]))
"""


@dataclass(frozen=True)
class Cost:
    """What one command took: CPU seconds (user and system, all threads), elapsed seconds, largest resident set in bytes."""

    cpu_s: float
    wall_s: float
    peak_bytes: int = 0


@dataclass(frozen=True)
class Command:
    """A command to measure.

    Attributes
    ----------
    words : list of str
        The command.
    written : Path or None
        What it writes: removed after each run, outside the measurement.
    inner : bool
        It measures itself, and prints a JSON list of its rows, CPU seconds and elapsed seconds.
    rounds : int
        The most runs of it: a long command is not repeated as often as a short one.
    source : list of str
        A command whose output is its standard input.
    """

    words: Sequence[str]
    written: Path | None = None
    inner: bool = False
    rounds: int = 1_000
    source: Sequence[str] = ()


def environment() -> dict[str, str]:
    """The environment of a user: Python keeps its compiled modules, as it does in an installed package."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def once(command: Command) -> Cost:
    """One run, measured by the operating system's account of that child process."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCH, json.dumps([*command.words]), json.dumps([*command.source])]
    words = [*command.words] if command.inner else launcher
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment())
    if done.returncode:
        raise SystemExit(f"failed with {done.returncode}: {' '.join(command.words)}\n{done.stderr}")
    if command.inner:
        _, cpu_s, wall_s = json.loads(done.stdout)
        return Cost(cpu_s, wall_s)
    status, cpu_s, wall_s, peak_bytes = json.loads(done.stdout)
    if status:
        raise SystemExit(f"failed with {status}: {' '.join(command.words)}")
    if command.written is not None and command.written.is_dir():
        shutil.rmtree(command.written)
    elif command.written is not None:
        command.written.unlink(missing_ok=True)
    return Cost(cpu_s, wall_s, peak_bytes)


def least(costs: Sequence[Cost]) -> Cost:
    """The least of each figure: whatever else the machine did only adds to them. Of memory it is the greatest."""
    return Cost(min(c.cpu_s for c in costs), min(c.wall_s for c in costs), max(c.peak_bytes for c in costs))


def interleaved(
    commands: dict[str, Command], rounds: int, said: Callable[[str], None] = lambda _: None
) -> dict[str, Cost]:
    """The least of `rounds` runs of each command, all commands in each round: a busy minute meets all of them."""
    taken: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            if number < command.rounds:
                said(f"round {number + 1} of {rounds}: {name}")
                taken[name].append(once(command))
    return {name: least(costs) for name, costs in taken.items()}


def cost(command: list[str], runs: int, *, warm: bool = True, written: Path | None = None) -> Cost:
    """The least of `runs` runs, after one that is not counted."""
    taken = [once(Command(command, written)) for _ in range(runs + warm)]
    return least(taken[int(warm) :])
