"""JSON files of an analysed directory, which may come from a stranger: bounded, and of the types that wlanlens writes."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import stat
import types
import typing
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from wlanlens.operating_system import NO_FOLLOW, NO_WAIT

Made = TypeVar("Made")

#: Largest JSON file that is read. 10 000 findings with 1000 packets of evidence each are 120 MB.
MOST_BYTES = 256 * 2**20


class NotOurs(ValueError):
    """A file, or a value in it, that wlanlens does not write."""


def read(path: Path) -> Any:
    """The content of a JSON file.

    A symbolic link is not followed, a pipe or device is not read, and NaN, infinite numbers and whole numbers of more than
    64 bits are refused.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    NotOurs
        It is no regular file, or its content is not valid.
    """
    try:
        opened = os.open(path, os.O_RDONLY | NO_FOLLOW | NO_WAIT)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise NotOurs(f"{path.name} cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise NotOurs(f"{path.name} is not a regular file")
    with os.fdopen(opened, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise NotOurs(f"{path.name} is longer than {MOST_BYTES} bytes")
    try:
        return json.loads(content, parse_constant=_no_number, parse_float=_finite, parse_int=_bounded)
    except (ValueError, RecursionError) as error:
        raise NotOurs(f"{path.name}: {error}") from error


def _no_number(text: str) -> Any:
    raise NotOurs(f"{text} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotOurs(f"{text[:40]} is too large")
    return value


def _bounded(text: str) -> int:
    value = int(text) if len(text) <= 20 else 1 << 64
    if not -(1 << 63) <= value < 1 << 64:
        raise NotOurs(f"{text[:40]} is too large")
    return value


def check(value: Any, hint: Any, where: str) -> None:
    """Check that a value of JSON has a type.

    Parameters
    ----------
    value
        What `json.loads` made.
    hint : type
        int (of 64 bits, with sign), float (whole numbers too), str, bool, None, Any, a dataclass (an object with its fields), or
        list, tuple, dict and unions of these.
    where : str
        The name of the value, for the message.

    Raises
    ------
    NotOurs
        It has another type.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        _check_object(value, typing.cast("type", hint), where)
    elif origin in (typing.Union, types.UnionType):
        if not any(_fits(value, one, where) for one in inner):
            raise _wrong(value, where)
    elif origin is dict:
        _need(isinstance(value, dict), value, where)
        for key, item in value.items():
            check(item, inner[1], f"{where}.{key:.40}")
    elif origin is list or (origin is tuple and inner[-1] is ...):
        _need(isinstance(value, list), value, where)
        if inner[0] is int and all(type(item) is int and item < 1 << 63 for item in value):
            return  # the packets of the evidence, one by one, take longer than all else
        for i, item in enumerate(value):
            check(item, inner[0], f"{where}[{i}]")
    elif origin is tuple:
        _need(isinstance(value, list) and len(value) == len(inner), value, where)
        for i, (item, one) in enumerate(zip(value, inner, strict=True)):
            check(item, one, f"{where}[{i}]")
    elif hint is int:
        _need(isinstance(value, int) and not isinstance(value, bool) and value < 1 << 63, value, where)
    elif hint is float:
        _need(isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63, value, where)
    elif hint is not Any:
        _need(isinstance(value, type(None) if hint is None else hint), value, where)


def _check_object(value: Any, kind: type, where: str) -> None:
    _need(isinstance(value, dict), value, where)
    hints = _hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    for name in value:
        if name not in fields:
            raise NotOurs(f"{where} has an unknown key {name[:40]!r}")
    for name, field in fields.items():
        if name in value:
            check(value[name], hints[name], f"{where}.{name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise NotOurs(f"{where} has no {name!r}")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _fits(value: Any, hint: Any, where: str) -> bool:
    try:
        check(value, hint, where)
    except NotOurs:
        return False
    return True


def _need(fits: bool, value: Any, where: str) -> None:
    if not fits:
        raise _wrong(value, where)


def _wrong(value: Any, where: str) -> NotOurs:
    return NotOurs(f"{where} is {repr(value)[:40]}")


def made(kind: type[Made], row: Any, where: str) -> Made:
    """A dataclass from its object, whose types are checked.

    Raises
    ------
    NotOurs
        A value has another type, is missing or unknown, or the dataclass refuses it.
    """
    check(row, kind, where)
    try:
        return kind(**row)
    except (TypeError, ValueError, IndexError) as error:
        raise NotOurs(f"{where}: {error}") from error


def parts(
    content: Any, shape: Mapping[str, Any], where: str, *, optional: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """An object with at least the keys of `shape`, each of its type; other keys may have any value."""
    _need(isinstance(content, dict), content, where)
    for name, hint in shape.items():
        if name in content:
            check(content[name], hint, name)
        elif name not in optional:
            raise NotOurs(f"{where} has no {name!r}")
    return dict(content)
