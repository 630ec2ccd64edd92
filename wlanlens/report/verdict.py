"""The page's first sentence."""

from __future__ import annotations

from collections.abc import Collection

from wlanlens.ledger import HEALTHY, PLAIN
from wlanlens.report import units
from wlanlens.report.balance import Account


def verdict(accounts: Collection[Account], subjects: dict[tuple[str, int, str], str]) -> str:
    """What cost most, in seconds and as a share, of the flow that lost most; or that nothing did."""
    worst = max(accounts, key=lambda a: (a.lost_ns, a.total_ns), default=None)
    if worst is None:
        return "This capture holds no TCP connection with data, so there is nothing to account for."
    subject, total = subjects[worst.key], units.seconds(worst.total_ns / 1e9)
    costs = sorted(((ns, owner) for owner, ns in worst.owners if owner not in HEALTHY), reverse=True)
    if not costs:
        return f"{subject} lost no time that this capture can tell: all of its {total} were spent as a healthy transfer spends them."
    ns, owner = costs[0]
    return (
        f"{subject} spent {units.seconds(ns / 1e9)} of its {total} ({units.share(ns, worst.total_ns)}) {PLAIN[owner]}"
        + (f"; all that a healthy transfer would not spend is {units.seconds(worst.lost_ns / 1e9)} ({units.share(worst.lost_ns, worst.total_ns)})." if len(costs) > 1 else ".")
    )
