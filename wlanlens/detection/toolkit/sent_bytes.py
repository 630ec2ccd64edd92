"""Bytes that were sent between events, by a connection and by its host: are the events even in time or in bytes?"""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.statistics import variance_ratio_tail
from wlanlens.tables.columns import Array


class SentBytes:
    """Times and lengths of the data that each direction sent, and of all that its host sent."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._every = facts.all_data_keys()
        self._host = np.stack((self._every >> 34, _numbered(facts.flow_values("ip_src", self._every).astype(str))))

    def of(self, key: int) -> tuple[Array, Array]:
        return self._sent(np.array([key]))

    def of_host(self, key: int) -> tuple[Array, Array]:
        mine = self._host[:, np.searchsorted(self._every, key)]
        return self._sent(self._every[(self._host == mine[:, None]).all(axis=0)])

    def _sent(self, keys: Array) -> tuple[Array, Array]:
        where = {"transmission": ("first", "retransmission")}
        data = self._facts.rows("segments", ["t_ns", "len"], where=where, valid=("t_ns",), keys=keys)
        order = np.argsort(data["t_ns"], kind="stable")
        return data["t_ns"][order], data["len"][order]


def _numbered(values: Array) -> Array:
    return np.unique(values, return_inverse=True)[1]


def steadier_in_time(sent_ns: Array, length: Array, t_ns: Array, ticks: Array) -> float:
    """P-value of the times between events being no steadier than the bytes sent between them (F-test)."""
    sent = np.concatenate(([0], np.cumsum(length, dtype=np.float64)))
    steps = np.maximum(np.diff(ticks), 1)
    took = np.diff(t_ns) / steps
    bytes_ = np.diff(sent[np.searchsorted(sent_ns, t_ns)]) / steps
    if len(took) < 3 or (took <= 0).any() or (bytes_ <= 0).any():
        return 1.0
    # Both are known to one segment: an even error of one at both ends.
    error = (float(np.median(length)) / float(bytes_.mean())) ** 2 / 6
    time_var, bytes_var = np.log(took).var(ddof=1) + error, np.log(bytes_).var(ddof=1) + error
    return variance_ratio_tail(bytes_var / time_var, len(took) - 1)
