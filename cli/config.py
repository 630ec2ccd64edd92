"""Option for thresholds of detectors, shared by several subcommands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wlanlens.detection.thresholds import Thresholds


def option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --config."""
    return click.option(
        "--config",
        metavar="FILE",
        type=click.Path(),
        help="TOML file with thresholds of detectors in tables [thresholds.CODE] (default: [tool.wlanlens.thresholds.CODE] "
        "in pyproject.toml of the working directory).",
    )(function)


def given(path: str | None) -> Thresholds:
    """The thresholds of the file, or of the project in the working directory."""
    from wlanlens.detection import thresholds

    return thresholds.from_file(path) if path is not None else thresholds.of_project()
