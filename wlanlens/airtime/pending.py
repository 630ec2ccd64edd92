"""Frames that wait for their exchange, which shows whether the transmission failed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wlanlens.airtime.purposes import CODE
from wlanlens.airtime.rows import ARRIVED, FAILED
from wlanlens.tables.columns import Array

#: Columns kept of a waiting frame.
COLUMNS = ("station", "t_ns", "airtime_ns", "packet", "base", "retry")


class Pending:
    """Frames without their exchange, and exchanges without their frames, in file order."""

    def __init__(self) -> None:
        self._frames: list[Mapping[str, Array]] = []
        self._answers: list[tuple[Array, Array]] = []
        self.rows = 0

    def add(self, rows: Mapping[str, Array]) -> None:
        """Frames that wait; `rows` has the columns `COLUMNS`."""
        if len(rows["packet"]):
            self._frames.append({name: rows[name] for name in COLUMNS})
            self.rows += len(rows["packet"])

    def answer(self, packets: Array, result: Array) -> None:
        """Transmissions whose result is known now."""
        if len(packets):
            self._answers.append((packets, result))

    def renumber(self, stations: Array) -> None:
        """Give stations new numbers: `stations[old]` is the new one."""
        self._frames = [{**rows, "station": stations[rows["station"]]} for rows in self._frames]

    def settle(self, keep: int) -> tuple[dict[str, Array], Array]:
        """Take out the frames that are decided, as (columns, purpose); of the rest the latest `keep` go on waiting.

        A frame that ends its wait without an exchange is a retry if its Retry bit is set, else its arrival is unproven.
        """
        held = {name: _joined([rows[name] for rows in self._frames]) for name in COLUMNS}
        packets = _joined([packets for packets, _ in self._answers])
        result = _joined([result for _, result in self._answers])
        self._answers = []
        order = np.argsort(packets, kind="stable")
        packets, result = packets[order], result[order]
        at = np.searchsorted(packets, held["packet"])
        hit = at < len(packets)
        hit[hit] = packets[at[hit]] == held["packet"][hit]
        purpose = held["base"].astype(np.int8)
        found = result[at[hit]]
        failed, proven = np.zeros(len(hit), bool), np.zeros(len(hit), bool)
        failed[hit], proven[hit] = found == FAILED, found == ARRIVED
        failed |= ~hit & held["retry"].astype(bool)
        purpose[~proven & (purpose == CODE["delivered"])] = CODE["unproven"]
        purpose[failed] = CODE["retry"]
        stays = ~hit
        stays[: max(0, len(hit) - keep)] = False
        self._frames, self.rows = [], 0
        self.add({name: values[stays] for name, values in held.items()})
        return {name: values[~stays] for name, values in held.items()}, purpose[~stays]


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
