"""Conditions of `--fail-on` with a threshold: `lost>20%`, `worse>10%`."""

from __future__ import annotations

import re

import click


def share(text: str, name: str) -> float | None:
    """The threshold of `NAME>PERCENT%` as a share of 1; None if the text is not about NAME.

    Raises
    ------
    click.UsageError
        It is about NAME, but has no threshold from 0 % to 1000 %.
    """
    if not re.match(rf"{name}\b(?!_)", text):
        return None
    found = re.fullmatch(rf"{name}\s*>\s*(\d{{1,4}}(?:\.\d{{1,6}})?)\s*%", text)
    if found is None or float(found[1]) > 1000:
        raise click.UsageError(f"--fail-on {text}: expected {name}>PERCENT%, for example {name}>20%")
    return float(found[1]) / 100
