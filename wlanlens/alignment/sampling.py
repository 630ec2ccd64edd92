"""Survey: the captures of one trace gone through twice, batch by batch, for what alignment needs to know of them.

The first pass takes each capture by itself and a sample of its packets; the second takes captures two by two and finds
their pairs. What is kept is bounded, but for a few bytes a connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment import clock, packet_matching
from wlanlens.alignment.packet_matching import Pairs
from wlanlens.tables.columns import filled

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: Columns of `packets` that are read besides those by which packets are paired.
_ALSO = ("packet", "t_ns", "ip_ttl", "flow", "direction")

#: Stamps from which a clock's resolution is told: those of a second of fast traffic.
_STAMPS = 65_536

#: Rows between two of which row and time are remembered, to cut the capture there.
MARK_ROWS = 1024

#: Pairs that a clock is fitted to. Of more the tightest of neighbours are kept and some of the others: a clock's
#: envelope is made of those, and of a million pairs 8000 are looked at.
CLOCK_PAIRS = 1 << 18

#: Neighbours of which the earliest and the latest are kept.
_NEIGHBOURS = 16


class Side:
    """What alignment knows of one capture.

    Attributes
    ----------
    rows, readable : int
        Rows of `packets`; those of them with an IP packet and a time.
    first_ns, last_ns : int or None
        Least and greatest stamp, ns since 1970.
    flows : int
        TCP connections.
    marks : list of (row, packet, time in ns since 1970)
        Every `MARK_ROWS` rows, at the first row of a record.
    beats : list of int
        Times of every `MARK_ROWS`th row of `frames` and `urbs`, ns since 1970.
    """

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.rows = self.readable = self.flows = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.marks: list[tuple[int, int, int]] = []
        self.beats: list[int] = []
        self._stamps: list[Array] = []
        self._stamped = 0
        self._tick = 0
        self._time = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Its `packets`, as far as alignment reads them."""
        yield from self.capture.scan("packets", (*packet_matching.COLUMNS, *_ALSO))

    def see(self, batch: pa.RecordBatch) -> None:
        """First pass: one batch."""
        stamped, time_ns = times_of(batch)
        if stamped.any():
            own = time_ns if stamped.all() else time_ns[stamped]
            least, most = int(own.min()), int(own.max())
            self.first_ns = least if self.first_ns is None else min(self.first_ns, least)
            self.last_ns = most if self.last_ns is None else max(self.last_ns, most)
            since = own - self.first_ns
            # Most batches only bear out what those before told.
            if not self._tick or (self._tick > 1 and (since % self._tick).any()):
                self._tick = int(np.gcd(self._tick, np.gcd.reduce(since)))
            if self._stamped < _STAMPS:
                self._stamps.append(own)
                self._stamped += len(own)
        known = np.asarray(batch.column("protocol").is_valid(), bool)
        self.readable += int(np.count_nonzero(known & stamped))
        flow = _flow(batch)
        self.flows = max(self.flows, int(flow.max(initial=-1)) + 1)
        self._mark(batch.column("packet").to_numpy(), np.where(stamped, time_ns, np.iinfo(np.int64).min))
        self.rows += batch.num_rows

    def listen(self) -> None:
        """First pass: the frames and transfers, whether they hold a packet that can be read or not."""
        start_ns = self.capture.start_ns or 0
        for name in ("frames", "urbs"):
            seen = 0
            for batch in self.capture.scan(name, ("t_ns",)):
                column = batch.column("t_ns")
                rows = np.arange(-seen % MARK_ROWS, batch.num_rows, MARK_ROWS)
                stamped = np.asarray(column.is_valid(), bool)[rows]
                self.beats += (column.fill_null(0).to_numpy()[rows[stamped]] + start_ns).tolist()
                seen += batch.num_rows

    def _mark(self, number: Array, time_ns: Array) -> None:
        """Remember rows to cut at."""
        highest = np.maximum.accumulate(np.concatenate(([self._time], time_ns)))[1:]
        fresh = np.flatnonzero(np.diff(number.astype(np.int64)) > 0) + 1
        while len(number):
            wanted = (self.marks[-1][0] + MARK_ROWS if self.marks else 0) - self.rows
            if wanted >= len(number):
                break
            later = fresh[np.searchsorted(fresh, wanted) :] if self.marks else np.zeros(1, np.int64)
            if not len(later):
                break
            at = int(later[0])
            self.marks.append((self.rows + at, int(number[at]), int(highest[at])))
        self._time = int(highest[-1]) if len(highest) else self._time

    @cached_property
    def tick_ns(self) -> int:
        """Resolution of its clock, once the first pass is over."""
        told = clock.tick_of(np.concatenate(self._stamps)) if self._stamps else 1
        # Later stamps may be finer than the first.
        return int(np.gcd(told, self._tick)) if self._stamped >= _STAMPS else told


class _Retries:
    """Which packets came in a frame with the Retry bit: asked in the order of the capture."""

    def __init__(self, capture: Capture) -> None:
        self._feed = capture.scan("frames", ("packet", "retry")) if capture.rows("frames") else iter(())
        self._numbers: Array = np.zeros(0, np.uint64)
        self._last = -1

    def of(self, numbers: Array) -> Array:
        """One truth value for each packet number; numbers rise from call to call."""
        if not len(numbers):
            return np.zeros(0, bool)
        found = [self._numbers]
        while self._last < int(numbers[-1]):
            batch = next(self._feed, None)
            if batch is None:
                self._last = np.iinfo(np.int64).max
                break
            packets = batch.column("packet").to_numpy()
            again = np.asarray(batch.column("retry").fill_null(False).to_numpy(zero_copy_only=False), bool)
            found.append(packets[again])
            self._last = int(packets[-1]) if len(packets) else self._last
        retried = np.concatenate(found)
        if not len(retried):
            return np.zeros(len(numbers), bool)
        self._numbers = retried[retried >= numbers[-1]]
        return np.isin(numbers, retried)


class _Rows:
    """Rows of one capture that pairs can still name."""

    def __init__(self, side: Side) -> None:
        self._retries = _Retries(side.capture)
        self._held: list[dict[str, Array]] = []
        self._first = self._next = 0
        self._time = 0
        self._whole: dict[str, Array] | None = None
        self._words: dict[str, tuple[pa.Array, Array]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """The next batch."""
        import pyarrow as pa

        stamped, time_ns = times_of(batch)
        number = batch.column("packet").to_numpy()
        self._held.append(
            {
                "number": number,
                "time_ns": time_ns,
                "stamped": stamped,
                "ttl": filled(batch.column("ip_ttl").cast(pa.int16()), -1),
                "src": self._word(batch, "ip_src"),
                "dst": self._word(batch, "ip_dst"),
                "flow": _flow(batch),
                "back": is_value(batch.column("direction"), "b2a"),
                "payload": filled(batch.column("payload_bytes"), 0),
                # On the air, attempts before which others may have been: whoever received one had it earlier.
                "repeated": self._retries.of(number),
            }
        )
        self._next += batch.num_rows
        self._whole = None

    def _word(self, batch: pa.RecordBatch, name: str) -> Array:
        """`word_of` a column; batches that follow one another mostly have one dictionary."""
        column = batch.column(name)
        if hasattr(column, "dictionary"):
            before = self._words.get(name)
            if before is None or not before[0].equals(column.dictionary):
                before = self._words[name] = column.dictionary, _hashed(column.dictionary)
            return _words(column, before[1])
        return word_of(column)

    def forget(self, before: int) -> None:
        """Drop batches that end before a row."""
        while self._held and self._first + len(self._held[0]["number"]) <= before:
            self._first += len(self._held.pop(0)["number"])
            self._whole = None

    def at(self, rows: Array) -> dict[str, Array]:
        """The columns of some rows."""
        if self._whole is None:
            self._whole = {name: np.concatenate([held[name] for held in self._held]) for name in self._held[0]}
        places = rows.astype(np.int64) - self._first
        return {name: values[places] for name, values in self._whole.items()}


class Meeting:
    """What two captures have in common.

    Attributes
    ----------
    pairs : Pairs
        All of them.
    total, exact : int
        Pairs of the same packet with a time at both taps, and those of them that can bound a clock.
    inferred : bool
        They are known by length, direction and order alone; `pairs` has none.
    echo : bool
        They are frames that two sniffers heard at once; `pairs` tells of packets all the same.
    """

    def __init__(self) -> None:
        self.pairs: Pairs
        self.inferred = self.echo = False
        self.total = self.exact = self._same = 0
        self._times_differ = False
        self._sample: list[dict[str, Array]] = []
        self._sampled = 0
        self._links: tuple[Array, Array, Array] = (np.zeros(0, np.int64),) * 3

    @classmethod
    def inferring(cls, sample: dict[str, Array]) -> Meeting:
        """A meeting of packets that one capture hides (hidden.py)."""
        made = cls()
        made.inferred, made._sample = True, [sample]
        made.total, made.exact = len(sample["exact"]), int(sample["exact"].sum())
        return made

    def heard(self, row_a: Array, row_b: Array, a: dict[str, Array], b: dict[str, Array], sure: Array) -> None:
        """Frames that two sniffers heard at once."""
        usable = a["stamped"] & b["stamped"]
        none = np.zeros(len(row_a), np.int64)
        columns = {"row_a": row_a, "row_b": row_b, "exact": sure, "payload": none}
        for name in ("ttl", "src", "dst"):
            columns[f"{name}_a"] = columns[f"{name}_b"] = none - 1
        for name in ("time_ns", "number"):
            columns[f"{name}_a"], columns[f"{name}_b"] = a[name], b[name]
        self.total += int(usable.sum())
        self.exact += int((usable & sure).sum())
        self._keep(columns, usable)

    def _keep(self, columns: dict[str, Array], usable: Array) -> None:
        self._sample.append(columns if usable.all() else _picked(columns, usable))
        self._sampled += int(usable.sum())
        if self._sampled > 2 * CLOCK_PAIRS:
            self._thin()

    def add(self, found: pa.RecordBatch, a: _Rows, b: _Rows) -> None:
        """The pairs of a window."""
        if not found.num_rows:
            return
        same = is_value(found.column("kind"), "same")
        sure = np.asarray(found.column("copy_safe").to_numpy(zero_copy_only=False), bool)
        row_a, row_b = found.column("row_a").to_numpy(), found.column("row_b").to_numpy()
        x, y = a.at(row_a), b.at(row_b)
        self._times_differ |= bool((x["time_ns"] != y["time_ns"]).any())
        self._same += int(same.sum())
        self._connect(x, y, same)
        usable = same & x["stamped"] & y["stamped"]
        exact = usable & sure & ~x["repeated"] & ~y["repeated"]
        self.total += int(usable.sum())
        self.exact += int(exact.sum())
        columns = {"row_a": row_a, "row_b": row_b, "exact": exact, "payload": x["payload"]}
        for name in ("time_ns", "number", "ttl", "src", "dst"):
            columns[f"{name}_a"], columns[f"{name}_b"] = x[name], y[name]
        self._keep(columns, usable)

    def _connect(self, x: dict[str, Array], y: dict[str, Array], same: Array) -> None:
        """Count the pairs of each two connections, and those that go opposite ways."""
        both = same & (x["flow"] >= 0) & (y["flow"] >= 0)
        key = x["flow"][both] << 32 | y["flow"][both]
        found, weight = np.unique(key, return_counts=True)
        turned, against = np.unique(key[x["back"][both] ^ y["back"][both]], return_counts=True)
        opposite = np.zeros(len(found), np.int64)
        opposite[np.searchsorted(found, turned)] = against
        keys, *sums = self._links
        links, at = np.unique(np.concatenate((keys, found)), return_inverse=True)
        weights, opposites = (
            np.bincount(at, np.concatenate((was, more)), len(links)).astype(np.int64)
            for was, more in zip(sums, (weight, opposite), strict=True)
        )
        self._links = (links, weights, opposites)

    def _thin(self) -> None:
        """Keep the pairs whose stamps differ least and most among their neighbours of one way, and some of the others."""
        a_ns, b_ns, src, dst = (
            np.concatenate([part[name] for part in self._sample])
            for name in ("time_ns_a", "time_ns_b", "src_a", "dst_a")
        )
        apart = b_ns - a_ns
        count = len(apart)
        # Neighbours of one way: block and, hashed, addresses. Two ways of one hash only keep fewer.
        way = np.zeros(-(-count // _NEIGHBOURS) * _NEIGHBOURS, np.int32)
        way[:count] = (src * 3 ^ dst) >> 7 & 0xFFFF
        # Each block in the order of its ways, and of places in each; the last one's missing rows behind all others.
        way[count:] = 1 << 16
        places = np.arange(_NEIGHBOURS, dtype=np.int32)
        ranked: Array = np.sort((way * _NEIGHBOURS).reshape(-1, _NEIGHBOURS) + places, axis=1)
        blocks: Array = np.arange(len(ranked))[:, None]
        order = (blocks * _NEIGHBOURS + ranked % _NEIGHBOURS).ravel()[:count]
        group = (blocks << 17 | ranked // _NEIGHBOURS).ravel()[:count]
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        sizes = np.diff(begins, append=count)
        ordered = apart[order]
        edge = np.zeros(count, bool)
        for least in (np.minimum, np.maximum):
            edge |= ordered == np.repeat(least.reduceat(ordered, begins), sizes)
        kept = np.zeros(count, bool)
        kept[order[edge]] = True
        kept[::_NEIGHBOURS] = True
        if kept.sum() > CLOCK_PAIRS:
            # So many hosts that no two neighbours go one way.
            kept = np.zeros(count, bool)
            kept[:: -(-count // CLOCK_PAIRS)] = True
        ends = np.cumsum([len(part["row_a"]) for part in self._sample])
        self._sample = [_picked(part, mine) for part, mine in zip(self._sample, np.split(kept, ends[:-1]), strict=True)]
        self._sampled = int(kept.sum())

    @property
    def sample(self) -> dict[str, Array]:
        """Pairs of the same packet, stamped at both taps: all, or of many as many as a clock needs."""
        if len(self._sample) != 1:
            names = self._sample[0] if self._sample else _NO_PAIRS
            self._sample = [{n: np.concatenate([_NO_PAIRS[n], *(s[n] for s in self._sample)]) for n in names}]
        return self._sample[0]

    @property
    def links(self) -> tuple[Array, Array, Array, Array]:
        """Connection of a, of b, their pairs, those of them that go opposite ways."""
        keys, weight, against = self._links
        return keys >> 32, keys & 0xFFFF_FFFF, weight, against

    def of_one_tap(self, a: Side, b: Side) -> bool:
        """Whether two captures are copies: every packet of the smaller is in the other at the same time."""
        smaller = min(a.rows, b.rows)
        if smaller == 0 or self._times_differ or self._same < max(2, 0.9 * smaller):
            return False
        # Two taps never agree to the microsecond on every packet; clocks of milliseconds may.
        return max(a.tick_ns, b.tick_ns) <= 1000


def _picked(columns: dict[str, Array], kept: Array) -> dict[str, Array]:
    """Some rows of all columns."""
    rows = np.flatnonzero(kept)
    return {name: values[rows] for name, values in columns.items()}


_NO_PAIRS: dict[str, Array] = {
    "row_a": np.zeros(0, np.uint64),
    "row_b": np.zeros(0, np.uint64),
    "exact": np.zeros(0, bool),
    "payload": np.zeros(0, np.uint32),
    **{f"{name}_{side}": np.zeros(0, np.int64) for name in ("time_ns", "number", "ttl", "src", "dst") for side in "ab"},
}


def survey(
    captures: Sequence[Capture], *, nat: bool = False, scratch: Path | None = None
) -> tuple[list[Side], dict[tuple[int, int], Meeting]]:
    """Both passes over all captures. Pairs go to files in `scratch`, or stay in memory without one."""
    sides = [Side(capture) for capture in captures]
    searches = {(i, j): packet_matching.Search(nat=nat) for i, j in combinations(range(len(sides)), 2)}
    for k, side in enumerate(sides):
        side.listen()
        for batch in side.batches():
            side.see(batch)
            slim = packet_matching.slim(batch)
            for both, search in searches.items():
                if k in both:
                    search.sample(both.index(k), slim)
    found = {}
    for (i, j), search in searches.items():
        path = None if scratch is None else scratch / f"pairs-{i}-{j}.arrow"
        found[i, j] = _meet(search, (sides[i], sides[j]), path)
    return sides, found


def _meet(search: packet_matching.Search, sides: tuple[Side, Side], path: Path | None) -> Meeting:
    """The second pass over two captures."""
    import pyarrow as pa

    made = Meeting()
    rows = [_Rows(side) for side in sides]

    def forget(first: Sequence[int]) -> None:
        for held, before in zip(rows, first, strict=True):
            held.forget(before)

    run = search.run([side.batches() for side in sides], taken=lambda side, batch: rows[side].add(batch), forget=forget)
    if path is None:
        kept = []
        for batch in run:
            made.add(batch, *rows)
            kept.append(batch)
        made.pairs = search.result(pa.Table.from_batches(kept).unify_dictionaries())
        return made
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(path), "wb") as file:
        for batch in run:
            made.add(batch, *rows)
            writer = writer or pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
    made.pairs = search.result(path)
    return made


def times_of(batch: pa.RecordBatch) -> tuple[Array, Array]:
    """Whether each row has a time, and the times in ns since 1970."""
    import pyarrow as pa

    column = batch.column("time")
    return np.asarray(column.is_valid(), bool), filled(column.cast(pa.int64()), 0)


def _flow(batch: pa.RecordBatch) -> Array:
    import pyarrow as pa

    return filled(batch.column("flow").cast(pa.int64()), -1)


def is_value(column: Any, name: str) -> Array:
    """Whether each value of an enum is this one."""
    code = column.dictionary.to_pylist().index(name) if name in column.dictionary.to_pylist() else -2
    equal: Array = column.indices.fill_null(-1).to_numpy(zero_copy_only=False) == code
    return equal


def word_of(column: Any) -> Array:
    """A number for each text of a dictionary column, the same in every batch; -1 for null."""
    coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    return _words(coded, _hashed(coded.dictionary))


def _hashed(texts: Any) -> Array:
    """A number for each of some texts, and -1 for null behind them."""
    import pandas as pd

    names = np.array(texts.to_pylist(), object)
    hashed = pd.util.hash_array(names, categorize=False).astype(np.int64) if len(names) else np.zeros(0, np.int64)
    return np.append(hashed, -1)


def _words(coded: Any, numbers: Array) -> Array:
    found: Array = numbers[filled(coded.indices.cast("int64"), len(numbers) - 1)]
    return found
