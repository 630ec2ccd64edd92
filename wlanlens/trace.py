"""Trace: captures on one time axis, and their tables. A detector or a plot is given nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wlanlens import tables
from wlanlens.alignment.clock_map import ClockMap
from wlanlens.errors import MissingTable
from wlanlens.formatting import html_table, printable
from wlanlens.tables.lazy_tables import LazyTables
from wlanlens.tables.overview import Tables

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from wlanlens.capture.capture import Capture, Note

#: Tables with a time in every row: the last row of them ends the trace.
TIMED = ("packets", "frames", "urbs")


class Trace:
    """Captures on one time axis.

    A window of a long capture is a Trace too: its tables hold the window's rows, and `flows` holds the connections
    that ended in it.

    Parameters
    ----------
    captures : iterable of Capture
        The captures.
    held : mapping
        The tables by name.
    leading : mapping, optional
        The tables for detectors, if they differ from `held`: see `Trace.leading`.
    start_ns, duration_ns : int, optional
        Epoch time of t = 0, and the time from there to the last packet. By default they are taken from the tables.
    find_duration_ns : callable, optional
        Returns the same time where it is known without the tables, else None.
    endpoints : mapping, optional
        Address and port of a, then of b, by connection. By default they are taken from the tables.
    clocks : sequence of ClockMap, optional
        How each capture's clock maps to the axis; by default it is the axis.

    Attributes
    ----------
    captures : list of Capture
        The captures.
    clocks : list of ClockMap
        How each capture's clock maps to the axis.
    """

    def __init__(
        self,
        captures: Iterable[Capture],
        held: Mapping[str, pa.Table],
        *,
        leading: Mapping[str, pa.Table] | None = None,
        start_ns: int | None = None,
        duration_ns: int | None = None,
        find_duration_ns: Callable[[], int | None] = lambda: None,
        endpoints: Mapping[int, tuple[str, int, str, int]] | None = None,
        clocks: Sequence[ClockMap] | None = None,
    ) -> None:
        self.captures = list(captures)
        self.clocks = list(clocks or ()) or [ClockMap.identity(c.name) for c in self.captures]
        self._held, self._leading = held, leading
        self._start_ns, self._duration_ns, self._find_duration_ns = start_ns, duration_ns, find_duration_ns
        self._endpoints = endpoints

    def __repr__(self) -> str:
        names = ", ".join(printable(capture.name) for capture in self.captures) or "tables alone"
        return f"<Trace of {names}: {', '.join(self.tables)}>"

    def _repr_html_(self) -> str:
        heads = ("capture", "point", "format", "notes")
        rows = [
            (c.name, c.point, c.format, len(c.notes) if c.loaded or c.info.get("records") else "")
            for c in self.captures
        ]
        return html_table("Trace", heads, rows) + self.tables._repr_html_()

    @classmethod
    def of_tables(cls, held: Mapping[str, pa.Table], *, start_ns: int = 0, duration_ns: int | None = None) -> Trace:
        """A trace of tables alone, without captures."""
        return cls([], held, start_ns=start_ns, duration_ns=duration_ns)

    @property
    def tables(self) -> Tables:
        """The tables by name; a notebook shows what each holds."""
        return Tables(self._held)

    def table(self, name: str) -> pa.Table:
        """A table by name.

        Parameters
        ----------
        name : str
            One of docs/tables.md.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        MissingTable
            The trace has no such table.
        """
        if name in self._held:
            return self._held[name]
        tables.schema(name)
        raise MissingTable(f"this trace has no table {name!r}")

    def has(self, name: str) -> bool:
        """Whether the trace has a table; the table may be empty."""
        return name in self._held

    def leading(self) -> Trace:
        """The trace that detectors judge.

        Of several captures it holds each connection's facts from one capture, the sender's where there is one, and each
        802.11 frame once. Of one capture it is the trace itself.
        """
        if self._leading is None:
            return self
        return Trace(
            self.captures, self._leading, start_ns=self.start_ns, duration_ns=self.duration_ns, clocks=self.clocks
        )

    def of_flow(self, flow: int) -> Trace:
        """The trace of one connection: its rows of the tables that have a column `flow`."""
        makers = {
            name: partial(_rows_of, self._held, name, flow)
            for name in self._held
            if "flow" in tables.schema(name).names
        }
        return Trace(
            self.captures, LazyTables(makers), start_ns=self.start_ns, duration_ns=self.duration_ns, clocks=self.clocks
        )

    def view(self, name: str, *, all: bool = False) -> pd.DataFrame:
        """A table as a pandas DataFrame.

        Parameters
        ----------
        name : str
            The table.
        all : bool
            Whether to show all columns of a wide table; by default its main ones.

        Returns
        -------
        pandas.DataFrame
            With nullable integers, as `wl.to_pandas` makes it. Where the table has the connection's number but no ports,
            such as `segments`, it also has ip_src, src_port, ip_dst and dst_port.

        Raises
        ------
        MissingTable
            The trace has no such table.
        """
        table = self.table(name)
        brief = [] if all else [column for column in tables.brief_columns(name) if column in table.column_names]
        view = tables.to_pandas(table.select(brief or table.column_names))
        if {"flow", "direction"} <= set(view.columns) and "src_port" not in view.columns:
            self._insert_endpoints(view)
        return view

    def _insert_endpoints(self, view: pd.DataFrame) -> None:
        """Put addresses and ports of each row's flow behind its direction."""
        import pandas as pd

        key = 2 * view["flow"].astype("Int64") + (view["direction"] == "b2a").astype("Int64")
        ends: dict[int, tuple[str, int, str, int]] = {}
        for flow in view["flow"].dropna().unique():
            known = self.endpoints(int(flow))
            if known is not None:
                ends[2 * int(flow)], ends[2 * int(flow) + 1] = known, (*known[2:], *known[:2])
        at = list(view.columns).index("direction") + 1
        kinds: dict[str, Any] = {"ip_src": "category", "src_port": "UInt16", "ip_dst": "category", "dst_port": "UInt16"}
        for i, (column, kind) in enumerate(kinds.items()):
            values = pd.Series({number: end[i] for number, end in ends.items()}, dtype="object")
            view.insert(at + i, column, key.map(values).astype(kind))

    @property
    def start_ns(self) -> int:
        """Epoch ns of t = 0: the first packet's time."""
        if self._start_ns is None:
            self._start_ns = next((s for c in self.captures if (s := c.start_ns) is not None), 0)
        return self._start_ns

    @property
    def duration_ns(self) -> int:
        """Time from t = 0 to the last packet, ns."""
        if self._duration_ns is None:
            self._duration_ns = self._find_duration_ns()
        if self._duration_ns is None:
            self._duration_ns = self._last_t_ns()
        return self._duration_ns

    def _last_t_ns(self) -> int:
        import pyarrow.compute as pc

        timed = [name for name in TIMED if self.has(name)]
        if not timed and self.has("segments"):
            timed = ["segments"]
        return max((int(pc.max(self.table(name).column("t_ns")).as_py() or 0) for name in timed), default=0)

    @property
    def notes(self) -> list[Note]:
        """The notes of all captures: named counts of what was odd."""
        return [note for capture in self.captures for note in capture.notes]

    def endpoints(self, flow: int) -> tuple[str, int, str, int] | None:
        """Address and port of a, then of b, of one connection; None if the trace has no such connection."""
        if self._endpoints is None:
            self._endpoints = self._find_endpoints()
        return self._endpoints.get(flow)

    def _find_endpoints(self) -> dict[int, tuple[str, int, str, int]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        names = ["flow", "direction", "ip_src", "src_port", "ip_dst", "dst_port"]
        out: dict[int, tuple[str, int, str, int]] = {}
        for name in ("flows", "packets"):
            if not self.has(name) or not set(names) <= set(self.table(name).column_names):
                continue
            rows = self.table(name).select(names)
            rows = rows.filter(pc.is_valid(rows.column("flow")))
            if name == "packets":
                # Arrow's aggregation "first" takes plain strings, but not dictionary-encoded ones.
                rows = rows.cast(pa.schema([pa.field(f.name, _plain(f.type)) for f in rows.schema]))
                rows = (
                    rows.group_by(["flow", "direction"], use_threads=False)
                    .aggregate([(c, "first") for c in names[2:]])
                    .rename_columns(names)
                )
            for flow, direction, src, sport, dst, dport in zip(
                *(rows.column(c).to_pylist() for c in names), strict=True
            ):
                here = (src, sport, dst, dport) if direction == "a2b" else (dst, dport, src, sport)
                out.setdefault(flow, here)
            if out:
                break
        return out

    def subject(self, flow: int, direction: str = "a2b") -> str:
        """A direction of a connection as text: "10.0.0.1:40000 > 10.0.0.2:5001", the sender of the data first."""
        known = self.endpoints(flow)
        if known is None:
            return f"flow {flow} {direction}"
        a, b = endpoint(known[0], known[1]), endpoint(known[2], known[3])
        return f"{a} > {b}" if direction == "a2b" else f"{b} > {a}"


def _rows_of(held: Mapping[str, pa.Table], name: str, flow: int) -> pa.Table:
    import pyarrow.compute as pc

    table = held[name]
    return table.filter(pc.equal(table.column("flow"), flow))


def _plain(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def endpoint(address: str | None, port: int | None) -> str:
    """Address and port as text; IPv6 in brackets."""
    host = address or "?"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
