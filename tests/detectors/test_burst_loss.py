"""burst_loss: bad frames in bursts, against independent errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors import changed, worlds
from tests.detectors.air import SUBJECT_AB
from tests.detectors.made import run
from wlanlens.detection.toolkit.bursts import Bursts, bad_frame_bursts, bursty_pairs
from wlanlens.detection.toolkit.trials import Trials

CODE = "burst_loss"


def test_values_are_those_of_the_study() -> None:
    """FER, mean and longest burst, lost packets: counted by hand over the sender's frames."""
    made = worlds.made("Gilbert 2.4", 3)
    finding = next(f for f in run(CODE, made.trace())[0] if f.subject == SUBJECT_AB)
    bad: list[bool] = []
    lost: list[bool] = []
    for m in sorted((m for m in made.msdus if m.kind == "data"), key=lambda m: m.packets[0]):
        bad += [True] * (m.attempts - 1) + [m.outcome == "dropped"]
        lost.append(m.outcome == "dropped")
    values = finding.values
    assert values["fer_share"] == pytest.approx(np.mean(bad), abs=1e-9)
    assert values["packet_loss_share"] == pytest.approx(np.mean(lost), abs=1e-9)
    for flags, mean, longest in (
        (bad, "mean_burst_packets", "longest_burst_count"),
        (lost, "mean_lost_burst_packets", "longest_lost_burst_count"),
    ):
        runs = [len(run) for run in "".join("x" if f else " " for f in flags).split()]
        assert values[mean] == pytest.approx(np.mean(runs))
        assert values[longest] == max(runs)
    assert values["bad_to_good_share"] == pytest.approx(1 / float(values["mean_burst_packets"]))


def test_bursts_of_one_direction_make_those_of_the_other_likely() -> None:
    """Both directions cross one channel: what alone may be chance is not, beside a direction with bursts."""
    made = worlds.made("Gilbert 2.4", 3).trace()
    strict = {"chance_share": 1e-100}  # the ACKs' direction has a p-value of 1e-33
    alone, _ = run(CODE, made, **strict, reverse_chance_share=1e-100)
    both, _ = run(CODE, made, **strict)
    assert [f.subject for f in alone] == [SUBJECT_AB]
    assert len(both) == 2


def test_a_dead_link_shows_in_its_lost_packets() -> None:
    """A receiver that is off for seconds: every frame fails, so that no burst shows within that time."""
    world = worlds.fast(lambda rate, t, n: 0.0 if 4 < t < 8 else 0.995, limit=8, udp=True)  # noqa: ARG005
    finding = next(f for f in run(CODE, worlds.Air(world, 3).trace())[0] if f.subject == SUBJECT_AB)
    assert int(finding.values["longest_lost_burst_count"]) > 20
    assert 1.0 < finding.cost_s < 4.0


def test_missed_transmissions_are_undecided() -> None:
    made = worlds.made("independent, very deaf", 3).trace()
    found, undecided = run(CODE, made)
    assert not found
    assert len(undecided) == 1


@pytest.mark.parametrize("fate", [0, -1])
def test_a_pair_without_bad_frames_has_no_bursts(fate: int) -> None:
    numbers = np.arange(3)
    tried = Trials(np.full(3, 7), np.full(3, fate), numbers < 0, numbers, numbers, np.zeros(3, int), np.ones(3))
    found = bad_frame_bursts(tried, slice(0, 3), 100)
    assert (found.pair, found.bad, found.bursts, found.mean, found.cost_s) == (7, 0, 0, 0.0, 0.0)
    assert bursty_pairs({7: found}, 1.0, 0.001, 0.01) == set()


def test_frames_of_one_a_mpdu_are_one_trial() -> None:
    """Sixteen MPDUs that fail together are one bad frame, not a burst."""
    made = changed.aggregated(16, lost=np.random.default_rng(3).random(400) < 0.1)
    assert run(CODE, made) == ([], [])


def test_a_lone_ack_ends_a_burst() -> None:
    """The sniffer missed the last transmission and heard its ACK: the transmissions before it failed."""
    made = worlds.made("independent errors", 3).trace()
    table = made.table("exchanges")
    once = np.asarray(table.column("attempts").to_numpy()) == 1
    pick = np.flatnonzero(once)[::9]
    attempts = np.asarray(table.column("attempts").to_numpy()).copy()
    inferred = np.asarray(table.column("attempts_inferred").to_numpy()).copy()
    t_ack = np.asarray(table.column("t_ack_ns").to_numpy()).copy()
    attempts[pick], inferred[pick], t_ack[pick] = 2, 1, t_ack[pick] + 3_000_000
    by = [None if i not in set(pick.tolist()) else "lone_ack" for i in range(table.num_rows)]
    for name, values in (
        ("attempts", attempts),
        ("attempts_inferred", inferred),
        ("t_ack_ns", t_ack),
        ("inferred_by", by),
    ):
        table = changed.with_column(table, name, values)
    assert run(CODE, changed.replaced(made, exchanges=table)) == ([], [])


@pytest.mark.parametrize(("neighbours", "expected", "z", "shown"), [(233, 189.5, 9.6, True), (9, 2.9, 3.9, False)])
def test_frequent_errors_are_judged_by_their_own_spread(
    neighbours: int, expected: float, z: float, shown: bool
) -> None:
    """233 bad neighbours, where chance gives 189.5 with a spread of 4.5, are bursts; a Poisson spread of 13.8 hides them."""
    made = Bursts(
        0,
        slice(0, 400),
        400,
        280,
        47,
        27,
        (1, 2),
        neighbours=neighbours,
        expected=expected,
        z=z,
        cost_s=0.0,
        evidence=np.zeros(0),
    )
    assert (made.p_value <= 0.001) is shown
