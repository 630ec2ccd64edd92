"""A window: the rows that are held in memory until they are judged.

A connection is judged as a whole while its rows fit. When the window is full, the connections that have ended are judged
and removed. If that frees less than half of the rows, running connections are cut too, and findings that touch the cut
are joined later.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.correlation.leading_captures import LEDGER_FACTS
from wlanlens.pipeline.open_flows import OPEN_FLOWS, OpenFlows
from wlanlens.tables.columns import coded, integers
from wlanlens.tables.link_schemas import links_for_detectors

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

#: Rows held before a window is judged: 100 MiB of segments at 200 bytes, and detectors need as much again.
ROWS = 512 * 1024

#: Tables about connections that a window holds. `packets` are only written to the disk.
HELD = ("segments", "timeouts", "recoveries", "intervals", "flows", "links")

#: A row of `flows` is as large as so many of the others.
_WEIGHT = {"flows": 8}
#: Rows for the ledger alone, under the names by which they are held.
LEDGER_ONLY = {f"{name} of senders": name for name in LEDGER_FACTS}

#: Tables with rows about what happened, and the column that says when it was over.
_EVENTS = {"timeouts": "t_ns", "recoveries": "t_end_ns", "intervals": "t_end_ns", "flows": "t_end_ns"}

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class Endpoints(Mapping[int, "tuple[str, int, str, int]"]):
    """Addresses and ports of connections by number, in columns: 50 bytes for each connection."""

    def __init__(self) -> None:
        import pyarrow as pa

        fields = [("flow", pa.uint32()), ("direction", pa.string()), ("ip_src", pa.string()), ("src_port", pa.uint16())]
        self._schema = pa.schema([*fields, ("ip_dst", pa.string()), ("dst_port", pa.uint16())])
        self._table = self._schema.empty_table()
        self._flows: np.ndarray[Any, np.dtype[np.uint32]] = np.zeros(0, np.uint32)
        self._known: np.ndarray[Any, np.dtype[np.bool_]] = np.zeros(0, bool)
        self.seen = 0

    def add(self, packets: pa.RecordBatch) -> None:
        """Add the connections that begin in a batch of `packets`."""
        import pyarrow as pa

        numbers = integers(packets.column("flow"), -1)
        most = int(numbers.max(initial=-1))
        if most < 0:
            return
        if most >= len(self._known):
            self._known = np.concatenate((self._known, np.zeros(most + 1024, bool)))
        begun = np.flatnonzero((numbers >= 0) & ~self._known[numbers])
        if not len(begun):
            return
        flows, first = np.unique(numbers[begun].astype(np.uint32), return_index=True)
        rows = packets.select(self._schema.names).take(pa.array(begun[first]))
        columns = [rows.column(f.name).cast(f.type) for f in self._schema]
        self._table = pa.concat_tables([self._table, pa.Table.from_arrays(columns, schema=self._schema)])
        ordered = not len(self._flows) or self._flows[-1] < flows[0]
        self._flows = np.concatenate((self._flows, flows))
        if not ordered:
            order = np.argsort(self._flows)
            self._table, self._flows = self._table.take(pa.array(order)), self._flows[order]
        self._known[flows] = True
        self.seen += len(flows)

    def forget(self, flows: np.ndarray[Any, Any]) -> None:
        """Remove connections that have been judged."""
        import pyarrow as pa

        keep = ~np.isin(self._flows, flows)
        self._table = self._table.filter(pa.array(keep)).combine_chunks()
        self._flows = self._flows[keep]

    def __getitem__(self, flow: int) -> tuple[str, int, str, int]:
        at = int(np.searchsorted(self._flows, flow))
        if at == len(self._flows) or self._flows[at] != flow:
            raise KeyError(flow)
        row = self._table.slice(at, 1).to_pylist()[0]
        a, b = (row["ip_src"], row["src_port"]), (row["ip_dst"], row["dst_port"])
        return (*a, *b) if row["direction"] == "a2b" else (*b, *a)

    def __iter__(self) -> Iterator[int]:
        return iter(self._flows.tolist())

    def __len__(self) -> int:
        return len(self._flows)


class Window:
    """The rows of a run that are not judged yet.

    Parameters
    ----------
    captures : sequence of Capture
        The captures.
    names : collection of str
        The tables that have rows.
    """

    def __init__(self, captures: Sequence[Capture], names: Collection[str]) -> None:
        self._captures = captures
        self._facts = (*(name for name in HELD if name in names), *LEDGER_ONLY)
        self._held: dict[str, list[pa.RecordBatch]] = {name: [] for name in (*self._facts, *tables.LINK)}
        self._rows = 0
        self._endpoints = Endpoints()
        self._open_flows = OpenFlows([capture.name for capture in captures])
        self._ended: np.ndarray[Any, Any] = np.zeros(0, np.uint32)

    @property
    def full(self) -> bool:
        """Whether it is time to judge."""
        return self._rows >= ROWS

    @property
    def connections(self) -> int:
        """TCP connections seen so far."""
        return self._endpoints.seen

    def add(self, name: str, batch: pa.RecordBatch) -> None:
        """Hold the rows of a table; of `packets` only the addresses and ports of each connection."""
        if name == "packets":
            self._endpoints.add(batch)
        elif name == OPEN_FLOWS:
            self._open_flows.add(batch)
        elif name in self._held:
            self._held[name].append(batch.select(_held_schema(name).names) if name == "links" else batch)
            self._rows += batch.num_rows * _WEIGHT.get(name, 1)

    def enter(self, name: str, batch: pa.RecordBatch) -> None:
        """Hold rows for the ledger alone."""
        self.add(f"{name} of senders", batch)

    def cut(self, *, last: bool) -> dict[str, pa.Table]:
        """Take out the rows to judge now: those of ended connections, or all rows if that frees less than half.

        Rows of the link's tables are always taken out.
        """
        import pyarrow as pa

        held = {
            name: pa.Table.from_batches(batches, _held_schema(name)).unify_dictionaries()
            for name, batches in self._held.items()
        }
        closed = held["flows"].filter(pa.array(last | ~_ahead(held, "flows")))
        ended = np.unique(closed.column("flow").to_numpy())
        running = self._open_flows.without(closed)
        stay: dict[str, Mask] = {}
        if not last:
            flows = {name: _flow(held[name]) for name in self._facts}
            running_rows = {name: ~np.isin(flow, ended) for name, flow in flows.items()}
            stay = dict(running_rows)
            if "links" in stay:
                # A packet without a connection has no later rows.
                stay["links"] &= flows["links"] >= 0
            if _number(stay) > ROWS // 2:
                stay = _under_way(held, flows, stay) if "links" not in stay else {}
            if not stay or _number(stay) > ROWS // 2:
                stay = {name: running_rows[name] & _ahead(held, name) for name in _EVENTS}
        rest: dict[str, pa.Table] = {}
        for name, rows in stay.items():
            held[name], rest[name] = _parted(held[name], rows)
        self._held = {name: rest[name].to_batches() if name in rest else [] for name in self._held}
        self._rows = sum(table.num_rows for table in rest.values())
        self._ended = ended
        if not last:
            held[OPEN_FLOWS] = running
        return held

    def take_endpoints(self) -> Endpoints:
        """The addresses for the rows of the latest cut. Those of the connections that had ended then are not kept here."""
        taken = copy.copy(self._endpoints)
        self._endpoints.forget(self._ended)
        return taken


def _held_schema(name: str) -> pa.Schema:
    return links_for_detectors() if name == "links" else tables.schema(LEDGER_ONLY.get(name, name))


def _flow(table: pa.Table) -> np.ndarray[Any, Any]:
    """The connection of each row; -1 where there is none."""
    return integers(table.column("flow"), -1)


def _ahead(held: Mapping[str, pa.Table], name: str) -> Mask:
    """Rows later than all segments: the segments that prove them are still undecided, and come later."""
    import pyarrow.compute as pc

    until = pc.max(held["segments"].column("t_ns")).as_py()
    times = integers(held[name].column(_EVENTS[name]), -1)
    return np.asarray(times > until) if until is not None else np.ones(len(times), bool)


def _parted(table: pa.Table, stay: Mask) -> tuple[pa.Table, pa.Table]:
    """The rows to judge now, and those that stay, which keep no other rows in memory.

    Only rows between the first that stays and the last to judge are filtered: the others are slices.
    """
    import pyarrow as pa

    if not stay.any():
        return table, table.schema.empty_table()
    first, end = int(np.argmax(stay)), len(stay) - int(np.argmin(stay[::-1]))
    if stay.all() or end <= first:
        return table.slice(0, first), table.slice(first).combine_chunks()
    between, mask = table.slice(first, end - first), stay[first:end]
    now = [table.slice(0, first), between.filter(pa.array(~mask))]
    rest = [between.filter(pa.array(mask)), table.slice(end)]
    return pa.concat_tables(now), pa.concat_tables(rest).combine_chunks()


def _number(masks: Mapping[str, Mask]) -> int:
    return sum(int(rows.sum()) for rows in masks.values())


def _under_way(
    held: Mapping[str, pa.Table], flows: Mapping[str, np.ndarray[Any, Any]], running: Mapping[str, Mask]
) -> dict[str, Mask]:
    """Rows of running connections after an interval of the sender that ended before the latest quarter of a window.

    What the sender did then may not be over, or not be decided: a timeout has its row when its kind is known.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # When each row was over.
    over = {name: integers(held[name].column(_EVENTS.get(LEDGER_ONLY.get(name, name), "t_ns")), -1) for name in running}
    times = over["segments"]
    place = max(0, len(times) - ROWS // 4)
    if len(times) and (times[1:] < times[:-1]).any():
        times = np.partition(times, place)
    settled = int(times[place]) if len(times) else -1
    spans = held["intervals"].filter(
        pc.less_equal(held["intervals"].column("t_end_ns"), pa.scalar(settled, pa.int64()))
    )
    flow, end = _flow(spans), integers(spans.column("t_end_ns"))
    back = coded(spans.column("direction"), ("a2b", "b2a")).astype(np.int64)
    most = max((int(flows[name].max(initial=0)) for name in running), default=0) + 1
    last = np.full((most, 2), -1, np.int64)
    np.maximum.at(last, (flow, back), end)
    # A direction without intervals carries no data.
    until = np.where(last < 0, np.iinfo(np.int64).max, last).min(axis=1)
    until[(last < 0).all(axis=1)] = -1
    return {name: rows & (over[name] > until.take(flows[name])) for name, rows in running.items()}
