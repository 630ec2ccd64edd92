"""What was on the air: the tables `frames` and `exchanges` as vectors, and look-ups in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.toolkit.air_vectors import TCP_ACK, TCP_DATA, Exchanges, Frames, Transmissions
from wlanlens.detection.toolkit.airtime import estimated_airtime_us
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.detection.toolkit.station_pairs import StationPairs, pair_number, reverse
from wlanlens.tables.columns import NULL, Array, enum_mask, ordered_by, vector

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.detection.finding import Undecided

#: An ACK comes no later than this after its frame, ns: SIFS, the ACK at 1 Mbit/s, and as much again for timestamps.
_ACK_NS = 600_000
#: Airtime of a frame of unknown length, ns: 1500 bytes at 1 Mbit/s.
_MAX_AIRTIME_NS = 12_500_000.0

#: Kinds of frames that carry no data.
_NO_DATA = ("management", "control", "null")


class Air(StationPairs):
    """Frames, exchanges and transmissions of a trace.

    Attributes
    ----------
    frames : Frames
        Every row of `frames`.
    exchanges : Exchanges
        Exchanges of unicast data of which a transmission was heard.
    transmissions : Transmissions
        Their transmissions.
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.frames = self._read_frames(facts.trace.table("frames"))
        self.exchanges, self.transmissions = self._read_exchanges(facts.trace.table("exchanges"))

    def _read_frames(self, table: pa.Table) -> Frames:
        capture, packet = self.number_captures(table.column("capture")), vector(table.column("packet"))
        self._frame_key = _frame_key(capture, packet)
        made = Frames(
            capture=capture,
            packet=packet,
            t_ns=vector(table.column("t_ns")),
            ta=self.number_addresses(table.column("ta")),
            ra=self.number_addresses(table.column("ra")),
            retry=vector(table.column("retry")),
            fcs_ok=vector(table.column("fcs_ok")),
            ampdu=vector(table.column("ampdu")),
            streams=_positive(_floats(table.column("streams"))),
            width_mhz=_positive(_floats(table.column("width_mhz"))),
            signal_dbm=_floats(table.column("signal_dbm")),
            airtime_us=vector(table.column("airtime_us")),
            mpdu_bytes=vector(table.column("mpdu_bytes")),
        )
        if (self._frame_key[1:] < self._frame_key[:-1]).any():
            order = np.argsort(self._frame_key, kind="stable")
            self._frame_key, made = self._frame_key[order], made.take(order)
        # Where every record of a capture is a frame, its number is its place.
        self._gapless = bool((np.diff(self._frame_key) == 1).all())
        return made

    def _read_exchanges(self, table: pa.Table) -> tuple[Exchanges, Transmissions]:
        import pyarrow.compute as pc

        ta, ra = (self.number_addresses(table.column(name)) for name in ("ta", "ra"))
        heard, rated = (np.asarray(pc.list_value_length(table.column(c)), np.int64) for c in ("packets", "rates_mbps"))
        t_first, first_packet = vector(table.column("t_first_ns")), vector(table.column("first_packet"))
        keep = (heard > 0) & (heard == rated) & (ta >= 0) & (ra >= 0) & ~self.group_addresses()[ra] & (t_first != NULL)
        keep &= ~enum_mask(table.column("carries"), _NO_DATA)
        capture = self.number_captures(table.column("capture"))
        where = np.flatnonzero(keep)
        pair = pair_number(capture[where], ta[where], ra[where])
        # The numbers of a pair without gaps sort faster than its number.
        stations = len(self.group_addresses())
        group = (capture[where] * stations + ta[where]) * stations + ra[where]
        order = ordered_by(group, first_packet[where])
        where, pair = where[order], pair[order]
        # The lists of packets and rates, in the order of the exchanges.
        begins = (np.cumsum(heard) - heard)[where]
        heard = heard[where]
        first = np.cumsum(heard) - heard
        exchange = np.repeat(np.arange(len(heard)), heard)
        nth = np.arange(len(exchange)) - first[exchange]
        flat = begins[exchange] + nth
        packet = np.asarray(pc.list_flatten(table.column("packets")), np.uint64).astype(np.int64)[flat]
        begins = np.cumsum(rated) - rated
        rates = np.asarray(pc.list_flatten(table.column("rates_mbps")), np.float64)[begins[where][exchange] + nth]
        rates = _positive(rates)

        outcome = table.column("outcome")
        delivered, dropped = (enum_mask(outcome, (word,))[where] for word in ("delivered", "dropped"))
        last = nth == heard[exchange] - 1
        t_last, t_ack = (vector(table.column(name))[where] for name in ("t_last_ns", "t_ack_ns"))
        t_last = np.where(t_last == NULL, t_first[where], t_last)
        row = self.frame_rows(capture[where][exchange], packet)
        known = row >= 0
        lacking, f = not known.all(), self.frames

        def of_frame(values: Array, empty: float) -> Array:
            if not len(values):
                return np.full(len(row), empty)
            return np.where(known, values[row], empty) if lacking else values[row]

        size = of_frame(f.mpdu_bytes, 0).astype(np.int64)
        airtime = of_frame(f.airtime_us, np.nan)
        airtime = np.where(np.isnan(airtime), estimated_airtime_us(size, rates), airtime)
        # The sniffer may have heard only the ACK of the last transmission: it comes too late for the last one heard.
        answer_ns = np.nan_to_num(airtime[first + heard - 1] * 1e3, nan=_MAX_AIRTIME_NS) + _ACK_NS
        missed_last = delivered & enum_mask(table.column("inferred_by"), ("lone_ack",))[where]
        missed_last &= (t_ack != NULL) & (t_ack - t_last > answer_ns)
        # The transmitter missed the ACK of an earlier transmission: the frame after the last one shows its fate.
        early = np.flatnonzero(delivered & ~missed_last & (t_ack != NULL) & (t_ack < t_last))
        unanswered = early[~self._answered(row[first + heard - 1][early], ta[where][early], answer_ns[early])]
        delivered_last = delivered & ~missed_last
        delivered_last[unanswered] = False
        settled = np.where(delivered_last, 0, np.where(delivered | dropped, 1, -1))
        bad = np.where(last, settled[exchange], 1)
        made = Transmissions(
            exchange=exchange,
            packet=packet,
            t_ns=of_frame(f.t_ns, NULL).astype(np.int64),
            nth=nth,
            bad=bad,
            rate_mbps=rates,
            streams=of_frame(f.streams, np.nan),
            width_mhz=of_frame(f.width_mhz, np.nan),
            airtime_us=airtime,
            mpdu_bytes=size,
            signal_dbm=of_frame(f.signal_dbm, np.nan),
            ampdu=of_frame(f.ampdu, NULL).astype(np.int64),
        )

        def column(name: str) -> Array:
            return vector(table.column(name))[where]

        attempts = column("attempts")
        carries, kind = table.column("carries"), table.column("tcp_kind")
        data, ack = (enum_mask(kind, (word,))[where] for word in ("data", "ack"))
        wasted = np.bincount(exchange, np.where(bad == 1, airtime, 0.0), len(first))
        return Exchanges(
            pair=pair,
            t_first_ns=t_first[where],
            t_last_ns=t_last,
            t_ack_ns=t_ack,
            first=first,
            heard=heard,
            attempts=attempts,
            inferred=column("attempts_inferred"),
            missed_last=missed_last,
            delivered=delivered,
            dropped=dropped,
            failed=(attempts > 1) | dropped,
            first_heard=of_frame(f.retry, -1)[first] == 0,
            lead=_leads(pair, made.ampdu[first]),
            airtime_us=_or(column("airtime_us"), np.bincount(exchange, airtime, len(first))),
            wasted_us=_or(column("wasted_us"), wasted),
            mpdu_bytes=column("mpdu_bytes"),
            tcp=np.where(data, TCP_DATA, np.where(ack, TCP_ACK, 0)).astype(np.int8),
            udp=enum_mask(carries, ("udp",))[where],
            protected=enum_mask(carries, ("protected",))[where],
            first_packet=first_packet[where],
        ), made

    def _answered(self, row: Array, station: Array, within_ns: Array) -> Array:
        """Whether the next frame after each row is an ACK to the station, in time."""
        f = self.frames
        following = np.minimum(row + 1, len(f) - 1)
        answer = (row >= 0) & (following > row) & (f.ta[following] < 0) & (f.ra[following] == station)
        return np.asarray(answer & (f.t_ns[following] - f.t_ns[row] <= within_ns))

    def frame_rows(self, capture: Array, packet: Array) -> Array:
        """Rows of `frames` by number of the capture and packet; -1 where there is none."""
        if not len(self._frame_key):
            return np.full(len(packet), -1, np.int64)
        key = _frame_key(capture, packet)
        if self._gapless:
            row = key - self._frame_key[0]
            return np.where((row >= 0) & (row < len(self._frame_key)), row, -1)
        row = np.minimum(np.searchsorted(self._frame_key, key), len(self._frame_key) - 1)
        return np.where(self._frame_key[row] == key, row, -1)

    def pairs(self, least_count: int = 1, *, both_ways: bool = False) -> dict[int, slice]:
        """Station pairs, and the positions of their exchanges.

        Parameters
        ----------
        least_count : int
            Transmissions of a pair; a capture may hold a million pairs of one each.
        both_ways : bool
            Whether the receiver must have sent to the transmitter too.
        """
        first, length = key_groups(self.exchanges.pair)
        pair = self.exchanges.pair[first]
        kept = np.add.reduceat(self.exchanges.heard, first) >= least_count if len(first) else np.zeros(0, bool)
        if both_ways:
            kept &= np.isin(reverse(pair), pair)
        spans = zip(pair[kept].tolist(), first[kept].tolist(), length[kept].tolist(), strict=True)
        return {p: slice(start, start + n) for p, start, n in spans}

    def undecided(self, code: str, pairs: Sequence[int], sentence: str) -> Undecided:
        """Pairs for which this capture cannot decide, each from its first to its last exchange."""
        e, every = self.exchanges, self.pairs()
        spans = ((p, every[p]) for p in pairs)
        times = tuple((self.subject(p), int(e.t_first_ns[s].min()), int(e.t_last_ns[s].max())) for p, s in spans)
        return replace(super().undecided(code, pairs, sentence), spans=times)

    def missed_share(self, which: Array) -> float:
        """Share of the transmissions of these exchanges that the sniffer missed, as far as known."""
        total = int(self.exchanges.attempts[which].sum())
        return int(self.exchanges.inferred[which].sum()) / total if total else 0.0

    def transmissions_of(self, which: Array) -> Array:
        """Positions in `transmissions` of these exchanges, in order."""
        e = self.exchanges
        first, heard = e.first[which], e.heard[which]
        return np.repeat(first - (np.cumsum(heard) - heard), heard) + np.arange(int(heard.sum()))

    def tcp_retransmissions(self, dropped: Array) -> list[int]:
        """Packet numbers of the TCP retransmissions of segments that these dropped exchanges carried."""
        trace, e = self._facts.trace, self.exchanges
        if not len(dropped) or not trace.has("segments"):
            return []
        rows = self._facts.rows("segments", ["packet", "rel_seq"], where={"kind": ("data",)})
        again = self._facts.rows("segments", ["packet", "rel_seq"], where={"transmission": ("retransmission",)})
        if not len(again):
            return []
        lost = rows.take(np.isin(rows["packet"], e.first_packet[dropped]))
        # One sort of both gives the next retransmission of the same bytes after each lost copy.
        key = np.concatenate((again.key, lost.key))
        seq, packet = (np.concatenate((again[name], lost[name])) for name in ("rel_seq", "packet"))
        repeated = np.arange(len(key)) < len(again)
        order = np.lexsort((packet, seq, key))
        key, seq, packet, repeated = key[order], seq[order], packet[order], repeated[order]
        following = np.where(repeated, np.arange(len(key)), len(key))
        following = np.minimum.accumulate(following[::-1])[::-1]
        here = np.flatnonzero(~repeated & (following < len(key)))
        there = following[here]
        same = (key[there] == key[here]) & (seq[there] == seq[here])
        return [int(p) for p in np.unique(packet[there[same]])]


def _frame_key(capture: Array, packet: Array) -> Array:
    return np.asarray((capture << 40) + packet)


def _leads(pair: Array, ampdu: Array) -> Array:
    """All but the later MPDUs of each A-MPDU of a pair."""
    order = np.flatnonzero(ampdu != NULL)
    whose, number = pair[order], ampdu[order]
    if ((whose[1:] < whose[:-1]) | ((whose[1:] == whose[:-1]) & (number[1:] < number[:-1]))).any():
        sort = np.lexsort((number, whose))
        order, whose, number = order[sort], whose[sort], number[sort]
    same = (number[1:] == number[:-1]) & (whose[1:] == whose[:-1])
    out = np.ones(len(pair), bool)
    out[order[1:][same]] = False
    return out


def _positive(values: Array) -> Array:
    """NaN for values that no radio has: zero, negative or infinite."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _or(values: Array, others: Array) -> Array:
    return np.where(np.isnan(values), others, values)


def _floats(column: pa.ChunkedArray) -> Array:
    """A column of whole numbers as floats, NaN for null."""
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
