"""The tables of several captures on one axis, made when they are asked for; and those that detectors are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.alignment import align, duplicate_frames
from wlanlens.alignment.align import Joined
from wlanlens.alignment.path_order import Ways
from wlanlens.correlation import delay_breakdown, hidden_packets, links
from wlanlens.correlation.observation import fates
from wlanlens.correlation.packet_index import Journeys
from wlanlens.correlation.retransmission_verdicts import Elsewhere
from wlanlens.tables.lazy_tables import LazyTables

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: Facts of connections: of each connection detectors are given those of one capture.
FACTS = ("segments", "timeouts", "recoveries", "intervals", "flows")

#: Tables of several captures: a row a packet, wherever it was seen.
#: What several sniffers may have heard of the same.
HEARD = ("frames", "exchanges")

LINKED = ("links", "journeys")

#: The capture that tells most of a connection, by where its tap sits for the data: at the sender all decisions show.
_BEST = {"near_sender": 0, "middle": 1, "unknown": 2, "near_receiver": 3}
_BEST_POINT = {"sender": 0, "usb": 1, "ap": 1, "unknown": 2, "air": 3, "receiver": 4}


class Together(Mapping[str, "pa.Table"]):
    """The tables of all captures, one after the other in each."""

    def __init__(self, captures: Sequence[Capture], joined: Joined, best: Array | None = None) -> None:
        self.captures, self.joined = list(captures), joined
        self._best = best
        self._made: dict[tuple[str, int], pa.Table] = {}
        self._whole: dict[str, pa.Table] = {}
        self._journeys: Journeys | None = None
        self._elsewhere: Elsewhere | None = None

    def __iter__(self) -> Iterator[str]:
        return iter((*tables.core_schemas(), *LINKED))

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
        if (name, number) not in self._made:
            self._made[name, number] = align.mapped(self.captures[number], name, self.joined, number)
        return self._made[name, number]

    @property
    def journeys(self) -> Journeys:
        """Which rows of `packets` are the same packet."""
        if self._journeys is None:
            packets, exchanges = ([self.of(i, n) for i in range(len(self.captures))] for n in ("packets", "exchanges"))
            self._journeys = Journeys(packets, self.joined, exchanges)
        return self._journeys

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self.captures, self.journeys)

    @cached_property
    def _fates(self) -> Array:
        return fates(self.journeys, self._ways)

    @property
    def elsewhere(self) -> Elsewhere:
        """What the captures tell of one another's segments."""
        if self._elsewhere is None:
            packets = [self.of(i, "packets") for i in range(len(self.captures))]
            self._elsewhere = Elsewhere(self.captures, packets, self.journeys, self["links"])
        return self._elsewhere

    def _parted(self, name: str) -> list[pa.Table]:
        """The captures' parts of a table that was made of all."""
        parts, base = [], 0
        for i in range(len(self.captures)):
            count = self.of(i, name).num_rows
            parts.append(self[name].slice(base, count))
            base += count
        return parts

    def _make(self, name: str) -> pa.Table:
        import pyarrow as pa

        everyone = range(len(self.captures))
        if name == "links":
            exchanges = [self.of(i, "exchanges") for i in everyone]
            linked = links.table(self.captures, self.journeys, self._ways, self._fates, exchanges)
            return hidden_packets.attach(linked, self.captures, self.joined, exchanges)
        if name == "journeys":
            below = ([self.of(i, n) for i in everyone] for n in ("frames", "exchanges", "urbs"))
            clocks = self.joined.clocks
            return delay_breakdown.table(self.captures, clocks, self.journeys, self._ways, self._fates, *below)
        parts = [self.of(i, name) for i in everyone]
        if name == "segments":
            parts = self.elsewhere.spurious(parts)
        if name == "timeouts" and any(part.num_rows for part in parts):
            parts = self.elsewhere.kinds(parts, self._parted("segments"))
        return pa.concat_tables([part.cast(tables.schema(name)) for part in parts]).unify_dictionaries()

    def heard(self, name: str) -> pa.Table:
        """`frames` or `exchanges` of all sniffers, each frame once, in the order of time."""
        return self.merged(name, [self.of(i, name) for i in range(len(self.captures))])

    def merged(self, name: str, parts: Sequence[pa.Table]) -> pa.Table:
        """The same of some rows of each."""
        import pyarrow as pa

        folded = [
            duplicate_frames.fold(part, name, again).cast(tables.schema(name))
            for part, again in zip(parts, self.joined.duplicate_frames, strict=True)
        ]
        whole = pa.concat_tables(folded).unify_dictionaries()
        if sum(part.num_rows > 0 for part in folded) < 2:
            return whole
        t_ns = whole.column("t_ns" if name == "frames" else "t_first_ns")
        return whole.take(pa.array(np.argsort(t_ns.fill_null(0).to_numpy(), kind="stable")))

    def leaders(self) -> Array:
        """The capture that tells most of each connection, by its number in the trace."""
        if self._best is None:
            self._best = leaders(self.captures, self.joined)
        return self._best

    def leading(self) -> LazyTables:
        """The tables for detectors: of each connection the facts of one capture, and each 802.11 frame once."""
        makers = {name: partial(self.__getitem__, name) for name in self}
        makers.update({name: partial(self.heard, name) for name in HEARD})
        makers.update({name: partial(self._leading_facts, name) for name in FACTS})
        return LazyTables(makers)

    def _leading_facts(self, name: str) -> pa.Table:
        """The rows of a table that each connection's leading capture has."""
        import pyarrow as pa

        best = self.leaders()
        names = [capture.name for capture in self.captures]
        whole = self[name]
        captures = whole.column("capture").cast(pa.string()).combine_chunks().dictionary_encode()
        order = np.array([names.index(n) for n in captures.dictionary.to_pylist()], np.int64)
        indices = captures.indices.to_numpy()
        mine = order[indices] if len(order) else indices
        kept = mine == best[whole.column("flow").to_numpy()] if whole.num_rows else np.zeros(0, bool)
        return whole.filter(pa.array(kept))


def leaders(captures: Sequence[Capture], joined: Joined) -> Array:
    """The capture that tells most of each connection, by its number in the trace."""
    total = max((int(numbers.max(initial=-1)) for numbers in joined.flows), default=-1) + 1
    best: Array = np.full(total, -1, np.int64)
    rank: Array = np.full(total, np.inf)
    for i, capture in enumerate(captures):
        point = _BEST_POINT[capture.point]
        seen: list[tuple[int, int, float]] = []
        for batch in capture.scan("flows", ("flow", "payload_bytes", "tap")):
            taps = [_BEST.get(t, 2) for t in batch.column("tap").cast("string").to_pylist()]
            places = [(tap if capture.point == "unknown" else point) + i / 1000 for tap in taps]
            numbers = joined.flows[i][batch.column("flow").to_numpy().astype(np.int64)]
            seen += zip(batch.column("payload_bytes").to_pylist(), numbers.tolist(), places, strict=True)
        # Of both directions, the one with the data decides.
        for _, number, mine in sorted(seen, key=lambda row: row[0]):
            if mine < rank[number] or best[number] == i:
                best[number], rank[number] = i, mine
    return best
