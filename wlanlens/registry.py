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

#: A clause for the verdict, or how to make it from a finding.
Phrase = str | Callable[[Any], str]

SHELVES = ("detectors", "plots", "parsers", "scenarios", "models", "papers")


class Unit:
    """What stands on a shelf: a name, the module that defines it, and its documentation."""

    def __init__(self, shelf: str, name: str, module: str, doc: str) -> None:
        self.shelf, self.name, self.module, self.__doc__ = shelf, name, module, inspect.cleandoc(doc)

    def __repr__(self) -> str:
        return f"<{self.shelf[:-1]} {self.name}>"

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return (self.__doc__ or "").split("\n", 1)[0]


class Tool(Unit):
    """A unit that is a function, with the tables it needs; of a detector also its phrase for the verdict."""

    def __init__(
        self, shelf: str, name: str, function: Callable[..., Any], needs: Iterable[str], phrase: Phrase = ""
    ) -> None:
        super().__init__(shelf, name, function.__module__, function.__doc__ or "")
        self.function, self.needs, self._phrase = function, tuple(needs), phrase
        self.__name__ = name
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def thresholds(self) -> dict[str, Any]:
        """Keyword arguments with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty and p.kind is p.KEYWORD_ONLY}

    def phrase(self, finding: Any) -> str:
        """The detector's phrase about a finding in the verdict; "" where it has none."""
        return self._phrase if isinstance(self._phrase, str) else self._phrase(finding)

    def missing(self, has: Callable[[str], bool]) -> tuple[str, ...]:
        """The needed tables that `has` denies."""
        return tuple(table for table in self.needs if not has(table))


class Container(Unit):
    """A file format: recognised by its first bytes, read by the core.

    `name` is the core's (`_core.sniff`); `clock` says what its time stamps count.
    """

    def __init__(self, name: str, module: str, doc: str, *, clock: str) -> None:
        super().__init__("parsers", name, module, doc)
        self.clock = clock


class LinkType(Unit):
    """A kind of frame inside a container: its LINKTYPE_ values and the tables that it fills."""

    def __init__(self, name: str, module: str, doc: str, *, dlt: Iterable[int], tables: Iterable[str]) -> None:
        super().__init__("parsers", name, module, doc)
        self.dlt, self.tables = tuple(dlt), tuple(tables)


#: Tables that any capture of IP packets fills.
IP_TABLES = ("packets", "segments", "timeouts", "recoveries", "intervals", "flows")


def detector(code: str, *, needs: Iterable[str], phrase: Phrase = "") -> Callable[[Callable[..., Any]], Tool]:
    """Put a function `(trace, *, threshold_unit=...) -> Iterator[Finding]` on the shelf `detectors`.

    Parameters
    ----------
    code : str
        The detector's name, and that of its findings.
    needs : iterable of str
        The tables that it reads.
    phrase : str or callable, optional
        What the verdict says about the costliest finding, as a clause: "slow start overshot a buffer". A callable makes
        it from the finding. Without one the verdict does not mention the detector.
    """
    return lambda function: Tool("detectors", code, function, needs, phrase)


def plot(name: str, *, needs: Iterable[str]) -> Callable[[Callable[..., Any]], Tool]:
    """Put a function `(trace, findings=(), *, flow, direction) -> plotly Figure` on the shelf `plots`."""
    return lambda function: Tool("plots", name, function, needs)


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
