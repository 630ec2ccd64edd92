"""Run detectors over a trace: their findings, and the state of each detector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from wlanlens import registry, tables
from wlanlens.detection import capture_needs
from wlanlens.detection.air_causes import with_air_causes
from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.findings import DetectorState, Findings
from wlanlens.detection.remedy import with_remedies
from wlanlens.detection.root_cause import with_causes
from wlanlens.detection.savings import with_savings
from wlanlens.detection.tcp_seen import TcpSeen
from wlanlens.detection.thresholds import checked
from wlanlens.errors import NoSuchUnit, did_you_mean

if TYPE_CHECKING:
    from wlanlens.trace import Trace


class DetectorRunner:
    """Runs detectors over the windows of one trace and keeps the state of each.

    Parameters
    ----------
    only : iterable of str, optional
        Codes of the detectors to run; all by default.
    thresholds : mapping, optional
        Thresholds that differ from their defaults, by detector and name.

    Attributes
    ----------
    thresholds : dict
        Those thresholds, checked.

    Raises
    ------
    NoSuchUnit
        If a code is none of a detector, or a name none of a threshold.
    WrongUse
        If the value of a threshold does not fit.
    """

    def __init__(
        self, only: Iterable[str] | None = None, thresholds: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.thresholds = checked(thresholds)
        shelf = registry.units("detectors")
        codes = list(shelf) if only is None else list(dict.fromkeys(only))
        unknown = [code for code in codes if code not in shelf]
        if unknown:
            raise NoSuchUnit(
                f"unknown detector: {', '.join(unknown)}",
                next=did_you_mean(unknown[0], shelf, "`wlanlens list detectors` lists them"),
            )
        self.units = {code: unit for code, unit in shelf.items() if code in codes and isinstance(unit, registry.Tool)}
        self._ran: set[str] = set()
        self.tcp_seen = TcpSeen()
        self._missing: dict[str, tuple[str, ...]] = {}
        self._failed: dict[str, str] = {}
        self._findings: dict[str, int] = dict.fromkeys(self.units, 0)
        self._undecided: dict[str, list[Undecided]] = {code: [] for code in self.units}
        self._undecided_count: dict[str, int] = dict.fromkeys(self.units, 0)

    def run(self, trace: Trace) -> list[Finding]:
        """The findings of one window. A detector that fails is marked as failed, and the others go on."""
        out: list[Finding] = []
        self.tcp_seen.add(trace)
        for code, unit in self.units.items():
            if code in self._failed:
                continue
            missing = unit.missing(partial(_holds, trace))
            if missing:
                self._missing[code] = missing
                continue
            self._ran.add(code)
            try:
                results = list(unit(trace, **self.thresholds.get(code, {})))
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - reported as failed; the others go on
                self._fail(code, error)
                continue
            for item in results:
                if isinstance(item, Undecided):
                    self._undecided_count[code] += item.count
                    if len(self._undecided[code]) < 10:
                        self._undecided[code].append(item)
                else:
                    self._findings[code] += 1
                    out.append(item)
        return with_savings(trace, with_remedies(with_air_causes(trace, out)), self._fail)

    def _fail(self, code: str, error: Exception) -> None:
        self._failed[code] = f"{type(error).__name__}: {error}"

    def states(self) -> list[DetectorState]:
        """The state of each detector, in name order."""
        return [self._state(code) for code in self.units]

    def undecided(self) -> list[Undecided]:
        """The undecided cases: the first ten of each detector."""
        return [case for cases in self._undecided.values() for case in cases]

    def _state(self, code: str) -> DetectorState:
        found, undecided = self._findings[code], self._undecided_count[code]
        state, reason = "fine", ""
        if code in self._failed:
            state, reason = "failed", self._failed[code]
        elif code not in self._ran:
            missing = self._missing.get(code, ("a TCP flow",))
            of_tcp = self.tcp_seen.encrypted and set(missing) <= set(registry.IP_TABLES)
            state, reason = "not_run", self.tcp_seen.lacks() if of_tcp else capture_needs.reason(missing)
        elif found:
            state = "found"
        elif undecided:
            state = "undecided"
        elif set(self.units[code].needs) & set(registry.IP_TABLES) and (lacks := self.tcp_seen.lacks()):
            # It found nothing because there was nothing to look at.
            state, reason = "not_run", lacks
        if self._undecided[code] and not reason:
            reason = self._undecided[code][0].sentence
        return DetectorState(code, self.units[code].summary, state, reason, found, undecided)


def _holds(trace: Trace, table: str) -> bool:
    """Whether a detector can run on a table; a table of a link layer without rows is of another kind of capture."""
    return trace.has(table) and (table not in tables.LINK or trace.table(table).num_rows > 0)


def detect(
    trace: Trace,
    only: Iterable[str] | None = None,
    *,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
) -> Findings:
    """Run detectors over a trace in memory.

    Parameters
    ----------
    trace : Trace
        The trace.
    only : iterable of str, optional
        Codes of the detectors to run; all by default.
    thresholds : mapping of str to mapping, optional
        Thresholds that differ from their defaults: {"ack_holding": {"min_hold_ms": 30}}. docs/detectors.md has all.

    Returns
    -------
    Findings
        The findings, costliest first, with the state of each detector in `.states`.

    Raises
    ------
    NoSuchUnit
        If a code is none of a detector, or a name none of a threshold.
    WrongUse
        If the value of a threshold does not fit.
    """
    runner = DetectorRunner(only, thresholds)
    found = with_causes(runner.run(trace.leading()))
    found.sort(key=lambda f: (-f.cost_s, f.t_start_ns, f.code))
    return Findings(found, runner.states(), runner.undecided())
