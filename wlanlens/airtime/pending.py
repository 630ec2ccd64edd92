"""Frames that wait for the exchange that tells how their attempt fared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wlanlens.airtime.purposes import CODE
from wlanlens.airtime.rows import ARRIVED, FAILED, Array

#: Columns kept of a waiting frame.
HELD = ("station", "t_ns", "airtime_ns", "packet", "base", "retry")


class Pending:
    """Frames without an exchange yet, and exchanges without their frames, in the order of the file."""

    def __init__(self) -> None:
        self._frames: list[Mapping[str, Array]] = []
        self._answers: list[tuple[Array, Array]] = []
        self.rows = 0

    def add(self, rows: Mapping[str, Array]) -> None:
        """Frames that wait; `rows` has the columns `HELD`."""
        if len(rows["packet"]):
            self._frames.append({name: rows[name] for name in HELD})
            self.rows += len(rows["packet"])

    def answer(self, packets: Array, fate: Array) -> None:
        """Attempts whose fate is known now."""
        if len(packets):
            self._answers.append((packets, fate))

    def renumber(self, stations: Array) -> None:
        """Stations have new numbers: `stations[old]` is the new one."""
        self._frames = [{**rows, "station": stations[rows["station"]]} for rows in self._frames]

    def settle(self, keep: int) -> tuple[dict[str, Array], Array]:
        """Take out what is decided, as (columns, purpose); of the rest the latest `keep` go on waiting.

        A frame that waits no longer without an exchange is a retry by its Retry bit, else its arrival is unproven.
        """
        held = {name: _joined([rows[name] for rows in self._frames]) for name in HELD}
        packets = _joined([packets for packets, _ in self._answers])
        fate = _joined([fate for _, fate in self._answers])
        self._answers = []
        order = np.argsort(packets, kind="stable")
        packets, fate = packets[order], fate[order]
        at = np.searchsorted(packets, held["packet"])
        hit = at < len(packets)
        hit[hit] = packets[at[hit]] == held["packet"][hit]
        purpose = held["base"].astype(np.int8)
        got = fate[at[hit]]
        failed, proven = np.zeros(len(hit), bool), np.zeros(len(hit), bool)
        failed[hit], proven[hit] = got == FAILED, got == ARRIVED
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
