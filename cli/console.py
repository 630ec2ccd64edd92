"""The console on which commands print their results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console


@contextlib.contextmanager
def results(width_in_file: int | None = None) -> Iterator[Console]:
    """A console for results. A file or a pipe gets them at the end, without the spaces with which rich fills cells.

    Parameters
    ----------
    width_in_file : int, optional
        Characters of a line where the output is no terminal; by default those of `COLUMNS`, or 80.
    """
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        yield console
        return
    if width_in_file is not None:
        console = Console(highlight=False, markup=False, emoji=False, width=width_in_file)
    with console.capture() as printed:
        yield console
    click.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))
