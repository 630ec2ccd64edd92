"""Remedy: what to change about a finding and where, and how a second capture shows that it helped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from wlanlens import registry
from wlanlens.detection.finding import Finding


@dataclass(frozen=True)
class Remedy:
    """What to do about the findings of a detector.

    Attributes
    ----------
    change : str
        What to change and where: driver, access point, sender, receiver or channel; one or more sentences.
    check : str
        How a second capture shows that it helped: what must be gone or different.
    by_value : str
        Name of a measured value on which the place depends; "" where it does not.
    changes : mapping
        What to change for some of its values, instead of `change`.
    """

    change: str
    check: str
    by_value: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, finding: Finding | None = None) -> str:
        """The remedy of a finding as text; without one, that of the detector in general with every place."""
        if finding is not None:
            change = self.changes.get(str(finding.values.get(self.by_value, "")), self.change)
        else:
            change = " ".join([self.change, *(c for c in dict.fromkeys(self.changes.values()) if c != self.change)])
        return f"{change} To verify: {self.check}"


def with_remedies(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each with the remedy of its detector."""
    units = registry.units("detectors")
    out = []
    for f in findings:
        unit = units.get(f.code)
        remedy = unit.remedy if isinstance(unit, registry.Tool) else None
        out.append(f if remedy is None else replace(f, remedy=remedy(f)))
    return out
