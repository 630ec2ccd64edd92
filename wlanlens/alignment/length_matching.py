"""Packets that a capture hides: frames of an encrypted network, transfers of an adapter whose framing nobody told.

They are known by length, direction and order alone, and only where these leave no doubt (rust/core/src/pairing/order.rs).
Whoever uses such a pair is told that it is inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment import packet_matching
from wlanlens.alignment.sampling import Meeting, Side, times_of, word_of

if TYPE_CHECKING:
    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: Stations, adapters and hosts with most packets that are tried on each other: a busy channel has a hundred stations, the
#: one that is looked for carried the traffic.
_TRIED = 12

#: Packets of a direction by which the pair of station and host is chosen; all of them are matched for that one only.
_CHOSEN_BY = 1 << 16

#: Fewer pairs prove nothing, and a second station with half as many shows that chance makes them.
_LEAST, _RIVAL = 12, 0.5

#: How far a pair may be from what its neighbours say of the clocks, ns: no queue of one hop holds longer.
_APART_NS = 2_000_000_000

#: Header fields that not all packets of a station have.
_QOS_BYTES, _VLAN_BYTES = 2, 4


@dataclass(frozen=True)
class Units:
    """Packets of one capture without their bytes: one row a packet, in the order of time.

    Attributes
    ----------
    number : int64 array
        Of the record in its file.
    time_ns : int64 array
        By the capture's clock, ns since 1970.
    length : uint32 array
        Bytes, with headers of one length for all.
    source, target : int64 array
        Who sends and who receives, as numbers; of an access point or a USB host 0.
    again : bool array
        On the air: the first attempt may not have been heard.
    """

    number: Array
    time_ns: Array
    length: Array
    source: Array
    target: Array
    again: Array

    def way(self, source: int | None, target: int | None) -> Array:
        """Rows of one direction."""
        kept = np.ones(len(self.number), bool)
        for wanted, values in ((source, self.source), (target, self.target)):
            if wanted is not None:
                kept &= values == wanted
        return np.flatnonzero(kept)

    def ends(self) -> list[int]:
        """Who has most packets."""
        ends, counts = np.unique(np.concatenate((self.source, self.target)), return_counts=True)
        order = np.argsort(-counts[ends != 0], kind="stable")
        chosen: list[int] = ends[ends != 0][order][:_TRIED].tolist()
        return chosen


@dataclass(frozen=True)
class Inferred:
    """Pairs by length, direction and order: a packet's number in the capture that shows it and in the one that hides it,
    their times, and whether an earlier attempt may have gone unheard.

    `seen_row` is the row of `packets`; `up` tells that the hidden end sent it; `length` is as the one that shows it has it.
    """

    seen_row: Array
    seen_number: Array
    hidden_number: Array
    seen_ns: Array
    hidden_ns: Array
    again: Array
    up: Array
    length: Array


def infer(shown: Side, hider: Side) -> Inferred | None:
    """The pairs of a host's capture with one that hides its packets; None where nothing is sure."""
    hidden = units(hider.capture)
    if hidden is None or len(hidden.number) < _LEAST or not shown.readable:
        return None
    seen, rows = _packets(shown)
    tried = sorted(
        (
            (sum(len(rows) for rows, _ in _both_ways(seen, hidden, host, end, _CHOSEN_BY)), end, host)
            for end in hidden.ends()
            for host in seen.ends()
        ),
        key=lambda row: -row[0],
    )
    if not tried or tried[0][0] < _LEAST:
        return None
    best = tried[0]
    # Another host of the same station, or another station for the same host, must not do nearly as well.
    if any(rival[0] > _RIVAL * best[0] for rival in tried[1:] if (rival[1] == best[1]) != (rival[2] == best[2])):
        return None
    both = _both_ways(seen, hidden, best[2], best[1])
    parts = [(a, b, np.full(len(a), up)) for (a, b), up in zip(both, (True, False), strict=True)]
    a, b, up = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    apart = hidden.time_ns[b] - seen.time_ns[a]
    kept = np.abs(apart - np.median(apart)) <= _APART_NS + 5e-4 * np.abs(seen.time_ns[a] - seen.time_ns[a].min())
    order = np.argsort(a[kept], kind="stable")
    a, b, up = (v[kept][order] for v in (a, b, up))
    if len(a) < _LEAST:
        return None
    return Inferred(
        seen_row=rows[a],
        seen_number=seen.number[a],
        hidden_number=hidden.number[b],
        seen_ns=seen.time_ns[a],
        hidden_ns=hidden.time_ns[b],
        again=hidden.again[b],
        up=up,
        length=seen.length[a],
    )


def _both_ways(seen: Units, hidden: Units, host: int, end: int, most: int | None = None) -> list[tuple[Array, Array]]:
    """What fits if an end's packets are a host's: rows of both, sent by it and to it; of the first `most` of each."""
    out = []
    for here, there in (
        (seen.way(host, None), hidden.way(end, None)),
        (seen.way(None, host), hidden.way(None, end)),
    ):
        both = packet_matching.by_order(seen.length[here[:most]], hidden.length[there[:most]])
        out.append((here[both[:, 0]], there[both[:, 1]]))
    return out


def _packets(side: Side) -> tuple[Units, Array]:
    """The packets that a capture shows, and their rows."""
    columns: list[tuple[Array, ...]] = []
    first = 0
    for batch in side.capture.scan("packets", ("packet", "time", "wire_bytes", "vlan", "ip_src", "ip_dst", "protocol")):
        stamped, time_ns = times_of(batch)
        known = np.flatnonzero(stamped & np.asarray(batch.column("protocol").is_valid(), bool))
        tagged = np.asarray(batch.column("vlan").is_valid(), bool)
        length = batch.column("wire_bytes").to_numpy().astype(np.int64) - _VLAN_BYTES * tagged
        names = (word_of(batch.column(name)) for name in ("ip_src", "ip_dst"))
        every = (batch.column("packet").to_numpy().astype(np.int64), time_ns, length, *names)
        columns.append((*(values[known] for values in every), known + first))
        first += batch.num_rows
    number, time_ns, length, source, target, rows = (np.concatenate(c) for c in zip(*columns, strict=True))
    none = np.zeros(len(number), bool)
    return Units(number, time_ns, np.maximum(length, 0).astype(np.uint32), source, target, none), rows


def units(capture: Capture) -> Units | None:
    """The packets that a capture hides; None when it hides none."""
    parts = [part for part in (*_frames(capture), *_transfers(capture)) if len(part[0])]
    if not parts:
        return None
    number, time_ns, length, source, target, again = (np.concatenate(c) for c in zip(*parts, strict=True))
    order = np.argsort(time_ns, kind="stable")
    return Units(*(v[order] for v in (number, time_ns, length, source, target, again)))


def _frames(capture: Capture) -> Iterator[tuple[Array, ...]]:
    """First attempts of encrypted frames between one station and an access point, each a packet of its own."""
    if not capture.rows("frames"):
        return
    firsts = [
        batch.column("first_packet").drop_null().to_numpy() for batch in capture.scan("exchanges", ("first_packet",))
    ]
    first = np.sort(np.concatenate([np.zeros(0, np.uint64), *firsts]))
    start_ns = capture.start_ns or 0
    flags = ("retry", "more_fragments", "to_ds", "from_ds", "amsdu")
    names = ("packet", "t_ns", "mpdu_bytes", "subtype", "ta", "ra", "fragment", "carries", *flags)
    for batch in capture.scan("frames", names):
        flag = {
            name: np.asarray(batch.column(name).fill_null(False).to_numpy(zero_copy_only=False), bool) for name in flags
        }
        number = batch.column("packet").to_numpy()
        # Of the access point the station tells which one: it is no end itself.
        up, down = flag["to_ds"] & ~flag["from_ds"], flag["from_ds"] & ~flag["to_ds"]
        whole = ~flag["amsdu"] & ~flag["more_fragments"] & (batch.column("fragment").fill_null(0).to_numpy() == 0)
        hidden = np.asarray(batch.column("carries").cast("string").to_numpy(zero_copy_only=False) == "protected", bool)
        stamped = np.asarray(batch.column("t_ns").is_valid(), bool)
        kept = np.flatnonzero(hidden & whole & (up | down) & stamped & np.isin(number, first))
        qos = batch.column("subtype").cast("string").to_numpy(zero_copy_only=False) == "qos_data"
        length = batch.column("mpdu_bytes").to_numpy().astype(np.int64) - _QOS_BYTES * np.asarray(qos, bool)
        ta, ra = word_of(batch.column("ta")), word_of(batch.column("ra"))
        every = (
            number.astype(np.int64),
            batch.column("t_ns").fill_null(0).to_numpy() + start_ns,
            np.maximum(length, 0).astype(np.uint32),
            np.where(up, ta, 0),
            np.where(down, ra, 0),
            flag["retry"],
        )
        yield tuple(values[kept] for values in every)


def _transfers(capture: Capture) -> Iterator[tuple[Array, ...]]:
    """Bulk transfers in which no packet can be read: those of a device's OUT endpoints are sent by its host."""
    if not capture.rows("urbs"):
        return
    start_ns = capture.start_ns or 0
    names = ("bus", "device", "transfer", "direction", "submit_packet", "complete_packet", "done_bytes", "ip_packets")
    for batch in capture.scan("urbs", (*names, "t_submit_ns", "t_complete_ns")):
        out = np.asarray(batch.column("direction").cast("string").to_numpy(zero_copy_only=False) == "out", bool)
        bulk = np.asarray(batch.column("transfer").cast("string").to_numpy(zero_copy_only=False) == "bulk", bool)
        length = batch.column("done_bytes").fill_null(0).to_numpy().astype(np.int64)
        number, t_ns = (
            np.where(out, *(batch.column(name).cast("int64").fill_null(-1).to_numpy() for name in ends))
            for ends in (("submit_packet", "complete_packet"), ("t_submit_ns", "t_complete_ns"))
        )
        device = 1 + (batch.column("bus").to_numpy().astype(np.int64) << 16 | batch.column("device").to_numpy())
        unread = batch.column("ip_packets").to_numpy() == 0
        kept = np.flatnonzero(bulk & unread & (length > 0) & (number >= 0) & (t_ns >= 0))
        every = (
            number,
            t_ns + start_ns,
            length.astype(np.uint32),
            np.where(out, device, 0),
            np.where(out, 0, device),
            np.zeros(len(number), bool),
        )
        yield tuple(values[kept] for values in every)


def meeting(found: Inferred, shown_first: bool) -> Meeting:
    """The pairs as alignment wants them, in place of those by bytes."""
    seen, hidden = ("a", "b") if shown_first else ("b", "a")
    count = len(found.seen_row)
    columns: dict[str, Array] = {"exact": ~found.again, "payload": found.length}
    columns[f"row_{seen}"], columns[f"row_{hidden}"] = found.seen_row, np.arange(count)
    columns[f"time_ns_{seen}"], columns[f"time_ns_{hidden}"] = found.seen_ns, found.hidden_ns
    columns[f"number_{seen}"], columns[f"number_{hidden}"] = found.seen_number, found.hidden_number
    for side in "ab":
        columns[f"ttl_{side}"] = np.full(count, -1)
        columns[f"src_{side}"], columns[f"dst_{side}"] = np.where(found.up, 1, 2), np.where(found.up, 2, 1)
    return Meeting.inferring(columns)
