"""Shelves: a unit is one file with one decorated object; the registry finds it, no list names it.

A shelf is a package folder (`detectors`, `plots`, ...). `units(shelf)` imports its modules in name order, takes the one
`Unit` that each defines, and adds those that other packages offer through the entry-point group `wlanlens.<shelf>`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from wlanlens.errors import RegistryError

SHELVES = ("detectors", "plots", "parsers", "scenarios", "models", "papers")


class Unit:
    """What stands on a shelf: a function (or, for a parser, its description) with a name and the tables it needs."""

    def __init__(self, shelf: str, name: str, function: Callable[..., Any], needs: Iterable[str] = ()) -> None:
        self.shelf, self.name, self.function, self.needs = shelf, name, function, tuple(needs)
        self.module = function.__module__
        self.__doc__ = inspect.getdoc(function)
        self.__name__ = name
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.shelf[:-1]} {self.name}>"

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return (self.__doc__ or "").strip().split("\n", 1)[0]

    @property
    def thresholds(self) -> dict[str, Any]:
        """Keyword arguments with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty and p.kind is p.KEYWORD_ONLY}

    def missing(self, has: Callable[[str], bool]) -> tuple[str, ...]:
        """The needed tables that `has` denies."""
        return tuple(table for table in self.needs if not has(table))


class Parser(Unit):
    """One kind of capture that can be read; the function says (readable, tables) and its docstring documents it.

    The reading itself is Rust's; a parser here is the description that `wlanlens list formats` prints.
    """

    def __init__(self, name: str, function: Callable[..., Any], *, title: str, tables: Iterable[str]) -> None:
        super().__init__("parsers", name, function, ())
        self.title, self.tables = title, tuple(tables)


def detector(code: str, *, needs: Iterable[str]) -> Callable[[Callable[..., Any]], Unit]:
    """Put a function `(trace, *, threshold_unit=...) -> Iterator[Finding]` on the shelf `detectors`."""
    return lambda function: Unit("detectors", code, function, needs)


def plot(name: str, *, needs: Iterable[str]) -> Callable[[Callable[..., Any]], Unit]:
    """Put a function `(trace, findings=(), *, flow, direction) -> plotly Figure` on the shelf `plots`."""
    return lambda function: Unit("plots", name, function, needs)


def parser(name: str, *, title: str, tables: Iterable[str]) -> Callable[[Callable[..., Any]], Parser]:
    """Put a kind of capture on the shelf `parsers`; the function answers `sniffed format -> is it this kind`."""
    return lambda function: Parser(name, function, title=title, tables=tables)


@cache
def units(shelf: str) -> dict[str, Unit]:
    """Every unit of a shelf by name, in name order."""
    if shelf not in SHELVES:
        raise RegistryError(f"there is no shelf {shelf!r}", next="shelves are " + ", ".join(SHELVES))
    return collect([*_own(shelf), *_foreign(shelf)])


def collect(found: Iterable[Unit]) -> dict[str, Unit]:
    """Units by name; two of one name are an error that names both modules."""
    out: dict[str, Unit] = {}
    for unit in found:
        if unit.name in out:
            raise RegistryError(
                f"{unit.shelf}: {unit.name!r} is defined by {out[unit.name].module} and by {unit.module}"
            )
        out[unit.name] = unit
    return dict(sorted(out.items()))


def unit_of(module: Any, shelf: str) -> Unit:
    """The one unit that a module of a shelf defines."""
    found = [u for u in vars(module).values() if isinstance(u, Unit) and u.module == module.__name__]
    if len(found) != 1 or found[0].shelf != shelf:
        raise RegistryError(f"{module.__name__} must define exactly one unit of {shelf}, it defines {len(found)}")
    return found[0]


def _own(shelf: str) -> Iterable[Unit]:
    try:
        package = importlib.import_module(f"wlanlens.{shelf}")
    except ModuleNotFoundError as missing:
        if missing.name != f"wlanlens.{shelf}":
            raise
        return  # a room that later work fills
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        if not info.name.startswith("_"):
            yield unit_of(importlib.import_module(f"wlanlens.{shelf}.{info.name}"), shelf)


def _foreign(shelf: str) -> Iterable[Unit]:
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=f"wlanlens.{shelf}"), key=lambda point: (point.name, point.value)):
        try:
            loaded = point.load()
        except Exception as error:
            raise RegistryError(
                f"the package behind {shelf} {point.name!r} ({point.value}) cannot be loaded: {error}"
            ) from error
        unit = loaded if isinstance(loaded, Unit) else unit_of(loaded, shelf)
        if unit.shelf != shelf:
            raise RegistryError(f"{point.value} is on the shelf {unit.shelf}, not {shelf}")
        yield unit


def list_units(shelf: str) -> list[tuple[str, str]]:
    """(name, first line of documentation) of every unit of a shelf."""
    return [(name, unit.summary) for name, unit in units(shelf).items()]
