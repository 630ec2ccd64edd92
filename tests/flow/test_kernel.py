"""The TCP facts against what the kernel and the link did, by their own records (../shared/kernel)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests import kernel, known_faults

pytestmark = kernel.needed

KINDS = ("genuine", "spurious", "ack_lost")

#: Captures whose sender waited for delayed ACKs, and sent at once when they came. The truth counts delayed ACKs in other captures
#: too, where the sender did not wait for them: the link held the ACK until after the timer had expired (ackhold*, ipv6_ackhold,
#: mixed_newreno), the segment after it was lost (tail_tlp), other data was in flight in a long queue (twoflows), or the
#: application wrote nothing (m_app_idle_zero).
STALLS = ("delack_initcwnd1", "slowread", "m_readslow", "n_ecn_loss10_both", "n_mtu_drop")


@pytest.mark.parametrize("name", kernel.WHOLE)
def test_retransmissions_are_exactly_the_senders(name: str) -> None:
    score = kernel.score(name)
    assert (score.missed, score.false) == ((), ())
    wrong = [(r.n, r.truth["trigger"], r.trigger) for r in score.retransmitted if not r.trigger_right]
    assert len(wrong) <= 0.02 * len(score.retransmitted), wrong


@pytest.mark.parametrize("name", kernel.WHOLE)
def test_need_is_never_wrong(name: str) -> None:
    wrong = [(r.n, r.truth, r.spurious) for r in kernel.score(name).retransmitted if r.spurious == r.truth["needed"]]
    assert wrong == []


#: Captures whose receiver reports what it has: need and kind are decided there.
REPORTING = [name for name in kernel.WHOLE if kernel.truth(name)["tcp"]["sack"] or kernel.truth(name)["tcp"]["ts"]]

#: The captures of the first set (README of the set): the shares that were asked of it hold for it.
FIRST_SET = [name for name in kernel.WHOLE if not name.startswith(("m_", "n_"))]


def test_triggers_over_the_set() -> None:
    retransmitted = [r for name in kernel.WHOLE for r in kernel.score(name).retransmitted]
    assert len(retransmitted) == 1131
    assert [r for r in retransmitted if not r.trigger_right] == []
    assert sum(r.trigger == "undecided" for r in retransmitted) <= 16


def test_need_is_decided_where_the_receiver_reports() -> None:
    retransmitted = [r for name in REPORTING for r in kernel.score(name).retransmitted]
    assert sum(r.spurious is not None for r in retransmitted) >= 0.90 * len(retransmitted)


@pytest.mark.parametrize("name", kernel.WHOLE)
def test_timeouts_are_counted_exactly(name: str) -> None:
    for flow in kernel.truth(name)["flows"]:
        row = kernel.flow_row(name, flow)
        counts = {kind: row[f"rto_{kind}"] for kind in KINDS}
        undecided = row["rto_undecided"]
        more = sum(counts.values()) + undecided - flow["rto"]
        assert 0 <= more <= kernel.SYNACK_TIMERS.get(name, 0)
        for kind in KINDS:
            assert counts[kind] <= flow[f"rto_{kind}"] + more, f"{kind}: {counts}, truth {flow['rto_events']}"


def undecided_share(names: list[str]) -> float:
    """Share of the kernel's timeouts whose kind the capture leaves undecided."""
    flows = [(name, flow) for name in names for flow in kernel.truth(name)["flows"]]
    undecided = sum(kernel.flow_row(name, flow)["rto_undecided"] for name, flow in flows)
    return undecided / sum(flow["rto"] for _, flow in flows)


def test_kinds_of_timeouts_are_decided_where_the_receiver_reports() -> None:
    assert undecided_share([name for name in REPORTING if name in FIRST_SET]) <= 0.10
    assert undecided_share(REPORTING) <= 0.28


@pytest.mark.parametrize("name", kernel.WHOLE)
def test_each_timeout_is_named_when_it_fired(name: str) -> None:
    offset = kernel.offset_s(name)
    for flow in kernel.truth(name)["flows"]:
        for row, event in zip(kernel.timeouts(name, flow), flow["rto_events"], strict=True):
            assert row["t_ns"] / 1e9 - offset == pytest.approx(event["rtx_t"], abs=0.005)
            assert row["backoff"] == event["backoff"]
            assert row["kind"] in (event["kind"], "undecided")


@pytest.mark.parametrize("name", [n for n in kernel.WHOLE if any(f["rto_runs"] for f in kernel.truth(n)["flows"])])
def test_idle_time_of_timeouts(name: str) -> None:
    offset = kernel.offset_s(name)
    for flow in kernel.truth(name)["flows"]:
        for run in flow["rto_runs"]:
            if "idle_s" not in run or _answered_between(name, run):
                continue  # a SYN: the truth has no data before it
            rows = [
                row
                for row in kernel.timeouts(name, flow)
                if run["t_first"] - 0.005 < row["t_ns"] / 1e9 - offset < run["t_last"] + 0.005
            ]
            assert len(rows) == run["n"]
            idle_ns = rows[-1]["progress_ns"] - rows[0]["silent_from_ns"]
            assert idle_ns / 1e9 == pytest.approx(run["idle_s"], abs=0.020)


def _answered_between(name: str, run: dict[str, Any]) -> bool:
    """The truth's silence counts data only (README of the set): here the sender answered requests meanwhile."""
    return name == "n_http20_rev" and run["off"] >= 0


@pytest.mark.parametrize("name", STALLS)
def test_delayed_ack_stalls(name: str) -> None:
    (flow,) = kernel.truth(name)["flows"]
    stalled_s = kernel.categories_ns(name).get("delayed_ack", 0) / 1e9
    # Each stall begins when the path alone would have brought the ACK, which the sender knows to a few ms (n_ecn_loss10_both).
    rel = 0.10 if name == "n_ecn_loss10_both" else 0.05
    assert stalled_s == pytest.approx(flow["delayed_ack_stalls"]["total_s"], rel=rel)


@pytest.mark.parametrize("name", [name for name in kernel.WHOLE if name not in STALLS])
def test_no_other_time_is_delayed_ack(name: str) -> None:
    assert kernel.categories_ns(name).get("delayed_ack", 0) == 0


def test_zero_window_time() -> None:
    (flow,) = kernel.truth("zerowin")["flows"]
    closed_s = sum(length for _, _, length in flow["silence"])
    assert kernel.categories_ns("zerowin")["receiver_window"] / 1e9 == pytest.approx(closed_s, rel=0.05)


@pytest.mark.parametrize("name", kernel.WHOLE)
def test_the_ledger_sums_to_each_flows_life(name: str) -> None:
    trace = kernel.trace(name)
    entered = trace.table("ledger").to_pandas()
    for (flow, _), rows in entered.groupby(["flow", "direction"], observed=True):
        assert (rows["t_end_ns"] - rows["t_start_ns"]).sum() == rows["t_end_ns"].max() - rows["t_start_ns"].min(), flow


def receivers_tap(name: str) -> tuple[int, int]:
    """Packets of a capture at the receiver's tap that are rightly and wrongly said to be retransmissions, or not to be."""
    right = wrong = 0
    for flow in kernel.truth(name)["flows"]:
        rows = kernel.sent(name, flow)
        again = {entry["n"] for entry in flow["retransmission_list"]}
        copies: dict[object, list[bool]] = {}
        for n, key in enumerate(_identities(rows)):
            copies.setdefault(key, []).append(n in again)
        arrived = kernel.sent(name, flow, "receiver")
        for key, said in zip(_identities(arrived), arrived["transmission"], strict=True):
            sent = copies[key]
            # A packet that the link delivered twice is not a retransmission.
            is_again = sent.pop(0) if len(sent) > 1 else sent[0] and "duplicate" not in said
            if is_again or said == "retransmission":
                right += is_again and said == "retransmission"
                wrong += is_again != (said == "retransmission")
    return right, wrong


def test_at_the_receivers_tap() -> None:
    """Retransmission or not, for every packet that reached the receiver's tap. A copy is matched by IP id, TSval and sequence."""
    counts = {name: receivers_tap(name) for name in kernel.WHOLE}
    for names in (FIRST_SET, known_faults.without("test_at_the_receivers_tap", kernel.WHOLE)):
        right, wrong = (sum(counts[name][i] for name in names) for i in (0, 1))
        assert right + wrong > 560
        assert right >= 0.98 * (right + wrong), f"{wrong} of {right + wrong} wrong"
    right, wrong = (sum(count[i] for count in counts.values()) for i in (0, 1))
    assert (right >= 1041, wrong <= 25) == (True, True), (right, wrong)


def _identities(rows: Any) -> list[tuple[object, ...]]:
    return list(zip(rows["ip_id"].fillna(0), rows["tsval"].fillna(0), rows["rel_seq"], strict=True))


class TestDamagedMeasurement:
    """The same packets with a bad clock, a late start, or packets that the tap missed."""

    def test_the_receivers_clock_changes_nothing_at_the_sender(self) -> None:
        (flow,) = kernel.truth("ackhold1000_newreno")["flows"]
        parent, copy = (kernel.flow_row(n, flow) for n in ("ackhold1000_newreno", "ackhold1000_newreno-clock"))
        assert parent == {**copy, "capture": parent["capture"]}

    def test_a_late_start_loses_only_what_came_before(self) -> None:
        (flow,) = kernel.truth("rnd2_cubic")["flows"]
        rows = kernel.sent("rnd2_cubic-late", flow)
        before = len(kernel.sent("rnd2_cubic", flow)) - len(rows)
        want = [entry for entry in flow["retransmission_list"] if entry["n"] >= before]
        again = rows[rows["transmission"] == "retransmission"]
        assert [n + before for n in again.index] == [entry["n"] for entry in want]
        assert all(said in kernel.TRIGGERS[w["trigger"]] for said, w in zip(again["trigger"], want, strict=True))

    def test_packets_that_the_tap_missed_are_reported(self) -> None:
        trace = kernel.trace("clean_cubic-capdrop")
        (flow,) = kernel.truth("clean_cubic")["flows"]
        row = kernel.flow_row("clean_cubic-capdrop", flow)
        assert (row["retransmissions"], kernel.timeouts("clean_cubic-capdrop", flow)) == (0, [])
        assert [note.name for note in trace.notes] == ["acked_unseen"]


def test_the_common_score() -> None:
    """The scorer that came with the captures, unchanged. It reads only captures with their own truth."""
    command = [sys.executable, str(kernel.FOLDER / "score.py"), str(kernel.FOLDER), *kernel.WHOLE]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    *captures, _rto, _loss, _fast, _probe, total = done.stdout.splitlines()
    # A SYN-ACK that answers a repeated SYN is no timer; the truth has no better name for it.
    # Nor is a probe of the only segment outstanding told from an expiry: undecided.
    names = {line.split(":")[0] for line in captures}
    probed = {n for n in names if any(r.truth["trigger"] == "TLP" for r in kernel.score(n).retransmitted)}
    assert names - probed <= set(kernel.SYNACK_ANSWERS), done.stdout + done.stderr
    assert done.returncode == 0
    assert total.startswith("63 captures, failed 0; retransmissions 1131/1131 found, 0 false; "), total


def test_the_common_score_at_the_receivers_tap() -> None:
    """The scorer of the receiver's tap alone, unchanged: nothing false, and no kind and no need wrong."""
    command = [sys.executable, str(kernel.FOLDER / "receiver.py"), str(kernel.FOLDER), *kernel.WHOLE]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    total = done.stdout.splitlines()[-1]
    assert done.returncode == 0, done.stdout + done.stderr
    assert total.startswith("receiver's tap: retransmissions 980/999 found, 0 false; kinds of timers 0 of 30 wrong"), (
        total
    )
