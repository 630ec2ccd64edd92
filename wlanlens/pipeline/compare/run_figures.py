"""The figures of one analysed run that a comparison needs: its transfers, their ledger and their findings."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wlanlens.ledger.ledger import HEALTHY
from wlanlens.pipeline.result_dir import Stored
from wlanlens.report.balance import accounts

if TYPE_CHECKING:
    from wlanlens.plots._rows import FlowKey

#: A direction of a connection is compared if it carried this share of the bytes of the largest one. Control connections,
#: DNS over TCP or keep-alives live long and carry little: their seconds say nothing about speed.
TRANSFER_SHARE = 0.1
#: The columns of `flows` that are read.
_COLUMNS = ("capture", "flow", "direction", "src_port", "dst_port", "unique_bytes", "t_start_ns", "t_end_ns")


@dataclass(frozen=True)
class RunFigures:
    """One analysed run.

    Attributes
    ----------
    path : str
        The directory.
    version : str
        The version of wlanlens that analysed it.
    points : tuple of str
        The capture points, sorted.
    transfers, others : int
        Data directions that are compared, and those that are not because they carried little or use another port.
    payload_bytes : int
        Unique payload of the transfers.
    duration_s : float
        From the first transfer's start to the last one's end.
    ledger_s : dict
        Seconds of each category, summed over the transfers: with several at a time more than `duration_s`.
    costs_s, counts : dict
        Cost and number of the findings about the transfers, or about no connection, by code.
    causes : dict
        For each code of a finding with a cause: the code of that cause.
    thresholds : dict
        Thresholds of detectors that its analysis changed, by detector and name; empty: the defaults.
    """

    path: str
    version: str
    points: tuple[str, ...]
    transfers: int
    others: int
    payload_bytes: int
    duration_s: float
    ledger_s: dict[str, float]
    costs_s: dict[str, float]
    counts: dict[str, int]
    causes: dict[str, str]
    thresholds: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def goodput_bps(self) -> float:
        """Unique payload of the transfers per second of `duration_s`, bit/s; 0 without a duration."""
        return 8 * self.payload_bytes / self.duration_s if self.duration_s else 0.0

    def share(self, *categories: str) -> float:
        """The share of the transfers' lives in these categories."""
        life = sum(self.ledger_s.values())
        return sum(self.ledger_s.get(name, 0.0) for name in categories) / life if life else 0.0

    @property
    def lost_share(self) -> float:
        """The share of the transfers' lives that was lost to causes."""
        return self.share(*(name for name in self.ledger_s if name not in HEALTHY))


def figures(path: str | os.PathLike[str], *, port: int | None = None) -> RunFigures:
    """The figures of an analysed directory.

    Parameters
    ----------
    path : path
        The directory.
    port : int, optional
        Compare only connections with this port at one of their ends.

    Raises
    ------
    WlanlensError
        It is not an analysed directory, or not a whole one.
    """
    stored = Stored(path)
    stored.check()
    lives = accounts(stored.trace.table("ledger")) if stored.trace.has("ledger") else {}
    rows = _rows(stored)
    keys = {(key.capture, key.flow, key.direction): key for key in lives}
    carried: dict[FlowKey, dict[str, Any]] = {}
    for row in rows:
        key = keys.get((row["capture"], row["flow"], row["direction"]))
        if key is not None and None not in row.values() and row["unique_bytes"] > 0:
            carried[key] = row
    asked = {key: row for key, row in carried.items() if port is None or port in (row["src_port"], row["dst_port"])}
    most = max((row["unique_bytes"] for row in asked.values()), default=0)
    chosen = {key: row for key, row in asked.items() if row["unique_bytes"] >= TRANSFER_SHARE * most}
    ledger_ns: Counter[str] = Counter()
    for key in chosen:
        ledger_ns.update(dict(lives[key].categories))
    starts, ends = [row["t_start_ns"] for row in chosen.values()], [row["t_end_ns"] for row in chosen.values()]
    costs: dict[str, float] = {}
    counts: Counter[str] = Counter()
    causes: dict[str, str] = {}
    about = {(key.flow, key.direction) for key in chosen}
    for finding in stored.findings:
        if finding.flow is None or (finding.flow, finding.direction) in about:
            costs[finding.code] = costs.get(finding.code, 0.0) + finding.cost_s
            counts[finding.code] += 1
            if finding.caused_by:
                causes[finding.code] = finding.caused_by
    return RunFigures(
        path=str(Path(path)),
        version=str(stored.description.get("wlanlens", "")),
        points=tuple(sorted(capture.point for capture in stored.trace.captures)),
        transfers=len(chosen),
        others=len(carried) - len(chosen),
        payload_bytes=sum(row["unique_bytes"] for row in chosen.values()),
        duration_s=max(0, max(ends, default=0) - min(starts, default=0)) / 1e9,
        ledger_s={name: ns / 1e9 for name, ns in ledger_ns.items()},
        costs_s=costs,
        counts=dict(counts),
        causes=causes,
        thresholds=stored.description.get("thresholds", {}),
    )


def _rows(stored: Stored) -> list[dict[str, Any]]:
    """The rows of `flows` that the comparison reads, in its columns."""
    if "flows" not in stored.tables:
        return []
    return [row for batch in stored.tables.scan("flows", _COLUMNS) for row in batch.to_pylist()]
