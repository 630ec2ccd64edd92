"""Settings of the memory allocators, so that freed memory returns to the system during long runs."""

from __future__ import annotations

import os

from wlanlens.operating_system import configure_malloc, trim_malloc


def settle() -> None:
    """Configure the process; call it before NumPy and pyarrow are loaded, and only in a process of our own.

    All libraries share one allocator with two arenas. Arrow's own allocator, and glibc's arena for each thread, keep
    freed memory: 60 000 flows then need 1000 MiB instead of 600. OpenBLAS would reserve a buffer for each core, which
    nothing here uses.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    configure_malloc(arenas=2, mmap_threshold=4 << 20, trim_threshold=16 << 20)


def give_back() -> None:
    """Return free pages inside the heap to the system: it saves 56 MiB for each million packets of short connections."""
    trim_malloc()
