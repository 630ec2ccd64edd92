"""Shelves: a unit is one file that defines one `Unit`. The registry finds it; there is no list of units.

A shelf is a package folder (`detectors`, `plots`, ...). `units(shelf)` imports its modules in name order and takes the
one `Unit` of each. It adds those that other packages offer through the entry-point group `wlanlens.<shelf>`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol

from wlanlens.errors import RegistryError

#: A clause for the verdict, or how to make it from a finding.
Phrase = str | Callable[[Any], str]
#: A kind of retransmission timeouts that findings explain, and how to say why from those findings.
TimeoutReason = tuple[str, Callable[[Any], str]]

SHELVES = ("detectors", "plots", "parsers", "scenarios", "models", "papers")


class Unit:
    """What a shelf holds: a name, the module that defines it, and its documentation."""

    def __init__(self, shelf: str, name: str, module: str, doc: str) -> None:
        self.shelf, self.name, self.module, self.__doc__ = shelf, name, module, inspect.cleandoc(doc)

    def __repr__(self) -> str:
        return f"<{self.shelf[:-1]} {self.name}>"

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return (self.__doc__ or "").split("\n", 1)[0]


class Tool(Unit):
    """A unit that is a function, with the tables it needs; of a detector also what the verdict says about its findings.

    Attributes
    ----------
    function : callable
    needs : tuple of str
        The tables that it reads.
    category, timeout_reason, explains, whole, remedy, saving
        As in `detector`.
    """

    def __init__(
        self,
        shelf: str,
        name: str,
        function: Callable[..., Any],
        needs: Iterable[str],
        phrase: Phrase = "",
        category: str = "",
        timeout_reason: TimeoutReason | None = None,
        explains: Iterable[str] = (),
        whole: Callable[[Mapping[str, Any]], str] | None = None,
        remedy: Callable[..., str] | None = None,
        saving: str = "",
    ) -> None:
        super().__init__(shelf, name, function.__module__, function.__doc__ or "")
        self.function, self.needs, self._phrase = function, tuple(needs), phrase
        self.category, self.timeout_reason, self.explains = category, timeout_reason, tuple(explains)
        self.whole = whole
        self.remedy, self.saving = remedy, saving
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
        """The needed tables that are not there; `has(table)` says whether one is."""
        return tuple(table for table in self.needs if not has(table))


class RawRecord(NamedTuple):
    """One record, as the `read` of a container written in Python yields it; a plain tuple of 4 to 6 values will do.

    Attributes
    ----------
    time_ns : int or None
        Nanoseconds since 1970; None where the file has no timestamp.
    link_type : int
        LINKTYPE_ value of the data.
    wire_bytes : int
        Length on the wire.
    data : bytes
        What was captured of it.
    interface : int
        Number of the capture interface, from 0.
    outgoing : bool or None
        Whether the capturing host sent it; None where the file does not say.
    """

    time_ns: int | None
    link_type: int
    wire_bytes: int
    data: bytes
    interface: int = 0
    outgoing: bool | None = None


class CaptureFile(Protocol):
    """A file, open at its first byte, as the `read` of a container gets it. Compression is undone already.

    Attributes
    ----------
    path : str or None
        The file as it was named, for libraries that open files themselves; None is standard input.
    head : bytes
        Its first bytes, as `sniff` got them. Reading begins with them again.
    compression : str
        "gzip", "zstd", "lz4", or "" for none.
    """

    @property
    def path(self) -> str | None: ...
    @property
    def head(self) -> bytes: ...
    @property
    def compression(self) -> str: ...

    def read(self, size: int) -> bytes:
        """The next `size` bytes (64 MiB at most); fewer at the end of the file."""

    def readline(self, size: int = ...) -> bytes:
        """The next line with its line feed; at most `size` bytes of it (1 MiB if not said)."""

    def tell(self) -> int:
        """Offset of the next byte, after decompression."""

    def note(self, name: str, count: int = 1) -> None:
        """Count what is odd in the file, by the name of a note: cut_file, bytes_skipped, block_damaged ..."""


class Container(Unit):
    """A file format: how it is recognised, and how its records are read.

    Parameters
    ----------
    name, module, doc : str
        Name of the unit, and `__name__` and `__doc__` of its module.
    clock : str
        What its timestamps count, and from when.
    sniff : callable
        `sniff(head)` says whether a file that begins with these bytes has this format. `head` is decompressed: 512 to
        4096 bytes, fewer where the file is shorter. It should be strict: a file goes to the first container that says yes.
    read : callable
        `read(file)`, of a `CaptureFile`, gives the records from the first one on: an iterable of `RawRecord`. It reads
        as it goes, so that memory stays flat. What it raises before the first record is the error that the user sees:
        `CorruptCapture` or `UnsupportedFormat` are best. After that it ends the capture with the note `reader_failed`.
    linktypes : iterable of int
        LINKTYPE_ values that its records can have; empty: those of any file. They say which tables are filled.
    """

    def __init__(
        self,
        name: str,
        module: str,
        doc: str,
        *,
        clock: str,
        sniff: Callable[[bytes], bool],
        read: Callable[[Any], object],
        linktypes: Iterable[int] = (),
    ) -> None:
        super().__init__("parsers", name, module, doc)
        self.clock, self.sniff, self.read, self.linktypes = clock, sniff, read, tuple(linktypes)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that its records can fill: those of its link types."""
        kinds = [unit for unit in units("parsers").values() if isinstance(unit, LinkType)]
        mine = [unit for unit in kinds if not self.linktypes or set(unit.linktypes) & set(self.linktypes)]
        return tuple(dict.fromkeys(table for unit in mine for table in unit.tables))


class LinkType(Unit):
    """A kind of frame inside a container. The core decodes it.

    Parameters
    ----------
    name, module, doc : str
        Name of the unit, and `__name__` and `__doc__` of its module.
    linktypes : iterable of int
        Its LINKTYPE_ values.
    tables : iterable of str
        The tables that it fills.
    """

    def __init__(self, name: str, module: str, doc: str, *, linktypes: Iterable[int], tables: Iterable[str]) -> None:
        super().__init__("parsers", name, module, doc)
        self.linktypes, self.tables = tuple(linktypes), tuple(tables)


#: Tables that any capture of IP packets fills.
IP_TABLES = ("packets", "segments", "timeouts", "recoveries", "intervals", "flows")


def detector(
    code: str,
    *,
    needs: Iterable[str],
    phrase: Phrase = "",
    category: str = "",
    timeout_reason: TimeoutReason | None = None,
    explains: Iterable[str] = (),
    whole: Callable[[Mapping[str, Any]], str] | None = None,
    remedy: Callable[..., str] | None = None,
    saving: str = "",
) -> Callable[[Callable[..., Any]], Tool]:
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
    category : str, optional
        The ledger's category that holds the same time: the verdict leaves the phrase out where the flow has time in it.
        Findings without a flow are mentioned only if their detector has one.
    timeout_reason : tuple of str and callable, optional
        A kind of `timeouts` and a function of the detector's findings: why those timeouts came, as in "2 of them spurious
        because ACKs were held".
    explains : iterable of str, optional
        Categories of the ledger whose time the findings explain: a finding about a direction of a connection costs at most
        their time. All by default.
    whole : callable, optional
        For a detector whose finding sums up a direction of a connection: its sentence, without the subject, from its
        values. In a long capture such findings of all windows become one: seconds, counts and bytes are added, and of
        other values the latest counts.
    remedy : callable, optional
        `remedy(finding)` is what to do about it, `remedy()` what to do in general: a `wlanlens.detection.remedy.Remedy`.
    saving : str, optional
        How `saved_s` is estimated: one of `wlanlens.detection.savings.SAVINGS`; "": it is not defined.
    """

    def put(function: Callable[..., Any]) -> Tool:
        return Tool(
            "detectors", code, function, needs, phrase, category, timeout_reason, explains, whole, remedy, saving
        )

    return put


def plot(name: str, *, needs: Iterable[str]) -> Callable[[Callable[..., Any]], Tool]:
    """Put a function `(trace, findings=(), *, flow, direction) -> plotly Figure` on the shelf `plots`."""
    return lambda function: Tool("plots", name, function, needs)


@cache
def units(shelf: str) -> dict[str, Unit]:
    """Every unit of a shelf by name, in name order."""
    return collect([*own_units(shelf), *_foreign(shelf)])


@cache
def own_units(shelf: str) -> tuple[Unit, ...]:
    """The units of a shelf that wlanlens itself has, in name order."""
    if shelf not in SHELVES:
        raise RegistryError(f"there is no shelf {shelf!r}", next="shelves are " + ", ".join(SHELVES))
    return tuple(_own(shelf))


def containers() -> Iterator[Container]:
    """The containers in the order in which a file is offered to them: our own first, each group in name order."""
    own = own_units("parsers")
    yield from (unit for unit in own if isinstance(unit, Container))
    # Other packages are searched for only if they are needed: it takes longer than opening a file.
    yield from (unit for unit in units("parsers").values() if isinstance(unit, Container) and unit not in own)


def collect(found: Iterable[Unit]) -> dict[str, Unit]:
    """Units by name, in name order. Two units of one name are an error."""
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
    package = importlib.import_module(f"wlanlens.{shelf}")
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
    """The units of a shelf.

    Parameters
    ----------
    shelf : str
        One of `SHELVES`: detectors, plots, parsers, scenarios, models, papers.

    Returns
    -------
    list of (str, str)
        Name and first line of documentation, in name order.

    Raises
    ------
    RegistryError
        There is no such shelf, or one of its units is broken.
    """
    return [(name, unit.summary) for name, unit in units(shelf).items()]
