"""Packets whose bytes are not readable: encrypted frames, and transfers of an adapter with unknown framing.

They are matched by length, direction and order, and only where these decide (rust/core/src/pairing/order.rs). Every such pair
is marked as inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment import packet_matching
from wlanlens.alignment.capture_summary import CaptureSummary, packet_times
from wlanlens.alignment.common_packets import CommonPackets
from wlanlens.tables.columns import Array, coded, filled, integers, known, numbers_of_texts

if TYPE_CHECKING:
    from wlanlens.capture.capture import Capture


#: Stations, adapters and hosts that are compared with each other, those with most packets: a busy channel has a hundred
#: stations, and the one searched for carried the traffic.
_CANDIDATES = 12

#: Packets of a direction by which the pair of station and host is chosen; all packets are matched only for that pair.
_CHOOSE_BY = 1 << 16

#: Fewer pairs prove nothing. A second station with half as many shows that they are due to chance.
_LEAST, _RIVAL = 12, 0.5

#: How far a pair may be from the median difference of the clocks, ns: no queue of one hop delays a packet longer.
_MOST_DELAY_NS = 2_000_000_000

#: Header fields that not all packets of a station have.
_QOS_BYTES, _VLAN_BYTES = 2, 4


@dataclass(frozen=True)
class PacketLengths:
    """Packets of one capture without their bytes: one row a packet, in order of time.

    Attributes
    ----------
    number : int64 array
        Of the record in its file.
    time_ns : int64 array
        By the capture's clock, ns since 1970.
    length : uint32 array
        Bytes, with headers of the same length for all.
    source, target : int64 array
        Sender and receiver as numbers; 0 for an access point or a USB host.
    retry : bool array
        On the air: an earlier transmission may not have been heard.
    """

    number: Array
    time_ns: Array
    length: Array
    source: Array
    target: Array
    retry: Array

    def rows(self, source: int | None, target: int | None) -> Array:
        """Rows of one direction."""
        kept = np.ones(len(self.number), bool)
        for wanted, values in ((source, self.source), (target, self.target)):
            if wanted is not None:
                kept &= values == wanted
        return np.flatnonzero(kept)

    def busiest(self) -> list[int]:
        """The senders and receivers with most packets."""
        ends, counts = np.unique(np.concatenate((self.source, self.target)), return_counts=True)
        order = np.argsort(-counts[ends != 0], kind="stable")
        chosen: list[int] = ends[ends != 0][order][:_CANDIDATES].tolist()
        return chosen


@dataclass(frozen=True)
class InferredPairs:
    """Pairs by length, direction and order of a readable capture and an opaque one.

    Attributes
    ----------
    seen_row, seen_number, seen_ns : arrays
        Row of `packets`, number and time in the readable capture.
    hidden_number, hidden_ns : arrays
        Number and time in the opaque capture.
    retry : bool array
        An earlier transmission may not have been heard.
    up : bool array
        The station or adapter sent it.
    length : array
        Length in the readable capture.
    """

    seen_row: Array
    seen_number: Array
    hidden_number: Array
    seen_ns: Array
    hidden_ns: Array
    retry: Array
    up: Array
    length: Array


def infer(readable: CaptureSummary, opaque: CaptureSummary) -> InferredPairs | None:
    """The pairs of a readable capture with an opaque one; None where lengths and order do not decide."""
    hidden = hidden_packets(opaque.capture)
    if hidden is None or len(hidden.number) < _LEAST or not readable.readable:
        return None
    seen, rows = _packets(readable)
    tried = sorted(
        (
            (sum(len(rows) for rows, _ in _both_directions(seen, hidden, host, end, _CHOOSE_BY)), end, host)
            for end in hidden.busiest()
            for host in seen.busiest()
        ),
        key=lambda row: -row[0],
    )
    if not tried or tried[0][0] < _LEAST:
        return None
    best = tried[0]
    # No other host of the same station, and no other station of the same host, may match nearly as well.
    if any(rival[0] > _RIVAL * best[0] for rival in tried[1:] if (rival[1] == best[1]) != (rival[2] == best[2])):
        return None
    both = _both_directions(seen, hidden, best[2], best[1])
    parts = [(a, b, np.full(len(a), up)) for (a, b), up in zip(both, (True, False), strict=True)]
    a, b, up = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    apart = hidden.time_ns[b] - seen.time_ns[a]
    kept = np.abs(apart - np.median(apart)) <= _MOST_DELAY_NS + 5e-4 * np.abs(seen.time_ns[a] - seen.time_ns[a].min())
    order = np.argsort(a[kept], kind="stable")
    a, b, up = (v[kept][order] for v in (a, b, up))
    if len(a) < _LEAST:
        return None
    return InferredPairs(
        seen_row=rows[a],
        seen_number=seen.number[a],
        hidden_number=hidden.number[b],
        seen_ns=seen.time_ns[a],
        hidden_ns=hidden.time_ns[b],
        retry=hidden.retry[b],
        up=up,
        length=seen.length[a],
    )


def _both_directions(
    seen: PacketLengths, hidden: PacketLengths, host: int, end: int, most: int | None = None
) -> list[tuple[Array, Array]]:
    """Rows of both captures that match, sent by a host and to it, if `end` is that host; of the first `most` packets of each."""
    out = []
    for here, there in (
        (seen.rows(host, None), hidden.rows(end, None)),
        (seen.rows(None, host), hidden.rows(None, end)),
    ):
        both = packet_matching.by_order(seen.length[here[:most]], hidden.length[there[:most]])
        out.append((here[both[:, 0]], there[both[:, 1]]))
    return out


def _packets(side: CaptureSummary) -> tuple[PacketLengths, Array]:
    """The packets of a readable capture, and their rows."""
    columns: list[tuple[Array, ...]] = []
    first = 0
    for batch in side.capture.scan("packets", ("packet", "time", "wire_bytes", "vlan", "ip_src", "ip_dst", "protocol")):
        timed, time_ns = packet_times(batch)
        kept = np.flatnonzero(timed & known(batch.column("protocol")))
        length = integers(batch.column("wire_bytes")) - _VLAN_BYTES * known(batch.column("vlan"))
        addresses = (numbers_of_texts(batch.column(name)) for name in ("ip_src", "ip_dst"))
        every = (integers(batch.column("packet")), time_ns, length, *addresses)
        columns.append((*(values[kept] for values in every), kept + first))
        first += batch.num_rows
    number, time_ns, length, source, target, rows = (np.concatenate(c) for c in zip(*columns, strict=True))
    none = np.zeros(len(number), bool)
    return PacketLengths(number, time_ns, np.maximum(length, 0).astype(np.uint32), source, target, none), rows


def hidden_packets(capture: Capture) -> PacketLengths | None:
    """The packets of an opaque capture; None when it has none."""
    parts = [part for part in (*_frames(capture), *_transfers(capture)) if len(part[0])]
    if not parts:
        return None
    number, time_ns, length, source, target, retry = (np.concatenate(c) for c in zip(*parts, strict=True))
    order = np.argsort(time_ns, kind="stable")
    return PacketLengths(*(v[order] for v in (number, time_ns, length, source, target, retry)))


def _frames(capture: Capture) -> Iterator[tuple[Array, ...]]:
    """First transmissions of encrypted frames between a station and an access point, each a packet of its own."""
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
        flag = {name: filled(batch.column(name), False) for name in flags}
        number = batch.column("packet").to_numpy()
        # The station identifies the access point, which is no end of a path.
        up, down = flag["to_ds"] & ~flag["from_ds"], flag["from_ds"] & ~flag["to_ds"]
        whole = ~flag["amsdu"] & ~flag["more_fragments"] & (filled(batch.column("fragment")) == 0)
        hidden = coded(batch.column("carries"), ["protected"]) == 0
        kept = np.flatnonzero(hidden & whole & (up | down) & known(batch.column("t_ns")) & np.isin(number, first))
        qos = coded(batch.column("subtype"), ["qos_data"]) == 0
        length = integers(batch.column("mpdu_bytes")) - _QOS_BYTES * qos
        ta, ra = numbers_of_texts(batch.column("ta")), numbers_of_texts(batch.column("ra"))
        every = (
            number.astype(np.int64),
            filled(batch.column("t_ns")) + start_ns,
            np.maximum(length, 0).astype(np.uint32),
            np.where(up, ta, 0),
            np.where(down, ra, 0),
            flag["retry"],
        )
        yield tuple(values[kept] for values in every)


def _transfers(capture: Capture) -> Iterator[tuple[Array, ...]]:
    """Bulk transfers without a readable packet. The host sends those of OUT endpoints."""
    if not capture.rows("urbs"):
        return
    start_ns = capture.start_ns or 0
    names = ("bus", "device", "transfer", "direction", "submit_packet", "complete_packet", "done_bytes", "ip_packets")
    for batch in capture.scan("urbs", (*names, "t_submit_ns", "t_complete_ns")):
        out = coded(batch.column("direction"), ["out"]) == 0
        bulk = coded(batch.column("transfer"), ["bulk"]) == 0
        length = integers(batch.column("done_bytes"))
        number, t_ns = (
            np.where(out, *(integers(batch.column(name), -1) for name in ends))
            for ends in (("submit_packet", "complete_packet"), ("t_submit_ns", "t_complete_ns"))
        )
        device = 1 + (integers(batch.column("bus")) << 16 | integers(batch.column("device")))
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


def common_packets(found: InferredPairs, readable_first: bool) -> CommonPackets:
    """The pairs in the form of pairs that were found by bytes."""
    seen, hidden = ("a", "b") if readable_first else ("b", "a")
    count = len(found.seen_row)
    columns: dict[str, Array] = {"exact": ~found.retry, "payload": found.length}
    columns[f"row_{seen}"], columns[f"row_{hidden}"] = found.seen_row, np.arange(count)
    columns[f"time_ns_{seen}"], columns[f"time_ns_{hidden}"] = found.seen_ns, found.hidden_ns
    columns[f"number_{seen}"], columns[f"number_{hidden}"] = found.seen_number, found.hidden_number
    for side in "ab":
        columns[f"ttl_{side}"] = np.full(count, -1)
        columns[f"src_{side}"], columns[f"dst_{side}"] = np.where(found.up, 1, 2), np.where(found.up, 2, 1)
    return CommonPackets.of_inferred(columns)
