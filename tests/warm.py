"""A process that has imported wlanlens and forks for each command.

Each command still has a process of its own: a crash, a hang and its memory are its own. Only the imports are shared, which
are most of the time of a command on a small capture.

`python -m tests.warm` serves requests on standard input; `python -m tests.warm JUDGE ARGUMENTS` runs the judge of the bad
inputs with forked commands.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Done:
    """A finished command."""

    status: int
    out: str
    err: str
    peak_bytes: int


class Warm:
    """The process that serves requests."""

    def __init__(self) -> None:
        self._outputs = Path(tempfile.mkdtemp(prefix="wlanlens-warm-"))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, folder: Path, *words: object, seconds: int = 0, **environment: str) -> Done:
        """Run `wlanlens WORDS` in a folder; with `seconds`, SIGALRM ends it then."""
        folder.mkdir(parents=True, exist_ok=True)
        request = {
            "words": [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in words],
            "folder": str(folder), "outputs": str(self._outputs), "environment": environment, "seconds": seconds,
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        done = json.loads(self._process.stdout.readline())
        out, err = ((self._outputs / name).read_bytes().decode() for name in ("stdout", "stderr"))
        return Done(done["status"], out, err, done["peak_bytes"])

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        shutil.rmtree(self._outputs)


@cache
def warm() -> Warm:
    """The process of this worker; it ends with the worker."""
    made = Warm()
    atexit.register(made.close)
    return made


def completed(folder: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `wlanlens WORDS` in a folder, as `subprocess.run` would."""
    done = warm().run(folder, *words, **environment)
    return subprocess.CompletedProcess(["wlanlens", *map(str, words)], done.status, done.out, done.err)


def warm_up() -> None:
    """Import what commands import, at their start or when a capture needs it, and make what is the same in each report."""
    import wlanlens_cli.main

    import wlanlens.simulation.simulate  # noqa: F401
    from wlanlens.pipeline.batch import fork_server

    for command in wlanlens_cli.main.COMMANDS:
        importlib.import_module(f"wlanlens_cli.{command}")
    fork_server.warm_up()


def fork(words: list[str], prepare: Callable[[], None]) -> int:
    """Start `wlanlens WORDS` in a forked process, after `prepare` was called in it; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    with contextlib.suppress(SystemExit):
        try:
            os.setsid()
            prepare()
            from wlanlens_cli.main import main

            sys.argv = ["wlanlens", *words]
            main()
        except Exception:  # noqa: BLE001 - the traceback is what the caller must see
            traceback.print_exc()
    # `main` ends the process itself: this is reached only when it failed to.
    os._exit(70)


def serve() -> None:
    """Run a command for each line of standard input."""
    warm_up()
    for line in sys.stdin:
        request = json.loads(line)

        def prepare(request: Mapping[str, Any] = request) -> None:
            os.chdir(request["folder"])
            os.environ.update({"NO_COLOR": "1"} | request["environment"])
            signal.alarm(request["seconds"])
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, name in ((1, "stdout"), (2, "stderr")):
                path = os.path.join(request["outputs"], name)
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)

        _, status, usage = os.wait4(fork(request["words"], prepare), 0)
        done = {"status": os.waitstatus_to_exitcode(status), "peak_bytes": usage.ru_maxrss * 1024}
        print(json.dumps(done), flush=True)


def judge(path: str, arguments: list[str]) -> None:
    """Run the judge of the bad inputs; `--cmd` must be `wlanlens WORDS`."""
    spec = importlib.util.spec_from_file_location("run_badinputs", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    warm_up()

    def start(run: Any, tag: bytes = b"") -> tuple[Any, Any, Any]:
        out, err = (open(os.path.join(run.work, name + tag), "w+b") for name in (b"stdout", b"stderr"))  # noqa: SIM115
        assert not run.prefix

        def prepare() -> None:
            os.chdir(os.path.join(run.work, b"cwd"))
            os.environ.clear()
            os.environ.update(run.env)
            into = os.open(os.devnull, os.O_RDONLY) if run.stdin == subprocess.DEVNULL else run.stdin.fileno()
            for number, file in enumerate((into, run.stdout or out.fileno(), err.fileno())):
                os.dup2(file, number)
            run.child()()

        words = [os.fsdecode(word) for word in run.argv()[1:]]
        return SimpleNamespace(pid=fork(words, prepare), returncode=None), out, err

    module.Run.start = start
    sys.argv = [path, *arguments]
    module.main()


if __name__ == "__main__":
    if sys.argv[1:]:
        judge(sys.argv[1], sys.argv[2:])
    else:
        serve()
