"""Which container of the shelf `parsers` reads a file."""

from __future__ import annotations

from wlanlens import _core
from wlanlens.errors import CorruptCapture, RegistryError, WlanlensError
from wlanlens.registry import Container, containers


def records_of(path: str | None) -> _core.Records:
    """The records of a capture file, recognised by its content. None is standard input.

    Raises
    ------
    UnknownFormat, UnsupportedFormat
        No container recognises the file; the error lists those that there are.
    CorruptCapture
        The file is damaged before its first record, or the container's reader failed.
    OSError
        The file cannot be opened.
    """
    file = _core.File(path)
    container = choose(file.head)
    if container is None:
        file.refuse(", ".join(sorted(found.name for found in containers())))
    return read(container, file)


def choose(head: bytes) -> Container | None:
    """The first container that recognises the first bytes of a file."""
    for container in containers():
        try:
            if container.sniff(head):
                return container
        except Exception as error:
            raise RegistryError(f"container {container.name!r} ({container.module}) cannot sniff: {error}") from error
    return None


def read(container: Container, file: _core.File) -> _core.Records:
    """The records of a file that a container recognised."""
    try:
        found = container.read(file)
        # Containers of the core return its records; those written in Python return an iterable.
        return found if isinstance(found, _core.Records) else _core.Records(container.name, file, found)
    except (WlanlensError, OSError):
        raise
    except Exception as error:
        what = f"the reader of {container.name} failed: {type(error).__name__}: {error}"
        raise CorruptCapture(what) from error
