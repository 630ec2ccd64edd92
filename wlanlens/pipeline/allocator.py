"""Settings of the memory allocators, so that freed memory returns to the system during long runs."""

from __future__ import annotations

import contextlib
import ctypes
import os

# mallopt(3) of glibc.
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1


def settle() -> None:
    """Configure the process; call it before NumPy and pyarrow are loaded, and only in a process of our own.

    All libraries share one allocator with two arenas. Arrow's own allocator, and glibc's arena for each thread, keep
    freed memory: 60 000 flows then need 1000 MiB instead of 600. OpenBLAS would reserve a buffer for each core, which
    nothing here uses.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 2)
        mallopt(_MMAP_THRESHOLD, 4 << 20)
        mallopt(_TRIM_THRESHOLD, 16 << 20)


def give_back() -> None:
    """Return free pages inside the heap to the system: it saves 56 MiB for each million packets of short connections."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
