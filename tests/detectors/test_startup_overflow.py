"""startup_overflow: slow start overshot a buffer of an estimated size; other early losses do not count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wlanlens as wl
from tests import kernel
from tests.detectors.made import MSS, ack, again, data, flows, run, trace
from wlanlens.detection.toolkit import Facts, first_losses, first_reaction, may_have_first_losses, unseen_losses

CODE = "startup_overflow"
RTT_MS, SPACE_MS = 20, 2


def started(lost: tuple[int, ...], *, queued: bool = True) -> list[dict[str, Any]]:
    """Sixty segments, 2 ms apart, some lost in the first window and retransmitted once, then no more losses.

    `queued`: the round trip grows up to the first loss, as a queue fills; else it grows on afterwards.
    """
    rows, packet = [], 1
    for i in range(60):
        rows.append(data(packet, SPACE_MS * i, 1 + i * MSS, flight_bytes=(i + 1) * MSS))
        packet += 1
        wait = RTT_MS + (2 * min(i, lost[0] if lost else 0) if queued else 2 * i)
        if i not in lost and (not lost or i < lost[0]):
            t = SPACE_MS * i + wait
            rows.append(ack(1000 + i, t, 1 + (i + 1) * MSS, rtt_ns=int(wait * 1e6), rtt_ambiguous=False, dupacks=0))
    for k, i in enumerate(lost):
        sent = SPACE_MS * i
        t = 90 + 20 * k
        gap = int((t - sent) * 1e6)
        rows.append(
            again(
                2000 + k,
                t,
                1 + i * MSS,
                copy=1,
                spurious=False,
                since_first_ns=gap,
                since_previous_ns=gap,
                trigger="fast",
            )
        )
        following = lost[k + 1] if k + 1 < len(lost) else 60
        rows.append(ack(2100 + k, t + RTT_MS, 1 + following * MSS, dupacks=0))
    later = [
        row
        for j in range(400)
        for row in (
            data(3000 + j, 300 + SPACE_MS * j, 1 + (60 + j) * MSS, flight_bytes=10 * MSS),
            ack(4000 + j, 300 + SPACE_MS * j + RTT_MS, 1 + (61 + j) * MSS, rtt_ns=(RTT_MS + (20 if queued else 160)) * 1_000_000,
                rtt_ambiguous=False, dupacks=0),
        )
    ]  # fmt: skip
    return sorted(rows + later, key=lambda row: (row["t_ns"], row["packet"]))


def found(lost: tuple[int, ...], **more: Any) -> list[wl.Finding]:
    return run(CODE, trace(flows(), segments=started(lost, **more)))[0]


def test_every_second_segment_lost_at_a_full_queue() -> None:
    (finding,) = found((12, 14, 16, 18, 20, 22))
    assert finding.values["losses_count"] == 6
    assert finding.t_start_ns == 2 * 12 * 1_000_000
    assert finding.t_end_ns == (90 + 5 * 20 + RTT_MS) * 1_000_000


LOST = (12, 14, 16, 18, 20, 22)


def test_a_tail_loss_probe_is_no_reaction_to_a_loss() -> None:
    """A probe of the first segment, which had arrived: what is lost later is still of the first window."""
    probe = again(5, 9, 1, copy=1, spurious=True, since_first_ns=9_000_000, since_previous_ns=9_000_000)
    rows = [*started(LOST), {**probe, "trigger": "tail_loss_probe"}]
    (finding,) = run(CODE, trace(flows(), segments=sorted(rows, key=lambda row: row["t_ns"])))[0]
    assert finding.values["losses_count"] == len(LOST)


def test_a_tap_that_missed_packets_does_not_number_copies() -> None:
    """World 350002: a queue before the tap drops the rest of the first window."""
    rows = started(LOST)
    for row in rows:
        row.pop("copy", None)
    assert [f.values["losses_count"] for f in run(CODE, trace(flows(), segments=rows))[0]] == [len(LOST)]


@pytest.mark.parametrize(("spurious", "counts"), [(False, (1, 0)), (None, (0, 1))])
def test_retransmissions_of_undecided_trigger(spurious: bool | None, counts: tuple[int, int]) -> None:
    """Those that were needed show losses; where that is unknown, too, so is the case."""
    rows = started(LOST)
    for row in [row for row in rows if row["transmission"] == "retransmission"][1:]:
        row |= {"spurious": spurious, "trigger": "undecided"}
    findings, open_ = run(CODE, trace(flows(), segments=rows))
    assert (len(findings), len(open_)) == counts


@pytest.mark.parametrize(("trigger", "counts"), [("sack", True), ("go_back_n", False)])
def test_what_later_arrivals_asked_for_was_lost_unless_shown_otherwise(trigger: str, counts: bool) -> None:
    """All but the first: whether they were spurious is unknown. A timer retransmits what had arrived, too: undecided (world 363332)."""
    rows = started(LOST)
    copies = [row for row in rows if row["transmission"] == "retransmission"]
    for row in copies[1:]:
        row |= {"spurious": None, "trigger": trigger}
    findings, open_ = run(CODE, trace(flows(), segments=rows))
    assert (bool(findings), bool(open_)) == (counts, not counts)


def test_a_queue_that_is_never_as_long_again() -> None:
    """Later round trips have 5 ms of queueing delay; those just before the first loss up to 24 ms."""
    rows = started(LOST)
    for row in rows:
        if row["packet"] >= 4000:
            row["rtt_ns"] = (RTT_MS + 5) * 1_000_000
    assert len(run(CODE, trace(flows(), segments=rows))[0]) == 1
    # One packet that was held is no queue.
    held = next(row for row in rows if row["packet"] == 1000 + LOST[0] - 1)
    for row in rows:
        if 1000 <= row["packet"] < held["packet"]:
            row["rtt_ns"] = (RTT_MS + 5) * 1_000_000
    assert run(CODE, trace(flows(), segments=rows))[0] == []


def test_a_delayed_ack_before_the_first_loss_is_no_queue() -> None:
    """The segment before the first loss is acknowledged 200 ms late; the round trips before show how long the queue was."""
    rows = started(LOST)
    late = next(row for row in rows if row["packet"] == 1000 + LOST[0] - 1)
    late["t_ns"] += 200 * 1_000_000
    late["rtt_ns"] += 200 * 1_000_000
    (finding,) = run(CODE, trace(flows(), segments=sorted(rows, key=lambda row: row["t_ns"])))[0]
    assert finding.values["queue_ms"] < 40


def test_no_finding_where_packets_changed_their_order() -> None:
    """One of the retransmissions is known to be spurious; of the others nothing is known."""
    rows = started(LOST)
    copies = [row for row in rows if row["transmission"] == "retransmission"]
    for row in copies:
        row |= {"spurious": None, "trigger": "sack"}
    assert len(run(CODE, trace(flows(), segments=rows))[0]) == 1
    copies[2]["spurious"] = True
    assert run(CODE, trace(flows(), segments=rows))[0] == []


def test_it_lasts_until_what_a_timer_retransmitted_was_acknowledged() -> None:
    rows = started(LOST)
    copies = [row for row in rows if row["transmission"] == "retransmission"]
    copies[-1] |= {"spurious": None, "trigger": "go_back_n"}
    (finding,) = run(CODE, trace(flows(), segments=rows))[0]
    assert (finding.values["losses_count"], finding.t_end_ns) == (5, (90 + 5 * 20 + RTT_MS) * 1_000_000)


def test_no_finding_for_two_losses() -> None:
    assert found((12, 14)) == []


def test_no_finding_when_the_queue_grows_further() -> None:
    assert found((12, 14, 16, 18, 20, 22), queued=False) == []


def test_a_burst_of_errors_when_the_queue_is_longest_is_undecided() -> None:
    """All of six segments lost in a row: a full queue takes some (world 340168), a burst of errors none."""
    findings, (case,) = run(CODE, trace(flows(), segments=started((12, 13, 14, 15, 16, 17))))
    assert findings == []
    assert "burst of errors" in case.sentence
    assert run(CODE, trace(flows(), segments=started((12, 13, 14, 15, 16, 17), queued=False))) == ([], [])


def test_thresholds_are_keywords() -> None:
    made = trace(flows(), segments=started((12, 14, 16, 18, 20, 22)))
    assert run(CODE, made, min_losses_count=7)[0] == []
    assert run(CODE, made, chance_share=1e-30)[0] == []


@pytest.mark.parametrize("packets", [5, 7, 15, 30])
def test_the_estimated_buffer_size(packets: int, tmp_path: Path) -> None:
    made = wl.simulate("startup_overflow", tmp_path, buffer_packets=packets, loss_rate=0.0, taps=("sender",))
    (finding,) = wl.detect(wl.align([made.captures["sender"]]), only=[CODE])
    (true,) = [f for f in made.truth if f.code == CODE]
    assert finding.t_start_ns == pytest.approx(true.t_start_ns, abs=10_000_000)
    assert finding.t_end_ns == pytest.approx(true.t_end_ns, abs=10_000_000)
    assert finding.values["losses_count"] == true.values["losses_count"]
    assert finding.values["buffer_packets"] == pytest.approx(packets, abs=max(1, packets // 5))


@pytest.mark.parametrize(
    ("scenario", "changed"),
    [("startup_overflow", {"buffer_packets": 100_000}), ("early_random_loss", {}), ("early_drop_at_buffer", {})],
)
def test_no_finding_in_simulations_without_overflow(scenario: str, changed: dict[str, Any], tmp_path: Path) -> None:
    for seed in range(1, 4):
        made = wl.simulate(scenario, tmp_path / str(seed), seed=seed, taps=("sender",), **changed)
        assert [f for f in made.truth if f.code == CODE] == []
        assert list(wl.detect(wl.align([made.captures["sender"]]), only=[CODE])) == []


def test_after_the_queue_undecided(tmp_path: Path) -> None:
    made = wl.simulate("startup_overflow", tmp_path, loss_rate=0.0, taps=("receiver",))
    states = {s.code: s for s in wl.detect(wl.align([made.captures["receiver"]]), only=[CODE]).states}
    assert states[CODE].undecided == 1


@kernel.needed
@pytest.mark.parametrize(("name", "packets"), [("bloat100", 100), ("buf7_newreno", 7)])
def test_overflows_in_kernel_captures(name: str, packets: int) -> None:
    (finding,) = kernel.of(kernel.found(name), CODE)
    lost = [r["prior"][0][0] for r in kernel.truth(name)["flows"][0]["retransmission_list"] if r["needed"]]
    assert finding.t_start_ns / 1e9 - kernel.offset_s(name) == pytest.approx(min(lost), abs=0.005)
    assert finding.values["buffer_packets"] == pytest.approx(packets, rel=0.2)


@kernel.needed
@pytest.mark.parametrize(
    "name", ["burst_cubic", "burst_newreno", "rnd2_cubic", "rnd10_newreno", "loss3_newreno", "blackout3"]
)
def test_no_finding_in_other_kernel_captures(name: str) -> None:
    assert kernel.of(kernel.found(name), CODE) == []


def test_lost_segments_that_are_no_first_transmissions() -> None:
    """Nothing that the tap calls a first transmission was sent between the first loss and its retransmission."""
    rows = [row for row in started((20, 21, 22, 23, 24)) if not 20 < row["packet"] <= 60]
    assert not run(CODE, trace(segments=rows))[0]


def test_undecided_where_chance_explains_the_losses() -> None:
    made = trace(flows(), segments=started((12, 14, 16, 18)))
    assert len(run(CODE, made)[0]) == 1
    findings, undecided = run(CODE, made, chance_share=0.0)
    assert not findings
    assert [u.count for u in undecided] == [1]
    assert "frequent" in undecided[0].sentence


@pytest.mark.parametrize("seed", range(6))
def test_no_connection_with_first_losses_is_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, packet = [], 1
    for flow in range(12):
        for i in range(20):
            rows.append({**data(packet, i, 1 + i * MSS), "flow": flow})
            packet += 1
        for i in sorted(rng.choice(20, 6, replace=False).tolist()):
            sent_before = int(rng.integers(1, 30)) * 1_000_000
            rows.append(
                {
                    **again(
                        packet, 20 + 2 * i, 1 + i * MSS, since_previous_ns=sent_before if rng.random() < 0.7 else None
                    ),
                    "flow": flow,
                    "lost_before_tap": bool(rng.random() < 0.3),
                    "trigger": str(rng.choice(["sack", "undecided"])),
                    "spurious": False,
                }
            )
            packet += 1
    made = trace(segments=rows)
    facts = Facts.of(made)
    columns = ["t_ns", "rel_seq", "trigger", "since_previous_ns", "spurious", "lost_before_tap", "packet"]
    copies = facts.rows("segments", columns, where={"transmission": ("retransmission",)})
    sent = facts.rows("segments", ["t_ns", "rel_seq"], where={"transmission": ("first",)})
    kept = set(may_have_first_losses(copies, sent, 3).tolist())
    for key in np.unique(copies.key).tolist():
        mine = copies.of_key(key)
        _, reaction = first_reaction(mine)
        most = max(len(first_losses(mine, reaction, maybe=True)), unseen_losses(sent.of_key(key), mine, reaction))
        assert key in kept or most < 3
    assert len(kept) < 12
