"""All figures of one page: their data, read from the trace and packed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from wlanlens.plots._air_rows import air_rows
from wlanlens.report import air as air_section
from wlanlens.report import bus as bus_section
from wlanlens.report import layers
from wlanlens.report.air_view import AirView, air_view
from wlanlens.report.balance import accounts
from wlanlens.report.more_figures import MoreFigure, more_figures
from wlanlens.report.views import MOST_VIEWS, View, data_flows, view
from wlanlens.threads import Threads

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.airtime import Summary
    from wlanlens.detection.finding import Finding
    from wlanlens.plots._rows import FlowKey
    from wlanlens.report.balance import Account
    from wlanlens.report.bus import BusView
    from wlanlens.report.layers import Layers
    from wlanlens.trace import Trace

#: Tables besides `segments` of which figures draw many rows.
_LARGE = ("packets", "frames", "exchanges")


@dataclass(frozen=True)
class PageFigures:
    """The figures of one page.

    Attributes
    ----------
    books : dict
        The ledger of each direction of a connection.
    flows : list of (FlowKey, int)
        Directions with data and their payload in bytes, in the order of the page.
    views : list of View
        Time-sequence graphs of the first of them.
    journeys : list of Layers or None
        The packets of each view at the other capture points.
    frames : AirView or None
        The figure of the air.
    transfers : BusView or None
        The figure of the USB bus.
    more : list of MoreFigure
        The folded figures.
    air : dict or None
        Values of the section about the air.
    """

    books: dict[FlowKey, Account]
    flows: list[tuple[FlowKey, int]]
    views: list[View]
    journeys: list[Layers | None]
    frames: AirView | None
    transfers: BusView | None
    more: list[MoreFigure]
    air: dict[str, Any] | None

    @property
    def packed(self) -> list[tuple[str, str]]:
        """Name and packed data of each figure, the most important first."""
        out = [(f"flow-{i}", v.packed) for i, v in enumerate(self.views)]
        out += [(f"journeys-{i}", made.packed) for i, made in enumerate(self.journeys) if made]
        out += [("frames", self.frames.packed)] if self.frames else []
        out += [("transfers", self.transfers.packed)] if self.transfers else []
        return out + [(one.id, one.packed) for one in self.more]

    def first(self, most: int) -> list[FlowKey]:
        """Directions with a ledger in the order of the page, then by duration; at most so many."""
        rank = {key: i for i, (key, _) in enumerate(self.flows)}
        return sorted(self.books, key=lambda key: (rank.get(key, len(rank)), -self.books[key].total_ns))[:most]


def page_figures(
    trace: Trace, findings: Sequence[Finding], ledger: pa.Table, about: FlowKey | None, air: Summary | None
) -> PageFigures:
    """Read and pack the figures.

    Parameters
    ----------
    trace, findings, ledger
        As of `page.write`.
    about : FlowKey or None
        The direction that the verdict is about: it comes first.
    air : Summary or None
        Use of the air over the whole capture.
    """
    # zlib works beside Python: the figures' data and plotly.js are compressed on both cores.
    with Threads(2) as pool:
        # Read here beside `segments`, once for all figures.
        read = pool.map(trace.table, [name for name in _LARGE if trace.has(name)])
        books = accounts(ledger)
        flows = data_flows(trace, findings, about)
        chosen = [key for key, _ in flows[:MOST_VIEWS]]
        deque(read, maxlen=0)
        viewed = pool.map(lambda key: view(trace, key, ledger), chosen)
        # Meanwhile what reads other tables.
        on_air = air_section.section(trace, air)
        heard = air_rows(trace) if on_air or trace.has("frames") else None
        frames = air_view(trace, heard) if on_air and heard is not None else None
        transfers = bus_section.bus_view(trace)
        views = list(islice(viewed, 1))
        whole = bool(views) and not views[0].reduced
        more = more_figures(trace, findings, views[0].key if views else None, heard, whole=whole)
        views += viewed
    journeys = [layers.layers(trace, v.key) for v in views]
    return PageFigures(books, flows, views, journeys, frames, transfers, more, on_air)
