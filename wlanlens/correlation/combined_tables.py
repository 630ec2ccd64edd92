"""The tables of several captures on one axis, made when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.alignment import axis_tables, duplicate_frames
from wlanlens.alignment.align import Alignment
from wlanlens.alignment.path_order import PathOrder
from wlanlens.correlation import hidden_packets, links
from wlanlens.correlation.delay_breakdown import delay_columns
from wlanlens.correlation.flow_counts import COUNTED, FlowCounts
from wlanlens.correlation.leading_captures import EVENTS, LEDGER_FACTS, LeadingCaptures
from wlanlens.correlation.observation import outcomes
from wlanlens.correlation.packet_index import PacketIndex
from wlanlens.correlation.retransmission_verdicts import RetransmissionVerdicts
from wlanlens.correlation.stream_order import StreamOrder
from wlanlens.tables.columns import filled, rows_where
from wlanlens.tables.lazy_tables import LazyTables, lazy_property

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: Facts of connections: detectors read those of one capture for each connection.
FACTS = ("segments", "timeouts", "recoveries", "intervals", "flows")

#: Tables in which several sniffers may have rows of the same frames.
HEARD = ("frames", "exchanges")


class CombinedTables(Mapping[str, "pa.Table"]):
    """The tables of all captures, concatenated, and the table `links`."""

    def __init__(
        self, captures: Sequence[Capture], alignment: Alignment, leaders: LeadingCaptures | None = None
    ) -> None:
        self.captures, self.alignment = list(captures), alignment
        self._leaders = leaders
        self._on_axis: dict[tuple[str, int], pa.Table] = {}
        self._parts: dict[str, list[pa.Table]] = {}
        self._whole: dict[str, pa.Table] = {}

    def __iter__(self) -> Iterator[str]:
        return iter((*tables.core_schemas(), "links"))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._whole:
            if name not in set(self):
                raise KeyError(name)
            self._whole[name] = self._make(name)
        return self._whole[name]

    def of(self, number: int, name: str) -> pa.Table:
        """One capture's table on the axis."""
        if (name, number) not in self._on_axis:
            self._on_axis[name, number] = axis_tables.on_axis(self.captures[number], name, self.alignment, number)
        return self._on_axis[name, number]

    def _of_each(self, name: str) -> list[pa.Table]:
        return [self.of(number, name) for number in range(len(self.captures))]

    @lazy_property
    def index(self) -> PacketIndex:
        """Which rows of `packets` are the same packet."""
        return PacketIndex(self._of_each("packets"), self.alignment, self._of_each("exchanges"))

    @lazy_property
    def _paths(self) -> PathOrder:
        points = [capture.point for capture in self.captures]
        return PathOrder(points, self.index.hosts(), self.index.t_ns, self.index.seen)

    @lazy_property
    def _order(self) -> StreamOrder:
        return StreamOrder(self.index, self._paths)

    @lazy_property
    def _links_without_delays(self) -> pa.Table:
        """The columns of `links` that verdicts on retransmissions need, and others of the packets."""
        exchanges = self._of_each("exchanges")
        codes = outcomes(self.index, self._paths)
        made = links.without_delays(self.captures, self.index, self._paths, self._order, codes, exchanges)
        return hidden_packets.attach(made, self.captures, self.alignment, exchanges)

    @lazy_property
    def verdicts(self) -> RetransmissionVerdicts:
        """Facts about retransmissions that need several captures."""
        packets, made = self._of_each("packets"), self._links_without_delays
        return RetransmissionVerdicts(self.captures, packets, self.index, self._order, made)

    def _make(self, name: str) -> pa.Table:
        if name == "links":
            return self._make_links()
        parts = self.parts(name)
        # A chunk of time has not all rows of a connection: there the counts are made when it ends.
        return _joined(name, [self._counted(i, part) for i, part in enumerate(parts)] if name == "flows" else parts)

    def parts(self, name: str) -> list[pa.Table]:
        """The table of each capture on the axis, with the facts that other captures decide."""
        if name not in self._parts:
            parts = self._of_each(name)
            if name == "segments":
                parts = self.verdicts.with_spurious(parts)
            if name == "timeouts" and any(part.num_rows for part in parts):
                parts = self.verdicts.with_kinds(parts, self.parts("segments"))
            self._parts[name] = parts
        return self._parts[name]

    def _counted(self, number: int, flows: pa.Table) -> pa.Table:
        """One capture's rows of `flows`, with the counts of its corrected rows."""
        counts = FlowCounts()
        for name in COUNTED:
            counts.add(name, self.parts(name)[number])
        return counts.corrected(flows)

    def _make_links(self) -> pa.Table:
        made = self._links_without_delays
        if not len(self.index.rows):
            return made
        link_layer = (self._of_each(name) for name in ("frames", "exchanges", "urbs"))
        delays = delay_columns(self.captures, self.alignment.clocks, self.index, self._paths, *link_layer)
        return links.assembled({**{name: made.column(name) for name in made.column_names}, **delays})

    def heard(self, name: str) -> pa.Table:
        """`frames` or `exchanges` of all sniffers, each frame once, in order of time."""
        return self.merged(name, self._of_each(name))

    def merged(self, name: str, parts: Sequence[pa.Table]) -> pa.Table:
        """The same, of some rows of each capture."""
        import pyarrow as pa

        distinct = [
            duplicate_frames.drop_duplicates(part, name, duplicates).cast(tables.schema(name))
            for part, duplicates in zip(parts, self.alignment.duplicate_frames, strict=True)
        ]
        whole = pa.concat_tables(distinct).unify_dictionaries()
        if sum(part.num_rows > 0 for part in distinct) < 2:
            return whole
        t_ns = filled(whole.column("t_ns" if name == "frames" else "t_first_ns"))
        return whole.take(pa.array(np.argsort(t_ns, kind="stable")))

    @property
    def leaders(self) -> LeadingCaptures:
        """The captures with the best evidence of each connection."""
        if self._leaders is None:
            self._leaders = LeadingCaptures.of(self.captures, self.alignment)
        return self._leaders

    def leading(self) -> LazyTables:
        """The tables for detectors: the facts of each connection from one capture, and each 802.11 frame once."""
        makers = {name: partial(self.__getitem__, name) for name in self}
        makers.update({name: partial(self.heard, name) for name in HEARD})
        makers.update({name: partial(self._leading_facts, name) for name in FACTS})
        return LazyTables(makers)

    def _leading_facts(self, name: str) -> pa.Table:
        """The rows of a table from the capture with the best evidence of each connection."""
        return _joined(name, self._chosen(self.parts(name), self.leaders.leads))

    def for_ledger(self, name: str) -> list[pa.Table]:
        """One of `LEDGER_FACTS` of each capture: events with whether anything outstanding was lost."""
        parts = self.parts(name)
        if name not in EVENTS or not any(part.num_rows for part in parts):
            return parts
        return self.verdicts.with_losses(name, parts, self.parts("segments"))

    def of_senders(self) -> dict[str, pa.Table]:
        """`LEDGER_FACTS` from the capture with the best evidence of each direction of a connection."""
        chosen = {name: self._chosen(self.for_ledger(name), self.leaders.sees_sender) for name in LEDGER_FACTS}
        return {name: _joined(name, parts) for name, parts in chosen.items()}

    @staticmethod
    def _chosen(parts: Sequence[pa.Table], rows: Callable[[pa.Table, int], Array]) -> list[pa.Table]:
        """Some rows of each capture's part of a table."""
        return [rows_where(part, rows(part, number)) for number, part in enumerate(parts)]


def _joined(name: str, parts: Sequence[pa.Table]) -> pa.Table:
    """The parts of a table as one, with the schema's types."""
    import pyarrow as pa

    return pa.concat_tables([part.cast(tables.schema(name)) for part in parts]).unify_dictionaries()
