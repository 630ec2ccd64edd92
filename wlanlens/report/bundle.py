"""The scripts of the page: our own, joined into one, and plotly.js from the installed plotly."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from pathlib import Path

from wlanlens.errors import WlanlensError
from wlanlens.report import encode

OURS = (
    "label",
    "units",
    "inflate",
    "columns",
    "flow",
    "theme",
    "canvas",
    "glyphs",
    "draw_sequence",
    "draw_rows",
    "fit",
    "library",
    "minimap",
    "figure",
    "hover",
    "flow_sheet",
    "layers",
    "layers_sheet",
    "waterfall",
    "air_data",
    "air_sheet",
    "bus_sheet",
    "stage",
    "findings",
    "copy",
    "keys",
    "export",
    "saves",
    "print",
    "address",
    "main",
)
"""In this order: `main` is last because it starts what the others define."""


def text(name: str) -> str:
    """A file of this package."""
    return files("wlanlens.report").joinpath(name).read_text("utf-8")


def own(names: Sequence[str] = OURS) -> str:
    """Our scripts in one function, so that they define nothing global."""
    return '(() => {\n"use strict";\n' + "".join(text(f"{name}.js") for name in names) + "})();\n"


@cache
def plotly() -> bytes:
    """plotly.js, found without importing plotly: the import takes longer than the whole report."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise WlanlensError("the report needs plotly.js", next="install the Python package plotly")
    return (Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_bytes()


def packed_plotly() -> str:
    """plotly.js as the page holds it; kept, because compressing it takes as long as all else in a small report."""
    return begin_packing().result()


@cache
def begin_packing() -> Future[str]:
    """Compress plotly.js in a thread, while the caller does something else."""
    pool = ThreadPoolExecutor(1, "wlanlens-plotly")
    packed = pool.submit(lambda: encode.packed(plotly()))
    pool.shutdown(wait=False)
    return packed
