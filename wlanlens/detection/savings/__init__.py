"""How much sooner a transfer would have ended without a cause: estimates from delivery, ledger and detectors' costs."""

from wlanlens.detection.savings.estimates import SAVINGS, with_savings

__all__ = ["SAVINGS", "with_savings"]
