"""Our own scripts of the page, joined into one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

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
    "chart",
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
