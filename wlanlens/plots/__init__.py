"""The shelf of plots: each module defines one figure of a trace; modules with an underscore are shared.

`names()` lists them, and each is a function of this module: `wl.plots.time_sequence(trace)`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from wlanlens import registry
from wlanlens.detection import capture_needs
from wlanlens.errors import MissingTable, NoSuchUnit, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from plotly.graph_objects import Figure as Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.trace import Trace


_EVENTS = ("timeouts",)
"""Tables that a healthy capture has without rows: the plot itself says that there is nothing to draw."""


def names() -> list[str]:
    """The names of all plots.

    Returns
    -------
    list of str
        In alphabetical order; `wlanlens list plots` says what each shows.
    """
    return list(registry.units("plots"))


def draw(name: str, trace: Trace, findings: Sequence[Finding] = (), **options: Any) -> Figure:
    """A figure of a trace.

    Parameters
    ----------
    name : str
        One of `names()`.
    trace : Trace
        The trace.
    findings : sequence of Finding, optional
        Findings to mark in it.
    **options
        `flow` and `direction` of the connection (0 and "a2b" by default), and those of the plot.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    NoSuchUnit
        No plot has this name.
    MissingTable
        The trace lacks a table that the plot draws, or has no rows of it. Of its class `NothingToDraw`: it has rows, and
        none of what the plot shows.
    """
    unit = registry.units("plots").get(name)
    if not isinstance(unit, registry.Tool):
        raise NoSuchUnit(
            f"there is no plot {name!r}", next=did_you_mean(name, names(), f"plots are {', '.join(names())}")
        )
    missing = unit.missing(lambda table: trace.has(table) and (table in _EVENTS or trace.table(table).num_rows > 0))
    if missing:
        raise MissingTable(
            f"the plot {name} needs rows of {', '.join(missing)}, and this trace has none",
            next="it " + capture_needs.plain(capture_needs.reason(missing)),
        )
    figure: Figure = unit(trace, findings, **options)
    return figure


if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Figure]: ...


class _Shelf(ModuleType):
    """This module, in which a plot's name is its function.

    Python sets the attribute `time_sequence` to the module when it imports `time_sequence.py`; users expect the plot.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        plot = vars(value).get(name) if isinstance(value, ModuleType) else None
        super().__setattr__(name, plot if isinstance(plot, registry.Unit) else value)

    def __getattr__(self, name: str) -> Any:
        unit = None if name.startswith("_") else registry.units("plots").get(name)
        if unit is None:
            hint = (
                "" if name.startswith("_") else f"; {did_you_mean(name, names(), 'wl.plots.names() lists the plots')}"
            )
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        return unit

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *names()})


sys.modules[__name__].__class__ = _Shelf
