"""What was on the air: the tables `frames` and `exchanges` as vectors, and look-ups in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.airtime import vectors
from wlanlens.detection.toolkit.air_vectors import Exchanges, Frames, Transmissions
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.detection.toolkit.station_pairs import StationPairs, reverse
from wlanlens.tables.columns import Array, vector

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.detection.finding import Undecided

#: Vectors of `Frames` from which the core makes exchanges and transmissions.
_OF_FRAMES = (
    *("t_ns", "ta", "ra", "retry", "ampdu", "mpdu_bytes"),
    *("streams", "width_mhz", "signal_dbm", "airtime_us"),
)


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
        ta, ra = (self.number_addresses(table.column(name)) for name in ("ta", "ra"))
        f = self.frames
        exchanges, transmissions = vectors.exchange_vectors(
            table,
            {"capture": self.number_captures(table.column("capture")), "ta": ta, "ra": ra},
            self.group_addresses()[:-1].tolist(),
            {"key": self._frame_key, **{name: getattr(f, name) for name in _OF_FRAMES}},
        )
        return Exchanges(**exchanges), Transmissions(**transmissions)

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

    def transmissions_in(self, span: slice) -> slice:
        """Where in `transmissions` those of consecutive exchanges are."""
        e = self.exchanges
        if span.stop <= span.start:
            return slice(0, 0)
        return slice(int(e.first[span.start]), int(e.first[span.stop - 1] + e.heard[span.stop - 1]))

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


def _positive(values: Array) -> Array:
    """NaN for values that no radio has: zero, negative or infinite."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _floats(column: pa.ChunkedArray) -> Array:
    """A column of whole numbers as floats, NaN for null."""
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
