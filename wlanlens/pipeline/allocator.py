"""Settings of a process of our own: allocators that return freed memory, a rarer garbage collection, pyarrow without pandas."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import threading

from wlanlens.operating_system import address_space_left, resident_bytes

# mallopt(3) of glibc.
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1

#: Three quarters of the memory that an analysis may need (1 GiB): below it free pages stay in the heap, for zeroing them again
#: takes a twentieth of an analysis.
_MANY_BYTES = 3 << 28

#: Half of it: two captures of a million packets each need less while they are decoded; the connections of one may take
#: 370 MB, and its batches 200 MB.
_HALF_BYTES = _MANY_BYTES // 2

#: What the threads of an analysis ask for between two looks at its memory: a group of rows each, and more where a busy machine lets
#: one of them run ahead.
_SPARE_BYTES = 128 << 20

#: Set in a process of our own.
_OURS = threading.Event()


def settle() -> None:
    """Configure the process; call it before NumPy and pyarrow are loaded, and only in a process of our own.

    All libraries share one allocator with two arenas. Arrow's own allocator, and glibc's arena for each thread, keep
    freed memory: 60 000 flows then need 1000 MiB instead of 600. OpenBLAS would reserve a buffer for each core, which
    nothing here uses. A block that is mapped alone is zeroed page by page each time: with 16 MB instead of 4 as the least
    such block, and 64 MB kept at the heap's end, a capture of four million packets takes a quarter less system time and
    no more memory. There are few reference cycles here: Python looks for them after every 20 000 new objects instead of 700,
    which saves a twentieth of the time of a small analysis.
    """
    _OURS.set()
    gc.set_threshold(20_000)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 2)
        mallopt(_MMAP_THRESHOLD, 16 << 20)
        mallopt(_TRIM_THRESHOLD, 64 << 20)


def give_back() -> None:
    """Return free pages inside the heap to the system where the process holds many: it saves 56 MiB for each million packets
    of short connections. The next window would need most of them again, and the system would zero them first."""
    if resident_bytes() < _MANY_BYTES:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def is_short() -> bool:
    """Whether the process holds so much memory that nothing more should run beside what does."""
    return resident_bytes() >= _HALF_BYTES


def require_spare() -> None:
    """Raise MemoryError where a large process comes near the limit of its address space (`ulimit -v`).

    At the limit itself whichever thread or library asks next gets nothing, and not all of them bear that: some end the process.
    """
    if address_space_left() < _SPARE_BYTES and is_short():
        raise MemoryError


class _NoPandas:
    """A finder that finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Refuse pandas, and leave other modules to the finders behind this one."""
        if name == "pandas":
            raise ModuleNotFoundError("pyarrow goes without pandas", name=name)


def leave_out_pandas() -> None:
    """Have pyarrow look for pandas now and find none, in a process of our own where nothing has imported it.

    pyarrow imports pandas at the first conversion from or to NumPy, only to recognise pandas objects in what it converts:
    a quarter of a second, a third of a small analysis. It looks once, in Python and in C++. Whoever imports pandas, or
    calls `to_pandas`, still gets it.
    """
    if not _OURS.is_set() or "pandas" in sys.modules:
        return
    import numpy as np
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        # NumPy imports its masked arrays then too, while captures are decoded: nothing else would wait for that.
        pa.array(np.zeros(1, np.int64)).to_numpy()
    finally:
        sys.meta_path.remove(finder)
