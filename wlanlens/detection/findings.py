"""Findings: what detectors found in a trace, as a list with the state of each detector, and as table, CSV and HTML."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from wlanlens.detection.finding import Finding, Undecided, to_dict, to_table
from wlanlens.errors import file_errors
from wlanlens.formatting import count, html_table, hundredths, inert_cell, moment

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STATES = ("found", "fine", "not_run", "undecided", "failed")

#: Findings that a notebook shows; the list has all.
SHOWN = 30


@dataclass(frozen=True)
class DetectorState:
    """The outcome of one detector.

    Attributes
    ----------
    code, summary : str
        The detector's code and the first line of its documentation.
    state : str
        found; fine (it ran and found nothing); not_run; undecided (the capture cannot decide); failed.
    reason : str
        Why it was not run, could not decide or failed.
    findings, undecided : int
        Findings, and cases that it could not decide.
    """

    code: str
    summary: str
    state: str
    reason: str = ""
    findings: int = 0
    undecided: int = 0


class Findings(list[Finding]):
    """A list of findings, costliest first.

    A slice of it is a `Findings` too, of the same detectors.

    Attributes
    ----------
    states : list of DetectorState
        The state of each detector, in name order.
    undecided : list of Undecided
        The cases that the capture does not decide.
    """

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        states: Iterable[DetectorState] = (),
        undecided: Iterable[Undecided] = (),
    ) -> None:
        super().__init__(findings)
        self.states = list(states)
        self.undecided = list(undecided)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Findings: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Finding | Findings:
        if isinstance(index, slice):
            return Findings(super().__getitem__(index), self.states, self.undecided)
        return super().__getitem__(index)

    def __repr__(self) -> str:
        by_code: dict[str, int] = {}
        for finding in self:
            by_code[finding.code] = by_code.get(finding.code, 0) + 1
        codes = ", ".join(f"{times} {code}" for code, times in by_code.items())
        return f"<Findings: {codes or 'none'}>"

    def _repr_html_(self) -> str:
        rows = [
            (number, f.code, f.severity, hundredths(f.cost_s), moment(f.t_start_ns), f.sentence)
            for number, f in enumerate(self[:SHOWN], 1)
        ]
        more = f"{len(self) - SHOWN} more" if len(self) > SHOWN else ""
        heads = ("number", "code", "severity", "cost", "from", "finding")
        return html_table(count(len(self), "finding"), heads, rows, note=more)

    def of(self, code: str) -> Findings:
        """The findings of one detector.

        Parameters
        ----------
        code : str
            The detector's code.

        Returns
        -------
        Findings
        """
        return Findings((f for f in self if f.code == code), self.states, self.undecided)

    def to_table(self) -> pa.Table:
        """The findings as the Arrow table `findings`.

        Returns
        -------
        pyarrow.Table
            One row a finding; docs/tables.md has its columns.
        """
        return to_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """The findings as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row a finding with a column for each field, indexed by `number`, counted from 1 as in the report. `values`
            holds dicts; `flow` is a nullable integer.
        """
        import pandas as pd

        names = [field.name for field in dataclasses.fields(Finding)]
        index = pd.RangeIndex(1, len(self) + 1, name="number")
        frame = pd.DataFrame([{n: getattr(f, n) for n in names} for f in self], columns=names, index=index)
        whole = {"flow": "Int64", "t_start_ns": "int64", "t_end_ns": "int64"}
        return frame.astype({**whole, "cost_s": "float64", "confidence": "float64"})

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The findings as CSV: one line a finding.

        Parameters
        ----------
        path : path, optional
            The file to write.

        Returns
        -------
        str
            The text: the number, the fields of a finding without `evidence`, and `values` as JSON. Texts that a spreadsheet
            would take for a formula begin with an apostrophe.

        Raises
        ------
        FileError
            The file cannot be written.
        """
        names = [field.name for field in dataclasses.fields(Finding) if field.name != "evidence"]
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["number", *names])
        for number, finding in enumerate(self, 1):
            row = to_dict(finding)
            writer.writerow([number, *(inert_cell(_plain(row[name])) for name in names)])
        if path is not None:
            with file_errors():
                Path(path).write_text(out.getvalue(), encoding="utf-8", newline="")
        return out.getvalue()


def _plain(value: Any) -> Any:
    """A value of a cell: structures as JSON."""
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value
