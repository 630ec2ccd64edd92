"""docs/json-schema.json: the form of findings.json, analysis.json, truth.json and of everything that `--json` prints.

The forms of findings, states, clocks and so on come from their dataclasses, so that they cannot differ.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any

from wlanlens.airtime.summary import Summary
from wlanlens.alignment.clock_map import ClockMap
from wlanlens.capture.capture import Note
from wlanlens.capture.doctor import TOPICS, Advice
from wlanlens.detection.finding import DIRECTIONS, SCHEMA_VERSION, SEVERITIES, Finding, Undecided
from wlanlens.detection.findings import STATES, DetectorState
from wlanlens.detection.verdict import Verdict
from wlanlens.pipeline.compare.comparison import Comparison

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
OBJECT: Schema = {"type": "object"}
TRUTH: Schema = {"type": "boolean"}

#: Enums that a type does not say, by class and field.
VALUES = {
    (Finding, "severity"): list(SEVERITIES),
    (Finding, "direction"): [*DIRECTIONS, None],
    (DetectorState, "state"): list(STATES),
    (Advice, "topic"): list(TOPICS),
    (Advice, "state"): ["good", "better", "unknown"],
}


def listed(item: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": item}


def or_null(schema: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def mapping(item: Schema) -> Schema:
    """An object whose values are of one form."""
    return {"type": "object", "additionalProperties": item}


def record(properties: dict[str, Schema], *, may_lack: tuple[str, ...] = (), more: bool = False) -> Schema:
    """An object with these keys."""
    needed = [name for name in properties if name not in may_lack]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": more}


def of_type(hint: Any) -> Schema:
    """The schema of a type as `dataclasses.asdict` and `json` write it."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return of_class(typing.cast("type", hint))
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [of_type(one) for one in inner]}
    if origin is dict:
        return mapping(of_type(inner[1]))
    if origin is list or (origin is tuple and inner[-1] is ...):
        return listed(of_type(inner[0]))
    if origin is tuple:
        return {"type": "array", "prefixItems": [of_type(one) for one in inner], "items": False, "minItems": len(inner)}
    return {int: WHOLE, float: NUMBER, str: TEXT, bool: TRUTH, type(None): {"type": "null"}, Any: {}}[hint]


def of_class(kind: type) -> Schema:
    """The schema of a dataclass."""
    hints = typing.get_type_hints(kind)
    properties = {}
    for field in dataclasses.fields(kind):
        values = VALUES.get((kind, field.name))
        properties[field.name] = {"enum": values} if values else of_type(hints[field.name])
    return record(properties)


def finding() -> Schema:
    """A finding: evidence is written by name."""
    made = of_class(Finding)
    made["properties"]["evidence"] = listed(record({"table": TEXT, "capture": TEXT, "rows": listed(WHOLE)}))
    made["properties"]["values"] = mapping({"anyOf": [NUMBER, TEXT]})
    made["properties"]["confidence"] = {"type": "number", "minimum": 0, "maximum": 1}
    made["properties"]["cost_s"] = {"type": "number", "minimum": 0}
    return made


def note() -> Schema:
    """A note of a capture."""
    made = of_class(Note)
    del made["properties"]["capture"]
    made["required"].remove("capture")
    return made


def analysis() -> dict[str, Schema]:
    """The keys of analysis.json."""
    capture = record(
        {
            "name": TEXT, "path": TEXT, "point": TEXT, "size_bytes": or_null(WHOLE), "head_sha256": or_null(TEXT),
            "format": TEXT, "compression": TEXT, "records": WHOLE, "other_records": WHOLE, "offset": WHOLE,
            "first_ns": or_null(WHOLE), "last_ns": or_null(WHOLE), "wire_bytes": WHOLE, "link_types": listed(listed(WHOLE)),
            "interfaces": listed({"type": "array"}), "texts": {"type": "array"}, "stamps": or_null(OBJECT),
            "notes": listed({"$ref": "#/$defs/note"}),
        }
    )  # fmt: skip
    return {
        "wlanlens": TEXT,
        "thresholds": mapping(OBJECT),
        "verdict": of_class(Verdict),
        "start_ns": WHOLE,
        "duration_ns": WHOLE,
        "connections": WHOLE,
        "ledger_ns": mapping(WHOLE),
        "air": of_class(Summary),
        "detectors": listed(of_class(DetectorState)),
        "undecided": listed(of_class(Undecided)),
        "tables": mapping(record({"rows": WHOLE, "parts": WHOLE})),
        "captures": listed(capture),
        "clocks": listed(of_class(ClockMap)),
    }


def forms() -> dict[str, dict[str, Schema]]:
    """The keys of each document, besides `schema_version`."""
    findings = listed({"$ref": "#/$defs/finding"})
    unit = record(
        {"name": TEXT, "summary": TEXT, "needs": listed(TEXT), "tables": listed(TEXT), "thresholds": OBJECT,
         "parameters": mapping(record({"default": {}, "text": TEXT}))}
    )  # fmt: skip
    row = record({"table": TEXT}, more=True)
    comparison = of_class(Comparison)["properties"]
    return {
        "findings.json": {"findings": findings},
        "analysis.json": {**analysis(), "findings": record({"kept": WHOLE, "left_out": mapping(WHOLE)})},
        "analyze": {
            **analysis(), "out": TEXT, "report": or_null(TEXT), "findings_left_out": mapping(WHOLE), "findings": findings,
        },
        "list": {"kind": TEXT, "units": listed(unit)},
        "show packet": {
            "capture": TEXT, "packet": WHOLE, "time_ns": or_null(WHOLE), "link_type": WHOLE, "captured_bytes": WHOLE,
            "wire_bytes": WHOLE, "offset": WHOLE, "dissection": listed(TEXT), "rows": listed(row),
        },
        "show journeys": {"capture": TEXT, "packet": WHOLE, "journeys": listed(OBJECT)},
        "doctor": {"advice": listed(of_class(Advice))},
        "compare": comparison,
        "batch": {
            "out": TEXT, "page": TEXT, "traces": WHOLE, "new": WHOLE, "files_left_out": WHOLE,
            "traces_of_other_shards": WHOLE, "statuses": mapping(WHOLE), "causes_s": mapping(NUMBER), "runs": listed(OBJECT),
        },
        "validate": {
            "runs": WHOLE, "seeds": WHOLE, "faults": listed(TEXT), "unproved": listed(TEXT),
            "detectors": listed(record({"code": TEXT}, more=True)), "promises": listed(OBJECT), "failed": OBJECT,
        },
        "validate --random": {
            "worlds": WHOLE, "first": WHOLE, "faults": listed(TEXT), "crashes": listed(OBJECT), "refused": listed(OBJECT),
            "detectors": listed(record({"code": TEXT}, more=True)), "ledger": listed(OBJECT), "verdicts": listed(OBJECT),
        },
        "validate --clocks": {"faults": listed(TEXT), "runs": listed(OBJECT)},
        "reproduce": {
            "counts": mapping(WHOLE), "counts_by_origin": mapping(mapping(WHOLE)), "experiments": listed(OBJECT),
            "missing": listed(TEXT), "page": or_null(TEXT),
        },
    }  # fmt: skip


def document() -> str:
    """The text of docs/json-schema.json."""
    version = {"const": SCHEMA_VERSION}
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "JSON of wlanlens",
        "description": (
            "findings.json (and truth.json of a simulation), analysis.json, and what the commands print with --json: one "
            "definition each, exact for this version of wlanlens. schema_version rises when a key goes or changes its meaning; "
            "readers should ignore keys that they do not know."
        ),
        "$defs": {
            "finding": finding(),
            "note": note(),
            **{name: record({"schema_version": version, **keys}) for name, keys in forms().items()},
        },
        "anyOf": [{"$ref": f"#/$defs/{name.replace(' ', '%20')}"} for name in forms()],
    }
    return json.dumps(made, indent=1) + "\n"
