"""The process that forks a process for each analysis. It has imported everything, so that a fork costs milliseconds.

It has one thread and starts none: threads of Arrow and Rust do not survive a fork. Only the processes that it forks run
them. It ends when the other end of its connection closes, and ends its analyses before.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import select
import signal
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import NoReturn

from wlanlens import operating_system, registry
from wlanlens.capture.decryption_keys import Keys
from wlanlens.formatting import printable
from wlanlens.pipeline.batch.analysis_process import analyse, limit, out_of_memory
from wlanlens.pipeline.batch.job import ATTEMPTS, Job, Row, finish_failed, remove_result
from wlanlens.report import page, plotly_script

#: What an analysis imports when it needs it.
_IMPORTED = ("pandas", "pyarrow.acero", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "scipy.special")
_LATER = ("wlanlens.pipeline.aligned_captures", "wlanlens.pipeline.report_file", "wlanlens.pipeline.run")
#: What the core writes before it ends for want of memory, and how much of the errors is kept.
_NO_MEMORY = "memory allocation of"
_SAID_BYTES = 4096


@dataclass
class _Running:
    """An analysis that runs: its process, its answer so far, and when it has to end."""

    job: Job
    process: int
    answer: int
    errors: int
    begun: float
    received: bytes = b""
    late: bool = False

    @property
    def deadline(self) -> float:
        return math.inf if self.late else self.begun + self.job.options.timeout_s


def serve(descriptor: int) -> NoReturn:
    """Analyse the jobs that arrive on a socket, all at once, and send the row of each when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(descriptor)
    keys = Keys(connection.recv())
    warm_up()
    _Server(connection, keys).run()
    os._exit(0)


def warm_up() -> None:
    """Import what analyses need, and make what is the same in each report."""
    for name in (*_IMPORTED, *_LATER):
        importlib.import_module(name)
    for shelf in ("detectors", "parsers", "plots"):
        registry.units(shelf)
    plotly_script.plotly()
    for template in page.environment().list_templates(["jinja"]):
        page.environment().get_template(template)
    gc.collect()
    gc.freeze()


class _Server:
    def __init__(self, connection: Connection, keys: Keys) -> None:
        self._connection, self._keys = connection, keys
        self._running: dict[int, _Running] = {}
        self._program_bytes = operating_system.address_space_bytes()

    def run(self) -> None:
        """Serve until the connection closes."""
        try:
            while True:
                nearest = min((one.deadline for one in self._running.values()), default=math.inf)
                wait_s = None if math.isinf(nearest) else max(0.0, nearest - time.monotonic())
                asked = self._connection.fileno()
                ready, _, _ = select.select([asked, *self._running], [], [], wait_s)
                self._end_late()
                for at in ready:
                    if at == asked:
                        self._start(self._connection.recv())
                    else:
                        self._receive(self._running[at])
        except (EOFError, ConnectionResetError, BrokenPipeError):
            self._abandon()

    def _start(self, job: Job) -> None:
        answer, theirs = os.pipe()
        errors = operating_system.nameless_file()
        begun = time.monotonic()
        process = os.fork()
        if not process:
            os.close(answer)
            self._be_analysis(job, theirs, errors)
        os.close(theirs)
        self._running[answer] = _Running(job, process, answer, errors, begun)

    def _be_analysis(self, job: Job, answer: int, errors: int) -> NoReturn:
        """In the forked process."""
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for number, file in enumerate((nothing, nothing, errors)):
                os.dup2(file, number)
            self._connection.close()
            limit(job, self._program_bytes)
            row = json.dumps(analyse(job, self._keys)).encode()
            while row:
                row = row[os.write(answer, row) :]
        except BaseException as error:  # noqa: BLE001 - the parent reads it
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
            os._exit(1)
        os._exit(0)

    def _receive(self, one: _Running) -> None:
        """Read what an analysis sends; at its end take its row."""
        part = os.read(one.answer, 1 << 16)
        if part:
            one.received += part
            return
        _, status, used = os.wait4(one.process, 0)
        del self._running[one.answer]
        said = _said(one.errors)
        os.close(one.answer)
        os.close(one.errors)
        code = os.waitstatus_to_exitcode(status)
        row: Row | None = json.loads(one.received) if code == 0 else None
        if row is None:
            row = self._ended(one, code, said)
            row |= {
                "seconds": round(time.monotonic() - one.begun, 3),
                "cpu_s": round(used.ru_utime + used.ru_stime, 3),
                "peak_bytes": operating_system.peak_bytes(used.ru_maxrss),
            }
        if row["status"] in ("killed", "timeout"):
            if row["status"] == "killed" and one.job.earlier + 1 < ATTEMPTS:
                self._clear(one.job)
                self._start(replace(one.job, earlier=one.job.earlier + 1))
                return
            row = finish_failed(one.job, row)
        self._connection.send(row)

    def _ended(self, one: _Running, code: int, said: str) -> Row:
        """The row of an analysis whose process ended without one."""
        if one.late or code == -operating_system.OUT_OF_CPU_TIME:
            return one.job.row("timeout", f"not done after {one.job.options.timeout_s:g} s")
        if code == -operating_system.ABORTED and _NO_MEMORY in said:
            return one.job.row("killed", out_of_memory(one.job))
        said = printable(next((line.strip() for line in reversed(said.split("\n")) if line.strip()), ""), 300)
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        short = "; the machine may have been out of memory" if code == -operating_system.KILLED else ""
        return one.job.row("killed", how + short + (f": {said}" if said else ""))

    def _end_late(self) -> None:
        now = time.monotonic()
        for one in self._running.values():
            if now >= one.deadline:
                one.late = True
                _kill(one.process)

    def _abandon(self) -> None:
        """End all analyses and remove what they have written."""
        for one in self._running.values():
            _kill(one.process)
        for one in self._running.values():
            os.waitpid(one.process, 0)
            self._clear(one.job)

    @staticmethod
    def _clear(job: Job) -> None:
        with contextlib.suppress(OSError):
            remove_result(job.folder)


def _kill(process: int) -> None:
    # Its group does not exist before it has called setsid.
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(process, operating_system.KILLED)


def _said(errors: int) -> str:
    """The end of what an analysis wrote to standard error."""
    size = os.lseek(errors, 0, os.SEEK_END)
    os.lseek(errors, max(0, size - _SAID_BYTES), os.SEEK_SET)
    return os.read(errors, _SAID_BYTES).decode(errors="replace")
