"""Trace: captures on one time axis, and their tables: the only thing that a detector or a plot is given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wlanlens import tables
from wlanlens.alignment.clock import ClockMap
from wlanlens.capture import decryption_keys as key_lines
from wlanlens.capture.capture import CAPTURE_POINTS, Capture, Note
from wlanlens.capture.capture import open as open_capture
from wlanlens.correlation.combined_tables import CombinedTables
from wlanlens.errors import AlignmentError, MissingTable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from wlanlens.capture.decryption_keys import Keys

__all__ = ["Note", "Trace", "align"]


#: Tables of a trace in memory that are made from the captures' when first asked for.
_AIR = ("airtime", "stations")
_DERIVED = ("ledger", "quality", *_AIR)


class Trace:
    """Captures on one time axis.

    A window of a long capture is a Trace too: its tables hold the window's rows, and `flows` holds the connections
    that ended in it.

    Attributes
    ----------
    captures : list of Capture
        What it was made of.
    clocks : list of ClockMap
        How each capture's clock maps to the axis.
    """

    def __init__(
        self,
        captures: Iterable[Capture],
        held: Mapping[str, pa.Table] | None = None,
        *,
        start_ns: int | None = None,
        duration_ns: int | None = None,
        endpoints: Mapping[int, tuple[str, int, str, int]] | None = None,
        clocks: Sequence[ClockMap] | None = None,
    ) -> None:
        self.captures = list(captures)
        self.clocks = list(clocks or ()) or [ClockMap.identity(c.name) for c in self.captures]
        self._held = held
        #: Of several captures: their tables on one axis.
        self._together = held if isinstance(held, CombinedTables) else None
        self._made: dict[str, pa.Table] = {}
        self._start_ns, self._duration_ns = start_ns, duration_ns
        self._endpoints = endpoints

    @classmethod
    def of_tables(cls, held: Mapping[str, pa.Table], *, start_ns: int = 0, duration_ns: int | None = None) -> Trace:
        """A trace of tables that are there already (tests, analysed directories)."""
        return cls([], held, start_ns=start_ns, duration_ns=duration_ns)

    def table(self, name: str) -> pa.Table:
        """A table by name; raises `MissingTable` when this trace has none."""
        if self._held is not None and name in self._held:
            return self._held[name]
        if name in _DERIVED and self._derives:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]
        if self._held is None and self.has(name):
            return self.captures[0].table(name)
        tables.schema(name)
        raise MissingTable(f"this trace has no table {name!r}")

    @property
    def together(self) -> CombinedTables:
        """The tables of several captures on one axis, and which rows are the same packet; `MissingTable` of a single one."""
        if self._together is None:
            raise MissingTable("these are not the tables of several captures")
        return self._together

    def _make(self, name: str) -> pa.Table:
        """A table that follows from the captures' own."""
        from wlanlens import airtime
        from wlanlens.capture import quality
        from wlanlens.ledger import ledger

        if name == "ledger":
            return ledger.build(self.leading())
        if name in _AIR:
            capture, frames, exchanges = self.heard_air()
            sums = airtime.of_tables(frames, exchanges)
            self._made.update(sums.tables(capture))
            return self._made[name]
        return quality.of(self.captures)

    def heard_air(self) -> tuple[str, pa.Table, pa.Table]:
        """Name of the capture that heard most of the air, and what all of them together heard, each frame once."""
        if self._together is None:
            return self.captures[0].name, self.table("frames"), self.table("exchanges")
        frames, exchanges = (self._together.heard(name) for name in ("frames", "exchanges"))
        rows = [capture.rows("frames") for capture in self.captures]
        return self.captures[rows.index(max(rows))].name, frames, exchanges

    @property
    def _derives(self) -> bool:
        """Whether tables can be made from the captures' own."""
        return bool(self.captures) and (self._held is None or self._together is not None)

    def has(self, name: str) -> bool:
        """Whether the trace has a table, were it empty."""
        if name in _DERIVED and self._derives:
            return True
        if self._held is not None:
            return name in self._held
        return bool(self.captures) and self.captures[0].has(name)

    def leading(self) -> Trace:
        """The trace that detectors judge: of each connection the facts of the one capture that tells most of it, the
        sender's where there is one. A trace of one capture is that itself."""
        if self._together is None:
            return self
        held = self._together.leading()
        return Trace(self.captures, held, start_ns=self.start_ns, duration_ns=self.duration_ns, clocks=self.clocks)

    def view(self, name: str, *, all: bool = False) -> pd.DataFrame:
        """A table for people, as a pandas DataFrame: of wide tables the main columns, or `all` of them."""
        table = self.table(name)
        brief = [] if all else [column for column in tables.brief_columns(name) if column in table.column_names]
        view: pd.DataFrame = table.select(brief or table.column_names).to_pandas()
        return view

    @property
    def start_ns(self) -> int:
        """Epoch ns of t = 0: the first packet's time."""
        if self._start_ns is None:
            self._start_ns = next((s for c in self.captures if (s := c.start_ns) is not None), 0)
        return self._start_ns

    @property
    def duration_ns(self) -> int:
        """From t = 0 to the last packet, ns."""
        if self._duration_ns is None:
            self._duration_ns = self._last_t_ns()
        return self._duration_ns

    def _last_t_ns(self) -> int:
        import pyarrow.compute as pc

        held = [name for name in ("packets", "frames", "urbs") if self.has(name)] or [
            n for n in ("segments",) if self.has(n)
        ]
        return max((int(pc.max(self.table(name).column("t_ns")).as_py() or 0) for name in held), default=0)

    @property
    def notes(self) -> list[Note]:
        """What was odd in the captures."""
        return [note for capture in self.captures for note in capture.notes]

    def endpoints(self, flow: int) -> tuple[str, int, str, int] | None:
        """Address and port of a, then of b, of one connection; None when this trace does not know it."""
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
                # Arrow takes the first of a group of plain strings, not of dictionary-encoded ones.
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
        """Who: "10.0.0.1:40000 > 10.0.0.2:5001", the sender of the data first."""
        known = self.endpoints(flow)
        if known is None:
            return f"flow {flow} {direction}"
        a, b = endpoint(known[0], known[1]), endpoint(known[2], known[3])
        return f"{a} > {b}" if direction == "a2b" else f"{b} > {a}"


def _plain(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def endpoint(address: str | None, port: int | None) -> str:
    """Address and port as text; IPv6 in brackets."""
    host = address or "?"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


Path = str | bytes | os.PathLike[Any]


def align(
    captures: Sequence[Path | Capture] | Path,
    *,
    roles: Mapping[str, Path] | None = None,
    keys: Keys | Iterable[str] | None = None,
    nat: bool = False,
) -> Trace:
    """Put captures on one time axis. `roles` says where a tap sits: {"sender": "a.pcap"}; `keys` is as in `open`.

    One capture is its own axis. The clocks of several are fitted to one of them by the packets that they share, and rows
    of one packet are linked in the table `links`; `nat` says that addresses or ports were changed between the taps.
    `AlignmentError` says why captures cannot be one trace.
    """
    opened = gather(captures, roles=roles, keys=keys)
    if len(opened) == 1:
        return Trace(opened)
    from wlanlens.alignment import align as alignment

    joined = alignment.join(opened, nat=nat)
    return Trace(opened, CombinedTables(opened, joined), start_ns=joined.start_ns, clocks=joined.clocks)


def gather(
    captures: Sequence[Path | Capture] | Path,
    *,
    roles: Mapping[str, Path] | None = None,
    keys: Keys | Iterable[str] | None = None,
) -> list[Capture]:
    """The captures of one trace opened, as `align` takes them."""
    chosen: list[Path | Capture] = (
        [captures] if isinstance(captures, str | bytes | os.PathLike | Capture) else list(captures)
    )
    given = key_lines.of(keys)
    opened = [c if isinstance(c, Capture) else open_capture(c, keys=given) for c in chosen]
    for role, path in (roles or {}).items():
        if role not in CAPTURE_POINTS:
            raise AlignmentError(f"role {role!r} is none of {', '.join(CAPTURE_POINTS)}")
        same = [c for c in opened if os.fsencode(c.raw_path) == os.fsencode(path)]
        if same:
            same[0].point = role
        else:
            opened.append(open_capture(path, point=role, keys=given))
    if not opened:
        raise AlignmentError("there is no capture to align")
    return opened
