"""The result of `compare`: sides, measures with their differences, costs of findings, and words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from wlanlens.pipeline.compare.run_figures import RunFigures


@dataclass(frozen=True)
class Side:
    """The runs that belong together.

    Attributes
    ----------
    name : str
    runs : tuple of RunFigures
        Those with a data transfer.
    empty : tuple of str
        The directories of runs without one.
    """

    name: str
    runs: tuple[RunFigures, ...]
    empty: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """One measure of a side against the first side.

    Attributes
    ----------
    side : str
    change : float
        Difference of the medians, in the unit of the measure.
    p_value : float or None
        Of the rank test, corrected for the number of tests; None where a side has one run.
    sure : bool or None
        Whether it is more than chance; None where so few runs cannot tell.
    """

    side: str
    change: float
    p_value: float | None
    sure: bool | None


@dataclass(frozen=True)
class Measure:
    """One measure on all sides.

    Attributes
    ----------
    name : str
        goodput_bps, duration_s, or a category of the ledger.
    unit : str
        bit/s, s, or s/MB (seconds per 10^6 bytes of payload).
    values : dict
        The value of each run, by side.
    differences : tuple of Difference
        Each other side against the first.
    """

    name: str
    unit: str
    values: dict[str, tuple[float, ...]]
    differences: tuple[Difference, ...]

    def median(self, side: str) -> float:
        """The median of a side's runs."""
        return median(self.values[side])

    def difference(self, side: str) -> Difference:
        """The difference of a side from the first."""
        return next(d for d in self.differences if d.side == side)


@dataclass(frozen=True)
class FindingCosts:
    """The findings of one code on all sides.

    Attributes
    ----------
    code : str
    costs : dict
        Seconds (or seconds per MB) of each run, by side; 0 where nothing was found.
    found_in : dict
        Runs of each side with such a finding.
    caused_by : str
        The code of its cause; empty where none is known.
    """

    code: str
    costs: dict[str, tuple[float, ...]]
    found_in: dict[str, int]
    caused_by: str = ""

    def change(self, first: str, other: str) -> float:
        """Difference of the medians of two sides."""
        return median(self.costs[other]) - median(self.costs[first])


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    sides : tuple of Side
        The first is what the others are compared with.
    per_megabyte : bool
        Whether the transfers are of different sizes: then seconds are per 10^6 bytes of payload.
    goodput, duration : Measure
        Speed and time of the transfers.
    ledger : tuple of Measure
        Each category that matters on some side, in the order of the ledger.
    findings : tuple of FindingCosts
        The codes found on any side, largest change first.
    sentences : tuple of str
        The result in words: one for each other side.
    remarks : tuple of str
        Which connections are compared, and what limits the comparison.
    """

    sides: tuple[Side, ...]
    per_megabyte: bool
    goodput: Measure
    duration: Measure
    ledger: tuple[Measure, ...]
    findings: tuple[FindingCosts, ...]
    sentences: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def worse(self, share: float) -> list[str]:
        """The sides whose median goodput is lower than the first side's by more than `share` of it.

        With several runs on both sides, only if the difference is more than chance. A side without any data transfer is
        worse.
        """
        first = self.sides[0].name
        out = [side.name for side in self.sides if not side.runs]
        for found in self.goodput.differences:
            alone = found.p_value is None
            if -found.change > share * self.goodput.median(first) and (alone or found.sure):
                out.append(found.side)
        return out

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        return asdict(self)
