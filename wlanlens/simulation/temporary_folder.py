"""A folder for the files of many simulations, of which nothing stays: not after Ctrl-C, and not after kill -9."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wlanlens import operating_system


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """A new folder `wlanlens-NAME-...` in the temporary directory, removed at the end with all that is in it.

    A lock, which ends with the process, marks it as in use. Folders of this name without a lock are what processes left
    that were killed: they are removed first.
    """
    prefix = f"wlanlens-{name}-"
    for left in Path(tempfile.gettempdir()).glob(prefix + "*"):
        remove_abandoned(left)
    # Its name is known before it is made: Ctrl-C at any time from then on removes it.
    folder, lock = _new_name(prefix), None
    try:
        folder.mkdir(mode=0o700)
        while (lock := _lock(folder)) is None:
            folder = _new_name(prefix)
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _new_name(prefix: str) -> Path:
    return Path(tempfile.gettempdir(), prefix + secrets.token_hex(8))


@contextmanager
def run_folder(within: str) -> Iterator[Path]:
    """A folder for one run in a folder of `temporary_folder` ("": in the temporary directory), removed at the end."""
    folder = Path(tempfile.mkdtemp(dir=within or None, prefix="wlanlens-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(folder: Path) -> None:
    """Remove a temporary folder of this user that no running process has locked."""
    with suppress(OSError):
        found = folder.lstat()
        if (
            stat.S_ISDIR(found.st_mode)
            and operating_system.is_own(found.st_uid)
            and (lock := _lock(folder)) is not None
        ):
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder; None where another process has the lock or has removed the folder."""
    try:
        lock = os.open(folder, os.O_RDONLY | operating_system.FOLDER | operating_system.NO_FOLLOW)
    except FileNotFoundError:
        return None
    try:
        operating_system.lock(lock)
        if os.path.samestat(os.fstat(lock), folder.lstat()):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None
