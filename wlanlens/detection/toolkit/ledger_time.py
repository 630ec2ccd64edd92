"""Time of the ledger in some categories: the most that a finding about a direction of a connection can cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import Array

#: Categories of the ledger that one kind of event explains.
TIMERS = ("rto_wait", "rto_backoff")
AFTER_LOSS = (*TIMERS, "loss_recovery", "fast_recovery")
LINKS = ("usb", "air_useful", "air_retries", "air_others")
ON_THE_PATH = ("slow_start", *LINKS, "queue", "path")


class LedgerTime:
    """The ledger's time in some categories.

    Parameters
    ----------
    facts : Facts
        Facts of a trace with the table `ledger`.
    categories : sequence of str
        Which ones; none: all of them.
    """

    def __init__(self, facts: Facts, categories: Sequence[str]) -> None:
        where = {"category": categories} if categories else None
        spans = facts.rows("ledger", ["t_start_ns", "t_end_ns"], where=where)
        self._spans: Rows = spans.sorted_by("t_start_ns")
        self._before = np.concatenate(([0], np.cumsum(self._spans["t_end_ns"] - self._spans["t_start_ns"])))

    def between(self, keys: Array, start_ns: Array, end_ns: Array) -> Array:
        """Nanoseconds of each key from `start_ns` to `end_ns`; 0 where the end is before the start."""
        return np.asarray(np.maximum(self._until(keys, end_ns) - self._until(keys, start_ns), 0))

    def _until(self, keys: Array, t_ns: Array) -> Array:
        spans = self._spans
        if not len(spans):
            return np.zeros(len(keys), np.int64)
        at = spans.last_until("t_start_ns", keys, t_ns)
        inside = np.minimum(t_ns, spans["t_end_ns"][at]) - spans["t_start_ns"][at]
        return np.where(at >= 0, self._before[at] + inside, self._before[np.searchsorted(spans.key, keys)])


def shown_by_links(facts: Facts, spans: Rows, categories: Sequence[str]) -> tuple[Array, Array]:
    """Whether a capture of the air or the bus shows what the flow of each span waited for, and whether that was mostly one of `categories`."""
    if not facts.trace.has("ledger"):
        return np.zeros(len(spans), bool), np.zeros(len(spans), bool)
    shown = np.isin(spans.key, facts.rows("ledger", ["t_start_ns"], where={"category": LINKS}).key)
    start, end = spans["t_start_ns"], spans["t_end_ns"]
    mostly = 2 * LedgerTime(facts, categories).between(spans.key, start, end) >= end - start
    return shown, shown & mostly


def charged_s(
    facts: Facts, categories: Sequence[str], key: Array, start_ns: Array, end_ns: Array, cost_s: Array
) -> Array:
    """What each case is charged with: its cost, at most the ledger's time in these categories within it.

    Time that several cases cover is charged to the first of them. A direction without a ledger has no limit.
    """
    if not facts.trace.has("ledger") or not len(key):
        return cost_s
    order = np.lexsort((end_ns, start_ns, key))
    start, reach, last = np.array(start_ns), 0, -1
    for i in order.tolist():
        start[i] = max(start_ns[i], reach) if key[i] == last else start_ns[i]
        reach = max(int(end_ns[i]), reach) if key[i] == last else int(end_ns[i])
        last = key[i]
    most_s = LedgerTime(facts, categories).between(key, start, end_ns) / 1e9
    return np.where(np.isin(key, facts.table_keys("ledger")), np.minimum(cost_s, most_s), cost_s)
