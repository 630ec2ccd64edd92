"""Sums per station: frames, retries, signal, rates, and airtime by purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens import tables
from wlanlens.airtime.purposes import CODE, GROUPS
from wlanlens.airtime.rows import OUTCOMES
from wlanlens.tables import PURPOSES
from wlanlens.tables.columns import Array, coded, filled, integers, known, looked_up

if TYPE_CHECKING:
    import pyarrow as pa

#: Stations told apart: a sniffer on a campus hears a thousand. Beyond, the stations with fewest frames share one row.
STATIONS = 2048
#: Data rates told apart; further rates are left out. 802.11ax has about 300 over all widths.
RATES = 256
#: Rates listed per station.
RATES_LISTED = 16
#: Rows before the first station: frames without a transmitter address (ACK, CTS, damaged), and stations beyond the limit.
UNNAMED, REST = 0, 1

_SIGNALS = 256
_LEAST_DBM = -128
_COUNTS = ("frames", "bytes", "data_frames", "retry_frames", "no_airtime_frames")
_EXCHANGES = ("exchanges", "attempts", *OUTCOMES)


class Stations:
    """Every transmitter that was heard, by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sums: dict[str, Array] = {}
        for name in (*_COUNTS, *_EXCHANGES):
            self._sums[name] = np.zeros(64, np.int64)
        for name, width, kind in (
            ("ns", len(PURPOSES), np.int64),
            ("uses", len(PURPOSES), np.int64),
            ("signals", _SIGNALS, np.uint32),
            ("rates", RATES, np.uint32),
        ):
            self._sums[name] = np.zeros((64, width), kind)
        self._is_ap: Array = np.zeros(64, bool)
        self._bssid: Array = np.full(64, -1, np.int64)
        self._rates: dict[float, int] = {}

    @property
    def named(self) -> int:
        """Stations told apart."""
        return len(self._numbers)

    @property
    def crowded(self) -> bool:
        """Whether `prune` is due."""
        return len(self._numbers) > 2 * STATIONS

    def count(self, batch: pa.RecordBatch, rows: Mapping[str, Array]) -> Array:
        """Count a batch of `frames`; returns each row's station."""
        addresses = batch.column("ta").dictionary.to_pylist()
        local = looked_up(batch.column("ta"), range(len(addresses)), len(addresses))
        # The addresses of a damaged frame may be wrong.
        local = np.where(rows["damaged"], len(addresses), local)
        used = np.bincount(local, minlength=len(addresses) + 1) > 0
        numbers = np.array(
            [self._number(v) if use else REST for v, use in zip(addresses, used[:-1], strict=True)] + [UNNAMED]
        )
        self._grow()
        station = numbers[local]
        group = rows["base"] == CODE["group"]
        data = (rows["base"] == CODE["delivered"]) | group
        self._add("bytes", numbers, np.bincount(local, integers(batch.column("mpdu_bytes")), len(numbers)))
        self._add("frames", numbers, np.bincount(local, minlength=len(numbers)))
        for name, which in (
            ("data_frames", data),
            ("retry_frames", rows["retry"]),
            ("no_airtime_frames", rows["airtime_ns"] < 0),
        ):
            self._add(name, numbers, np.bincount(local[which], minlength=len(numbers)))
        signal = integers(batch.column("signal_dbm"))
        heard = known(batch.column("signal_dbm"))
        self._histogram("signals", numbers, local[heard], np.clip(signal[heard] - _LEAST_DBM, 0, _SIGNALS - 1))
        self._count_rates(batch, numbers, local)
        self._count_networks(batch, station, data)
        return station

    def _count_rates(self, batch: pa.RecordBatch, numbers: Array, local: Array) -> None:
        encoded = batch.column("rate_mbps").dictionary_encode()
        for rate in encoded.dictionary.to_pylist():
            if rate is not None and len(self._rates) < RATES:
                self._rates.setdefault(rate, len(self._rates))
        rate = looked_up(encoded, [self._rates.get(r, -1) for r in encoded.dictionary.to_pylist()], -1)
        self._histogram("rates", numbers, local[rate >= 0], rate[rate >= 0])

    def _count_networks(self, batch: pa.RecordBatch, station: Array, data: Array) -> None:
        """An access point is its own BSS; another station belongs to the BSS in which it last sent data."""
        numbers = [self._numbers.get(v, -1) for v in batch.column("bssid").dictionary.to_pylist()]
        bssid = looked_up(batch.column("bssid"), numbers, -1)
        distributes = filled(batch.column("from_ds"), False)
        announces = coded(batch.column("subtype"), ("beacon", "probe_response")) >= 0
        self._is_ap[station[(bssid == station) & (distributes | announces)]] = True
        sends = data & (bssid >= 0)
        self._bssid[station[sends]] = bssid[sends]

    def exchanges(self, batch: pa.RecordBatch) -> None:
        """Count a batch of `exchanges` by its transmitter."""
        addresses = batch.column("ta").dictionary.to_pylist()
        numbers = np.array([*(self._number(value) for value in addresses), UNNAMED], np.int64)
        self._grow()
        local = looked_up(batch.column("ta"), range(len(addresses)), len(addresses))
        outcome = coded(batch.column("outcome"), OUTCOMES, len(OUTCOMES) - 1)
        self._add("exchanges", numbers, np.bincount(local, minlength=len(numbers)))
        self._add("attempts", numbers, np.bincount(local, integers(batch.column("attempts")), len(numbers)))
        for i, name in enumerate(OUTCOMES):
            self._add(name, numbers, np.bincount(local[outcome == i], minlength=len(numbers)))

    def settle(self, station: Array, purpose: Array, airtime_ns: Array) -> None:
        """Add frames whose purpose is known."""
        shape = self._sums["ns"].shape
        cell = station * len(PURPOSES) + purpose
        self._sums["ns"] += (
            np.bincount(cell, np.maximum(airtime_ns, 0), shape[0] * shape[1]).astype(np.int64).reshape(shape)
        )
        self._sums["uses"] += np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)

    def _number(self, address: str) -> int:
        return self._numbers.setdefault(address, len(self._numbers) + 2)

    def _grow(self) -> None:
        have, want = len(self._is_ap), len(self._numbers) + 2
        if want <= have:
            return
        more = max(want, 2 * have) - have
        for name, sums in self._sums.items():
            self._sums[name] = np.concatenate((sums, np.zeros((more, *sums.shape[1:]), sums.dtype)))
        self._is_ap = np.concatenate((self._is_ap, np.zeros(more, bool)))
        self._bssid = np.concatenate((self._bssid, np.full(more, -1)))

    def _add(self, name: str, numbers: Array, sums: Array) -> None:
        np.add.at(self._sums[name], numbers, sums.astype(np.int64))

    def _histogram(self, name: str, numbers: Array, local: Array, value: Array) -> None:
        width = self._sums[name].shape[1]
        counts = np.bincount(local * width + value, minlength=len(numbers) * width)
        cells = np.flatnonzero(counts)
        at = numbers[cells // width] * width + cells % width
        np.add.at(self._sums[name].reshape(-1), at, counts[cells].astype(np.uint32))

    def prune(self) -> Array:
        """Merge all but the `STATIONS` with most frames into one row; returns the new number of each old one."""
        addresses = np.array(list(self._numbers))
        frames = self._sums["frames"][2 : 2 + len(addresses)]
        kept = np.sort(np.argsort(-frames, kind="stable")[:STATIONS])
        new = np.full(len(self._is_ap), REST, np.int64)
        new[UNNAMED] = UNNAMED
        new[kept + 2] = np.arange(len(kept)) + 2
        for name, sums in self._sums.items():
            folded = np.zeros_like(sums)
            folded[: len(kept) + 2] = sums[np.concatenate(([UNNAMED, REST], kept + 2))]
            folded[REST] = sums[new == REST].sum(axis=0)
            self._sums[name] = folded
        old_ap, old_bssid = self._is_ap, self._bssid
        self._is_ap, self._bssid = np.zeros_like(old_ap), np.full_like(old_bssid, -1)
        self._is_ap[: len(kept) + 2] = np.concatenate(([False, False], old_ap[kept + 2]))
        moved = np.where(old_bssid >= 0, new[old_bssid], -1)
        self._bssid[2 : len(kept) + 2] = np.where(moved[kept + 2] == REST, -1, moved[kept + 2])
        self._numbers = {str(address): i + 2 for i, address in enumerate(addresses[kept])}
        return new

    def totals(self) -> tuple[Array, Array]:
        """Airtime and frames of each purpose, over all stations."""
        return self._sums["ns"].sum(axis=0), self._sums["uses"].sum(axis=0)

    def table(self, capture: str) -> pa.Table:
        """The table `stations`, most airtime first."""
        import pyarrow as pa

        addresses = [None, None, *self._numbers]
        at = np.flatnonzero(self._sums["frames"][: len(addresses)] + self._sums["exchanges"][: len(addresses)])
        total = self._sums["ns"].sum(axis=1)
        at = at[np.lexsort((at, -self._sums["frames"][at], -total[at]))]
        rows = [self._row(int(i), capture, addresses) for i in at]
        return pa.Table.from_pylist(rows, schema=tables.schema("stations"))

    def _row(self, i: int, capture: str, addresses: list[str | None]) -> dict[str, Any]:
        sums = {name: int(self._sums[name][i]) for name in (*_COUNTS, *_EXCHANGES)}
        role = {UNNAMED: "unnamed", REST: "rest"}.get(i, "access_point" if self._is_ap[i] else "station")
        own = addresses[i] if self._is_ap[i] else None
        signals, by_rate = self._sums["signals"][i], self._sums["rates"][i]
        rates = sorted(self._rates, key=lambda rate: (-int(by_rate[self._rates[rate]]), -rate))
        rates = [rate for rate in rates[:RATES_LISTED] if by_rate[self._rates[rate]]]
        heard = np.flatnonzero(signals)
        middle = np.searchsorted(np.cumsum(signals), (int(signals.sum()) + 1) // 2)
        return {
            "capture": capture,
            "station": addresses[i],
            "role": role,
            "bssid": own or (addresses[self._bssid[i]] if self._bssid[i] >= 0 else None),
            **sums,
            "signal_median_dbm": int(middle) + _LEAST_DBM if len(heard) else None,
            "signal_least_dbm": int(heard[0]) + _LEAST_DBM if len(heard) else None,
            "signal_most_dbm": int(heard[-1]) + _LEAST_DBM if len(heard) else None,
            "rates_mbps": rates,
            "rate_frames": [int(by_rate[self._rates[rate]]) for rate in rates],
            "airtime_ns": int(self._sums["ns"][i].sum()),
            **{
                f"{g}_ns": int(self._sums["ns"][i][[CODE[name] for name in names]].sum()) for g, names in GROUPS.items()
            },
        }
