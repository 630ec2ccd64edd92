"""Parameters of scenarios: text and JSON numbers as their types, and their ranges."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from typing import Any

from wlanlens.errors import WrongUse


class ScenarioError(WrongUse):
    """An unknown scenario, or a parameter out of its range."""


def converted(
    scenario: str, known: Mapping[str, dataclasses.Field[Any]], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    for name in parameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.0)
            raise ScenarioError(
                f"{scenario} has no parameter {name!r}",
                next=f"did you mean {near[0]!r}? it has " + ", ".join(sorted(known)),
            )
    return {name: _convert(scenario, known[name], value) for name, value in parameters.items()}


def _convert(name: str, f: dataclasses.Field[Any], value: Any) -> Any:
    """Text (from `--set`) and JSON's numbers as the type of the parameter's default."""
    kind: type[Any] = type(f.default)
    try:
        if kind is bool:
            if isinstance(value, str):
                return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[value.lower()]
            if isinstance(value, bool):
                return value
            raise ValueError
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError
        if kind is str:
            if not isinstance(value, str):
                raise TypeError
            return value
        number = _number(value)
        if kind is float:
            return float(number) if abs(number) < 1e308 or number != number else math.copysign(math.inf, number)
        if number != number or (math.isfinite(number) and number != int(number)):
            raise ValueError
        return int(number) if math.isfinite(number) else (1 if number > 0 else -1) << 64
    except (ValueError, TypeError, KeyError):
        what = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}[kind]
        raise ScenarioError(
            f"{name}: {f.name} must be {what}, not {shown(value)}", next=f"for example {f.default!r}"
        ) from None


def _number(value: str | int | float) -> int | float:
    """A number with the precision given; a number too large is infinite."""
    if isinstance(value, str) and value.strip().lstrip("+-").isdecimal() and len(value) < 400:
        value = int(value)
    if isinstance(value, int) and abs(value) >= 10**300:
        return math.copysign(math.inf, 1 if value > 0 else -1)
    return value if isinstance(value, int) else float(value)


def shown(value: Any) -> str:
    text = (
        repr(value) if not isinstance(value, int) or abs(value) < 10**60 else f"a number of {value.bit_length()} bits"
    )
    return text if len(text) <= 80 else text[:77] + "..."


def check(name: str, f: dataclasses.Field[Any], value: Any) -> None:
    among = f.metadata.get("among")
    if among is not None and type(f.default) is str and value not in among:
        near = difflib.get_close_matches(str(value), among, 1, 0.0)
        raise ScenarioError(
            f"{name}: {f.name} must be one of {', '.join(among)}, not {shown(value)}",
            next=f"did you mean {near[0] if near else among[0]!r}?",
        )
    if f.default is dataclasses.MISSING:
        return
    kind = type(f.default)
    wanted = int | float if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise ScenarioError(f"{name}: {f.name} must be a {kind.__name__}, not {shown(value)}")
    if kind not in (int, float):
        return
    least, most = f.metadata.get("least"), f.metadata.get("most")
    low, high = least is not None and not value >= least, most is not None and not value <= most
    if low or high or not -math.inf < value < math.inf:
        # For NaN the nearest value is the default.
        nearest = f.default if value != value or (not low and not high) else least if low else most
        bounds = " and ".join(
            f"at {word} {bound:.12g}" for word, bound in (("least", least), ("most", most)) if bound is not None
        )
        raise ScenarioError(
            f"{name}: {f.name} must be {bounds or 'a number'}, not {shown(value)}",
            next=f"the nearest is {nearest:.12g}",
        )
    if among is not None and value not in among:
        possible = ", ".join(f"{number:.12g}" for number in among)
        nearest = min(among, key=lambda number: abs(number - value))
        raise ScenarioError(
            f"{name}: {f.name} must be one of {possible}, not {shown(value)}", next=f"the nearest is {nearest:.12g}"
        )
