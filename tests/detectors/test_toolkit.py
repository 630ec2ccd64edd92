"""The detector toolkit: its public names, cheap imports, and findings made from cases."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from tests.detectors.made import S, flows, trace
from tests.rows import table
from wlanlens.detection import toolkit
from wlanlens.detection.finding import Finding
from wlanlens.detection.toolkit import MAX_EVIDENCE_ROWS, MAX_FINDINGS, Cases, Description, Facts, Rows, severity
from wlanlens.detection.toolkit.air_vectors import Transmissions
from wlanlens.detection.toolkit.airtime import transmission_us
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, ColumnVector
from wlanlens.trace import Trace


def test_public_names_exist_and_are_documented() -> None:
    for name in toolkit.__all__:
        assert hasattr(toolkit, name)
    for name in ("Facts", "Rows", "Cases", "Acks", "Losses", "TimeoutRuns", "PacketPaths"):
        assert f"`{name}" in (toolkit.__doc__ or "")


def test_the_import_loads_nothing_heavy() -> None:
    code = (
        "import sys, wlanlens.detection.toolkit\nprint([m for m in ('pyarrow', 'pandas', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("cost_s", "lifetime_s", "expected"),
    [
        (0.05, 10.0, "info"),
        (0.05, 1.0, "warning"),
        (0.2, 100.0, "warning"),
        (0.2, 1.0, "serious"),
        (1.1, 1e3, "serious"),
    ],
)
def test_severity_by_cost_and_share(cost_s: float, lifetime_s: float, expected: str) -> None:
    assert severity(cost_s, lifetime_s) == expected


def cases(number: int) -> list[Finding]:
    whole = trace(flows())
    facts = Facts.of(whole)
    key = np.full(number, facts.complete_data_keys()[0])
    times = np.arange(number)
    made = Cases(facts, "test", key, times, times + 1, times / 1e6, times + 1)
    evidence = range(1, 2 * MAX_EVIDENCE_ROWS)
    return list(
        made.findings(lambda i: Description("it lost.", {"n_count": i}, {"segments": evidence}, 0.9), what="a loss")
    )


def test_a_case_makes_a_finding_with_its_subject() -> None:
    (finding,) = cases(1)
    assert finding.sentence == "10.0.0.1:40000 > 10.0.0.2:5001: it lost."
    assert (finding.flow, finding.direction) == (0, "a2b")
    assert len(finding.rows("segments")) == MAX_EVIDENCE_ROWS
    assert finding.values["evidence_left_out_count"] == MAX_EVIDENCE_ROWS - 1


def test_the_costliest_cases_are_listed_and_the_rest_summed_up() -> None:
    *listed, remainder = cases(MAX_FINDINGS + 2)
    assert [f.values["n_count"] for f in listed] == list(range(2, MAX_FINDINGS + 2))
    assert remainder.values["cases_count"] == 2
    assert remainder.values["cases_by_sender"] == "10.0.0.1: 2"
    assert remainder.cost_s == pytest.approx(1e-6)
    assert remainder.sentence.startswith("2 more cases of a loss in 1 flow")


def test_rows_search_within_a_key() -> None:
    rows = Rows(np.array([1, 1, 3]), {"t": np.array([10, 20, 15])})
    keys, values = np.array([1, 1, 2, 3]), np.array([9, 25, 25, 15])
    assert rows.last_until("t", keys, values).tolist() == [-1, 1, -1, 2]
    assert rows.any_between("t", keys, values - 5, values).tolist() == [False, True, False, True]
    assert len(rows.of_key(1)) == 2


@pytest.mark.parametrize("step", [1, 1 << 58])
def test_a_search_finds_what_a_scan_finds(step: int) -> None:
    """Values far apart leave no room for keys beside them in 64 bits."""
    draw = np.random.default_rng(5)
    key = np.sort(draw.integers(0, 9, 60))
    value = np.sort(draw.integers(-4, 4, 60)) * step
    rows = Rows(key, {"t": value}).sorted_by("t")
    keys, wanted = draw.integers(-1, 11, 500), draw.integers(-6, 6, 500) * step
    wanted[:2] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    scanned = [
        max(np.flatnonzero((key == k) & (rows["t"] <= w)), default=-1) for k, w in zip(keys, wanted, strict=True)
    ]
    assert rows.last_until("t", keys, wanted).tolist() == scanned


def test_columns_that_are_read_late_are_those_read_at_once() -> None:
    column = pa.chunked_array([pa.array([7, None, 9, 10]), pa.array([11, 12])])
    order = np.array([5, 3, 1, 0, 2, 4])
    rows = Rows(np.array([1, 1, 2, 2, 2, 4]), {}, {"size": ColumnVector(column, order)})
    chosen = rows.take(np.array([True, True, True, False, True, True])).take(np.array([4, 2, 0]))
    assert chosen["size"].tolist() == [11, NULL, 12]
    assert chosen.key.tolist() == [4, 2, 1]
    assert rows.of_key(2)["size"].tolist() == [NULL, 7, 9]


def test_rows_of_falling_keys_are_sorted_by_key_first() -> None:
    rows = Rows(np.array([3, 3, 2, 2]), {"packet": np.array([1, 4, 5, 6])}).sorted_by("packet")
    assert rows.key.tolist() == [2, 2, 3, 3]
    assert rows["packet"].tolist() == [5, 6, 1, 4]


def test_values_to_leave_out_keep_null() -> None:
    copies = ("mac_copy", None, "first")
    rows = [{"packet": n, "t_ns": n, "kind": "data", "transmission": copy} for n, copy in enumerate(copies)]
    made = trace(segments=rows)
    facts = Facts.of(made)
    assert facts.rows("segments", ["packet"], without={"transmission": ("mac_copy",)})["packet"].tolist() == [1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_selected_rows_are_those_of_a_scan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds, sent = ("data", "ack", "dupack"), ("first", "retransmission", "network_duplicate")
    rows = [
        {
            "packet": n + 1,
            "t_ns": n,
            "flow": int(rng.integers(3)),
            "direction": str(rng.choice(["a2b", "b2a"])),
            "kind": str(rng.choice(kinds)),
            "transmission": str(rng.choice(sent)),
            "rel_seq": int(rng.integers(9)) if rng.random() < 0.8 else None,
        }
        for n in range(200)
    ]
    made = trace(segments=rows)
    facts = Facts.of(made)
    keys = {2 * row["flow"] + (row["direction"] == "b2a") for row in rows if row["flow"]}
    for where, without in (({"kind": kinds[:2]}, {"transmission": sent[2:]}), ({"kind": ("data",)}, {}), ({}, {})):
        wanted = [
            row["packet"]
            for row in rows
            if all(row[name] in words for name, words in where.items())
            and not any(row[name] in words for name, words in without.items())
            and row["rel_seq"] is not None
            and row["flow"]
        ]
        selected = {"where": where, "without": without, "valid": ("rel_seq",), "keys": np.array(sorted(keys))}
        for _ in range(2):  # the second time by what the first one kept
            assert sorted(facts.rows("segments", ["packet"], **selected)["packet"].tolist()) == wanted
    assert facts.largest("segments", "rel_seq") == max(row["rel_seq"] or 0 for row in rows)
    assert facts.largest("segments", "rtt_ns") == NULL


def test_a_detector_supplies_its_phrase() -> None:
    finding = cases(1)[0]
    fixed = detector("one", needs=("segments",), phrase="it was slow")(cases)
    made = detector("two", needs=("segments",), phrase=lambda f: f"it had {f.values['n_count']} losses")(cases)
    silent = detector("three", needs=("segments",))(cases)
    assert [unit.phrase(finding) for unit in (fixed, made, silent)] == ["it was slow", "it had 0 losses", ""]


def test_severity_is_by_the_sum_of_a_directions_cases() -> None:
    made = trace()
    facts = Facts.of(made)
    (key,) = facts.complete_data_keys()
    each = np.array([0.15] * 8)
    at = np.arange(8) * S
    cases = Cases(facts, "a_code", np.full(8, key), at, at + S, each, np.arange(8) + 1)
    found = list(cases.findings(lambda _i: Description("it was slow.", {}, {"segments": [1]}, 0.9), what="case"))
    assert [f.severity for f in found] == ["serious"] * 8
    alone = Cases(facts, "a_code", np.array([key]), at[:1], at[:1] + S, each[:1], np.array([1]))
    assert [f.severity for f in alone.findings(lambda _i: Description("", {}, {"segments": [1]}, 0.9), what="")] == [
        "warning"
    ]


def test_time_that_two_cases_cover_is_charged_once() -> None:
    rows = [
        {"category": c, "t_start_ns": a * S, "t_end_ns": b * S}
        for c, a, b in (("path", 0, 2), ("rto_wait", 2, 6), ("path", 6, 9))
    ]
    made = Trace.of_tables({"ledger": table("ledger", rows), "flows": table("flows", flows())}, duration_ns=9 * S)
    facts = Facts.of(made)
    key = np.full(3, facts.table_keys("ledger")[0])
    start, end = np.array([1, 3, 5]) * S, np.array([4, 8, 7]) * S
    cases = Cases(facts, "idle_backoff", key, start, end, np.array([3.0, 5.0, 2.0]), np.array([1, 2, 3]))
    # 2 to 4 s; 4 to 6 s of what is left; nothing is left.
    assert cases.charged_s.tolist() == [2.0, 2.0, 0.0]


def test_a_failed_transmission_takes_no_longer_than_until_the_next_attempt() -> None:
    # Ten attempts 1 ms apart: the mean backoff of the last would be 4.6 ms (IEEE 802.11-2020 10.3.3).
    n = np.arange(10)
    columns = {f.name: np.zeros(10) for f in fields(Transmissions)}
    given = {"exchange": np.zeros(10, np.int64), "t_ns": n * 1_000_000, "nth": n, "bad": np.ones(10)}
    given |= {"rate_mbps": np.full(10, 54.0), "airtime_us": np.full(10, 300.0)}
    took_us = Transmissions(**{**columns, **given}).took_us
    assert took_us[:9].max() == 1000.0
    assert took_us[0] < 1000.0
    assert took_us[9] > 4000.0


def test_the_mean_backoff_doubles_with_each_retry_up_to_the_largest_window() -> None:
    nth = np.arange(13)
    rate = np.where(nth % 2 == 0, 11.0, 54.0)
    slot, window, overhead = (np.where(nth % 2 == 0, *both) for both in ((20.0, 9.0), (32, 16), (308.0, 78.0)))
    expected = 300.0 + overhead + slot * (np.minimum(window * 2.0**nth, 1024) - 1) / 2
    assert transmission_us(np.full(13, 300.0), rate, nth).tolist() == expected.tolist()
    # Callers that look at first transmissions give zeros.
    assert transmission_us(np.full(13, 300.0), rate, np.zeros(13))[0] == expected[0]
