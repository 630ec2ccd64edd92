"""The verdict: one plain sentence, and no cause where nothing is slow."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tests.rows import intervals, table
from wlanlens.airtime import Summary
from wlanlens.detection.finding import Finding
from wlanlens.detection.verdict import Verdict, judge, seconds, share
from wlanlens.detection.verdict_reasons import timeouts
from wlanlens.formatting import size
from wlanlens.ledger import ledger
from wlanlens.trace import Trace

S = 10**9
HELD = Finding("ack_holding", 0, S, "test.pcap", "", "warning", 0.9, 1.0, {"kept_by": "adapter"}, flow=0)


def verdict(
    states: list[tuple[str, float]], kinds: tuple[str, ...] = (), findings: tuple[Finding, ...] = (), **counts: Any
) -> Verdict:
    rows = table("intervals", intervals([(state, round(length * S)) for state, length in states]))
    timeouts = table("timeouts", [{"packet": i, "kind": kind} for i, kind in enumerate(kinds)])
    flows: list[dict[str, Any]] = [{"ip_src": "10.0.0.1", "src_port": 40000, "ip_dst": "10.0.0.2", "dst_port": 5001}]
    trace = Trace.of_tables({"intervals": rows, "timeouts": timeouts, "flows": table("flows", flows)})
    numbers = {"packets": 100, "connections": 1, **counts}
    return judge(trace, ledger.from_intervals(rows), findings, **numbers)


def causes(made: Verdict) -> str:
    """The sentence without the time that was not lost."""
    return re.sub(r"; (the rest|overall): [^;]*?(?=\.( |$))", "", made.sentence)


def test_timeouts_and_why() -> None:
    made = verdict(
        [("transfer", 3.66), ("rto_wait", 1.5), ("loss_recovery", 0.06)],
        ("spurious", "genuine", "spurious", "genuine", "spurious"),
        (HELD,),
    )
    assert causes(made) == (
        "10.0.0.1:40000 > 10.0.0.2:5001 took 5.22 s; it spent 1.56 s (30 %) on 5 retransmission timeouts, "
        "3 of them spurious because ACKs were held by the adapter."
    )
    assert (made.duration_s, made.lost_s) == (5.22, 1.56)
    assert sum(made.categories_ns.values()) == round(5.22 * S)


def test_a_reason_counts_the_timeouts_that_it_explains() -> None:
    assert (
        timeouts({"spurious": [0, 2 * S]}, [HELD])
        == "2 retransmission timeouts, all spurious (1 because ACKs were held by the adapter)"
    )


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("genuine",), "1 retransmission timeout."),
        (("spurious",), "1 retransmission timeout, spurious."),
        (("ack_lost", "ack_lost"), "2 retransmission timeouts, all because only ACKs were lost."),
        (
            ("spurious", "undecided", "genuine"),
            "3 retransmission timeouts, 1 of them spurious and 1 of undetermined cause.",
        ),
        ((), "recovery from losses."),
    ],
)
def test_kinds_of_timeouts(kinds: tuple[str, ...], words: str) -> None:
    assert causes(verdict([("transfer", 1), ("rto_wait", 1)], kinds)).endswith("it spent 1 s (50 %) on " + words)


def test_nothing_slow_names_no_cause() -> None:
    said = verdict(
        [("handshake", 0.02), ("slow_start", 0.1), ("transfer", 3.9), ("fast_recovery", 0.01)], connections=3
    )
    assert causes(said) == (
        "10.0.0.1:40000 > 10.0.0.2:5001 took 4.03 s; nothing in this capture slowed it: the path took 3.9 s (97 %). "
        "2 other connections."
    )
    assert said.lost_s == 0


def test_what_cannot_be_told_may_have_slowed_it() -> None:
    said = causes(verdict([("transfer", 3), ("undecided", 1)]))
    assert "nothing in this capture slowed it" not in said
    assert "the path took 3 s (75 %)" in said


def test_a_named_time_of_unknown_cause_may_have_slowed_it() -> None:
    said = causes(verdict([("transfer", 2.85), ("undecided", 0.15)]))
    assert said.endswith("for in 150 ms (5 %) cannot be told at this tap; the path took 2.85 s (95 %).")


def test_a_moment_of_unknown_cause_is_not_named() -> None:
    said = causes(verdict([("transfer", 3), ("undecided", 0.01)]))
    assert "cannot be told" not in said
    assert said.endswith("; nothing in this capture slowed it: the path took 3 s (100 %).")


def test_an_idle_application_is_named() -> None:
    sentence = causes(verdict([("transfer", 1), ("idle", 3)]))
    assert sentence.endswith("took 4 s; it was application-limited for 3 s (75 %).")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("fast_recovery", "it spent 1 s (25 %) in fast recovery"),
        ("zero_window", "it was limited by the receiver's window for 1 s (25 %)"),
        ("delayed_ack", "it waited 1 s (25 %) for delayed ACKs"),
    ],
)
def test_causes(state: str, words: str) -> None:
    assert causes(verdict([("transfer", 3), (state, 1)])).endswith(f"took 4 s; {words}.")


def test_captures_without_a_transfer() -> None:
    assert verdict([], packets=0, connections=0).sentence == "The capture holds no packets."
    assert verdict([], packets=0, connections=0, records=3).sentence == "No IP packet among 3 records."
    assert verdict([], packets=1, connections=0).sentence == "No TCP connection among 1 packet."
    assert verdict([], packets=9, connections=2).sentence == "2 TCP connections without a data transfer."
    timers = table("timeouts", [{"packet": n, "kind": "undecided", "waited_ns": n * S} for n in (1, 2)])
    nothing, numbers = table("intervals", []), {"packets": 9, "connections": 1}
    made = judge(Trace.of_tables({"timeouts": timers}), ledger.from_intervals(nothing), (), **numbers)
    assert made.sentence == ("1 TCP connection without a data transfer. 2 retransmission timeouts on opening took 3 s.")


def test_a_bus_without_ip() -> None:
    rows = [
        {"packet": n, "bus": 1, "device": 2, "endpoint": 1, "direction": "in", "done_bytes": size}
        for n, size in enumerate((512, 800, None))
    ]
    trace = Trace.of_tables({"urbs": table("urbs", [*rows, {**rows[0], "direction": "out"}])})
    empty = ledger.from_intervals(table("intervals", []))
    numbers = {"packets": 0, "connections": 0, "records": 8}
    assert judge(trace, empty, (), **numbers).sentence == (
        "No IP packet among 8 records: 4 USB transfers of 2 endpoints moved 1.82 kB; USB bus 1 device 2 endpoint 1 in "
        "moved most, 1.31 kB."
    )
    slow = Finding("usb_bottleneck", 0, S, "usb.pcap", "", "serious", 0.9, 1.0, sentence="The bus limited.")
    assert judge(trace, empty, (slow,), **numbers).sentence.endswith("1.31 kB. The bus limited.")
    nothing = Trace.of_tables({"urbs": table("urbs", [rows[2]])})
    assert judge(nothing, empty, (), **numbers).sentence.endswith(
        "8 records: 1 USB transfer of 1 endpoint moved no data."
    )


def test_a_bus_that_limited_a_flow() -> None:
    slow = Finding("usb_bottleneck", 0, S, "usb.pcap", "", "serious", 0.9, 3.6)
    assert causes(verdict([("transfer", 4)], findings=(slow,))) == (
        "10.0.0.1:40000 > 10.0.0.2:5001 took 4 s; the USB bus limited it, which explains 3.6 s (90 %)."
    )


@pytest.mark.parametrize(
    ("code", "values", "words"),
    [
        ("startup_overflow", {"buffer_packets": 30}, "slow start overshot a buffer of about 30 packets"),
        ("startup_overflow", {"losses_count": 3}, "slow start overshot a buffer"),
        ("periodic_loss", {"period_s": 0.1024}, "losses came every 102 ms"),
        ("repeated_fast_retransmit", {"cwnd_reductions_count": 3}, "it reduced cwnd 3 times in one loss episode"),
        (
            "delayed_ack_deadlock",
            {"waits_count": 7},
            "it stalled 7 times for a delayed ACK with one segment in flight",
        ),
    ],
)
def test_what_explains_the_time(code: str, values: dict[str, float], words: str) -> None:
    found = replace(HELD, code=code, values=dict(values), cost_s=0.5, direction="a2b")
    made = verdict([("transfer", 3), ("fast_recovery", 1)], findings=(found,))
    assert causes(made) == (
        "10.0.0.1:40000 > 10.0.0.2:5001 took 4 s; it spent 1 s (25 %) in fast recovery; "
        f"{words}, which explains 500 ms (12 %)."
    )
    # These 500 ms lie within the path's 3 s, so the path is no rest.
    assert made.sentence.endswith("; overall: path transfer 3 s (75 %).")
    others = (replace(found, cost_s=0.04), replace(found, flow=1), replace(found, direction="b2a"))
    for other in others:  # too little, or of another flow
        assert "explains" not in causes(verdict([("transfer", 4)], findings=(other,)))
    assert (
        " (the costliest of 2 cases), which explains 750 ms"
        in verdict([("transfer", 4)], findings=(replace(found, cost_s=0.25), found)).sentence
    )


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (999_999, "1 MB"), (1_570_000, "1.57 MB")]
)
def test_sizes(number: int, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0 us"), (999, "0.999 us"), (50_000, "50 us"), (1_560_000_000, "1.56 s"), (5 * 10**12, "5000 s")],
)
def test_seconds(ns: int, text: str) -> None:
    assert seconds(ns) == text


def test_share_of_nothing() -> None:
    assert share(0, 0) == "0 us"


def test_connections_without_an_answer_lead() -> None:
    alone = [
        Finding(
            "no_answer",
            i * S,
            (i + 9) * S,
            "c",
            f"f{i}",
            "serious",
            0.9,
            9.0,
            flow=i,
            direction="a2b",
            sentence=f"f{i}: 4 SYNs.",
        )
        for i in (5, 6)
    ]
    made = verdict([("transfer", 3), ("fast_recovery", 1)], findings=tuple(alone), connections=4)
    assert causes(made) == (
        "2 connections got no answer, for 10 s in all. The longest: f5: 4 SYNs. 10.0.0.1:40000 > 10.0.0.2:5001 took 4 s; "
        "it spent 1 s (25 %) in fast recovery. 1 other connection."
    )
    assert (made.flow, made.lost_s) == (5, 10.0)


def test_a_capture_of_one_direction() -> None:
    rows = table("intervals", intervals([("slow_start", 4 * S)]))
    ends: dict[str, Any] = {
        "ip_src": "10.0.0.1",
        "src_port": 40000,
        "ip_dst": "10.0.0.2",
        "dst_port": 5001,
        "packets": 9,
    }
    back = {**ends, "direction": "b2a", "packets": 0, "acked_unseen": 4}
    trace = Trace.of_tables({"intervals": rows, "flows": table("flows", [ends, back])})
    said = judge(trace, ledger.from_intervals(rows), (), packets=9, connections=1).sentence
    assert said.startswith("Only one direction of 10.0.0.1:40000 > 10.0.0.2:5001 is in the capture")


def test_a_loss_beside_an_idle_application_is_named_after_it() -> None:
    """12 s of 100 s with something to send, in a life of 2000 s."""
    said = verdict([("idle", 1900), ("transfer", 88), ("fast_recovery", 12)]).sentence
    assert said.endswith("it was application-limited for 1900 s (95 %); it spent 12 s (1 %) in fast recovery.")
    assert "recovery" not in verdict([("idle", 1900), ("transfer", 99), ("fast_recovery", 0.9)]).sentence
    more = verdict([("idle", 60), ("transfer", 10), ("fast_recovery", 30)]).sentence
    assert more.index("fast recovery") < more.index("application-limited")


def test_every_large_category_is_stated() -> None:
    states = [
        ("handshake", 0.5),
        ("slow_start", 1.0),
        ("transfer", 5.0),
        ("rto_wait", 2.0),
        ("delayed_ack", 1.2),
        ("idle", 0.3),
    ]
    assert verdict(states).sentence.endswith(
        "took 10 s; it spent 2 s (20 %) on recovery from losses; it waited 1.2 s (12 %) for delayed ACKs; "
        "the rest: path transfer 5 s (50 %), slow start 1 s (10 %)."
    )
    assert verdict([("transfer", 8), ("slow_start", 2)]).sentence.endswith(
        "the path took 8 s (80 %); the rest: slow start 2 s (20 %)."
    )


def test_the_rest_has_the_words_of_the_ledger() -> None:
    rows = table("intervals", intervals([("rto_wait", 3 * S), ("transfer", 7 * S)]))
    made = ledger.from_intervals(rows)
    on_air = ["air_useful" if c == "path" else c for c in made.column("category").to_pylist()]
    at = made.column_names.index("category")
    made = made.set_column(at, made.schema.field(at), pa.array(on_air).cast(made.schema.field(at).type))
    said = judge(Trace.of_tables({"intervals": rows}), made, (), packets=9, connections=1).sentence
    assert said.endswith("; the rest: useful airtime 7 s (70 %).")


def test_refused_connections_are_named() -> None:
    ends: dict[str, Any] = {"ip_src": "10.0.0.1", "src_port": 40000, "ip_dst": "10.0.0.2", "dst_port": 80}
    ask = {**ends, "packets": 1, "syn_packets": 1}
    back = {"ip_src": "10.0.0.2", "src_port": 80, "ip_dst": "10.0.0.1", "dst_port": 40000, "direction": "b2a"}
    reset = {**back, "packets": 1, "syn_packets": 0, "rst_packets": 1}
    rows = table("intervals", [])

    def said(*flows: dict[str, Any]) -> str:
        trace = Trace.of_tables({"intervals": rows, "flows": table("flows", flows)})
        return judge(trace, ledger.from_intervals(rows), (), packets=2, connections=len(flows) // 2).sentence

    assert said(ask, reset) == "10.0.0.2:80 refused the connection of 10.0.0.1:40000 (RST in answer to the SYN)."
    assert "refused" not in said(ask, {**reset, "packets": 5, "syn_packets": 1})
    two = said(ask, reset, {**ask, "flow": 1}, {**reset, "flow": 1})
    assert two.startswith("2 connections were refused (RST in answer to the SYN), the first by 10.0.0.2:80")


def test_the_costliest_finding_is_named_where_no_cause_names_it() -> None:
    lost = "10.0.0.1:40000 > 10.0.0.2:5001: 3 of 90 data segments were lost."
    found = Finding("packet_loss", 0, S, "test.pcap", "", "serious", 0.9, 1.5, sentence=lost, flow=7, direction="a2b")
    states = [("application", 600.0), ("path", 4.0)]
    assert verdict(states, findings=(found,)).sentence.endswith(lost)
    in_recovery = [("fast_recovery", 2.0), ("path", 4.0)]
    mine = replace(found, flow=0, values={"lost_count": 3})
    assert lost not in verdict(in_recovery, findings=(mine,)).sentence
    assert lost not in verdict(states, findings=(replace(found, severity="info"),)).sentence


def test_losses_of_which_the_repair_is_undecided_are_named() -> None:
    found = Finding("packet_loss", 0, S, "test.pcap", "", "info", 0.9, 0.0, flow=0, direction="a2b")
    states = [("undecided", 3.0), ("transfer", 4.0)]
    for undecided_s, named in ((2.0, True), (1.0, False), (0.0, False)):
        part = replace(found, values={"lost_count": 8, "undecided_s": undecided_s})
        sentence = verdict(states, findings=(part,)).sentence
        assert ("packet loss took 2 s (29 %): 8 segments were lost; whether timers or" in sentence) == named
        assert (
            "what it waited for in 3 s (43 %) cannot be told at this tap; packet loss may explain it: 8 segments were lost"
            in sentence
        ) != named


def test_frames_that_were_dropped_on_the_air_may_explain_unknown_time() -> None:
    air = Summary(frames=900, flows=[[0, "a2b", 10**9, 10**8, 400, 600, 9]])
    sentence = verdict([("undecided", 3.0), ("transfer", 4.0)], air=air).sentence
    assert "cannot be told at this tap; packet loss may explain it: 9 frames were dropped on the air; " in sentence
    air.flows[0][6] = 0
    assert "packet loss" not in verdict([("undecided", 3.0), ("transfer", 4.0)], air=air).sentence


def test_packets_that_the_ids_miss_may_explain_unknown_time() -> None:
    """World 362082: at the receiver 213 ms pass before the answer to its SYN+ACK, whose first copy never came."""
    rows = table("intervals", intervals([("undecided", 3 * S), ("transfer", 4 * S)]))
    ends = {"ip_src": "10.0.0.1", "src_port": 40000, "ip_dst": "10.0.0.2", "dst_port": 5001}
    for missing, said in (
        (1, "; packet loss may explain it: by the IP identifications, 1 packet is missing; "),
        (0, ""),
    ):
        flows = table("flows", [{**ends, "missing_packets": missing}])
        trace = Trace.of_tables({"intervals": rows, "timeouts": table("timeouts", []), "flows": flows})
        sentence = judge(trace, ledger.from_intervals(rows), (), packets=100, connections=1).sentence
        assert ("packet loss" in sentence) == bool(missing)
        assert f"cannot be told at this tap{said}" in sentence


def test_a_repair_of_undecided_cause_is_a_loss_where_the_lost_segments_are_named_already() -> None:
    found = Finding("packet_loss", 0, S, "test.pcap", "", "serious", 0.9, 2.0, flow=0, direction="a2b")
    found = replace(found, values={"lost_count": 8, "undecided_s": 3.0})
    states = [("undecided", 3.0), ("fast_recovery", 2.0), ("transfer", 4.0)]
    sentence = verdict(states, findings=(found,)).sentence
    assert "packet loss took 3 s (33 %); whether timers or duplicate ACKs repaired that cannot be told" in sentence
    assert "in fast recovery after 8 lost segments" in sentence


def test_a_path_that_a_finding_explains_is_not_called_healthy() -> None:
    found = Finding("burst_loss", 0, S, "test.pcap", "", "serious", 0.9, 1.5, sentence="station a: frames failed.")
    sentence = verdict([("path", 4.0)], findings=(found,)).sentence
    assert "nothing in this capture slowed it" not in sentence
    assert sentence.endswith(" Station a: frames failed.")


def test_the_costliest_finding_precedes_the_estimate_without_it() -> None:
    lost = "10.0.0.1:40000 > 10.0.0.2:5001: 3 of 90 data segments were lost."
    found = Finding("packet_loss", 0, S, "test.pcap", "", "serious", 0.9, 1.5, sentence=lost, flow=0, direction="a2b")
    found = replace(found, saved_s=1.0, saved_assumption="A.", values={"lost_count": 3})
    sentence = verdict([("window_limited", 1.0), ("path", 9.0)], findings=(found,)).sentence
    assert sentence.endswith(". 3 of 90 data segments were lost. Without this (packet loss): 9 s (estimate).")


def test_times_that_jump_by_years_limit_nothing() -> None:
    made = verdict([("path", 4.6e8)])
    assert made.flow is None
    assert "times jump by years" in made.sentence
    assert "without a data transfer" not in made.sentence
