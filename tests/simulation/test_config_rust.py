"""The Python description of a world and the simulator's (rust/sim/src/config.rs) agree: fields, types, defaults, values.

The Rust side is read from its source, the Python side from its dataclasses and functions.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.captures import ROOT
from wlanlens.registry import units
from wlanlens.simulation import applications, config, queue_discipline, rate_control
from wlanlens.simulation.scenario import find

SIM = ROOT / "rust" / "sim" / "src"

#: Rust struct -> Python dataclass, with the same field names except for those in RENAMED.
STRUCTS = {
    "Node": config.Node,
    "Holds": config.Holds,
    "Usb": config.Usb,
    "Cell": config.Cell,
    "PathLoss": config.PathLoss,
    "Station": config.Station,
    "Bursts": config.Bursts,
    "Path": config.RadioPath,
    "Wire": config.Wire,
    "Flow": config.Flow,
    "Reader": config.Reader,
    "Tcp": config.Tcp,
    "Buffer": config.SendBuffer,
    "TapConfig": config.TapClock,
}
#: `from` is a keyword of Python.
RENAMED = {"Path": {"from": "start", "to": "end"}}

#: Rust enum -> the descriptions that the Python functions make.
TAGGED: dict[str, list[dict[str, Any]]] = {
    "Discipline": [queue_discipline.tail_drop(), queue_discipline.red(), queue_discipline.dual_threshold(1)],
    "RateSpec": [
        rate_control.fixed(1.0),
        *(rate_control.automatic(kind) for kind in ("arf", "aarf", "minstrel")),
        rate_control.multiplicative(((1.0, 1),), 1.0, 1),
    ],
    "Application": [
        applications.bulk(),
        applications.file(1),
        applications.request(1, 1),
        applications.paced(1, 1.0),
        applications.udp(1.0),
    ],
}

#: Rust enum -> the Python field with its values.
NAMED = {"RecoveryName": ("Tcp", "recovery"), "RtoName": ("Tcp", "rto"), "BurstClock": ("Bursts", "clock")}

#: The default of a Rust type; None for structs whose own defaults are compared separately.
DEFAULTS = {
    "bool": False,
    "f64": 0.0,
    "u32": 0,
    "u64": 0,
    "usize": 0,
    "i64": 0,
    "(f64, f64)": (0.0, 0.0),
    "Discipline": {"kind": "tail_drop"},
    "TapConfig": None,
    "Taps": None,
}
KINDS = {bool: {"bool"}, float: {"f64"}, int: {"u8", "u16", "u32", "u64", "usize", "i64"}, str: {"String"}}


class Entry(NamedTuple):
    """One field of a Rust struct: its type, and its default in serde, `...` without one."""

    type: str
    default: Any


def sources() -> str:
    """The description's source, without comments."""
    files = [SIM / "config.rs", SIM / "application.rs", SIM / "router.rs", SIM / "taps" / "clock.rs"]
    return "\n".join(re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")) for path in files)


TEXT = sources()


def body(kind: str, name: str) -> str:
    """The text between the braces of `struct` or `enum` NAME."""
    found = re.search(rf"\bpub {kind} {name} \{{\n(.*?)\n\}}", TEXT, re.DOTALL)
    assert found, f"no {kind} {name} in the simulator's description"
    return found[1]


def rust_fields(text: str) -> dict[str, Entry]:
    """Fields with type and default; `...` where the field must be given."""
    out = {}
    pattern = r"((?:#\[[^\]]*\]\s*)*)(?:pub )?(?:r#)?(\w+): ((?:[^,(<]|\([^)]*\)|<(?:[^<>(]|\([^)]*\)|<[^>]*>)*>)+)"
    for attributes, name, type_ in re.findall(pattern, text):
        function = re.search(r'default = "(\w+)"', attributes)
        default: Any = ...
        if function:
            value = re.search(rf"fn {function[1]}\(\) -> \w+ \{{\s*([^\s}}]+)\s*\}}", TEXT)
            assert value
            default = json.loads(value[1])
        elif type_.startswith("Option<"):
            default = None
        elif "default" in attributes:
            default = () if type_.startswith("Vec<") else DEFAULTS[type_]
        out[name] = Entry(type_.strip(), default)
    return out


def variants(name: str) -> dict[str, set[str]]:
    """Variants of an enum in snake_case, each with its fields."""
    out: dict[str, set[str]] = {}
    text = re.sub(r"#\[[^\]]*\]", "", body("enum", name))
    for variant, tuple_type, struct in re.findall(r"(?:^|,)\s*(\w+)\s*(?:\((\w+)\)|\{([^}]*)\})?", text):
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", variant).lower()
        out[snake] = set(rust_fields(body("struct", tuple_type) if tuple_type else struct))
    return out


def python_default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else ...


def fits(python: Any, rust: str) -> bool:
    """Whether a Python annotation and a Rust type mean the same."""
    args = typing.get_args(python)
    origin = typing.get_origin(python)
    if rust.startswith("Option<"):
        return type(None) in args and fits(next(a for a in args if a is not type(None)), rust[7:-1])
    if rust.startswith("Vec<"):
        return origin is tuple and args[1:] == (...,) and fits(args[0], rust[4:-1])
    if rust.startswith("("):
        inner = rust[1:-1].split(", ")
        return origin is tuple and len(args) == len(inner) and all(map(fits, args, inner))
    if python in KINDS:
        return rust in KINDS[python] or (python is str and rust in NAMED)
    if origin is not None and issubclass(origin, Mapping):
        return rust in TAGGED
    return STRUCTS.get(rust) is python


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_types_and_defaults_agree(name: str) -> None:
    python = {field.name: field for field in fields(STRUCTS[name])}
    types = typing.get_type_hints(STRUCTS[name])
    rust = {RENAMED.get(name, {}).get(key, key): entry for key, entry in rust_fields(body("struct", name)).items()}
    assert set(rust) == set(python)
    assert not [key for key, entry in rust.items() if not fits(types[key], entry.type)]
    optional = {key: entry.default for key, entry in rust.items() if entry.default is not ...}
    if name == "Flow":
        # A flow without `tcp` is UDP in both; Python's default is TCP.
        assert optional.pop("tcp") is None
    assert optional == {key: python_default(python[key]) for key in optional}


def test_the_worlds_own_keys_agree(tmp_path: Path) -> None:
    world = config.World(nodes=(config.Node("a"),), flows=())
    made = json.loads(world.description(seed=1, duration_s=1.0, epoch_ns=0, captures={"sender": tmp_path / "a.pcap"}))
    assert set(made) == set(rust_fields(body("struct", "World")))
    assert set(made["taps"]["sender"]) == set(rust_fields(body("struct", "Tap")))
    assert {"sender", "usb", "air", "receiver"} == set(rust_fields(body("struct", "Taps")))


@pytest.mark.parametrize("name", TAGGED)
def test_kinds_and_their_fields_agree(name: str) -> None:
    made = {value["kind"]: set(value) - {"kind"} for value in TAGGED[name]}
    assert made == variants(name)


def test_a_size_by_pareto_agrees() -> None:
    made = applications.pareto(1.0, 2.0)
    assert isinstance(made, Mapping)
    assert set(made) == set(rust_fields(body("struct", "Pareto")))


def test_the_clock_of_a_tap_has_the_same_defaults() -> None:
    text = re.search(r"impl Default for TapConfig.*?TapConfig \{(.*?)\}", TEXT, re.DOTALL)
    assert text
    rust = {key: json.loads(value.replace("_", "")) for key, value in re.findall(r"(\w+): ([\d._]+)", text[1])}
    assert rust == {field.name: field.default for field in fields(config.TapClock)}


@pytest.mark.parametrize("name", NAMED)
def test_names_are_those_of_the_simulator(name: str) -> None:
    struct, key = NAMED[name]
    known = set(variants(name))
    assert {field.name: field.default for field in fields(STRUCTS[struct])}[key] in known
    for scenario in units("scenarios"):
        parameter = find(scenario).parameters.get(key)
        if parameter is not None and type(parameter.default) is str:
            assert set(parameter.metadata["among"]) <= known, f"{scenario}.{key}"
