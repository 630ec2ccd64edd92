"""The detectors and the ledger against the kernel's truth, capture by capture."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests import kernel

pytestmark = kernel.needed

#: What the README of the set grants: event times 5 ms, idle times 20 ms.
EVENT_S, IDLE_S = 0.005, 0.020

ORIGINAL = [name for name in kernel.NAMES if "flows" in kernel.truth(name)]


def expiries(name: str) -> list[tuple[float, str]]:
    """(time, kind) of each expiry in `timeouts`, on the truth's clock, of the truth's flows."""
    begin = kernel.offset_s(name)
    rows = [row for flow in kernel.truth(name)["flows"] for row in kernel.timeouts(name, flow)]
    return sorted((row["t_ns"] / 1e9 - begin, row["kind"]) for row in rows)


def true_expiries(name: str) -> list[tuple[float, str]]:
    """(time of the retransmission, kind) of each expiry of the kernel."""
    return sorted((e["rtx_t"], e["kind"]) for flow in kernel.truth(name)["flows"] for e in flow["rto_events"])


@pytest.mark.parametrize("name", ORIGINAL)
def test_timeouts(name: str) -> None:
    found, true = expiries(name), true_expiries(name)
    assert len(found) == len(true)
    for (t, kind), (true_t, true_kind) in zip(found, true, strict=True):
        assert t == pytest.approx(true_t, abs=EVENT_S)
        assert kind in (true_kind, "undecided")


@pytest.mark.parametrize("name", ORIGINAL)
def test_spurious_retransmissions_are_those_of_the_kernel(name: str) -> None:
    rows = [kernel.flow_row(name, flow) for flow in kernel.truth(name)["flows"]]
    true_flows = [(row["flow"], row["direction"]) for row in rows]
    found = [f for f in kernel.of(kernel.found(name), "spurious_timeout") if (f.flow, f.direction) in true_flows]
    true = Counter(kind for _, kind in true_expiries(name))
    for kind in ("spurious", "ack_lost"):
        said = sum(int(f.values[f"{kind}_count"]) for f in found)
        assert said <= true[kind]
    states = {s.code: s for s in kernel.found(name).states}
    # Nothing was lost; of some it is unknown whether the ACK was late or lost.
    said = sum(int(f.values["spurious_expiries_count"]) for f in found)
    if not states["spurious_timeout"].undecided:
        assert said == true["spurious"] + true["ack_lost"]


def waits(name: str) -> list[tuple[float, float]]:
    """Intervals in which the kernel waited for a timer: runs of expiries, and probes."""
    out: list[tuple[float, float]] = []
    end_s = kernel.trace(name).table("segments").column("t_ns")[-1].as_py() / 1e9 - kernel.offset_s(name)
    for flow in kernel.truth(name)["flows"]:
        # A run without progress lasts until the connection is aborted.
        out += [(r["silent_from"], r["progress_at"] or end_s) for r in flow["rto_runs"] if r["off"] >= 0]
        # A SYN or SYN+ACK: from the first one to its last repetition.
        out += [(0.0, r["t"]) for r in flow["retransmission_list"] if r["off"] < 0 and r["trigger"] == "RTO"][-1:]
        for r in flow["retransmission_list"]:
            if r["trigger"] == "TLP":
                out.append((last_send(flow, r), r["t"]))
    return sorted(out)


def last_send(flow: dict[str, Any], probe: dict[str, Any]) -> float:
    """Time of the last data before a probe: where the silence before it starts, or its own first copy."""
    for begin, end, _ in flow["silence"]:
        if abs(end - probe["t"]) < EVENT_S:
            return float(begin)
    return float(probe["prior"][-1][0])


def union_s(spans: list[tuple[float, float]]) -> float:
    """Length of the union: a run may begin with the retransmission that ended the one before."""
    total, reach = 0.0, float("-inf")
    for begin, end in spans:
        total += max(0.0, end - max(begin, reach))
        reach = max(reach, end)
    return total


@pytest.mark.parametrize("name", [n for n in ORIGINAL if len(kernel.truth(n)["flows"]) == 1])
def test_idle_time_in_the_ledger(name: str) -> None:
    ns = kernel.categories_ns(name)
    idle_s = (ns.get("rto_wait", 0) + ns.get("rto_backoff", 0)) / 1e9
    true = waits(name)
    assert idle_s == pytest.approx(union_s(true), abs=IDLE_S * max(1, len(true)))


def test_closed_window_in_the_ledger() -> None:
    ((_, _, silent_s),) = kernel.truth("zerowin")["flows"][0]["silence"]
    assert kernel.categories_ns("zerowin")["receiver_window"] / 1e9 == pytest.approx(silent_s, rel=0.05)


def test_delayed_acks_in_the_ledger() -> None:
    true = kernel.truth("slowread")["flows"][0]["delayed_ack_stalls"]
    assert kernel.categories_ns("slowread")["delayed_ack"] / 1e9 == pytest.approx(true["total_s"], rel=0.05)
    # One stall, before anything is known of the path's pace: the segment's own time on it, 2.4 ms, counts in.
    true = kernel.truth("delack_initcwnd1")["flows"][0]["delayed_ack_stalls"]
    assert kernel.categories_ns("delack_initcwnd1")["delayed_ack"] / 1e9 == pytest.approx(true["total_s"], abs=0.003)


@pytest.mark.parametrize("name", kernel.NAMES)
def test_the_ledger_adds_up_to_the_nanosecond(name: str) -> None:
    trace = kernel.trace(name)
    spans = trace.table("intervals").select(["flow", "direction", "t_start_ns", "t_end_ns"]).to_pylist()
    way = kernel.payload_direction(name)
    mine = [s for s in spans if s["flow"] == 0 and s["direction"] == way]
    life = max(s["t_end_ns"] for s in mine) - min(s["t_start_ns"] for s in mine)
    assert sum(kernel.categories_ns(name).values()) == life


@pytest.mark.parametrize("name", ["clean_cubic", "clean_newreno", "clean_passive", "dup1", "ackloss30_cubic"])
def test_no_finding_where_nothing_is_wrong(name: str) -> None:
    assert list(kernel.found(name)) == []
    # Detectors of the air and of the bus have nothing to look at.
    assert {s.state for s in kernel.found(name).states} == {"fine", "not_run"}
