"""The tables of a trace as a detector reads them: filtered rows as vectors, flows by key, findings about flows."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wlanlens.detection.finding import Finding, Undecided, Value, frame_filter
from wlanlens.detection.toolkit.findings import MAX_EVIDENCE_ROWS, make_finding, severity
from wlanlens.detection.toolkit.rows import Rows, key_order
from wlanlens.formatting import count, duration
from wlanlens.tables.columns import NULL, Array, ColumnVector, encoded, integers

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

T = TypeVar("T")

#: Enum columns, words of each, and whether the rows with these words are selected, or the others.
_Words = frozenset[tuple[str, frozenset[str], bool]]

#: A key below this is looked up in a table of one byte a key.
_SMALL_KEYS = 1 << 22
#: Hosts that a finding about many flows names: those of a small network.
_MAX_SENDERS = 20


class Facts:
    """The tables of a trace as vectors. Detectors share one object for each trace, see `of`.

    A *key* is one number for a capture, a connection and a direction; `key ^ 1` is the other direction.
    """

    def __init__(self, trace: Trace) -> None:
        # A cache that lives as long as the trace must not keep the trace alive.
        self._trace = weakref.ref(trace)
        self._captures: dict[str, int] = {}
        self._orders: dict[str, tuple[Array, Array | None]] = {}
        self._columns: dict[tuple[str, str], ColumnVector] = {}
        #: Positions and keys of the rows of a table with some words, without others and without nulls, as `_selected` finds them.
        self._selections: dict[tuple[str, _Words, frozenset[str]], tuple[Array | None, Array]] = {}
        self._cache: dict[Callable[[Facts], Any], Any] = {}

    @classmethod
    def of(cls, trace: Trace) -> Facts:
        """The facts of a trace; the same object each time, so that detectors share what they compute."""
        found = _FACTS.get(trace)
        if found is None:
            found = _FACTS[trace] = cls(trace)
        return found

    @property
    def trace(self) -> Trace:
        """The trace."""
        trace = self._trace()
        if trace is None:
            raise ReferenceError("the trace is gone")
        return trace

    def cached(self, make: Callable[[Facts], T]) -> T:
        """Return `make(facts)`, computed once for each trace: `facts.cached(Acks)`."""
        if make not in self._cache:
            # A proxy: a reference cycle would keep 130 MB a window until the garbage collector runs.
            self._cache[make] = make(weakref.proxy(self))
        made: T = self._cache[make]
        return made

    # Tables.

    def rows(
        self,
        name: str,
        columns: Sequence[str],
        *,
        where: Mapping[str, Iterable[str]] | None = None,
        without: Mapping[str, Iterable[str]] | None = None,
        valid: Sequence[str] = (),
        keys: Array | None = None,
    ) -> Rows:
        """Read columns of a table, ordered by key; rows of one key are in the table's order.

        Parameters
        ----------
        name, columns : str, sequence of str
            Which table and which of its columns. Null becomes `NULL` in whole numbers and NaN in floats.
        where : mapping, optional
            Enum columns and the values to select.
        without : mapping, optional
            Enum columns and the values to leave out; null is kept.
        valid : sequence of str, optional
            Columns that must not be null.
        keys : array, optional
            Select the rows of these keys only.
        """
        table = self.trace.table(name)
        wanted = [(column, frozenset(words), True) for column, words in (where or {}).items()]
        wanted += [(column, frozenset(words), False) for column, words in (without or {}).items()]
        nullable = frozenset(column for column in valid if table.column(column).null_count)
        which, key = self._selected(name, frozenset(wanted), nullable)
        if keys is not None:
            mask = _is_member(key, keys)
            if not mask.all():
                at = np.flatnonzero(mask)
                which, key = at if which is None else which.take(at), key.take(at)
        return Rows(key, {}, {column: self._column(name, column) for column in columns}, which)

    def _selected(self, name: str, wanted: _Words, valid: frozenset[str]) -> tuple[Array | None, Array]:
        """Positions and keys of the rows with some words, without others, and without nulls; None for all positions.

        Many detectors read the same rows.
        """
        what = name, wanted, valid
        if what not in self._selections:
            which, key = None, self.table_keys(name)
            if valid and wanted:
                which, key = self._selected(name, wanted, frozenset())
            if valid:
                masks = [self._column(name, column).known() for column in valid]
                masks = masks if which is None else [mask.take(which) for mask in masks]
            else:
                masks = [self._column(name, column).among(words) == kept for column, words, kept in wanted]
            mask = np.logical_and.reduce(masks) if masks else None
            if mask is not None and not mask.all():
                at = np.flatnonzero(mask)
                which, key = at if which is None else which.take(at), key.take(at)
            self._selections[what] = which, key
        return self._selections[what]

    def largest(self, name: str, column: str) -> int:
        """The largest value of a column of whole numbers; `NULL` where all are null. It takes a tenth of the time of `rows`."""
        import pyarrow.compute as pc

        most = pc.max(self.trace.table(name).column(column)).as_py()
        return NULL if most is None else int(most)

    def table_keys(self, name: str) -> Array:
        """The key of each row of a table, in rising order: the order in which its columns are read."""
        return self._ordered(name)[0]

    def _ordered(self, name: str) -> tuple[Array, Array | None]:
        """The keys of a table's rows in rising order, and the positions of these rows; None if the table has this order."""
        if name not in self._orders:
            table = self.trace.table(name)
            key = integers(table.column("flow"))
            key <<= 1
            key += ColumnVector(table.column("direction")).among(("b2a",))
            key += self._capture_numbers(table.column("capture")) << 34
            order = key_order(key)
            self._orders[name] = (key if order is None else key.take(order), order)
        return self._orders[name]

    def _column(self, name: str, column: str) -> ColumnVector:
        found = self._columns.get((name, column))
        if found is None:
            made = ColumnVector(self.trace.table(name).column(column), self._ordered(name)[1])
            found = self._columns[name, column] = made
        return found

    def _capture_numbers(self, column: pa.ChunkedArray) -> Array:
        """The number of each row's capture, or of the only one."""
        names = encoded(column)
        numbers = [self._captures.setdefault(name, len(self._captures)) for name in names.dictionary.to_pylist()]
        known = np.array(numbers, np.int64)
        return known if len(known) == 1 else known.take(np.asarray(names.indices))

    # Keys.

    def flow(self, key: int) -> int:
        """The connection of a key."""
        return (int(key) >> 1) & 0xFFFFFFFF

    def direction(self, key: int) -> str:
        """The direction of a key."""
        return "b2a" if int(key) & 1 else "a2b"

    def capture(self, key: int) -> str:
        """The capture's name of a key."""
        number = int(key) >> 34
        return next((name for name, n in self._captures.items() if n == number), "")

    def subject(self, key: int) -> str:
        """ "10.0.0.1:40000 > 10.0.0.2:5001" of a key."""
        return self.trace.subject(self.flow(key), self.direction(key))

    # Flows.

    def flow_values(self, column: str, keys: Array) -> Array:
        """A column of `flows` for each key.

        Of a connection that continues after this window of a long capture, the value so far where `open_flows` has it. Else
        `NULL` (whole numbers), NaN or "" (text).
        """
        values = self._flow_column(column)
        empty: Any = "" if values.dtype == object else np.nan if values.dtype.kind == "f" else NULL
        out = np.full(len(keys), empty, values.dtype)
        for name in ("open_flows", "flows"):
            if self.trace.has(name) and column in self.trace.table(name).column_names:
                where, found = self._positions(name, keys)
                out[found] = self._column(name, column).take(None)[where[found]]
        return out

    def tap_away_from_sender(self, keys: Array) -> Array:
        """Whether each key's tap is known to be in the middle of the path or at the receiver."""
        return np.isin(self.flow_values("tap", keys), ("near_receiver", "middle"))

    def lifetime_s(self, keys: Array) -> Array:
        """Seconds from the first to the last packet of each key's connection, within this trace."""
        start, end = self.flow_values("t_start_ns", keys), self.flow_values("t_end_ns", keys)
        known = (start != NULL) & (end != NULL)
        return np.where(known, np.maximum(end - start, 0), self.trace.duration_ns) / 1e9

    def last_packet_ns(self, keys: Array) -> Array:
        """Time of the last packet of each key's connection; the trace's end where the connection continues."""
        end = self.flow_values("t_end_ns", keys)
        return np.where(end != NULL, end, self.trace.duration_ns)

    def complete_data_keys(self, min_bytes: int = 1) -> Array:
        """Sorted keys of directions with at least this much payload, of connections that end in this window."""
        return self.table_keys("flows")[self._flow_column("payload_bytes") >= min_bytes]

    def all_data_keys(self) -> Array:
        """Sorted keys of directions with payload, of connections that continue after this window too."""
        known = self.table_keys("flows")[self._flow_column("payload_bytes") > 0]
        active = self.table_keys("intervals") if self.trace.has("intervals") else known[:0]
        return np.unique(np.concatenate((known, active)))

    def _flow_column(self, column: str) -> Array:
        return self._column("flows", column).take(None)

    def _positions(self, name: str, keys: Array) -> tuple[Array, Array]:
        known = self.table_keys(name)
        if not len(known):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return at, known[at] == keys

    # Findings.

    def finding(
        self,
        code: str,
        key: int,
        t_start_ns: int,
        t_end_ns: int,
        *,
        cost_s: float,
        lifetime_s: float,
        confidence: float,
        values: Mapping[str, Value],
        evidence: Mapping[str, Iterable[int]],
        sentence: str,
        total_s: float | None = None,
    ) -> Finding:
        """Make a finding about one direction of one connection; see `make_finding` for the parameters."""
        return make_finding(
            code=code,
            t_start_ns=t_start_ns,
            t_end_ns=t_end_ns,
            capture=self.capture(key),
            subject=self.subject(key),
            cost_s=cost_s,
            total_s=total_s,
            lifetime_s=lifetime_s,
            confidence=confidence,
            values=values,
            evidence=evidence,
            sentence=sentence,
            flow=self.flow(key),
            direction=self.direction(key),
        )

    def remainder_finding(
        self,
        code: str,
        keys: Array,
        t_start_ns: Array,
        t_end_ns: Array,
        cost_ns: Array,
        *,
        evidence: tuple[str, Array],
        what: str,
    ) -> Iterator[Finding]:
        """One finding that sums up the cases which `costliest` does not list; none when there are no such cases.

        Parameters
        ----------
        keys, t_start_ns, t_end_ns, cost_ns : array
            One value a case.
        evidence : (str, array)
            A table and one packet number a case.
        what : str
            The noun of a case: "spurious timeout".
        """
        if not len(keys):
            return
        cost_s = float(cost_ns.sum()) / 1e9
        directions = len(np.unique(keys))
        capture = self.capture(int(keys[0]))
        table, packets = evidence
        shown = tuple(int(p) for p in packets[keys >> 34 == keys[0] >> 34][:MAX_EVIDENCE_ROWS])
        yield Finding(
            code=code,
            t_start_ns=int(t_start_ns.min()),
            t_end_ns=max(int(t_start_ns.min()), int(t_end_ns.max())),
            capture=capture,
            subject=count(directions, "more flow"),
            severity=severity(cost_s, self.trace.duration_ns / 1e9),
            confidence=0.9,
            cost_s=cost_s,
            values={
                "cases_count": len(keys),
                "flows_count": directions,
                "cases_by_sender": self._by_sender(keys),
                "evidence_left_out_count": len(keys) - len(shown),
            },
            evidence=((table, capture, shown),),
            display_filter=frame_filter(shown),
            sentence=(
                f"{count(len(keys), 'more case')} of {what} in {count(directions, 'flow')} cost {duration(cost_s)} in "
                "total; each cost less than those listed."
            ),
        )

    def _by_sender(self, keys: Array) -> str:
        """The hosts that sent most of these directions' data, with the number of each: "10.0.0.1: 7, 10.0.0.2: 3"."""
        most = Counter(self.flow_values("ip_src", keys).tolist()).most_common(_MAX_SENDERS)
        return ", ".join(f"{host}: {number}" for host, number in most)

    def undecided(
        self, code: str, keys: Array, sentence: str, *, t_start_ns: Array | None = None, t_end_ns: Array | None = None
    ) -> Undecided:
        """Report cases that this capture cannot decide: one for each key given, with their times where known."""
        one_flow = len(np.unique(keys)) == 1
        spans: tuple[tuple[str, int, int], ...] = ()
        if t_start_ns is not None and t_end_ns is not None:
            times = zip(keys.tolist(), t_start_ns.tolist(), t_end_ns.tolist(), strict=True)
            spans = tuple((self.subject(key), start, end) for key, start, end in times)
        return Undecided(
            code, sentence, count=len(keys), subject=self.subject(int(keys[0])) if one_flow else "", spans=spans
        )

    def undecided_without_acks(self, code: str, min_bytes: int = 1) -> Iterator[Undecided]:
        """Report data directions whose receiver was not captured: for a detector that needs ACKs."""
        keys = self.complete_data_keys(min_bytes)
        keys = keys[self.flow_values("packets", keys ^ 1) == 0]
        if len(keys):
            yield self.undecided(code, keys, "The capture holds no packets from the receiver, so its ACKs are unknown.")


_FACTS: MutableMapping[Trace, Facts] = weakref.WeakKeyDictionary()


def _is_member(key: Array, keys: Array) -> Array:
    """Where `key` is one of `keys`. Keys of one capture are small: a table is faster than a search."""
    top = int(key.max(initial=0))
    if top > _SMALL_KEYS:
        return np.isin(key, keys)
    table = np.zeros(top + 1, bool)
    table[keys[(keys >= 0) & (keys <= top)]] = True
    return table.take(key)
