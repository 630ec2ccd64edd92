"""Finding: one judgement with its cost, its evidence and a sentence; findings as Arrow and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from wlanlens import registry, tables
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
            for name, value in asdict(self).items()
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


def join_windows(earlier: Iterable[Finding], later: Iterable[Finding]) -> list[Finding]:
    """Join the findings of two consecutive windows: two halves of one finding, split at the border, become one.

    Halves have the same code, subject and flow, and the later starts before the earlier ends. Costs are added, and so are
    whole numbers whose names end in `_count` or `_bytes`; other values and the sentence come from the costlier half. Findings
    that sum up a connection (`whole` in `registry.detector`) become one wherever they are, with a sentence of their own.
    """
    whole = {name: unit.whole for name, unit in registry.units("detectors").items() if isinstance(unit, registry.Tool)}
    out = list(earlier)
    latest: dict[tuple[str, str, str, int | None, str | None], int] = {}
    for i, f in enumerate(out):
        at = latest.setdefault(_key(f), i)
        if f.t_end_ns > out[at].t_end_ns:
            latest[_key(f)] = i
    for f in later:
        cut = latest.get(_key(f))
        sentence = whole.get(f.code)
        if cut is not None and sentence is not None and f.flow is not None:
            out[cut] = _sum_up(out[cut], f, sentence)
        elif cut is not None and f.t_start_ns <= out[cut].t_end_ns:
            out[cut] = _join(out[cut], f)
            del latest[_key(f)]
        else:
            out.append(f)
    return out


def _key(f: Finding) -> tuple[str, str, str, int | None, str | None]:
    return f.code, f.capture, f.subject, f.flow, f.direction


def _join(a: Finding, b: Finding) -> Finding:
    main, other = (a, b) if a.cost_s >= b.cost_s else (b, a)
    values = dict(main.values)
    for name, value in other.values.items():
        mine = values.get(name)
        if name.endswith(("_count", "_bytes")) and isinstance(mine, int) and isinstance(value, int):
            values[name] = mine + value
        else:
            values.setdefault(name, value)
    rows: dict[tuple[str, str], dict[int, None]] = {}
    for table, capture, packets in (*a.evidence, *b.evidence):
        rows.setdefault((table, capture), {}).update(dict.fromkeys(packets))
    return replace(
        main,
        t_start_ns=min(a.t_start_ns, b.t_start_ns),
        t_end_ns=max(a.t_end_ns, b.t_end_ns),
        cost_s=a.cost_s + b.cost_s,
        saved_s=None if a.saved_s is None or b.saved_s is None else a.saved_s + b.saved_s,
        severity=max(a.severity, b.severity, key=SEVERITIES.index),
        values=values,
        evidence=tuple((t, c, tuple(r)[:EVIDENCE_ROWS]) for (t, c), r in rows.items()),
    )


def _sum_up(a: Finding, b: Finding, sentence: Callable[[Mapping[str, Value]], str]) -> Finding:
    """One finding about a connection from those of an earlier and a later window."""
    added = ("_s", "_count", "_bytes")
    sums = {k: a.values.get(k, 0) + v for k, v in b.values.items() if k.endswith(added)}  # type: ignore[operator]
    values = {**a.values, **b.values, **sums}
    return replace(_join(a, b), values=values, sentence=f"{b.subject}: {sentence(values)}")
