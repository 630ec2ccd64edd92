"""The scripts of the page: ours, joined in one, and the plotly.js that the installed plotly brings."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from wlanlens.errors import WlanlensError

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
    "main",
)
"""In this order: `main` last, it starts what the others define."""


def text(name: str) -> str:
    """A file of this package."""
    return files("wlanlens.report").joinpath(name).read_text("utf-8")


def own(names: Sequence[str] = OURS) -> str:
    """Our scripts as one function, so that nothing of it is global."""
    return '(() => {\n"use strict";\n' + "".join(text(f"{name}.js") for name in names) + "})();\n"


def plotly() -> bytes:
    """plotly.js, found without importing plotly, which takes longer than all of the report."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise WlanlensError("the report needs plotly.js", next="install the Python package plotly")
    return (Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js").read_bytes()
