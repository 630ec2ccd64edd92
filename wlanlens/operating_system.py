"""What differs between operating systems: flags of `open`, file locks, signals, limits of processes.

wlanlens is developed and tested on Linux. Nothing was tried on macOS or Windows. What is known of them:

* macOS has no `prctl`, no `/proc` and no memfd, its `RLIMIT_AS` may be refused, and `ru_maxrss` is in bytes there. The functions
  below leave out what is missing: an analysis of `wlanlens batch` then has its limit of time, and may have none of memory.
* Windows has no `flock`, `fork`, `SIGALRM` or `O_NOFOLLOW`. Captures can be read there and detectors run in Python. Whatever
  writes a directory stops with `UnsupportedSystem`: without a lock two programs could write to one directory.

Elsewhere are only the settings of glibc's allocator (`pipeline/allocator.py`), and the signal handlers of the command `wlanlens`, which stand
before this package is imported: the command needs POSIX signals.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

from wlanlens.errors import UnsupportedSystem

try:
    import fcntl
    import resource
except ImportError:  # Windows
    fcntl = resource = None  # type: ignore[assignment]

#: Flags of `os.open`; 0 where the system has none. O_BINARY is Windows only: without it line ends would be changed.
_BINARY = getattr(os, "O_BINARY", 0)
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | _BINARY
#: A FIFO without a writer would block for ever.
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | _BINARY
FOLDER: int = getattr(os, "O_DIRECTORY", 0)

#: Signals that end a run.
STOPS = (signal.SIGINT, signal.SIGTERM)
#: How processes end that a limit or the system stops; numbers of POSIX, since Windows names only some.
KILLED, ABORTED, OUT_OF_CPU_TIME = 9, 6, int(getattr(signal, "SIGXCPU", 24))

_PR_SET_PDEATHSIG = 1


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lock(file: int, *, wait: bool = False) -> None:
    """Lock an open file or folder; the lock ends with the process.

    Parameters
    ----------
    file : int
        A file descriptor.
    wait : bool
        Wait for another holder instead of raising.

    Raises
    ------
    BlockingIOError
        Another process has it.
    UnsupportedSystem
        The system has no `flock`.
    """
    if fcntl is None:
        raise UnsupportedSystem("file locks (flock)")
    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def require_fork() -> None:
    """Raise `UnsupportedSystem` where processes cannot be forked."""
    if not hasattr(os, "fork"):
        raise UnsupportedSystem("fork")


def is_own(uid: int) -> bool:
    """Whether files of this user id are those of this user; a system without user ids has no others."""
    return not hasattr(os, "geteuid") or uid == os.geteuid()


@contextlib.contextmanager
def held_back(signals: tuple[signal.Signals, ...]) -> Iterator[None]:
    """Let these signals wait; they arrive at the end of the block. A system without signal masks does not hold them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_through(signals: tuple[signal.Signals, ...]) -> None:
    """Let signals arrive that the parent process held back."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def call_soon(handler: Callable[[int, FrameType | None], None]) -> None:
    """Call a signal handler in the main thread after 10 ms, outside the callback that runs now."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.01)


def end_with_parent() -> None:
    """Have the kernel end this process when its parent ends, where it can: on Linux."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def limit_process(memory_bytes: int, cpu_s: int) -> None:
    """Limit address space and CPU time of this process; no core file. A limit that the system refuses is not set."""
    if resource is None:
        return
    for what, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
    ):
        hard = resource.getrlimit(what)[1]
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(what, (soft, hard))
        except (ValueError, OSError):
            if sys.platform == "linux":
                raise


def address_space_bytes() -> int:
    """Address space that this process takes now; 1 GiB, more than the libraries take, where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1 << 30


def address_space_left() -> int:
    """How much more address space this process may take; a very large number where nothing limits it."""
    if resource is None:
        return sys.maxsize
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit - address_space_bytes()


def resident_bytes() -> int:
    """Memory that this process holds now; a very large number where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return sys.maxsize


def peak_bytes(maxrss: int) -> int:
    """The most memory that a process had, from `ru_maxrss`: KiB, but bytes on macOS."""
    return maxrss if sys.platform == "darwin" else maxrss * 1024


def own_usage() -> tuple[float, int]:
    """CPU seconds of this process, and the most memory that it had in bytes (0 where the system does not say)."""
    if resource is None:
        times = os.times()
        return times.user + times.system, 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, peak_bytes(used.ru_maxrss)


def nameless_file() -> int:
    """A file descriptor in memory for what a process says; without memfd it is /dev/null, and nothing of it is kept."""
    return os.memfd_create("errors") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
