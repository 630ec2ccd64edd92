"""Memory that is freed goes back to the system: else long runs grow by what allocators keep, not by what is in use."""

from __future__ import annotations

import contextlib
import ctypes
import os

# mallopt(3) of glibc.
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1


def settle() -> None:
    """For a process that is ours alone, before numpy and pyarrow are loaded.

    One allocator for all, in few arenas: Arrow's own and glibc's arena a thread keep what they once had, and 60 000 flows
    then cost 1000 instead of 600 MiB. OpenBLAS would reserve a buffer a core, and nothing here multiplies matrices.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 2)
        mallopt(_MMAP_THRESHOLD, 4 << 20)
        mallopt(_TRIM_THRESHOLD, 16 << 20)


def give_back() -> None:
    """Return free pages in the middle of the heap: without it 56 MiB more a million packets of ever new connections."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
