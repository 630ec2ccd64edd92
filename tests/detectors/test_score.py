"""Detectors and ledger compared with the kernel's truth for each capture; `pytest -s` prints the table."""

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
    """(time, kind) of each reported expiry of the data's direction, on the truth's clock."""
    rows = kernel.trace(name).table("timeouts").select(["direction", "t_ns", "kind", "flow"]).to_pylist()
    begin, way = kernel.offset_s(name), kernel.payload_direction(name)
    return sorted((row["t_ns"] / 1e9 - begin, row["kind"]) for row in rows if row["direction"] == way)


def true_expiries(name: str) -> list[tuple[float, str]]:
    """(time of the retransmission, kind) of each expiry in the kernel."""
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
    found = kernel.of(kernel.found(name), "spurious_timeout")
    true = Counter(kind for _, kind in true_expiries(name))
    for kind in ("spurious", "ack_lost"):
        said = sum(int(f.values[f"{kind}_count"]) for f in found)
        assert said <= true[kind]
    states = {s.code: s for s in kernel.found(name).states}
    said = sum(int(f.values["spurious_count"]) + int(f.values["ack_lost_count"]) for f in found)
    if not states["spurious_timeout"].undecided:
        assert said == true["spurious"] + true["ack_lost"]


def waits(name: str) -> list[tuple[float, float]]:
    """Intervals in which the kernel waited for a timer: runs of expiries after the handshake, and probes."""
    out: list[tuple[float, float]] = []
    for flow in kernel.truth(name)["flows"]:
        out += [(r["silent_from"], r["progress_at"]) for r in flow["rto_runs"] if r["off"] >= 0]
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
    """Length of the union: a run may start with the retransmission that ended the one before."""
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


def test_table() -> None:
    """Print the table."""
    print(
        f"\n{'capture':26}{'RTO':>4}{'found':>6}{'right':>6}{'open':>5}{'idle s':>9}{'ledger':>9}{'held':>5}{'found':>6}{'open':>5}"
    )
    for name in ORIGINAL:
        true, found = true_expiries(name), expiries(name)
        kinds = Counter(k for _, k in true) & Counter(k for _, k in found)
        ns = kernel.categories_ns(name)
        idle_s = (ns.get("rto_wait", 0) + ns.get("rto_backoff", 0)) / 1e9
        held = len(kernel.truth(name)["emulator"]["b2a"]["held"])
        holds = len(kernel.of(kernel.found(name), "ack_holding"))
        open_ = {s.code: s.undecided for s in kernel.found(name).states}["ack_holding"]
        undecided = sum(k == "undecided" for _, k in found)
        print(
            f"{name:26}{len(true):4}{len(found):6}{sum(kinds.values()):6}{undecided:5}"
            f"{union_s(waits(name)):9.3f}{idle_s:9.3f}{held:5}{holds:6}{open_:5}"
        )
