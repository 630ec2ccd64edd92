"""Cases of one detector as vectors, and the findings that list them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wlanlens import registry
from wlanlens.detection.finding import Finding, Value
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
from wlanlens.detection.toolkit.ledger_time import charged_s
from wlanlens.tables.columns import Array


@dataclass(frozen=True)
class Description:
    """What a finding says about one case.

    Attributes
    ----------
    sentence : str
        Without the subject, which is put before it: "the receiver's window limited the flow for 3 s."
    values : mapping
        Measured values, the unit in the name.
    evidence : mapping
        Packet numbers by table.
    confidence : float
        0..1, how sure the detector is of the cause.
    """

    sentence: str
    values: Mapping[str, Value]
    evidence: Mapping[str, Iterable[int]]
    confidence: float


@dataclass(frozen=True)
class Cases:
    """Cases of one detector about directions of connections, one a position.

    Attributes
    ----------
    facts : Facts
    code : str
        The detector's code.
    key : array
        The direction of each case.
    t_start_ns, t_end_ns, cost_s : array
        When each case was, and the time that the detector found lost.
    packet : array
        One packet of `table` that proves each case.
    table : str
    lost_from_ns, lost_until_ns : array, optional
        When the time was lost, where that is not from `t_start_ns` to `t_end_ns`.
    """

    facts: Facts
    code: str
    key: Array
    t_start_ns: Array
    t_end_ns: Array
    cost_s: Array
    packet: Array
    table: str = "segments"
    lost_from_ns: Array | None = None
    lost_until_ns: Array | None = None

    @cached_property
    def charged_s(self) -> Array:
        """What each case costs: the time lost, as far as the ledger has it in a category that the detector explains."""
        unit = registry.units("detectors").get(self.code)
        explains = unit.explains if isinstance(unit, registry.Tool) else ()
        start = self.t_start_ns if self.lost_from_ns is None else self.lost_from_ns
        end = self.t_end_ns if self.lost_until_ns is None else self.lost_until_ns
        return charged_s(self.facts, explains, self.key, start, end, self.cost_s)

    def findings(self, describe: Callable[[int], Description], *, what: str) -> Iterator[Finding]:
        """One finding for each of the costliest cases, and one that sums up the rest.

        Parameters
        ----------
        describe : callable
            Describes the case at a position.
        what : str
            The noun of a case, for the finding that sums up: "spurious timeout".
        """
        cost_s = self.charged_s
        listed, others = costliest(cost_s)
        lifetime_s = self.facts.lifetime_s(self.key)
        _, of_key = np.unique(self.key, return_inverse=True)
        total_s = np.bincount(of_key, cost_s)[of_key] if len(cost_s) else cost_s
        for i in listed.tolist():
            case = describe(i)
            yield self.facts.finding(
                self.code,
                int(self.key[i]),
                int(self.t_start_ns[i]),
                int(self.t_end_ns[i]),
                cost_s=float(cost_s[i]),
                total_s=float(total_s[i]),
                lifetime_s=float(lifetime_s[i]),
                confidence=case.confidence,
                values=case.values,
                evidence=case.evidence,
                sentence=f"{self.facts.subject(int(self.key[i]))}: {case.sentence}",
            )
        yield from self.facts.remainder_finding(
            self.code,
            self.key[others],
            self.t_start_ns[others],
            self.t_end_ns[others],
            cost_s[others] * 1e9,
            evidence=(self.table, self.packet[others]),
            what=what,
        )
