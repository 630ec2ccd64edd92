"""What detectors share: rows of a table as NumPy vectors, what is known of a flow, severity, and making a finding."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wlanlens.detection.finding import Finding, Undecided, Value, frame_filter

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")

#: Stands for null in a vector of whole numbers; no time, size or packet number of a capture is so small.
NULL = -(2**62)

#: Packet numbers of one table that a finding carries as evidence: a screenful. `values` says how many were left out.
EVIDENCE_SHOWN = 50

#: Findings that one detector makes of one trace, costliest first; the others are summed up in one more. A flood of
#: 60 000 connections that all time out must not become 60 000 findings.
FINDINGS_MOST = 1000

#: Keys up to here are looked up in a table of so many bytes.
_SMALL_KEYS = 1 << 22

#: A finding is `info` below both of these ...
INFO_SHARE, INFO_S = 0.01, 0.1
#: ... and `serious` above either of these.
SERIOUS_SHARE, SERIOUS_S = 0.10, 1.0


def severity(cost_s: float, life_s: float) -> str:
    """info: cost below 1 % of the flow's life and below 0.1 s; serious: above 10 % or above 1 s; else warning."""
    share = cost_s / life_s if life_s > 0 else 0.0
    if cost_s > SERIOUS_S or share > SERIOUS_SHARE:
        return "serious"
    if cost_s < INFO_S and share < INFO_SHARE:
        return "info"
    return "warning"


class Rows:
    """Rows of a table as vectors, in order of connection, direction and packet.

    Attributes
    ----------
    key : array
        Capture, connection and direction in one number, see `Facts.key_of`.
    """

    def __init__(self, key: Array, columns: Mapping[str, Array]) -> None:
        self.key, self._columns = key, columns

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, column: str) -> Array:
        return self._columns[column]

    def take(self, which: Array) -> Rows:
        """Some of the rows, by mask or position."""
        return Rows(self.key[which], {name: column[which] for name, column in self._columns.items()})

    def of(self, key: int) -> Rows:
        """One key's rows."""
        a, b = np.searchsorted(self.key, [key, key + 1])
        return Rows(self.key[a:b], {name: column[a:b] for name, column in self._columns.items()})

    def ordered(self, *columns: str) -> Rows:
        """The rows by key, then by these columns."""
        return self.take(np.lexsort([self._columns[name] for name in reversed(columns)] + [self.key]))

    def latest(self, column: str, keys: Array, values: Array) -> Array:
        """Position of the last row of each key whose `column`, which must rise within a key, is no more than each
        value; -1 for none. A binary search of all at once."""
        risen = self._columns[column]
        low, high = np.searchsorted(self.key, keys), np.searchsorted(self.key, keys, side="right")
        first = low.copy()
        while True:
            searching = low < high
            if not searching.any():
                return np.where(low > first, low - 1, -1)
            middle = np.minimum((low + high) // 2, len(risen) - 1)
            below = risen[middle] <= values
            low, high = np.where(searching & below, middle + 1, low), np.where(searching & ~below, middle, high)

    def any_between(self, column: str, keys: Array, start: Array, end: Array) -> Array:
        """Whether a row of each key has a `column`, rising within a key, from start to end, both included."""
        at = self.latest(column, keys, end)
        values = self._columns[column]
        return (at >= 0) & (values[at] >= start) if len(values) else np.zeros(len(keys), bool)


class Facts:
    """The tables of a trace as detectors ask them: filtered first, then as vectors; flows by key."""

    def __init__(self, trace: Trace) -> None:
        # Not the trace itself: what is kept for as long as the trace lives must not keep it alive.
        self._trace = weakref.ref(trace)
        self._captures: dict[str, int] = {}
        self._table_keys: dict[str, Array] = {}
        self._columns: dict[tuple[str, str], _Column] = {}
        self._flow_rows: tuple[Array, Array] | None = None
        self._flow_columns: dict[str, Array] = {}
        self._kept: dict[Callable[[Facts], Any], Any] = {}

    @classmethod
    def of(cls, trace: Trace) -> Facts:
        """The facts of a trace; one object serves all detectors, so that what several need is made once."""
        found = _FACTS.get(trace)
        if found is None:
            found = _FACTS[trace] = cls(trace)
        return found

    @property
    def trace(self) -> Trace:
        """The trace that is judged."""
        trace = self._trace()
        if trace is None:
            raise ReferenceError("the trace is gone")
        return trace

    def keep(self, kind: Callable[[Facts], T]) -> T:
        """What `kind` makes of these facts, made once."""
        if kind not in self._kept:
            # What is kept may hold the facts that keep it: a circle would stay until the collector comes by, 130 MB a window.
            self._kept[kind] = kind(weakref.proxy(self))
        made: T = self._kept[kind]
        return made

    def rows(
        self,
        name: str,
        columns: Sequence[str],
        *,
        where: Mapping[str, Iterable[str]] | None = None,
        valid: Sequence[str] = (),
        keys: Array | None = None,
    ) -> Rows:
        """Rows of a table: `where` an enum has one of the given values, `valid` columns are not null, `keys` match.

        The rows of one key stand together, in the table's order. Null becomes `NULL` in whole numbers, NaN in others.
        """
        table, key = self.trace.table(name), self.keys(name)
        mask: Array | None = None
        for column, values in (where or {}).items():
            mask = _and(mask, self._column(name, column).among(values))
        for column in valid:
            if table.column(column).null_count:
                mask = _and(mask, self._column(name, column).known())
        if keys is not None:
            mask = _and(mask, _member(key, keys))
        which = None if mask is None or mask.all() else np.flatnonzero(mask)
        key = key if which is None else key[which]
        order = _by_key(key)
        if order is not None:
            key, which = key[order], order if which is None else which[order]
        return Rows(key, {column: self._column(name, column).take(which) for column in columns})

    def _column(self, name: str, column: str) -> _Column:
        """A column as vectors, made once: most detectors ask for the same few."""
        found = self._columns.get((name, column))
        if found is None:
            found = self._columns[name, column] = _Column(self.trace.table(name).column(column))
        return found

    def keys(self, name: str) -> Array:
        """One number a row of a table: capture, connection and direction."""
        if name not in self._table_keys:
            table = self.trace.table(name)
            flow = table.column("flow").to_numpy().astype(np.int64)
            back = self._column(name, "direction").among(("b2a",))
            capture = self._capture_numbers(table.column("capture"))
            self._table_keys[name] = np.asarray((capture << 34) + (flow << 1) + back)
        return self._table_keys[name]

    def _capture_numbers(self, column: pa.ChunkedArray) -> Array:
        parts = [np.zeros(0, np.int64)]
        for chunk in _dictionary(column).chunks:
            names = chunk.dictionary.to_pylist()
            numbers = np.array([self._captures.setdefault(n, len(self._captures)) for n in names], np.int64)
            if len(numbers) == 1 and not chunk.indices.null_count:
                parts.append(np.full(len(chunk), numbers[0]))
            else:
                parts.append(numbers[np.asarray(chunk.indices.to_numpy(zero_copy_only=False), np.int64)])
        return np.concatenate(parts)

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

    def of_flow(self, column: str, keys: Array) -> Array:
        """A column of `flows` for keys; NULL (whole numbers), NaN, or "" (text) where the trace has no such row.

        A window of a long capture lacks the rows of connections that go on after it.
        """
        values = self._flow_column(column)
        empty: Any = "" if values.dtype == object else np.nan if values.dtype.kind == "f" else NULL
        out = np.full(len(keys), empty, values.dtype)
        where, found = self._flow_positions(keys)
        out[found] = values[where[found]]
        return out

    def away(self, keys: Array) -> Array:
        """Whether each key's tap is known to stand elsewhere on the path than at the data's sender."""
        return np.isin(self.of_flow("tap", keys), ("near_receiver", "middle"))

    def _flow_column(self, column: str) -> Array:
        if column not in self._flow_columns:
            self._flow_columns[column] = vector(self.trace.table("flows").column(column))
        return self._flow_columns[column]

    def _flow_positions(self, keys: Array) -> tuple[Array, Array]:
        if self._flow_rows is None:
            have = self.keys("flows")
            order = np.argsort(have, kind="stable")
            self._flow_rows = (have[order], order)
        have, order = self._flow_rows
        if not len(have):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(have, keys), len(have) - 1)
        return order[at], have[at] == keys

    def life_s(self, keys: Array) -> Array:
        """Seconds from first to last packet of each key's connection, as far as the trace holds it."""
        start, end = self.of_flow("t_start_ns", keys), self.of_flow("t_end_ns", keys)
        known = (start != NULL) & (end != NULL)
        return np.where(known, np.maximum(end - start, 0), self.trace.duration_ns) / 1e9

    def end_ns(self, keys: Array) -> Array:
        """When each key's connection was last heard of."""
        end = self.of_flow("t_end_ns", keys)
        return np.where(end != NULL, end, self.trace.duration_ns)

    def finding(
        self,
        code: str,
        key: int,
        t_start_ns: int,
        t_end_ns: int,
        *,
        cost_s: float,
        life_s: float,
        confidence: float,
        values: Mapping[str, Value],
        evidence: Mapping[str, Iterable[int]],
        sentence: str,
    ) -> Finding:
        """A finding about one direction of one connection. `evidence`: packet numbers by table."""
        return make_finding(
            code=code,
            t_start_ns=t_start_ns,
            t_end_ns=t_end_ns,
            capture=self.capture(key),
            subject=self.subject(key),
            cost_s=cost_s,
            life_s=life_s,
            confidence=confidence,
            values=values,
            evidence=evidence,
            sentence=sentence,
            flow=self.flow(key),
            direction=self.direction(key),
        )

    def rest(
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
        """One finding that sums up those beyond `FINDINGS_MOST`; none when there are none."""
        if not len(keys):
            return
        cost_s = float(cost_ns.sum()) / 1e9
        directions = len(np.unique(keys))
        capture = self.capture(int(keys[0]))
        table, packets = evidence
        shown = tuple(int(p) for p in packets[keys >> 34 == keys[0] >> 34][:EVIDENCE_SHOWN])
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
                "evidence_left_out_count": len(keys) - len(shown),
            },
            evidence=((table, capture, shown),),
            display_filter=frame_filter(shown),
            sentence=(
                f"{count(len(keys), 'more case')} of {what} in {count(directions, 'flow')}, each cheaper than "
                f"those listed, cost {time(cost_s)} in all."
            ),
        )

    def undecided(
        self, code: str, keys: Array, sentence: str, *, t_start_ns: Array | None = None, t_end_ns: Array | None = None
    ) -> Undecided:
        """Cases of which this capture cannot tell, one a key given, and when each was, where that is known."""
        one = len(np.unique(keys)) == 1
        spans: tuple[tuple[str, int, int], ...] = ()
        if t_start_ns is not None and t_end_ns is not None:
            times = zip(keys.tolist(), t_start_ns.tolist(), t_end_ns.tolist(), strict=True)
            spans = tuple((self.subject(key), start, end) for key, start, end in times)
        return Undecided(
            code, sentence, count=len(keys), subject=self.subject(int(keys[0])) if one else "", spans=spans
        )

    def senders(self) -> Array:
        """Keys of the directions that carry data, those of connections that go on after this window too; sorted."""
        known = self.keys("flows")[self._flow_column("payload_bytes") > 0]
        lives = self.keys("intervals") if self.trace.has("intervals") else known[:0]
        return np.unique(np.concatenate((known, lives)))

    def one_sided(self, code: str, least_bytes: int = 1) -> Iterator[Undecided]:
        """What a detector that needs ACKs has to say of data directions whose other side was not captured."""
        keys = self.data_keys(least_bytes)
        keys = keys[self.of_flow("packets", keys ^ 1) == 0]
        if len(keys):
            yield self.undecided(
                code, keys, "The capture holds no packets of the receiver, so nothing is known of its ACKs."
            )

    def data_keys(self, least_bytes: int = 1) -> Array:
        """Keys of the directions of whole connections that carry at least so much payload; sorted."""
        return np.sort(self.keys("flows")[self._flow_column("payload_bytes") >= least_bytes])


_FACTS: MutableMapping[Trace, Facts] = weakref.WeakKeyDictionary()


def make_finding(
    *,
    code: str,
    t_start_ns: int,
    t_end_ns: int,
    capture: str,
    subject: str,
    cost_s: float,
    life_s: float,
    confidence: float,
    values: Mapping[str, Value],
    evidence: Mapping[str, Iterable[int]],
    sentence: str,
    display_filter: str = "",
    flow: int | None = None,
    direction: str | None = None,
) -> Finding:
    """A finding of one capture: evidence cut to a screenful, severity by cost, a filter for the evidence if none is
    given. `evidence`: packet numbers by table."""
    said, shown, left_out = dict(values), [], 0
    for table, packets in evidence.items():
        numbers = sorted({int(p) for p in packets if p != NULL})
        left_out += max(0, len(numbers) - EVIDENCE_SHOWN)
        if numbers:
            shown.append((table, capture, tuple(numbers[:EVIDENCE_SHOWN])))
    if left_out:
        said["evidence_left_out_count"] = left_out
    cost_s = max(0.0, float(cost_s))
    return Finding(
        code=code,
        t_start_ns=int(t_start_ns),
        t_end_ns=max(int(t_start_ns), int(t_end_ns)),
        capture=capture,
        subject=subject,
        severity=severity(cost_s, float(life_s)),
        confidence=confidence,
        cost_s=cost_s,
        values={name: _plain(value) for name, value in said.items()},
        evidence=tuple(shown),
        sentence=sentence,
        display_filter=display_filter or frame_filter(row for _, _, rows in shown for row in rows),
        flow=flow,
        direction=direction,
    )


def _and(mask: Array | None, other: Array) -> Array:
    return other if mask is None else mask & other


def _plain(value: Any) -> Value:
    """NumPy's numbers as Python's."""
    plain: Value = value.item() if isinstance(value, np.generic) else value
    return plain


def _dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _member(key: Array, keys: Array) -> Array:
    """Where `key` is one of `keys`. Keys of one capture are small numbers: a table answers faster than a search."""
    top = int(key.max(initial=0))
    if top > _SMALL_KEYS:
        return np.isin(key, keys)
    table = np.zeros(top + 1, bool)
    table[keys[(keys >= 0) & (keys <= top)]] = True
    return np.asarray(table[key])


def _by_key(key: Array) -> Array | None:
    """Positions that put the keys in order, those alike as they stand; None when they are."""
    if not len(key) or not (key[1:] < key[:-1]).any():
        return None
    # NumPy sorts numbers of two bytes by counting, in one pass.
    small = key.astype(np.uint16) if key.max() <= np.iinfo(np.uint16).max else key
    return np.argsort(small, kind="stable")


class _Column:
    """A column of a table as a vector: enums and text as codes, whole numbers as int64 with `NULL`."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        import pyarrow as pa

        text = pa.types.is_dictionary(column.type) or pa.types.is_string(column.type)
        self._words = np.array([None], object)
        if text:
            self._values, self._words = _codes(column)
        else:
            self._values = vector(column)
        self._text = text

    def take(self, which: Array | None) -> Array:
        """The values at these positions, or all."""
        values = self._values if which is None else self._values[which]
        return np.asarray(self._words[values]) if self._text else values

    def among(self, values: Iterable[str]) -> Array:
        """Where it has one of these values; null is none of them."""
        wanted = set(values)
        return np.asarray(np.array([word in wanted for word in self._words], bool)[self._values])

    def known(self) -> Array:
        """Where it is not null."""
        if self._text:
            return np.asarray(self._values != len(self._words) - 1)
        return ~np.isnan(self._values) if self._values.dtype.kind == "f" else self._values != NULL


def _codes(column: pa.ChunkedArray) -> tuple[Array, Array]:
    """Codes of a text column, and the words that they stand for; the last word is None, for null."""
    numbers: dict[str, int] = {}
    parts = [np.zeros(0, np.int32)]
    chunks = _dictionary(column).chunks
    for chunk in chunks:
        for word in chunk.dictionary.to_pylist():
            numbers.setdefault(word, len(numbers))
    for chunk in chunks:
        table = np.array([*(numbers[w] for w in chunk.dictionary.to_pylist()), len(numbers)], np.int32)
        codes = chunk.indices.fill_null(len(table) - 1) if chunk.indices.null_count else chunk.indices
        parts.append(table[codes.to_numpy(zero_copy_only=False)])
    return np.concatenate(parts), np.array([*numbers, None], object)


def enum_mask(column: pa.ChunkedArray, values: Iterable[str]) -> Array:
    """Where an enum column has one of the values. Looks at codes, never at strings; null is none of them."""
    return _Column(column).among(values)


def vector(column: pa.ChunkedArray) -> Array:
    """A column as a vector: whole numbers as int64 with `NULL`, floats with NaN, text and enums as objects."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind):
        if not column.null_count:
            return np.asarray(column.to_numpy()).astype(np.int64, copy=False)
        parts = [np.zeros(0, np.int64)]
        for chunk in column.chunks:
            values = np.array(chunk.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
            if chunk.null_count:
                values[np.asarray(chunk.is_null().to_numpy(zero_copy_only=False), bool)] = NULL
            parts.append(values)
        return np.concatenate(parts)
    if pa.types.is_floating(kind):
        return np.asarray(column.to_numpy(), np.float64)
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.int8()).fill_null(-1).to_numpy(), np.int64)
    codes, words = _codes(column)
    return np.asarray(words[codes])


def most(cost: Array) -> tuple[Array, Array]:
    """Positions of the `FINDINGS_MOST` costliest, in order, and of the rest."""
    if len(cost) <= FINDINGS_MOST:
        return np.arange(len(cost)), np.zeros(0, np.int64)
    order = np.argsort(-cost, kind="stable")
    return np.sort(order[:FINDINGS_MOST]), np.sort(order[FINDINGS_MOST:])


def groups(key: Array) -> tuple[Array, Array]:
    """First position and length of each run of equal keys."""
    if not len(key):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return first, np.diff(np.append(first, len(key)))


def time(seconds: float) -> str:
    """A length of time with three significant digits and a fitting unit: "12.3 ms"."""
    s = float(seconds)
    if abs(s) < 1e-3:
        return f"{s * 1e6:.3g} us"
    if abs(s) < 1.0:
        return f"{s * 1e3:.3g} ms"
    return f"{s:.3g} s" if abs(s) < 100 else f"{s:.0f} s"


def at(t_ns: int) -> str:
    """A moment on the trace's axis: "t = 1.324 s"."""
    return f"t = {int(t_ns) / 1e9:.3f} s"


def count(number: int, noun: str, plural: str = "") -> str:
    """ "1 packet", "2 packets"."""
    return f"{int(number)} {noun if number == 1 else plural or noun + 's'}"


def rate(bits_per_s: float) -> str:
    """A rate with three significant digits: "4.46 Mbit/s"."""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits_per_s >= size:
            return f"{bits_per_s / size:.3g} {unit}"
    return f"{bits_per_s:.3g} bit/s"
