"""Facts of each tap alone against the truth of random worlds. `python -m tests.flow.random_facts 1000` scores more."""

from __future__ import annotations

import pytest

from tests.flow.fact_scoring import RIGHT, Tally, score_world
from tests.flow.random_facts import MOST, scored
from wlanlens.validation.random_worlds import random_world

#: Worlds for which a test has time.
WORLDS = 60

#: Worlds with a fact that was wrong once: seed, wild, tap, and what of it must not be wrong again.
MENDED = {
    "a repair that new data of the same tick overtook": (180218, False, "receiver", "segments.trigger"),
    "a sender that waits for F-RTO and ignores the echo": (180183, False, "sender", "segments.trigger"),
    "slow start goes on after a pause that was no timer": (180028, False, "receiver", "segments.trigger"),
    "a SYN+ACK as late as a timer": (181042, True, "sender", "segments.backoff"),
    "a hole's fill answered sooner than delayed ACKs": (191162, True, "receiver", "segments.spurious"),
    "a DSACK of a copy of acknowledged bytes": (191078, True, "receiver", "segments.spurious"),
    "a copy that waited in a queue": (191121, True, "air", "segments.trigger"),
    "a SACK sample ends the backoff": (191094, True, "air", "segments.trigger"),
    "an original that came many windows late": (290108, False, "receiver", "segments.transmission of new data"),
    "RACK repairs the last segment": (290058, False, "receiver", "segments.trigger"),
    "F-RTO sends as many new segments as slow start allows": (270053, False, "sender", "segments.trigger"),
    "an expiry while F-RTO waits keeps the first timestamp": (274029, False, "sender", "recoveries"),
    "a handshake that waited in a queue": (270093, False, "receiver", "segments.trigger"),
    "a queue that drained since the first round trips": (270093, False, "sender", "segments.spurious"),
    "round trips that wait for the air": (270088, False, "sender", "segments.spurious"),
    "a DSACK sooner than delayed ACKs": (272001, True, "sender", "segments.spurious"),
    "ids that other flows of the host count, too": (270070, False, "receiver", "segments.trigger"),
    "a copy of bytes that never passed the tap, by its own clock": (270068, False, "receiver", "segments.trigger"),
    "originals that passed before an expiry below them": (274086, False, "receiver", "segments.trigger"),
    "new data that a repair overtook": (274126, False, "receiver", "segments.trigger"),
    "no answer to an ACK that undid the timeout": (274027, False, "receiver", "segments.trigger"),
    "a sample by timestamps ends the backoff": (274054, False, "receiver", "segments.trigger"),
    "a first segment that a slow line lets the receiver acknowledge alone": (271047, False, "sender", "timeouts.kind"),
    "a queue below TCP drops repairs before the tap": (272057, True, "sender", "segments.trigger"),
    "more outstanding segments than the scoreboard keeps apart": (277062, True, "sender", "segments.copy"),
    "expiries after one that may have been another cause": (277001, True, "sender", "segments.backoff"),
    "segments of one tick that a slow line separates": (276030, False, "sender", "timeouts.kind"),
    "F-RTO sends more than two new segments": (272048, True, "receiver", "segments.trigger"),
}


@pytest.fixture(scope="module")
def tally() -> Tally:
    return scored(WORLDS)


def test_every_fact_is_scored_at_every_tap(tally: Tally) -> None:
    for tap in ("sender", "receiver", "air"):
        facts = {key[2] for key in tally.counts if key[0] == tap and key[3] == RIGHT}
        assert {"segments.transmission of new data", "segments.trigger", "segments.spurious", "timeouts"} <= facts
        assert {"segments.transmission of a retransmission", "recoveries", "recoveries.spurious"} <= facts
    assert sum(n for key, n in tally.counts.items() if key[2] == "segments.transmission of a copy") > 1000
    assert {key[1] for key in tally.counts} == {"neither", "sack", "timestamps", "timestamps+sack"}


def test_first_transmissions_are_no_retransmissions_at_the_sender(tally: Tally) -> None:
    assert not [w for w in tally.wrong if w.tap == "sender" and "new data" in w.fact]


def test_first_transmissions_are_no_retransmissions_at_the_receiver(tally: Tally) -> None:
    assert not [w for w in tally.wrong if w.tap == "receiver" and "new data" in w.fact]


def test_what_both_captures_decide() -> None:
    """A path that reorders, and receivers that drop originals with an older timestamp (PAWS)."""
    together = Tally()
    for seed in (33006, 33024):
        together.add(score_world(random_world(seed, wild=False), together=True))
    decided = sum(n for key, n in together.counts.items() if key[0] == "sender" and key[3] == RIGHT)
    assert decided > 100
    assert not [w for w in together.wrong if w.tap == "sender"]


def test_facts_are_right_or_undecided(tally: Tally) -> None:
    assert MOST * len(tally.wrong) <= sum(tally.counts.values())


@pytest.mark.parametrize("family", MENDED)
def test_mended_families_stay_right(family: str) -> None:
    seed, wild, tap, fact = MENDED[family]
    scored_world = score_world(random_world(seed, wild=wild))
    assert any(key[0] == tap and key[2] == fact for key in scored_world.counts)
    assert not [w for w in scored_world.wrong if (w.tap, w.fact) == (tap, fact)]
