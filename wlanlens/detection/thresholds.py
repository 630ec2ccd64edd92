"""Thresholds of detectors that a user changed: names and values checked, from a mapping or a TOML file."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wlanlens import registry
from wlanlens.errors import NoSuchUnit, WrongUse, did_you_mean, file_errors
from wlanlens.formatting import printable

#: Changed thresholds by detector and name.
Thresholds = dict[str, dict[str, Any]]

#: A file of thresholds has a few lines; a longer file is something else.
TOML_BYTES = 1 << 20
#: The file of a project that may hold thresholds, and its table.
PROJECT, SECTION = "pyproject.toml", "tool.wlanlens"
#: The one key of a file, or of the project's table.
KEY = "thresholds"

#: Most of a threshold, by the unit in its name.
_MOST = {"share": 1.0, "percent": 100.0}
#: Units whose values may be below zero.
_SIGNED = ("dbm",)


def checked(given: Mapping[str, Mapping[str, Any]] | None) -> Thresholds:
    """Thresholds of which every name and value is known to fit.

    Parameters
    ----------
    given : mapping of str to mapping, optional
        New values by detector and threshold: {"ack_holding": {"min_hold_ms": 30}}.

    Returns
    -------
    dict

    Raises
    ------
    NoSuchUnit
        No detector, or no threshold of it, has this name; the error names the nearest.
    WrongUse
        A value has another type than the default, or is out of the range of its unit.
    """
    shelf = registry.units("detectors")
    out: Thresholds = {}
    for code, values in (given or {}).items():
        unit = shelf.get(code)
        if not isinstance(unit, registry.Tool):
            hint = did_you_mean(str(code), shelf, "`wlanlens list detectors` lists them")
            raise NoSuchUnit(f"{KEY}: unknown detector {str(code)!r}", next=hint)
        if not isinstance(values, Mapping):
            raise WrongUse(f"{KEY}.{code} must be a table of names and values", next=_example(unit))
        known = unit.thresholds
        for name, value in values.items():
            if name not in known:
                hint = did_you_mean(str(name), known, f"it has {', '.join(known)}")
                raise NoSuchUnit(f"{KEY}: {code} has no threshold {str(name)!r}", next=hint)
            out.setdefault(code, {})[name] = _value(f"{KEY}.{code}.{name}", name, value, known[name])
    return out


def _value(where: str, name: str, value: Any, default: Any) -> Any:
    """A value as the type of the default, within the range of its unit."""
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple) or not value:
            raise WrongUse(f"{where} must be a list of numbers", next=f"for example {list(default)}")
        return tuple(_value(where, name, one, default[0]) for one in value)
    whole = isinstance(default, int)
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not fits or not math.isfinite(value) or abs(value) >= 2**53:
        kind = "a whole number" if whole else "a number"
        raise WrongUse(f"{where} must be {kind}, not {printable(repr(value), 80)}", next=f"its default is {default}")
    words = name.split("_")
    least = -math.inf if any(unit in words for unit in _SIGNED) else 0
    most = next((most for unit, most in _MOST.items() if unit == words[-1]), math.inf)
    if not least <= value <= most:
        bounds = f"from {least:g} to {most:g}" if most < math.inf else f"at least {least:g}"
        raise WrongUse(f"{where} must be {bounds}, not {value}", next=f"its default is {default}")
    return int(value) if whole else float(value)


def _example(unit: registry.Tool) -> str:
    named = next(iter(unit.thresholds.items()), None)
    return f"for example [{KEY}.{unit.name}] and in it {named[0]} = {named[1]}" if named else ""


def from_file(path: str | os.PathLike[str]) -> Thresholds:
    """The thresholds of a TOML file: tables `[thresholds.CODE]`; in a pyproject.toml `[tool.wlanlens.thresholds.CODE]`.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict
        By detector and threshold.

    Raises
    ------
    FileError
        The file cannot be read.
    WrongUse
        It is not TOML, has an unknown key, or a value does not fit.
    """
    path = Path(path)
    content = _read(path)
    if path.name == PROJECT:
        found = _section(content)
        return {} if found is None else _checked(found, path)
    return _checked(content, path)


def of_project(folder: str | os.PathLike[str] = ".") -> Thresholds:
    """The thresholds of the pyproject.toml of a folder; none where it has none of wlanlens. Raises as `from_file`."""
    path = Path(folder) / PROJECT
    return from_file(path) if path.is_file() else {}


@file_errors()
def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        raw = file.read(TOML_BYTES + 1)
    try:
        if len(raw) > TOML_BYTES:
            raise ValueError(f"it is longer than {TOML_BYTES} bytes")
        return tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"not TOML: {printable(str(error))}", path=printable(str(path))) from error


def _section(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The table of wlanlens in a project's file."""
    found: Any = content
    for name in SECTION.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _checked(content: Mapping[str, Any], path: Path) -> Thresholds:
    """The thresholds of a file's content; errors name the file."""
    try:
        for name in content:
            if name != KEY:
                raise NoSuchUnit(
                    f"unknown key {printable(name, 80)!r}", next=did_you_mean(name, [KEY], f"expected [{KEY}.CODE]")
                )
        given = content.get(KEY, {})
        if not isinstance(given, Mapping):
            raise WrongUse(f"{KEY} must be tables [{KEY}.CODE]")
        return checked(given)
    except WrongUse as error:
        error.path = printable(str(path))
        raise
