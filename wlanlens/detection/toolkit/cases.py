"""Cases of one detector as vectors, and the findings that list them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from wlanlens.detection.finding import Finding, Value
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import costliest
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
        When each case was and what it cost.
    packet : array
        One packet of `table` that proves each case.
    table : str
    """

    facts: Facts
    code: str
    key: Array
    t_start_ns: Array
    t_end_ns: Array
    cost_s: Array
    packet: Array
    table: str = "segments"

    def findings(self, describe: Callable[[int], Description], *, what: str) -> Iterator[Finding]:
        """One finding for each of the costliest cases, and one that sums up the rest.

        Parameters
        ----------
        describe : callable
            Describes the case at a position.
        what : str
            The noun of a case, for the finding that sums up: "spurious timeout".
        """
        listed, others = costliest(self.cost_s)
        lifetime_s = self.facts.lifetime_s(self.key)
        for i in listed.tolist():
            case = describe(i)
            yield self.facts.finding(
                self.code,
                int(self.key[i]),
                int(self.t_start_ns[i]),
                int(self.t_end_ns[i]),
                cost_s=float(self.cost_s[i]),
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
            self.cost_s[others] * 1e9,
            evidence=(self.table, self.packet[others]),
            what=what,
        )
