"""JSON for machines: the one form of everything that `--json` prints (docs/json-schema.json)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click


def text(content: Mapping[str, Any]) -> str:
    """An object with `schema_version` in front, in ASCII: no control character of a capture reaches the terminal."""
    from wlanlens.detection.finding import SCHEMA_VERSION

    return json.dumps({"schema_version": SCHEMA_VERSION, **content}, indent=1, default=str) + "\n"


def show(content: Mapping[str, Any]) -> None:
    """Print it."""
    click.echo(text(content), nl=False)
