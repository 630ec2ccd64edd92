"""idle_backoff: idle time during successive expiries."""

from __future__ import annotations

import pytest

from tests import kernel
from tests.detectors.made import MS, again, run, timeout, trace

CODE = "idle_backoff"


def test_two_expiries_and_the_time_a_reset_saves() -> None:
    rows = [
        timeout(10, 1200, progress_ns=1620 * MS),
        timeout(11, 1600, silent_from_ns=1200 * MS, progress_ns=1620 * MS, waited_ns=400 * MS, backoff=1),
    ]
    found, _ = run(CODE, trace(timeouts=rows))
    assert len(found) == 1
    assert found[0].cost_s == pytest.approx(0.62)
    assert found[0].values["saved_by_reset_s"] == pytest.approx(0.2)
    assert found[0].values["long_timer_cause"] == "none"


def test_a_higher_byte_shows_an_ack_in_between() -> None:
    rows = [
        timeout(10, 1200, progress_ns=1620 * MS),
        timeout(11, 1600, rel_seq=2897, silent_from_ns=1200 * MS, progress_ns=1620 * MS, fresh_rto_ns=400 * MS),
    ]
    assert run(CODE, trace(timeouts=rows)) == ([], [])


def test_a_kept_backoff() -> None:
    rows = [
        timeout(10, 1200),
        timeout(20, 2820, silent_from_ns=1220 * MS, waited_ns=1600 * MS),
    ]
    found, _ = run(CODE, trace(timeouts=rows))
    assert [f.values["long_timer_cause"] for f in found] == ["backoff"]
    assert found[0].values["saved_by_reset_s"] == pytest.approx(1.4)
    assert "1.4 s less" in found[0].sentence


def test_a_backoff_kept_until_a_segment_that_was_sent_once_is_acknowledged() -> None:
    # 10 s after the ACK of new data the sender's own timer is still four times the one without backoff.
    later = {"silent_from_ns": 11_220 * MS, "waited_ns": 1600 * MS, "fresh_rto_ns": 400 * MS}
    rows = [timeout(10, 1200), timeout(20, 12_820, **later, rto_ns=1600 * MS)]
    found, _ = run(CODE, trace(timeouts=rows))
    assert [f.values["long_timer_cause"] for f in found] == ["backoff"]
    assert run(CODE, trace(timeouts=[rows[0], {**rows[1], "rto_ns": 400 * MS}])) == ([], [])


def test_a_syn_ack_that_its_peer_had_acknowledged_keeps_nobody_idle_to_the_end() -> None:
    acked = {"rel_seq": 0, "flight_bytes": 0, "progress_ns": None, "kind": "undecided"}
    rows = [timeout(10, 1200, **acked), timeout(11, 1600, **acked, silent_from_ns=1200 * MS, backoff=1)]
    (found,), _ = run(CODE, trace(timeouts=rows))
    assert found.t_end_ns == 1600 * MS
    assert "no ACK of new data" not in found.sentence


def test_a_backoff_kept_after_a_retransmitted_syn() -> None:
    """No round trip was measured, so the timer of the data is still twice that of the SYN (RFC 6298 section 5.7)."""
    unmeasured = {"fresh_rto_ns": None, "rto_ns": None}
    syn = timeout(1, 1000, rel_seq=0, waited_ns=1000 * MS, silent_from_ns=0, progress_ns=2100 * MS, **unmeasured)
    first = timeout(5, 4100, rel_seq=1, waited_ns=2000 * MS, silent_from_ns=2100 * MS, **unmeasured)
    (found,), _ = run(CODE, trace(timeouts=[syn, first]))
    assert (found.values["long_timer_cause"], found.t_start_ns) == ("backoff", 2100 * MS)
    assert run(CODE, trace(timeouts=[syn, {**first, "waited_ns": 1000 * MS}])) == ([], [])
    # The flight after the ACK may begin at any time: without a measured round trip nothing resets the timer (worlds 340013, 340057).
    later = {**first, "t_ns": 5100 * MS, "silent_from_ns": 3100 * MS}
    assert len(run(CODE, trace(timeouts=[syn, later]))[0]) == 1


def test_the_silence_measured_as_a_round_trip() -> None:
    rows = [
        timeout(10, 1200),
        timeout(20, 2820, silent_from_ns=1220 * MS, waited_ns=1600 * MS, fresh_rto_ns=1600 * MS),
    ]
    found, _ = run(CODE, trace(timeouts=rows))
    assert [f.values["long_timer_cause"] for f in found] == ["rtt_sample"]
    assert found[0].values["saved_by_reset_s"] == pytest.approx(1.4)


def test_a_longer_timer_that_neither_backoff_nor_sample_explains_alone() -> None:
    """World 381034: the model saw a longer timeout, and the timer was longer than that, but neither by the factor."""
    rows = [timeout(10, 1200), timeout(20, 1580, silent_from_ns=1220 * MS, waited_ns=360 * MS, fresh_rto_ns=280 * MS)]
    (found,), _ = run(CODE, trace(timeouts=rows))
    assert found.values["long_timer_cause"] == "rtt_sample"


def test_a_timer_that_was_long_before() -> None:
    """World 381111: the model took the timeout before the first run for too short."""
    first = timeout(10, 1200, waited_ns=200 * MS, fresh_rto_ns=120 * MS)
    later = timeout(20, 1440, silent_from_ns=1220 * MS, waited_ns=220 * MS, fresh_rto_ns=220 * MS)
    assert run(CODE, trace(timeouts=[first, later])) == ([], [])


def test_a_timer_without_a_known_round_trip() -> None:
    """World 381064: the first wait shows the timer of the data; that of a SYN is no estimate."""
    unmeasured = {"fresh_rto_ns": None, "rto_ns": None}
    later = timeout(20, 1880, silent_from_ns=1220 * MS, waited_ns=660 * MS, **unmeasured)
    assert len(run(CODE, trace(timeouts=[timeout(10, 1200, **unmeasured), later]))[0]) == 1
    assert run(CODE, trace(timeouts=[timeout(10, 1200, rel_seq=0, **unmeasured), later])) == ([], [])


def test_acks_of_older_data_may_release_more_after_the_run() -> None:
    """World 381064: what the timer waited for was sent with the ACK that ended the run."""
    later = timeout(20, 9300, silent_from_ns=8300 * MS, waited_ns=1000 * MS, fresh_rto_ns=1000 * MS)
    copy = again(20, 9300, 1449, trigger="rto", since_previous_ns=8080 * MS)
    rows = [timeout(10, 1200), later]
    assert len(run(CODE, trace(timeouts=rows, segments=[copy]))[0]) == 1
    assert run(CODE, trace(timeouts=rows, segments=[{**copy, "since_previous_ns": 1000 * MS}])) == ([], [])


def test_no_finding_for_single_expiries() -> None:
    assert run(CODE, trace(timeouts=[timeout(10, 1200), timeout(20, 4000)])) == ([], [])


def test_without_an_ack_it_lasts_to_the_end() -> None:
    rows = [
        timeout(10, 1200, progress_ns=None, progress_packet=None),
        timeout(11, 1600, progress_ns=None, progress_packet=None, silent_from_ns=1200 * MS, backoff=1),
    ]
    found, _ = run(CODE, trace(timeouts=rows))
    assert found[0].t_end_ns == 10_000 * MS
    assert "no ACK of new data followed" in found[0].sentence


@kernel.needed
@pytest.mark.parametrize(
    "name", ["ackhold1000_newreno", "blackout_ack3", "blackout_data10", "ipv6_ackhold", "blackout3"]
)
def test_runs_in_kernel_captures(name: str) -> None:
    true = [r for r in kernel.truth(name)["flows"][0]["rto_runs"] if r["n"] >= 2]
    found = [f for f in kernel.of(kernel.found(name), CODE) if int(f.values["expiries_count"]) >= 2]
    assert [f.values["idle_s"] for f in found] == [pytest.approx(r["idle_s"], abs=0.02) for r in true]


@kernel.needed
def test_the_wait_after_the_blackout() -> None:
    late = kernel.of(kernel.found("blackout3"), CODE)[-1]
    assert late.values["long_timer_cause"] == "rtt_sample"
    # Its first 23 ms are the last of the silence before it, and are charged there.
    assert late.cost_s == pytest.approx(5.888, abs=0.01)


@kernel.needed
@pytest.mark.parametrize("name", ["applimited", "zerowin", "slowread", "ackhold120", "tail3_newreno", "rnd10_newreno"])
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert not kernel.of(kernel.found(name), CODE)
