"""The transfer that a finding is about: its delivery, its ledger, its window and its packets on the air."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.detection.savings.at_rate import AtRate
from wlanlens.detection.savings.delivery import Delivery, Span, merged
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.air_vectors import Transmissions
from wlanlens.detection.toolkit.airtime import transmission_us
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Fewer ACKs show no rate.
_LEAST_ACKS = 3

#: A finding about stations or a bus concerns a transfer where there are at most this many directions with data.
_MOST_KEYS = 8

#: Of fewer packets the mean backoff is a matter of chance.
_LEAST_PACKETS = 50

#: Where no window was advertised.
_NO_WINDOW = 1 << 62

#: States in which the receiver's window limits a sender.
_WINDOW = ("zero_window", "window_limited", "delayed_ack")


class Transfer:
    """One direction of a connection with data.

    Attributes
    ----------
    flow, direction : int, str
    delivery : Delivery
        By the clock of `busy_ns`, which stands still while the application sends nothing: it would have paused all the same.
    """

    def __init__(self, tables: Tables, key: int) -> None:
        self._tables, self._facts, self._key = tables, tables.facts, key
        self.flow, self.direction = tables.facts.flow(key), tables.facts.direction(key)
        acks = tables.acks.of_key(key ^ 1)
        self._states, ledger = tables.states.of_key(key), tables.ledger().of_key(key)
        self._ledger = ledger["t_start_ns"], ledger["t_end_ns"]
        pauses = self.spent(("application",), self.start_ns, self.end_ns)
        self._paused, self._resumed = [start for start, _ in pauses], [end for _, end in pauses]
        #: Time in the pauses before each of them, and in all.
        self._before = [0, *accumulate(end - start for start, end in pauses)]
        self._rates: dict[tuple[Span, ...], float] = {}
        #: Its delivery against the latest rate that a finding asked for.
        self._at_rate: AtRate | None = None
        trips = self._states["rtt_min_ns"]
        trips = trips[trips != NULL]
        self.delivery = Delivery.of(self._busy(acks["t_ns"]), acks["rel_ack"], int(trips.min()) if len(trips) else 0)

    def _busy(self, t_ns: Array) -> Array:
        """Times less the application's pauses before them."""
        if not self._paused:
            return t_ns
        begin, end, before = (np.array(times, np.int64) for times in (self._paused, self._resumed, self._before))
        at = begin.searchsorted(t_ns, side="right")
        # Inside a pause only its part until then.
        ahead = np.where(at > 0, np.maximum(end[at - 1] - t_ns, 0), 0)
        return np.asarray(t_ns - (before[at] - ahead))

    def busy_ns(self, t_ns: int) -> int:
        """A time less the application's pauses before it: as `_busy`, which takes ten times as long for one time."""
        at = bisect.bisect_right(self._paused, t_ns)
        ahead = max(self._resumed[at - 1] - t_ns, 0) if at else 0
        return t_ns - (self._before[at] - ahead)

    def acked_bytes(self, start_ns: int, end_ns: int) -> int:
        """Bytes that were acknowledged from one time to another."""
        there = self.delivery.until(np.array([self.busy_ns(start_ns), self.busy_ns(end_ns)]))
        return int(there[1] - there[0])

    def setbacks_s(
        self, spans: Sequence[Span], rate: float, later_ns: Sequence[int | None], *, after_ack: bool = False
    ) -> list[float]:
        """`AtRate.setbacks_s` of spans in order of time; `later_ns`: when the next trouble after each begins, if there is one.

        Without a rate the spans themselves were lost.
        """
        start, end = (self._busy(np.array(times, np.int64)) for times in zip(*spans, strict=True))
        since = np.append(self._busy(np.zeros(1, np.int64)), end[:-1])
        later = self._busy(np.array([t or 0 for t in later_ns], np.int64))
        if rate <= 0 or not len(self.delivery.t_ns):
            lost = np.maximum(0, end - start) / 1e9
        else:
            limit = np.where([t is None for t in later_ns], self.delivery.end_ns, later)
            if self._at_rate is None or self._at_rate.rate != rate:
                self._at_rate = AtRate(self.delivery, rate)
            lost = self._at_rate.setbacks_s(start, end, limit, since, after_ack=after_ack)
        made: list[float] = lost.tolist()
        return made

    def usual_rate(self, outside: list[Span]) -> float:
        """Its rate outside of some spans, bytes per ns; computed once for findings with the same spans."""
        spans = tuple(merged([(self.busy_ns(start), self.busy_ns(end)) for start, end in outside]))
        if spans not in self._rates:
            self._rates[spans] = self.delivery.usual(spans)
        return self._rates[spans]

    @property
    def start_ns(self) -> int:
        """Its first moment in the ledger."""
        return int(self._ledger[0].min())

    @property
    def end_ns(self) -> int:
        """Its last moment in the ledger."""
        return int(self._ledger[1].max())

    @property
    def segment_bytes(self) -> int:
        """Its largest segment."""
        return max(1, int(self._facts.flow_values("segment_max_bytes", np.array([self._key]))[0]))

    def spent(self, categories: tuple[str, ...], start_ns: int, end_ns: int) -> list[Span]:
        """Spans of the ledger in some categories that touch a time."""
        rows = self._tables.ledger(categories).of_key(self._key)
        start, end = rows["t_start_ns"], rows["t_end_ns"]
        mine = (start <= end_ns) & (end >= start_ns)
        return merged(list(zip(start[mine].tolist(), end[mine].tolist(), strict=True)))

    def window_spans(self, start_ns: int, end_ns: int) -> tuple[list[Span], list[Span]]:
        """Spans of a time in which the window was closed for a part of them, and in which it was only full."""
        rows = self._states
        start, end, closed = rows["t_start_ns"], rows["t_end_ns"], rows["state"] == "zero_window"
        limited = np.isin(rows["state"], _WINDOW)
        mine = limited & (start < end_ns) & (end > start_ns)
        out: tuple[list[Span], list[Span]] = [], []
        for a, b in merged(list(zip(start[mine].tolist(), end[mine].tolist(), strict=True))):
            out[0 if (closed & (start >= a) & (end <= b)).any() else 1].append((a, b))
        return out

    def repair_s(self, t_ns: int, rate: float, losses: int, *, reduced: bool) -> float:
        """Seconds that fast retransmits at a time cost, of which each repairs one loss of a window (RFC 6582).

        `rate`: the usual one, bytes per ns. `reduced`: whether the sender had reduced its window before. A sender that has filled
        the receiver's window sends nothing new until the ACK of the retransmission comes, a round trip for each loss. Then it
        goes on with half of its window and adds a segment each round trip; where half of it still fills the path, nothing is
        lost. Slow start makes cwnd twice what the receiver's window lets it use (Linux: `tcp_is_cwnd_limited`): half of that is
        what it used before.
        """
        trip_ns = self.delivery.trip_ns
        if rate <= 0 or trip_ns <= 0:
            return 0.0
        flight, window = self._flight(t_ns)
        filled = flight + self.segment_bytes > window
        silent_ns = losses * trip_ns if filled else 0
        if filled and not reduced:
            return silent_ns / 1e9
        grown = flight / 2 + self.segment_bytes * np.arange(max(1, flight // self.segment_bytes))
        return (silent_ns + float(np.maximum(0.0, 1.0 - grown / (rate * trip_ns)).sum()) * trip_ns) / 1e9

    def left_edges(self, start_ns: int, end_ns: int) -> int:
        """Segments that were retransmitted as the first one not acknowledged, in a span of time."""
        sent = self._facts.rows(
            "segments", ["t_ns", "packet", "rel_seq"], where={"transmission": ("retransmission",)},
            valid=("t_ns", "rel_seq"), keys=np.array([self._key]),
        )  # fmt: skip
        sent = sent.take((sent["t_ns"] >= start_ns) & (sent["t_ns"] <= end_ns))
        edge = self._facts.cached(Acks).highest_before(sent.key, sent["packet"]) == sent["rel_seq"]
        return len(np.unique(sent["rel_seq"][edge]))

    def _flight(self, t_ns: int) -> tuple[int, int]:
        """Bytes in flight after the last data at or before a time, and the receiver's window; 0 before the first."""
        sent = self._facts.rows(
            "segments", ["t_ns", "flight_bytes", "peer_window_bytes"], where={"kind": ("data",)},
            valid=("t_ns", "flight_bytes"), keys=np.array([self._key]),
        )  # fmt: skip
        before = np.flatnonzero(sent["t_ns"] <= t_ns)
        if not len(before):
            return 0, 0
        window = int(sent["peer_window_bytes"][before[-1]])
        return int(sent["flight_bytes"][before[-1]]), window if window != NULL else _NO_WINDOW

    def air_s(self, start_ns: int, end_ns: int, *, once: bool = False) -> float | None:
        """Time that the transmissions of a span take on the air, with spaces and mean backoff; None without a capture of it.

        `once`: as if each packet had been transmitted once.
        """
        if not self._facts.trace.has("frames") or not self._facts.trace.table("frames").num_rows:
            return None
        sent = self._facts.cached(Air).transmissions
        mine = (sent.t_ns >= start_ns) & (sent.t_ns <= end_ns)
        if not once:
            took_us = transmission_us(sent.airtime_us[mine], sent.rate_mbps[mine], sent.nth[mine])
            return float(np.nansum(took_us)) / 1e6
        # The last one heard shows what became of a packet; one that was given up comes again as another packet.
        mine &= np.append(sent.exchange[1:] != sent.exchange[:-1], [True])[: len(mine)] & (sent.bad != 1)
        took_us = transmission_us(sent.airtime_us[mine], sent.rate_mbps[mine], np.zeros(int(mine.sum())))
        return float(np.nansum(took_us)) / 1e6 * _shared_backoff(sent)


def _shared_backoff(sent: Transmissions) -> float:
    """The time from one packet to the next on a busy channel, as a share of what its transmission takes alone.

    Stations that wait at the same time count their backoff down together. From packets that arrived at their first transmission and
    were followed by another before both could have taken their time alone: timestamps mark the begin or the end of a frame.
    """
    order = np.argsort(sent.t_ns, kind="stable")
    first = (sent.nth[order] == 0) & (sent.bad[order] == 0)
    clean = np.flatnonzero(first[:-1] & (sent.nth[order][1:] == 0))
    here, following = order[clean], order[clean + 1]
    took_us, next_us = (transmission_us(sent.airtime_us[i], sent.rate_mbps[i], sent.nth[i]) for i in (here, following))
    gap_us = (sent.t_ns[following] - sent.t_ns[here]) / 1e3
    busy = gap_us <= took_us + next_us
    if int(busy.sum()) < _LEAST_PACKETS:
        return 1.0
    return min(1.0, float(gap_us[busy].sum() / took_us[busy].sum()))


class Tables:
    """The rows that transfers need, read once for all of them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.acks = facts.rows("segments", ["t_ns", "rel_ack"], valid=("rel_ack", "t_ns")).sorted_by("t_ns")
        self.states = facts.rows("intervals", ["t_start_ns", "t_end_ns", "state", "rtt_min_ns"])
        self._ledger: dict[tuple[str, ...], Rows] = {}

    def ledger(self, categories: tuple[str, ...] = ()) -> Rows:
        """The rows of the ledger, or those in some categories."""
        if categories not in self._ledger:
            where = {"category": categories} if categories else {}
            self._ledger[categories] = self.facts.rows("ledger", ["t_start_ns", "t_end_ns"], where=where)
        return self._ledger[categories]


class Transfers:
    """The transfers of a trace, each made when a finding needs it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._made: dict[int, Transfer | None] = {}

    def of(self, f: Finding) -> Transfer | None:
        """The transfer of a finding. Where it is about stations or a bus: the transfer that delivered most meanwhile.

        None where there is none, and for stations and buses where there are too many connections to say which.
        """
        if not all(self._trace.has(table) for table in ("segments", "ledger", "intervals", "flows")):
            return None
        if f.flow is not None:
            key = self._keys.get((f.flow, f.direction))
            return None if key is None else self._get(key)
        if len(self._keys) > _MOST_KEYS:
            return None
        some = [t for key in self._keys.values() if (t := self._get(key)) is not None]
        return max(
            some,
            key=lambda t: t.acked_bytes(f.t_start_ns, f.t_end_ns),
            default=None,
        )

    @cached_property
    def _tables(self) -> Tables:
        return Tables(Facts.of(self._trace))

    @cached_property
    def _keys(self) -> dict[tuple[int | None, str | None], int]:
        facts = Facts.of(self._trace)
        return {(facts.flow(key), facts.direction(key)): int(key) for key in np.unique(facts.table_keys("ledger"))}

    def _get(self, key: int) -> Transfer | None:
        if key not in self._made:
            made = Transfer(self._tables, key)
            self._made[key] = made if len(made.delivery.t_ns) >= _LEAST_ACKS else None
        return self._made[key]
