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
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Fewer ACKs show no rate.
_LEAST_ACKS = 3

#: States in which the receiver's window limits a sender.
_WINDOW = ("zero_window", "window_limited", "delayed_ack")


class Transfer:
    """One direction of a connection with data.

    Attributes
    ----------
    flow, direction : int, str
    delivery : Delivery
    """

    def __init__(self, facts: Facts, key: int) -> None:
        self._facts, self._key = facts, key
        self._keys = np.array([key])
        self.flow, self.direction = facts.flow(key), facts.direction(key)
        acks = facts.rows("segments", ["t_ns", "rel_ack"], valid=("rel_ack", "t_ns"), keys=self._keys ^ 1)
        acks = acks.sorted_by("t_ns")
        trips = facts.rows("intervals", ["rtt_min_ns"], valid=("rtt_min_ns",), keys=self._keys)
        least = int(trips["rtt_min_ns"].min()) if len(trips) else 0
        self.delivery = Delivery.of(acks["t_ns"], acks["rel_ack"], least)

    @cached_property
    def _ledger(self) -> tuple[Array, Array, Array]:
        rows = self._facts.rows("ledger", ["t_start_ns", "t_end_ns", "category"], keys=self._keys)
        return rows["t_start_ns"], rows["t_end_ns"], rows["category"]

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
        return max(1, int(self._facts.flow_values("segment_max_bytes", self._keys)[0]))

    def spent(self, categories: tuple[str, ...], start_ns: int, end_ns: int) -> list[Span]:
        """Spans of the ledger in some categories that touch a time."""
        start, end, category = self._ledger
        mine = np.isin(category, categories) & (start <= end_ns) & (end >= start_ns)
        return merged(list(zip(start[mine].tolist(), end[mine].tolist(), strict=True)))

    def window_spans(self, start_ns: int, end_ns: int) -> tuple[list[Span], list[Span]]:
        """Spans of a time in which the window was closed for a part of them, and in which it was only full."""
        rows = self._facts.rows(
            "intervals", ["t_start_ns", "t_end_ns", "state"], where={"state": _WINDOW}, keys=self._keys
        )
        start, end, closed = rows["t_start_ns"], rows["t_end_ns"], rows["state"] == "zero_window"
        mine = (start < end_ns) & (end > start_ns)
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


class Transfers:
    """The transfers of a trace, each made when a finding needs it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._made: dict[int, Transfer | None] = {}

    def of(self, f: Finding) -> Transfer | None:
        """The transfer of a finding; of one about stations or a bus that which delivered most meanwhile. None if there is none."""
        if not self._trace.has("segments") or not self._trace.has("ledger") or not self._trace.has("intervals"):
            return None
        keys = self._keys
        if f.flow is not None:
            mine = [k for k in keys if (self._facts.flow(k), self._facts.direction(k)) == (f.flow, f.direction)]
            return self._get(mine[0]) if mine else None
        some = [t for k in keys if (t := self._get(k)) is not None]
        if not some:
            return None
        return max(some, key=lambda t: int(t.delivery.until(f.t_end_ns) - t.delivery.until(f.t_start_ns)))

    @cached_property
    def _facts(self) -> Facts:
        return Facts.of(self._trace)

    @cached_property
    def _keys(self) -> list[int]:
        return [int(key) for key in np.unique(self._facts.table_keys("ledger"))]

    def _get(self, key: int) -> Transfer | None:
        if key not in self._made:
            made = Transfer(self._facts, key)
            self._made[key] = made if len(made.delivery.t_ns) >= _LEAST_ACKS else None
        return self._made[key]
