"""The ledger on the page: one bar per flow, its seconds by category, exact sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wlanlens.ledger.ledger import HEALTHY, summary
from wlanlens.plots._rows import FlowKey

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Account:
    """Where the time of one direction of a flow went."""

    key: FlowKey
    total_ns: int
    categories: tuple[tuple[str, int], ...]
    """(category, ns) in the order of the ledger, without empty ones; they sum to total_ns."""

    @property
    def lost_ns(self) -> int:
        """Time in categories that a healthy transfer does not have."""
        return sum(ns for category, ns in self.categories if category not in HEALTHY)


def accounts(ledger: pa.Table) -> dict[FlowKey, Account]:
    """One account per direction of a flow."""
    found: dict[FlowKey, list[tuple[str, int]]] = {}
    sums = summary(ledger)
    for capture, flow, direction, category, ns in zip(*(column.to_pylist() for column in sums.columns), strict=True):
        found.setdefault(FlowKey(capture, flow, direction), []).append((category, ns))
    return {
        key: Account(key, sum(ns for _, ns in parts), tuple(p for p in parts if p[1])) for key, parts in found.items()
    }
