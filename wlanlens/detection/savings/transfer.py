"""The transfer that a finding is about: its delivery, its ledger, its window and its packets on the air."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding
from wlanlens.detection.savings.delivery import Delivery, Span, merged
from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.airtime import transmission_us
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.tables.columns import NULL

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Fewer ACKs show no rate.
_LEAST_ACKS = 3

#: A finding about stations or a bus concerns a transfer where there are at most this many directions with data.
_MOST_KEYS = 8

#: States in which the receiver's window limits a sender.
_WINDOW = ("zero_window", "window_limited", "delayed_ack")


class Transfer:
    """One direction of a connection with data.

    Attributes
    ----------
    flow, direction : int, str
    delivery : Delivery
    """

    def __init__(self, tables: Tables, key: int) -> None:
        self._facts, self._key = tables.facts, key
        self.flow, self.direction = tables.facts.flow(key), tables.facts.direction(key)
        acks = tables.acks.of_key(key ^ 1)
        self._states, ledger = tables.states.of_key(key), tables.ledger.of_key(key)
        self._ledger = ledger["t_start_ns"], ledger["t_end_ns"], ledger["category"]
        self._rates: dict[tuple[Span, ...], float] = {}
        trips = self._states["rtt_min_ns"]
        trips = trips[trips != NULL]
        self.delivery = Delivery.of(acks["t_ns"], acks["rel_ack"], int(trips.min()) if len(trips) else 0)

    def usual_rate(self, outside: list[Span]) -> float:
        """Its rate outside of some spans, bytes per ns; computed once for findings with the same spans."""
        spans = tuple(merged(outside))
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
        start, end, category = self._ledger
        mine = np.isin(category, categories) & (start <= end_ns) & (end >= start_ns)
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

    def air_s(self, start_ns: int, end_ns: int) -> float | None:
        """Time that the transmissions of a span take on the air, with spaces and mean backoff; None without a capture of it."""
        if not self._facts.trace.has("frames") or not self._facts.trace.table("frames").num_rows:
            return None
        sent = self._facts.cached(Air).transmissions
        mine = (sent.t_ns >= start_ns) & (sent.t_ns <= end_ns)
        took_us = transmission_us(sent.airtime_us[mine], sent.rate_mbps[mine], sent.nth[mine])
        return float(np.nansum(took_us)) / 1e6


class Tables:
    """The rows that transfers need, read once for all of them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.acks = facts.rows("segments", ["t_ns", "rel_ack"], valid=("rel_ack", "t_ns")).sorted_by("t_ns")
        self.states = facts.rows("intervals", ["t_start_ns", "t_end_ns", "state", "rtt_min_ns"])
        self.ledger = facts.rows("ledger", ["t_start_ns", "t_end_ns", "category"])


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
            key=lambda t: int(t.delivery.until(f.t_end_ns) - t.delivery.until(f.t_start_ns)),
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
