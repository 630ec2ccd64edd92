"""The ledger as the page shows it: one bar a flow, its seconds by owner, exact sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wlanlens.plots._rows import FlowKey
from wlanlens.tables import OWNERS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Account:
    """Where the life of one flow's direction went."""

    key: FlowKey
    total_ns: int
    owners: tuple[tuple[str, int], ...]
    """(owner, ns) in the ledger's order, those with time only; they sum to total_ns."""


def accounts(ledger: pa.Table) -> dict[FlowKey, Account]:
    """One account a flow's direction."""
    import pyarrow.compute as pc

    lengths = ledger.append_column("ns", pc.subtract(ledger["t_end_ns"], ledger["t_start_ns"]))
    by = ["capture", "flow", "direction", "owner"]
    sums = lengths.select([*by, "ns"]).group_by(by).aggregate([("ns", "sum")])
    found: dict[FlowKey, dict[str, int]] = {}
    for capture, flow, direction, owner, ns in zip(*(sums[name].to_pylist() for name in (*by, "ns_sum")), strict=True):
        found.setdefault(FlowKey(capture, flow, direction), {})[owner] = ns
    return {
        key: Account(key, sum(parts.values()), tuple((o, parts[o]) for o in OWNERS if parts.get(o)))
        for key, parts in found.items()
    }
