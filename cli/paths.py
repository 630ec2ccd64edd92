"""Arguments that name a place to write to."""

from __future__ import annotations

from typing import Any

import click


class OutputDirectory(click.Path):
    """A directory to write to. An empty name, as of a shell variable that is not set, would be the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The directory, unless its name is empty."""
        if value == "":
            raise click.UsageError("-o: the name of the directory is empty", ctx)
        return super().convert(value, param, ctx)
