"""Ledger and verdict scored against the truth of a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import wlanlens as wl
from wlanlens.simulation.simulate import simulate
from wlanlens.validation.ledger_scoring import (
    LedgerScore,
    above,
    last_packets_ns,
    named,
    place,
    scores,
    share_right,
    spread,
    spread_of_worlds,
    true_ledger,
    verdict_score,
)
from wlanlens.validation.random_worlds import random_world

S = 1_000_000_000


def made(said: dict[str, int], *, where: str = "sender") -> LedgerScore:
    truth = {"path": 8 * S, "rto_wait": 2 * S}
    return LedgerScore(1, (where,), where, "a > b", truth, said)


def test_variation_is_the_share_of_life_in_a_wrong_category() -> None:
    assert made({"path": 8 * S, "rto_wait": 2 * S}).variation == 0
    assert made({"path": 10 * S}).variation == pytest.approx(0.2)
    assert made({"queue": 10 * S}).variation == 1
    assert made({}).variation == 1
    assert made({"path": 6 * S, "rto_wait": 2 * S}).variation == pytest.approx(0.2)
    assert made({"path": 10 * S}).worst == ("path", "rto_wait")
    assert spread([made({"path": 10 * S}), made({"path": 8 * S, "rto_wait": 2 * S})]) == pytest.approx((0.1, 0.19))
    assert spread([]) is None


def test_each_world_counts_once() -> None:
    right, wrong = made({"path": 8 * S, "rto_wait": 2 * S}), made({"queue": 10 * S})
    many = [replace(wrong, world=2)] * 9
    assert spread([right, *many]) == pytest.approx((1, 1))
    assert spread_of_worlds([right, *many]) == pytest.approx((0.5, 0.95))
    assert spread_of_worlds([]) is None


def test_what_is_unknown_is_not_wrong() -> None:
    partly = made({"path": 4 * S, "unknown": 4 * S, "application": S})
    assert (partly.known_ns, partly.right_ns) == (5 * S, 4 * S)
    assert share_right([partly]) == pytest.approx(0.8)
    assert share_right([made({"unknown": 10 * S})]) is None


def test_one_capture_does_not_divide_the_path() -> None:
    assert above({"usb": 1, "air_useful": 2, "air_retries": 3, "air_others": 4, "queue": 5}) == {"path": 10, "queue": 5}


@pytest.mark.parametrize(
    ("sentence", "causes"),
    [
        ("a > b took 5 s; it was application-limited for 2 s (40 %).", {"application"}),
        ("a > b took 5 s; it spent 2 s on 3 retransmission timeouts, all spurious; it spent 1 s in fast recovery.", {"timeouts"}),
        ("a > b took 5 s; it was limited by the receiver's window for 1 s (20 %); it waited 1 s for delayed ACKs.", {"receiver_window"}),
        ("a > b took 5 s; nothing in this capture slowed it: 5 s (100 %) path transfer.", {"none"}),
        ("a > b took 5 s; it spent 4 s (80 %) on recovery although nothing was lost; the rest: path transfer 1 s (20 %).", {"timeouts"}),
        ("", {"none"}),
    ],
)  # fmt: skip
def test_the_first_cause_of_a_sentence(sentence: str, causes: set[str]) -> None:
    assert causes <= named(sentence)
    assert not named(sentence) & ({"application", "receiver_window", "queue", "none"} - causes)


def test_a_world_is_scored_at_each_tap(tmp_path: Path) -> None:
    run = simulate("ack_holding", tmp_path, duration_s=5.0)
    (subject,) = {s.subject for s in scores(1, run.facts, wl.align([run.captures["sender"]]), ("sender",))}
    taps = [("sender",), ("air",), ("receiver",), ("sender", "air", "receiver")]
    assert [place(run.facts, tap, subject) for tap in taps] == ["sender", "air", "receiver", "together"]
    (score,) = scores(1, run.facts, wl.align([run.captures["sender"]]), ("sender",))
    assert score.variation < 0.1
    verdict = verdict_score(
        1, run.facts, wl.analyze(run.captures["sender"], out=tmp_path / "a", report=False).verdict.sentence, ("sender",)
    )
    assert verdict.cause == "timeouts"
    assert verdict.right
    assert not verdict_score(1, run.facts, "a > b; it was application-limited for 9 s.", ("sender",)).right


def test_a_connection_that_passes_no_tap_is_no_cause(tmp_path: Path) -> None:
    # Uploads of eight stations, of which one loses much time by timeouts; the sender's capture has another one only.
    run = simulate(random_world(312013, varied=True), tmp_path, seed=312013)
    assert verdict_score(1, run.facts, "", ("air",)).cause == "timeouts"
    assert verdict_score(1, run.facts, "", ("air",)).clear
    assert not verdict_score(1, run.facts, "", ("sender",)).clear


def test_what_never_reached_a_tap_is_no_cause_there(tmp_path: Path) -> None:
    # Nothing arrives any more from 3 s on: at the receiver the connection ends then.
    run = simulate("blackout", tmp_path, dead_s=60.0, duration_s=8.0)
    sentence = "a > b; nothing in this capture slowed it: the path took 3 s (96 %)."
    for tap, clear in (("sender", True), ("receiver", False)):
        last = last_packets_ns(wl.align([run.captures[tap]]))
        assert verdict_score(1, run.facts, sentence, (tap,), last).clear == clear
    assert verdict_score(1, run.facts, sentence, ("receiver",)).cause == "timeouts"


def test_no_tap_answers_for_what_stays_in_the_queue_of_its_host(tmp_path: Path) -> None:
    # 118 connections of one station, whose queue holds data that never passes the tap.
    run = simulate(random_world(361138, varied=True), tmp_path, seed=361138)
    trace = wl.align([run.captures["sender"]])
    last = last_packets_ns(trace)
    lives = {s.subject: s.life_ns for s in scores(1, run.facts, trace, ("sender",))}
    assert all(lives[subject] == sum(true_ledger(run.facts, ("sender",), last)[subject].values()) for subject in lives)
    shorter = [s for s in lives if lives[s] < sum(true_ledger(run.facts, ("sender",))[s].values())]
    assert len(shorter) > 10


def test_data_after_a_pause_that_is_lost_to_the_end_is_waited_for(tmp_path: Path) -> None:
    """World 365255: all was acknowledged, and the application paused; the router drops what it wrote then, and the timer's copy."""
    run = simulate(random_world(365255, varied=True), tmp_path, seed=365255)
    spent = true_ledger(run.facts)["10.0.0.2:40001 > 10.0.0.1:5001"]
    assert spent["rto_wait"] == 200_000_000
    assert spent["application"] == pytest.approx(135e6, rel=0.01)


def test_no_tap_answers_for_what_was_before_its_first_packet(tmp_path: Path) -> None:
    # The first SYN is lost on its way.
    run = simulate(random_world(391040, varied=True), tmp_path, seed=391040)
    (subject,) = true_ledger(run.facts)
    begins = {taps: sum(true_ledger(run.facts, taps)[subject].values()) for taps in ((), ("sender",), ("receiver",))}
    first, second = [
        p["t_made_ns"] for p in run.facts.packets.to_pylist() if p["rel_seq"] == 0 and p["direction"] == "a2b"
    ]
    assert begins[()] == begins[("sender",)]
    # The path delays what the sender did: from the sending of the second SYN on the tap shows it.
    assert begins[()] - begins[("receiver",)] == second - first > 0
