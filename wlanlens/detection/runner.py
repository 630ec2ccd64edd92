"""Run the detectors over a trace: findings, and how each detector fared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wlanlens import registry, tables
from wlanlens.detection.finding import Finding, Undecided
from wlanlens.errors import NoSuchUnit, did_you_mean

if TYPE_CHECKING:
    from wlanlens.trace import Trace

STATES = ("found", "fine", "not_run", "undecided", "failed")


@dataclass(frozen=True)
class DetectorState:
    """How one detector fared.

    Attributes
    ----------
    code, summary : str
        The detector's code and the first line of its documentation.
    state : str
        found; fine (it ran and found nothing); not_run; undecided (the capture cannot tell); failed.
    reason : str
        Why it was not run, could not decide or failed.
    findings, undecided : int
        How many findings it made and how many cases it left open.
    """

    code: str
    summary: str
    state: str
    reason: str = ""
    findings: int = 0
    undecided: int = 0


class Findings(list[Finding]):
    """A list of findings that also knows how each detector fared (`states`) and what it left open (`undecided`)."""

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        states: Iterable[DetectorState] = (),
        undecided: Iterable[Undecided] = (),
    ) -> None:
        super().__init__(findings)
        self.states = list(states)
        self.undecided = list(undecided)


class Judge:
    """Runs detectors over the windows of one trace and keeps count of how each fares."""

    def __init__(self, only: Iterable[str] | None = None) -> None:
        shelf = registry.units("detectors")
        wanted = list(shelf) if only is None else list(dict.fromkeys(only))
        unknown = [code for code in wanted if code not in shelf]
        if unknown:
            raise NoSuchUnit(
                f"there is no detector {', '.join(unknown)}",
                next=did_you_mean(unknown[0], shelf, "`wlanlens list detectors` lists them"),
            )
        self.units = {code: unit for code, unit in shelf.items() if code in wanted and isinstance(unit, registry.Tool)}
        self._ran: set[str] = set()
        self._lacking: dict[str, tuple[str, ...]] = {}
        self._failed: dict[str, str] = {}
        self._findings: dict[str, int] = dict.fromkeys(self.units, 0)
        self._undecided: dict[str, list[Undecided]] = {code: [] for code in self.units}
        self._left_open: dict[str, int] = dict.fromkeys(self.units, 0)

    def run(self, trace: Trace) -> list[Finding]:
        """The findings of one window. A detector that fails is remembered and the others go on."""
        out: list[Finding] = []
        for code, unit in self.units.items():
            if code in self._failed:
                continue
            lacking = unit.missing(partial(_holds, trace))
            if lacking:
                self._lacking[code] = lacking
                continue
            self._ran.add(code)
            try:
                made = list(unit(trace))
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - reported as failed; the others go on
                self._failed[code] = f"{type(error).__name__}: {error}"
                continue
            for item in made:
                if isinstance(item, Undecided):
                    self._left_open[code] += item.count
                    if len(self._undecided[code]) < 10:
                        self._undecided[code].append(item)
                else:
                    self._findings[code] += 1
                    out.append(item)
        return out

    def states(self) -> list[DetectorState]:
        """One state a detector, in name order."""
        return [self._state(code) for code in self.units]

    def undecided(self) -> list[Undecided]:
        """What the detectors left open: the first ten of each."""
        return [case for cases in self._undecided.values() for case in cases]

    def _state(self, code: str) -> DetectorState:
        found, left_open = self._findings[code], self._left_open[code]
        state, reason = "fine", ""
        if code in self._failed:
            state, reason = "failed", self._failed[code]
        elif code not in self._ran:
            state, reason = "not_run", "needs " + ", ".join(self._lacking.get(code, ("a TCP flow",)))
        elif found:
            state = "found"
        elif left_open:
            state = "undecided"
        if self._undecided[code] and not reason:
            reason = self._undecided[code][0].sentence
        return DetectorState(code, self.units[code].summary, state, reason, found, left_open)


def _holds(trace: Trace, table: str) -> bool:
    """Whether a detector can run on a table: one of a link that has no row says that the capture is of another kind."""
    return trace.has(table) and (table not in tables.LINK or trace.table(table).num_rows > 0)


def detect(trace: Trace, only: Iterable[str] | None = None) -> Findings:
    """Run the detectors (all, or those named in `only`) over a trace held in memory.

    Returns the findings, costliest first; `.states` of the list says how each detector fared.
    """
    judge = Judge(only)
    found = judge.run(trace.leading())
    found.sort(key=lambda f: (-f.cost_s, f.t_start_ns, f.code))
    return Findings(found, judge.states(), judge.undecided())
