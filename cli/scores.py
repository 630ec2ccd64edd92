"""What every kind of `wlanlens validate` does: collect scores, also those of an interrupted run, and write a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import click

from .meter import Meter

Score = TypeVar("Score")


def collected(results: Iterable[Score], meter: Meter, noun: str, show: Callable[[list[Score]], object]) -> list[Score]:
    """All scores. When a signal stops the run, `show` those of what is finished first."""
    scores: list[Score] = []
    try:
        for score in results:
            scores.append(score)
    except BaseException as stopped:
        meter.clear()
        if scores and not isinstance(stopped, Exception):
            click.echo(f"wlanlens: stopped after {len(scores)} of {meter.total} {noun}", err=True)
            show(scores)
        raise
    meter.clear()
    return scores


def put(out: Path, text: str) -> None:
    """Write a file, by rename."""
    partial = out.with_name(out.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(out)
