"""Verdicts on retransmissions and timeouts from several captures, against the simulator's truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from wlanlens.simulation.simulate import Run, simulate

TAPS = (("sender", "air", "receiver"), ("air", "sender"), ("sender", "receiver"))


def with_spurious(run: Run) -> Any:
    """The data that passed the sender's capture point, in order, and whether an earlier copy of each had arrived."""
    truth = run.facts.packets.to_pandas()
    truth = truth[(truth.direction == "a2b") & (truth.len_bytes > 0) & truth.t_tap_ns.notna()]
    truth = truth.sort_values(["t_tap_ns", "id"])
    arrived: dict[int, bool] = {}
    spurious = []
    for row in truth.itertuples():
        spurious.append(arrived.get(row.rel_seq, False))
        arrived[row.rel_seq] = arrived.get(row.rel_seq, False) or row.fate == "delivered"
    return truth.assign(spurious=spurious)


@pytest.mark.parametrize("taps", TAPS, ids="+".join)
@pytest.mark.parametrize(("name", "least"), [("no_mac_retransmission", 60), ("obstructed_client", 50)])
def test_every_retransmission_has_the_right_verdict(
    tmp_path: Path, name: str, taps: tuple[str, ...], least: int
) -> None:
    """A packet heard on the air has not necessarily arrived."""
    run = simulate(name, tmp_path, seed=1, duration_s=20.0 if name == "obstructed_client" else 6.0)
    trace = wl.align([run.captures[tap] for tap in taps])
    segments = trace.leading().table("segments").to_pandas()
    segments = segments[(segments.direction == "a2b") & (segments.len > 0)].sort_values("packet")
    truth = with_spurious(run)
    assert len(segments) == len(truth)
    again = (segments.transmission == "retransmission").to_numpy()
    assert again.sum() > least
    said, by = segments.spurious[again], segments.spurious_evidence[again].astype(object)
    # For a few frames the sniffer does not show whether they were acknowledged.
    known = said.notna().to_numpy()
    assert known.mean() > (0.95 if taps == ("air", "sender") else 0.999)
    assert (said[known].astype(bool).to_numpy() == truth.spurious.to_numpy()[again][known]).all()
    assert "receiver" not in taps or (by == "other_capture").mean() > 0.9


def test_undecided_timeouts_are_decided(tmp_path: Path) -> None:
    run = simulate("obstructed_client", tmp_path, seed=1, duration_s=20.0)
    alone, together = (
        wl.align([run.captures[tap] for tap in taps]).leading().table("timeouts").to_pandas()
        for taps in (("sender",), ("sender", "air", "receiver"))
    )
    assert (alone.kind == "undecided").any()
    assert not (together.kind == "undecided").any()
    truth = with_spurious(run)
    for row in together.itertuples():
        # The timestamps are the truth's, in whole microseconds from the first packet.
        copies = truth[(truth.rel_seq == row.rel_seq) & (truth.t_tap_ns < row.t_ns)]
        assert (copies.fate == "delivered").any() == (row.kind in ("spurious", "ack_lost"))
    decided = together[together.kind_evidence.astype(object) == "other_capture"]
    assert set(decided.kind) == {"ack_lost"}
    assert decided.evidence_packet.isna().all()
