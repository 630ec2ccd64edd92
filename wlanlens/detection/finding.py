"""Finding: one judgement with its cost, its evidence and a sentence; findings as Arrow and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from wlanlens import tables
from wlanlens.formatting import html_table, moment, seconds

if TYPE_CHECKING:
    import pyarrow as pa

Value = float | int | str
#: (table, capture, packet numbers): the rows that prove a finding.
Evidence = tuple[str, str, tuple[int, ...]]

SEVERITIES = ("info", "warning", "serious")
DIRECTIONS = ("a2b", "b2a")

#: Packet numbers kept as evidence of one finding: enough for a figure, few enough for thousands of findings.
EVIDENCE_ROWS = 1000

#: Confidence of a planted fault that happened but left too little evidence to be found in every case.
MAY_BE_MISSED = 0.5


#: The value of a finding that names the stations of its cause: "station 02:.. > 02:..".
STATIONS = "caused_by_stations"

#: Version of the form of findings.json, analysis.json and of everything that `--json` prints: docs/json-schema.json.
#: It rises when a key goes or changes its meaning; new keys do not change it.
SCHEMA_VERSION = 1


@dataclass(frozen=True, repr=False)
class Finding:
    """One judgement of a detector, or one planted fault of a simulation's truth.

    Attributes
    ----------
    code : str
        The detector's code.
    t_start_ns, t_end_ns : int
        The interval on the trace's time axis, ns since the trace's start.
    capture : str
        Name of the capture with the rows that prove it.
    subject : str
        What it is about: "10.0.0.1:40000 > 10.0.0.2:5001", a station pair, a USB endpoint.
    severity : str
        info, warning or serious.
    confidence : float
        0..1, how sure the detector is that the cause is this one.
    cost_s : float
        Seconds lost. Costs of findings may overlap; only the ledger adds up.
    values : dict
        Measured values, with the unit in the name.
    evidence : tuple of (table, capture, packet numbers)
        The rows that prove it.
    sentence : str
        The finding in words: subject, what happened, how often, when, and the seconds lost.
    display_filter : str
        A Wireshark display filter that shows the evidence.
    flow, direction : int, str or None
        The connection and data direction in `flows`; None where there is no single one.
    caused_by : str
        Code of the finding that caused it; "" where none is known.
    remedy : str
        What to change and where, and how a second capture shows that it helped.
    saved_s : float or None
        Estimate of how much sooner the transfer would have ended without this cause; None where it is not defined.
    saved_assumption : str
        What the estimate assumes; "" where there is none.
    """

    code: str
    t_start_ns: int
    t_end_ns: int
    capture: str
    subject: str
    severity: str
    confidence: float
    cost_s: float
    values: dict[str, Value] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    sentence: str = ""
    display_filter: str = ""
    flow: int | None = None
    direction: str | None = None
    caused_by: str = ""
    remedy: str = ""
    saved_s: float | None = None
    saved_assumption: str = ""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity {self.severity!r} is not one of {', '.join(SEVERITIES)}")
        if self.t_end_ns < self.t_start_ns:
            raise ValueError(f"{self.code}: ends {self.t_start_ns - self.t_end_ns} ns before it starts")
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"{self.code}: confidence {self.confidence} is not in 0..1")
        if not self.cost_s >= 0.0:
            raise ValueError(f"{self.code}: cost {self.cost_s} s is not >= 0")
        if self.saved_s is not None and not self.saved_s >= 0.0:
            raise ValueError(f"{self.code}: saved_s {self.saved_s} s is not >= 0")
        if self.direction is not None and self.direction not in DIRECTIONS:
            raise ValueError(f"direction {self.direction!r} is not one of {', '.join(DIRECTIONS)}")

    def __repr__(self) -> str:
        return f"<Finding {self.code}: {seconds(round(self.cost_s * 1e9))}, {self.severity}, {moment(self.t_start_ns)}>"

    def _repr_html_(self) -> str:
        shown = {
            name: value
            for name, value in _fields(self).items()
            if name not in ("evidence", "values") and value not in ("", None)
        }
        return html_table(self.code, (), [*shown.items(), *self.values.items()])

    @property
    def duration_s(self) -> float:
        """Length of the interval in seconds."""
        return (self.t_end_ns - self.t_start_ns) / 1e9

    def rows(self, table: str) -> tuple[int, ...]:
        """Packet numbers of the evidence in one table."""
        return tuple(row for name, _, rows in self.evidence for row in rows if name == table)


@dataclass(frozen=True)
class Group:
    """Findings of one code, costliest first.

    Attributes
    ----------
    code : str
    severity : str
        The highest of its findings.
    cost_s : float
        The sum of their costs; these may overlap.
    members : tuple of (number, Finding)
        Numbers count from 1 in the given order, as in `wlanlens evidence`.
    """

    code: str
    severity: str
    cost_s: float
    members: tuple[tuple[int, Finding], ...]


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Group findings by code, the costliest code first: a cause that occurs a hundred times is read once."""
    by_code: dict[str, list[tuple[int, Finding]]] = {}
    for number, finding in enumerate(findings, 1):
        by_code.setdefault(finding.code, []).append((number, finding))
    groups = [
        Group(
            code,
            max((f.severity for _, f in members), key=SEVERITIES.index),
            sum(f.cost_s for _, f in members),
            tuple(sorted(members, key=lambda member: -member[1].cost_s)),
        )
        for code, members in by_code.items()
    ]
    return sorted(groups, key=lambda group: -group.cost_s)


@dataclass(frozen=True)
class Undecided:
    """Cases that the capture does not decide: neither a finding nor proof that all is well.

    Attributes
    ----------
    code : str
        The detector's code.
    sentence : str
        Why this capture does not decide, and which capture would.
    count : int
        Number of cases.
    subject : str
        The flow, where it is one.
    spans : tuple of (str, int, int)
        Where known: subject, start and end of each case, ns on the trace's time axis.
    """

    code: str
    sentence: str
    count: int = 1
    subject: str = ""
    spans: tuple[tuple[str, int, int], ...] = ()


def frame_filter(packets: Iterable[int], limit: int = 200) -> str:
    """Wireshark display filter for packet numbers, with runs as a..b; one range where there are more than `limit` runs."""
    runs: list[list[int]] = []
    for packet in sorted(set(packets)):
        if runs and packet == runs[-1][1] + 1:
            runs[-1][1] = packet
        else:
            runs.append([packet, packet])
    if not runs:
        return ""
    if len(runs) > limit:
        return f"frame.number >= {runs[0][0]} && frame.number <= {runs[-1][1]}"
    return "frame.number in {" + ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in runs) + "}"


#: Names of the fields of a finding, in their order.
_FIELDS = tuple(each.name for each in fields(Finding))


def schema() -> pa.Schema:
    """The Arrow schema of the table `findings`."""
    return tables.schema("findings")


def to_table(findings: Iterable[Finding]) -> pa.Table:
    """Convert findings to the Arrow table `findings`."""
    import pyarrow as pa

    rows = [
        {
            **_fields(f),
            "values": [_value_row(name, value) for name, value in f.values.items()],
            "evidence": [{"table": t, "capture": c, "rows": list(r)} for t, c, r in f.evidence],
        }
        for f in findings
    ]
    return pa.Table.from_pylist(rows, schema=schema())


def _fields(finding: Finding) -> dict[str, Any]:
    """The fields by name, not copied: `asdict` copies each of the thousands of packets of the evidence."""
    return {name: getattr(finding, name) for name in _FIELDS}


def from_table(table: pa.Table) -> list[Finding]:
    """Read findings from an Arrow table `findings`."""
    return [
        Finding(
            **{
                **row,
                "values": {v["name"]: _value(v) for v in row["values"]},
                "evidence": tuple((e["table"], e["capture"], tuple(e["rows"])) for e in row["evidence"]),
            }
        )
        for row in table.select(schema().names).to_pylist()
    ]


def _value_row(name: str, value: Value) -> dict[str, Any]:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return {
        "name": name,
        "integer": value if whole else None,
        "number": float(value) if isinstance(value, float) else None,
        "text": value if isinstance(value, str) else None,
    }


def _value(row: Mapping[str, Any]) -> Value:
    for kind in ("integer", "number", "text"):
        if row[kind] is not None:
            return row[kind]  # type: ignore[no-any-return]
    raise ValueError(f"value {row['name']!r} is null")


def to_json(findings: Iterable[Finding]) -> str:
    """Write findings.json: the version of its form and objects with the fields of `Finding`.

    It is ASCII, so that no control characters remain.
    """
    content = {"schema_version": SCHEMA_VERSION, "findings": [to_dict(f) for f in findings]}
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def to_dict(finding: Finding) -> dict[str, Any]:
    """Convert a finding to its object in findings.json."""
    row = _fields(finding)
    row["evidence"] = [{"table": t, "capture": c, "rows": list(r)} for t, c, r in finding.evidence]
    return row


def from_dict(row: Mapping[str, Any]) -> Finding:
    """Read a finding from its object in findings.json."""
    evidence = tuple((str(e["table"]), str(e["capture"]), tuple(int(r) for r in e["rows"])) for e in row["evidence"])
    return Finding(**{**row, "values": dict(row["values"]), "evidence": evidence})


def from_json(text: str | bytes) -> list[Finding]:
    """Read the findings of a findings.json."""
    return [from_dict(row) for row in json.loads(text)["findings"]]
