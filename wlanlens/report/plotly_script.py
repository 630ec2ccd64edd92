"""plotly.js as a page holds it, kept as Python keeps its compiled modules: compressing it takes longer than a small report."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wlanlens.errors import WlanlensError
from wlanlens.report import encode
from wlanlens.report.policy import digest
from wlanlens.threads import Job, Threads

KEPT_IN = Path(__file__).parent / "__pycache__"


class PackedScript(NamedTuple):
    """A script as a page holds it."""

    source: str
    """What the page's policy says of it."""
    packed: str
    """The script, as `encode.packed` packs it."""


def plotly() -> PackedScript:
    """plotly.js from the installed plotly."""
    return begin_packing().result()


_PACKING = Threads(1)


@cache
def begin_packing() -> Job[PackedScript]:
    """Read plotly.js in a thread, or compress it, while the caller does something else."""
    return _PACKING.submit(kept, _installed(), KEPT_IN)


def _installed() -> Path:
    """plotly.js, found without importing plotly: the import takes longer than the whole report."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise WlanlensError("the report needs plotly.js", next="install the Python package plotly")
    return Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js"


def kept(script: Path, folder: Path) -> PackedScript:
    """A script, packed; from `folder` if it was kept there, with the size and time of the script in its name."""
    about = script.stat()
    there = folder / f"{script.name}-{about.st_size}-{about.st_mtime_ns}-{encode.LEVEL}.packed"
    with contextlib.suppress(OSError, ValueError):
        source, packed = there.read_text("ascii").split("\n")
        return PackedScript(source, packed)
    raw = script.read_bytes()
    made = PackedScript(digest(raw.decode()), encode.packed(raw))
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):  # a folder of the system, or one that is read-only
            folder.mkdir(exist_ok=True)
            begun = there.with_suffix(f".{os.getpid()}")
            begun.write_text("\n".join(made), "ascii")
            for old in folder.glob(f"{script.name}-*.packed"):
                old.unlink()
            begun.replace(there)
    return made
