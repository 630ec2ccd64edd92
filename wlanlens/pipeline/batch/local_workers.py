"""The fork server of this process: jobs go in, rows come out in the order of completion."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from wlanlens import operating_system
from wlanlens.capture.decryption_keys import Keys
from wlanlens.errors import WlanlensError
from wlanlens.pipeline.batch.job import ATTEMPTS, Job, Row, finish_failed

#: Time that the fork server may take to end its analyses, s.
_PATIENCE_S = 5.0
#: The parent folder of the package goes last: the server imports this very package, and what this process imports.
_CODE = (
    "import sys; sys.path.append(sys.argv[1])\n"
    "from wlanlens.pipeline.allocator import settle; settle()\n"
    "from wlanlens.pipeline.batch.fork_server import serve; serve(int(sys.argv[2]))"
)
_ROOT = str(Path(__file__).resolve().parents[3])


class ForkServer:
    """Analyses jobs in processes of their own. Use it in a `with` statement, or call `close`.

    Attributes
    ----------
    ended : bool
        Whether it was closed.
    """

    def __init__(self, keys: Keys) -> None:
        operating_system.require_fork()
        self._keys = keys
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._connection: Connection | None = None
        self._served = False
        self.ended = False

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def run(self, jobs: Iterable[Job], count: int = 1) -> Iterator[Row]:
        """Yield the row of each job as it ends; `count` jobs run at a time."""
        left = iter(jobs)
        running: dict[str, Job] = {}
        waiting: list[Job] = []
        while True:
            while len(running) < count:
                job = waiting.pop() if waiting else next(left, None)
                if job is None:
                    break
                running[job.run] = job
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `recv` will see it
                    self._open().send(job)
            if not running:
                return
            try:
                row: Row = self._open().recv()
            except (EOFError, ConnectionResetError):
                yield from self._lost(running, waiting)
                running.clear()
                continue
            self._served = True
            del running[row["run"]]
            yield row

    def _lost(self, running: dict[str, Job], waiting: list[Job]) -> Iterator[Row]:
        """The server has died: each of its jobs gets one more attempt."""
        if self.ended:
            raise WlanlensError("the analyses were ended")
        self._end()
        for job in running.values():
            if job.earlier + 1 < ATTEMPTS:
                waiting.append(replace(job, earlier=job.earlier + 1))
            elif not self._served:
                raise WlanlensError("the process that analyses cannot be started", next="its error is above")
            else:
                yield finish_failed(job, job.row("killed", "the process that starts analyses was killed"))

    def _open(self) -> Connection:
        if self._connection is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CODE, _ROOT, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    # Ctrl-C reaches every process of the terminal's group; this process decides about the others.
                    start_new_session=True,
                )
            self._socket, self._connection = ours, Connection(os.dup(ours.fileno()))
            self._connection.send(self._keys.for_core())
        return self._connection

    def close(self) -> None:
        """End the server and its analyses, also from another thread than that of `run`; what they have written is removed."""
        self.ended = True
        self._end()

    def _end(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it is gone already
                self._socket.shutdown(socket.SHUT_RDWR)  # `close` alone would not wake a thread that reads
            self._socket.close()
            self._socket = None
        if self._process is not None:
            try:
                self._process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
