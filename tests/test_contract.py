"""What every unit on a shelf must do, whoever wrote it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests import firing
from tests.captures import CLEAN, sample, samples
from wlanlens import _core, registry, tables
from wlanlens.capture import capture as captures
from wlanlens.detection.finding import Finding
from wlanlens.detection.findings import Findings
from wlanlens.detection.runner import detect
from wlanlens.errors import NothingToDraw
from wlanlens.ledger import ledger
from wlanlens.trace import Trace

HEADINGS = ("What it finds", "Why it happens", "How it decides", "What fools it", "References")
#: A unit, or a count of things, in the name of a measured value or of a threshold.
UNIT = r"_(ns|us|ms|s|bytes|bps|mbps|dbm|db|ppm|percent|share|ratio|factor|rtts|packets|segments|acks|count|samples|bins)(_|$)"
DETECTORS = registry.units("detectors")
PLOTS = registry.units("plots")
PARSERS = registry.units("parsers")


def empty() -> Trace:
    return Trace.of_tables({name: tables.empty(name) for name in tables.names()}, duration_ns=0)


@cache
def judged(name: str) -> Trace:
    """A sample as detectors see it."""
    return sample(name).leading()


def found(code: str, trace: Trace) -> Findings:
    """What a detector finds in a trace; nothing where its tables are not there. It must not fail."""
    made = detect(trace, only=[code])
    assert [state.reason for state in made.states if state.state == "failed"] == []
    return made


def where_it_fires(code: str) -> Iterator[Trace]:
    """The samples in which a detector finds something; where there is none, small simulated worlds."""
    on_samples = [judged(name) for name in samples() if found(code, judged(name))]
    yield from on_samples or (firing.trace(small).leading() for small in firing.worlds(code))


@pytest.mark.parametrize("shelf", registry.SHELVES)
def test_a_unit_is_documented_and_named_after_its_file(shelf: str) -> None:
    for name, unit in registry.units(shelf).items():
        assert unit.summary, name
        assert unit.summary.endswith("."), name
        assert unit.module.rsplit(".", 1)[-1] == name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)


@pytest.mark.parametrize("code", DETECTORS)
def test_a_detector_has_the_fixed_headings(code: str) -> None:
    doc = DETECTORS[code].__doc__ or ""
    at = [re.search(rf"^{heading}\n-*\n?\s*\S", doc, re.M) for heading in HEADINGS]
    assert all(at), [heading for heading, found in zip(HEADINGS, at, strict=True) if not found]
    starts = [found.start() for found in at if found]
    assert starts == sorted(starts)


@pytest.mark.parametrize("code", DETECTORS)
def test_a_threshold_has_a_unit_and_a_reason(code: str) -> None:
    unit = DETECTORS[code]
    assert isinstance(unit, registry.Tool)
    for name in unit.thresholds:
        assert re.search(UNIT, name), f"{name} has no unit"
        assert name in (unit.__doc__ or ""), f"{name}: no reason in the docstring"


@pytest.mark.parametrize("name", [*DETECTORS, *PLOTS])
def test_needs_are_tables(name: str) -> None:
    unit = DETECTORS.get(name) or PLOTS[name]
    assert isinstance(unit, registry.Tool)
    assert unit.needs
    for table in unit.needs:
        tables.schema(table)
    assert set(unit.explains) <= set(tables.CATEGORIES)


@pytest.mark.parametrize("code", DETECTORS)
def test_an_empty_trace_gives_nothing(code: str) -> None:
    assert [f for f in DETECTORS[code](empty()) if isinstance(f, Finding)] == []


@pytest.mark.parametrize("code", DETECTORS)
def test_silent_on_the_clean_link(code: str) -> None:
    assert list(found(code, judged(CLEAN.stem))) == []


@pytest.mark.parametrize("code", DETECTORS)
def test_fires_somewhere(code: str) -> None:
    traces = list(where_it_fires(code))
    assert traces, "no sample and no scenario shows it"
    for trace in traces:
        assert found(code, trace), [capture.name for capture in trace.captures]


@pytest.mark.parametrize("code", DETECTORS)
def test_deterministic_and_whole(code: str) -> None:
    for trace in [*map(judged, samples()), *where_it_fires(code)]:
        first, second = found(code, trace), found(code, trace)
        assert (first, first.undecided) == (second, second.undecided)
        for case in first.undecided:
            assert case.code == code
            assert case.sentence
        for finding in first:
            check(finding, code, trace)


@pytest.mark.parametrize("code", DETECTORS)
def test_findings_cost_no_more_than_the_ledger_has(code: str) -> None:
    for trace in [*map(judged, samples()), *where_it_fires(code)]:
        cost: dict[tuple[int, str], float] = defaultdict(float)
        for f in found(code, trace):
            if f.flow is not None and f.direction is not None:
                cost[f.flow, f.direction] += f.cost_s
        for key, most_s in explained_s(code, trace).items():
            assert cost[key] <= most_s + 1e-6, (code, key, [c.name for c in trace.captures])


def explained_s(code: str, trace: Trace) -> dict[tuple[int, str], float]:
    """Seconds of each direction's ledger in the categories that a detector explains."""
    unit = DETECTORS[code]
    assert isinstance(unit, registry.Tool)
    out: dict[tuple[int, str], float] = defaultdict(float)
    for row in ledger.summary(trace.table("ledger")).to_pylist():
        mine = not unit.explains or row["category"] in unit.explains
        out[row["flow"], row["direction"]] += row["ns"] / 1e9 if mine else 0.0
    return out


def check(finding: Finding, code: str, trace: Trace) -> None:
    assert finding.code == code
    assert finding.sentence.endswith(".")
    assert finding.evidence
    assert finding.display_filter
    assert finding.capture in [capture.name for capture in trace.captures]
    assert 0 <= finding.t_start_ns <= finding.t_end_ns <= trace.duration_ns
    assert finding.cost_s <= trace.duration_ns / 1e9
    for name, value in finding.values.items():
        assert not isinstance(value, float) or re.search(UNIT, name), f"{name} has no unit"
    for table, capture, rows in finding.evidence:
        assert set(rows) <= packets(trace, capture, table), table


def packets(trace: Trace, capture: str, table: str) -> set[int]:
    """Numbers of the packets in a table of one of the captures."""
    (one,) = (c for c in trace.captures if c.name == capture)
    rows = one.table(table)
    return set(rows.column("packet" if "packet" in rows.column_names else "first_packet").to_pylist())


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_draws_a_sample(name: str) -> None:
    unit = PLOTS[name]
    assert isinstance(unit, registry.Tool)
    # A plot of a connection needs to be told which of several captures is meant.
    few_first = sorted(samples(), key=lambda name: len(samples()[name]))
    held = (t for t in map(sample, few_first) if all(t.has(n) and t.table(n).num_rows for n in unit.needs))
    trace, figure = next(drawn for drawn in ((t, drawing(unit, t)) for t in held) if drawn[1] is not None)
    assert type(figure).__module__.startswith("plotly")
    assert any(len(drawn.x if drawn.x is not None else ()) for drawn in figure.data), "it draws nothing"
    assert figure.to_dict() == unit(trace, (), flow=0, direction="a2b").to_dict()


def drawing(unit: registry.Tool, trace: Trace) -> Any:
    """A plot of a trace; None where it says that there is nothing to draw."""
    try:
        return unit(trace, (), flow=0, direction="a2b")
    except NothingToDraw:
        return None


def test_link_types_on_the_shelf_are_those_the_core_decodes() -> None:
    said = [dlt for unit in PARSERS.values() if isinstance(unit, registry.LinkType) for dlt in unit.linktypes]
    assert len(said) == len(set(said))
    assert sorted(said) == [dlt for dlt in range(1024) if _core.decodes(dlt)]
    for unit in PARSERS.values():
        if isinstance(unit, registry.LinkType):
            assert set(unit.tables) <= set(tables.names())


def test_containers_on_the_shelf_are_those_the_core_reads() -> None:
    said = {name for name, unit in PARSERS.items() if isinstance(unit, registry.Container)}
    assert said >= {str(captures.open(path).info["format"]) for paths in samples().values() for path in paths}


def test_every_column_is_documented_with_its_unit() -> None:
    units = {"_ns": "ns", "_bytes": "bytes", "_us": "us", "_bps": "bit/s", "_s": "s"}
    for name in tables.names():
        schema = tables.schema(name)
        assert (schema.metadata or {}).get(b"doc"), name
        for field in schema:
            meta = field.metadata or {}
            assert meta.get(b"doc", b"").endswith(b"."), f"{name}.{field.name}"
            for suffix, unit in units.items():
                if field.name.endswith(suffix) and not field.name.endswith("_per_s"):
                    assert meta.get(b"unit", b"").decode() == unit, f"{name}.{field.name}"
