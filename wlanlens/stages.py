"""The table `journeys`: the stages of each packet's way, with what the clocks allow to say of them, and its fate at each point.

A stage lies between two instants that captures saw. Its length is right within its bound: what the clocks of both
captures may be off, and a tick of each; within one capture two ticks. A stage shorter than its bound may have been nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import journeys as links
from wlanlens import tables
from wlanlens.fates import FATES, LOST_AFTER, LOST_BEFORE, NOT_CAPTURED, OUTSIDE, SEEN, UNKNOWN, Ways, fates

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture import Capture
    from wlanlens.clock import ClockMap
    from wlanlens.journeys import Journeys

Array = np.ndarray[Any, Any]

#: Instants of a packet, at the points where captures see them.
_EVENTS = ("sender", "usb_submit", "usb_complete", "air_start", "air_end", "ap", "receiver")
_SENDER, _SUBMIT, _COMPLETE, _AIR_START, _AIR_END, _AP, _RECEIVER = range(len(_EVENTS))
_HOSTS = (_SENDER, _RECEIVER)

#: Of several captures at one point the one that tells most.
_TOLD = (SEEN, LOST_AFTER, NOT_CAPTURED, LOST_BEFORE, UNKNOWN, OUTSIDE)


def table(
    captures: Sequence[Capture],
    clocks: Sequence[ClockMap],
    packets: Sequence[pa.Table],
    journeys: Journeys,
    frames: Sequence[pa.Table],
    exchanges: Sequence[pa.Table],
    urbs: Sequence[pa.Table],
) -> pa.Table:
    """The table `journeys`, a row for each of `links`; all tables are on the common axis."""
    import pyarrow as pa

    if not len(journeys.rows):
        return tables.empty("journeys")
    times = links.times(packets, journeys)
    ways = Ways(captures, packets, journeys, times)
    codes = fates(packets, journeys, times, ways)
    order = links.in_time(times)
    bounds = np.ma.stack([_bound(clocks[c], packets[c], journeys.rows[:, c]) for c in range(len(captures))], axis=1)
    instants = _Instants(captures, journeys, times)
    transfers = instants.add_transfers(packets, journeys, urbs)
    attempts = _attempts(captures, packets, journeys, frames, exchanges)
    instants.add_attempts(attempts)
    doubt = instants.settle(attempts, ways, bounds)
    stages = _stages(instants, ways, bounds, [max(clock.tick_ns, 1) for clock in clocks], doubt)
    columns: dict[str, Any] = {"journey": pa.array(np.arange(len(order)), pa.uint64())}
    columns.update({name: column.take(pa.array(order)) for name, column in links.about(packets, journeys).items()})
    first, last = instants.ends()
    for name, values in (("t_start_ns", first), ("t_end_ns", last)):
        columns[name] = _nullable(values[order], pa.int64())
    for point in tables.POINTS:
        at = [c for c, capture in enumerate(captures) if capture.vantage == point]
        columns[f"{point}_fate"] = _fate(codes[:, at][order])
    columns.update({name: _nullable(values[order], kind) for name, (values, kind) in transfers.items()})
    columns.update(_sums(stages, order))
    columns["stages"] = _stage_list(stages, order)
    columns["attempts"] = attempts.column(order)
    for name, (values, kind) in attempts.answers().items():
        columns[name] = _nullable(values[order], kind)
    columns["points"] = _points(captures, packets, journeys, times, codes, ways, order)
    schema = tables.schema("journeys")
    return pa.table([columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema)


def _nullable(values: Any, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.array(np.ma.filled(values, 0), kind, mask=np.ma.getmaskarray(values))


def _fate(codes: Array) -> pa.DictionaryArray:
    """The fate at one point, of the capture there that tells most; null without a capture."""
    import pyarrow as pa

    told = np.argsort(_TOLD)
    best = np.array(_TOLD)[told[codes].min(axis=1)] if codes.shape[1] else np.zeros(len(codes), np.int64)
    mask = np.full(len(codes), codes.shape[1] == 0)
    return pa.DictionaryArray.from_arrays(pa.array(best.astype(np.int8), mask=mask), pa.array(FATES))


def _bound(clock: ClockMap, packets: pa.Table, rows: Array) -> Any:
    """How far a capture's times may be off on the axis, ns: least where the offset is known best, growing as the drift
    allows, and no more than the greatest anywhere between its pairs. Masked where it is not known."""
    count = len(rows)
    if not clock.pieces:
        return np.ma.MaskedArray(np.zeros(count, np.int64), False)
    if not packets.num_rows:
        return np.ma.MaskedArray(np.zeros(count, np.int64), True)
    import pyarrow as pa

    own = packets.column("time").cast(pa.int64()).fill_null(0).to_numpy()[rows]
    number = packets.column("packet").to_numpy()[rows]
    which = np.searchsorted([piece.first_packet for piece in clock.pieces[1:]], number, side="right")
    out = np.ma.MaskedArray(np.zeros(count, np.int64), True)
    for k, piece in enumerate(clock.pieces):
        if piece.bound_ns is None:
            continue
        here = which == k
        grown = piece.bound_ns + np.abs(own[here] - piece.at_ns) * ((piece.drift_bound_ppm or 0.0) * 1e-6)
        most = np.inf if piece.bound_most_ns is None or piece.drift_bound_ppm is None else piece.bound_most_ns
        out[here] = np.ceil(np.minimum(grown, max(most, piece.bound_ns))).astype(np.int64)
    return out


class _Instants:
    """When each journey was where: [journey, event] times, masked where not seen, and the capture that says so."""

    def __init__(self, captures: Sequence[Capture], journeys: Journeys, times: Any) -> None:
        count = len(journeys.rows)
        self.t_ns = np.ma.MaskedArray(np.zeros((count, len(_EVENTS)), np.int64), True)
        self.capture: Array = np.full((count, len(_EVENTS)), -1, np.int64)
        #: Its URB goes to the adapter; meaningless without one.
        self.out: Array = np.zeros(count, bool)
        self._at: dict[str, list[int]] = {
            point: [c for c, capture in enumerate(captures) if capture.vantage == point] for point in tables.POINTS
        }
        for event, point in ((_SENDER, "sender"), (_AP, "ap"), (_RECEIVER, "receiver")):
            for c in self._at[point]:
                here = ~np.ma.getmaskarray(times)[:, c] & np.ma.getmaskarray(self.t_ns)[:, event]
                self._put(event, np.flatnonzero(here), times.data[here, c], c)

    def _put(self, event: int, journeys: Array, t_ns: Array, capture: int) -> None:
        self.t_ns[journeys, event] = t_ns
        self.capture[journeys, event] = capture

    def add_transfers(
        self, packets: Sequence[pa.Table], journeys: Journeys, urbs: Sequence[pa.Table]
    ) -> dict[str, tuple[Any, Any]]:
        """Submission and completion of the URB that carried each packet, as columns."""
        import pyarrow as pa
        import pyarrow.compute as pc

        count = len(self.t_ns)
        numbers = np.ma.MaskedArray(np.zeros((count, 2), np.uint64), True)
        for c in self._at["usb"]:
            carried = urbs[c].filter(pc.is_valid(urbs[c].column("ip_packet")))
            record = carried.column("ip_packet").to_numpy()
            rows = np.flatnonzero(journeys.of[c] >= 0)
            place = links.find(record, packets[c].column("packet").to_numpy()[rows])
            found, which = np.unique(journeys.of[c][rows[place >= 0]], return_index=True)
            which = place[place >= 0][which]
            fresh = np.ma.getmaskarray(self.t_ns)[found, _SUBMIT] & np.ma.getmaskarray(self.t_ns)[found, _COMPLETE]
            found, which = found[fresh], which[fresh]
            out = np.asarray(pc.equal(carried.column("direction").cast(pa.string()), "out"), bool)[which]
            self.out[found] = out
            for k, (event, name) in enumerate(((_SUBMIT, "submit"), (_COMPLETE, "complete"))):
                t_ns, packet = (carried.column(f) for f in (f"t_{name}_ns", f"{name}_packet"))
                there = np.asarray(t_ns.is_valid(), bool)[which] & np.asarray(packet.is_valid(), bool)[which]
                # What the host submits for a packet to come is no instant of the packet.
                there &= out | (event == _COMPLETE)
                self._put(event, found[there], t_ns.fill_null(0).to_numpy()[which][there], c)
                numbers[found[there], k] = packet.fill_null(0).to_numpy()[which][there]
        return {
            "usb_submit_packet": (numbers[:, 0], pa.uint64()),
            "usb_submit_t_ns": (self.t_ns[:, _SUBMIT], pa.int64()),
            "usb_complete_packet": (numbers[:, 1], pa.uint64()),
            "usb_complete_t_ns": (self.t_ns[:, _COMPLETE], pa.int64()),
        }

    def add_attempts(self, attempts: _Attempts) -> None:
        """Begin of the first attempt and end of the last."""
        for event, (found, which) in ((_AIR_START, attempts.first()), (_AIR_END, attempts.last())):
            t_ns = attempts.start if event == _AIR_START else attempts.end
            self.t_ns[found, event] = t_ns[which]
            self.capture[found, event] = attempts.capture[which]

    def order(self, ways: Ways) -> Array:
        """[journey, k]: the events in the order of the packet's way, those that were not seen last."""
        rank = ways.rank()[ways.of[:, None], np.maximum(self.capture, 0)]
        # Both instants of one capture stay together, in their order.
        place = rank * len(_EVENTS) + np.arange(len(_EVENTS))
        place[np.ma.getmaskarray(self.t_ns)] = np.iinfo(np.int64).max
        order: Array = np.argsort(place, axis=1, kind="stable")
        return order

    def settle(self, attempts: _Attempts, ways: Ways, bounds: Any) -> Array:
        """End the time on the air with the attempt that can have brought the packet to the next point: the last that ended
        before it passed there. Attempts behind it repeat what had arrived, for its MAC acknowledgment was lost. Returns how
        much the end may be off because the clocks leave open which attempt that is, ns."""
        doubt = np.zeros(len(self.t_ns), np.int64)
        order, seen = self.order(ways), ~np.ma.getmaskarray(self.t_ns)
        last = seen.sum(axis=1) - 1
        place = (order == _AIR_END).argmax(axis=1)
        rows = np.flatnonzero(seen[:, _AIR_END] & (place < last))
        event = order[rows, place[rows] + 1]
        until = np.full(len(self.t_ns), np.iinfo(np.int64).max)
        until[rows] = self.t_ns.data[rows, event]
        off = np.zeros(len(self.t_ns), np.int64)
        for capture in (self.capture[rows, _AIR_END], self.capture[rows, event]):
            off[rows] += np.ma.filled(bounds, 0)[rows, capture]
        found, first = attempts.first()
        _, final = attempts.last()
        # Attempts of a journey follow each other; ends rise with their begins but where hops overlap.
        early = np.bincount(attempts.journey[attempts.end <= until[attempts.journey]], minlength=len(self.t_ns))
        chosen = np.clip(first + early[found] - 1, first, final)
        self.t_ns[found, _AIR_END] = attempts.end[chosen]
        before, behind = np.maximum(chosen - 1, first), np.minimum(chosen + 1, final)
        nearer = attempts.end[chosen] > until[found] - off[found]
        doubt[found] = np.where(nearer, attempts.end[chosen] - attempts.end[before], 0)
        farther = attempts.end[behind] < until[found] + off[found]
        farther &= until[found] < np.iinfo(np.int64).max
        doubt[found] = np.maximum(doubt[found], np.where(farther, attempts.end[behind] - attempts.end[chosen], 0))
        return doubt

    def ends(self) -> tuple[Any, Any]:
        """First and last instant of each journey."""
        return self.t_ns.min(axis=1), self.t_ns.max(axis=1)


class _Attempts:
    """The attempts heard on the air, in the order of journeys and time."""

    def __init__(self, count: int, heard: Sequence[tuple[Array, ...]]) -> None:
        names = ("journey", "start", "end", "packet", "rate", "damaged", "capture", "ack_t_ns", "ack_packet")
        columns = [np.concatenate([part[k] for part in heard]) if heard else np.zeros(0) for k in range(len(names))]
        order = np.lexsort((columns[1], columns[0]))
        self.count = count
        self.journey: Array = columns[0][order].astype(np.int64)
        self.start: Array = columns[1][order].astype(np.int64)
        self.end: Array = columns[2][order].astype(np.int64)
        self.packet: Array = columns[3][order].astype(np.uint64)
        self.rate: Array = columns[4][order].astype(float)
        self.damaged: Array = columns[5][order].astype(bool)
        self.capture: Array = columns[6][order].astype(np.int64)
        self.ack_t_ns: Array = columns[7][order].astype(np.int64)
        self.ack_packet: Array = columns[8][order].astype(np.uint64)

    def first(self) -> tuple[Array, Array]:
        """The journeys, and the first attempt of each."""
        return np.unique(self.journey, return_index=True)

    def last(self) -> tuple[Array, Array]:
        """The journeys, and the last attempt of each."""
        found, counts = np.unique(self.journey, return_counts=True)
        return found, np.cumsum(counts) - 1

    def answers(self) -> dict[str, tuple[Any, Any]]:
        """The MAC acknowledgment that was heard, as columns."""
        import pyarrow as pa

        t_ns = np.ma.MaskedArray(np.zeros(self.count, np.int64), True)
        packet = np.ma.MaskedArray(np.zeros(self.count, np.uint64), True)
        told = self.ack_packet > 0
        # Of several exchanges, hops among them, the last.
        t_ns[self.journey[told]], packet[self.journey[told]] = self.ack_t_ns[told], self.ack_packet[told]
        return {"mac_ack_packet": (packet, pa.uint64()), "mac_ack_t_ns": (t_ns, pa.int64())}

    def column(self, order: Array) -> pa.ListArray:
        """The column `attempts`."""
        import pyarrow as pa

        taken, offsets = _in_order(self.journey, order)
        values = pa.StructArray.from_arrays(
            [
                pa.array(self.packet[taken]),
                pa.array(self.start[taken]),
                pa.array(self.end[taken]),
                pa.array(self.rate[taken], mask=np.isnan(self.rate[taken])),
                pa.array(self.damaged[taken]),
            ],
            names=["packet", "t_start_ns", "t_end_ns", "rate_mbps", "damaged"],
        )
        return pa.ListArray.from_arrays(pa.array(offsets), values)


def _in_order(journey: Array, order: Array) -> tuple[Array, Array]:
    """Rows of a list that is sorted by journey, in another order of the journeys, and the offsets of its lists."""
    count = len(order)
    lengths = np.bincount(journey, minlength=count)
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    lengths, starts = lengths[order], starts[order]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    taken = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return taken, offsets.astype(np.int32)


def _attempts(
    captures: Sequence[Capture],
    packets: Sequence[pa.Table],
    journeys: Journeys,
    frames: Sequence[pa.Table],
    exchanges: Sequence[pa.Table],
) -> _Attempts:
    """The attempts of each journey, by the first sniffer that heard any of them."""
    import pyarrow as pa

    taken = np.zeros(len(journeys.rows), bool)
    heard = []
    for c, capture in enumerate(captures):
        rows = np.flatnonzero(journeys.of[c] >= 0)
        rows = rows[~taken[journeys.of[c][rows]]]
        if capture.vantage != "air" or not len(rows):
            continue
        of, record = journeys.of[c][rows], packets[c].column("packet").to_numpy()[rows]
        # Packets of one frame, an A-MSDU, are attempts of each.
        pairs = np.unique(np.stack((of, record.astype(np.int64)), axis=1), axis=0)
        number = frames[c].column("packet").to_numpy()
        at = links.find(number, pairs[:, 1].astype(number.dtype))
        pairs, at = pairs[at >= 0], at[at >= 0]
        t_ns = frames[c].column("t_ns").fill_null(0).to_numpy()[at]
        airtime = np.rint(frames[c].column("airtime_us").fill_null(0.0).to_numpy()[at] * 1e3).astype(np.int64)
        begin = t_ns if _names_start(capture) else t_ns - airtime
        fcs = frames[c].column("fcs_ok").fill_null(True).to_numpy(zero_copy_only=False)
        rate = frames[c].column("rate_mbps").cast(pa.float64()).to_numpy(zero_copy_only=False)[at]
        ack_t_ns, ack_packet = _answered(exchanges[c], pairs[:, 1])
        damaged = ~np.asarray(fcs, bool)[at]
        where = np.full(len(at), c)
        heard.append((pairs[:, 0], begin, begin + airtime, pairs[:, 1], rate, damaged, where, ack_t_ns, ack_packet))
        taken[pairs[:, 0]] = True
    return _Attempts(len(journeys.rows), heard)


def _names_start(capture: Capture) -> bool:
    """Whether the capture's times are those of frames' starts: as responses show; a host stamps what has come whole."""
    stamps = capture.info.get("stamps") or {}
    at = stamps.get("stamp_at") or ()
    return stamps.get("clock") == "capture" and bool(at) and "ppdu_end" not in at


def _answered(exchanges: pa.Table, frames: Array) -> tuple[Array, Array]:
    """Time and record of the ACK that settled the exchange of each frame; 0: none was heard."""
    lists = exchanges.column("packets").combine_chunks()
    of = np.repeat(np.arange(exchanges.num_rows), lists.value_lengths().fill_null(0).to_numpy())
    at = links.find(lists.flatten().to_numpy(), frames.astype(np.uint64))
    found = at >= 0
    packet, t_ns = np.zeros(len(frames), np.uint64), np.zeros(len(frames), np.int64)
    packet[found] = exchanges.column("ack_packet").fill_null(0).to_numpy()[of[at[found]]]
    t_ns[found] = exchanges.column("t_ack_ns").fill_null(0).to_numpy()[of[at[found]]]
    return t_ns, packet


class _Stages:
    """All stages, in the order of journeys and of their way."""

    def __init__(self, journey: Array, place: Array, columns: Sequence[Any]) -> None:
        order = np.lexsort((place, journey))
        self.journey: Array = journey[order]
        self.kind, self.start, self.end, bound, unknown = (v[order] for v in columns)
        self.bound = np.ma.MaskedArray(bound, unknown)


def _stages(instants: _Instants, ways: Ways, bounds: Any, ticks: Sequence[int], doubt: Array) -> _Stages:
    """The stages between instants that follow each other on a packet's way; `doubt` of the end on the air."""
    count = len(instants.t_ns)
    valid = ~np.ma.getmaskarray(instants.t_ns)
    order = instants.order(ways)
    tick = np.array(ticks)
    rows = np.arange(count)
    parts = []
    for k in range(len(_EVENTS) - 1):
        one, other = order[:, k], order[:, k + 1]
        here = np.flatnonzero(valid[rows, one] & valid[rows, other])
        one, other = one[here], other[here]
        capture, second = instants.capture[here, one], instants.capture[here, other]
        apart = capture != second
        off = np.where(apart, bounds.data[here, capture] + bounds.data[here, second], 0)
        unknown = apart & (np.ma.getmaskarray(bounds)[here, capture] | np.ma.getmaskarray(bounds)[here, second])
        off += tick[capture] + tick[second] + np.where((one == _AIR_END) | (other == _AIR_END), doubt[here], 0)
        t_ns = instants.t_ns.data
        kind = _kinds(one, other, instants.out[here])
        parts.append((here, np.full(len(here), k), kind, t_ns[here, one], t_ns[here, other], off, unknown))
    journey, number, *columns = (np.concatenate([part[i] for part in parts]) for i in range(len(parts[0])))
    return _Stages(journey, number, columns)


def _kinds(one: Array, other: Array, out: Array) -> Array:
    """What lies between two instants that follow each other."""
    queue, bus, wait, air, wire, apart = range(len(tables.STAGES))
    kind = np.full(len(one), wire)
    usb = (_SUBMIT, _COMPLETE)
    kind[np.isin(one, _HOSTS) & np.isin(other, _HOSTS)] = apart
    # The bus without the air: what lies beyond the adapter is not told apart.
    kind[np.isin(one, usb) | np.isin(other, usb)] = apart
    kind[np.isin(one, _HOSTS) & (other == _SUBMIT)] = queue
    kind[(one == _COMPLETE) & np.isin(other, _HOSTS) & ~out] = queue
    kind[((one == _SUBMIT) & (other == _COMPLETE)) | ((one == _AIR_END) & (other == _COMPLETE))] = bus
    kind[other == _AIR_START] = wait
    kind[(one == _AIR_START) & (other == _AIR_END)] = air
    return kind


def _sums(stages: _Stages, order: Array) -> dict[str, Any]:
    """Of each kind of stage its time and bound, a column each."""
    import pyarrow as pa

    out = {}
    for k, name in enumerate(tables.STAGES):
        here = np.flatnonzero(stages.kind == k)
        of = stages.journey[here]
        times = np.bincount(of, minlength=len(order))
        total = np.zeros(len(order), np.int64)
        np.add.at(total, of, stages.end[here] - stages.start[here])
        bound = np.zeros(len(order), np.int64)
        np.add.at(bound, of, np.ma.filled(stages.bound[here], 0))
        unknown = np.zeros(len(order), bool)
        unknown[of[np.ma.getmaskarray(stages.bound)[here]]] = True
        out[f"{name}_ns"] = pa.array(total[order], pa.int64(), mask=times[order] == 0)
        out[f"{name}_bound_ns"] = pa.array(bound[order], pa.int64(), mask=(times == 0)[order] | unknown[order])
    return out


def _stage_list(stages: _Stages, order: Array) -> pa.ListArray:
    """The column `stages`."""
    import pyarrow as pa

    taken, offsets = _in_order(stages.journey, order)
    values = pa.StructArray.from_arrays(
        [
            pa.array(tables.STAGES).take(pa.array(stages.kind[taken])),
            pa.array(stages.start[taken]),
            pa.array(stages.end[taken]),
            _nullable(stages.bound[taken], pa.int64()),
        ],
        names=["stage", "t_start_ns", "t_end_ns", "bound_ns"],
    )
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _points(
    captures: Sequence[Capture],
    packets: Sequence[pa.Table],
    journeys: Journeys,
    times: Any,
    codes: Array,
    ways: Ways,
    order: Array,
) -> pa.ListArray:
    """The column `points`: every capture in the order of the packet's way."""
    import pyarrow as pa

    count = len(captures)
    along = np.argsort(ways.rank()[ways.of][order], axis=1, kind="stable")
    rows = np.take_along_axis(journeys.rows[order], along, axis=1).ravel()
    fate = np.take_along_axis(codes[order], along, axis=1).ravel()
    t_ns = np.take_along_axis(np.ma.filled(times, 0)[order], along, axis=1).ravel()
    unstamped = np.take_along_axis(np.ma.getmaskarray(times)[order], along, axis=1).ravel()
    which = along.ravel()
    number = np.zeros(len(which), np.uint64)
    for c, table_ in enumerate(packets):
        here = (which == c) & (rows >= 0)
        number[here] = table_.column("packet").to_numpy()[rows[here]]
    values = pa.StructArray.from_arrays(
        [
            pa.array([capture.name for capture in captures]).take(pa.array(which)),
            pa.array(number, mask=rows < 0),
            pa.array(t_ns, pa.int64(), mask=unstamped),
            pa.array(FATES).take(pa.array(fate)),
        ],
        names=["capture", "packet", "t_ns", "fate"],
    )
    return pa.ListArray.from_arrays(pa.array(np.arange(0, len(which) + 1, count, dtype=np.int32)), values)
