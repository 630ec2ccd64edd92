"""The captures that facts come from: one a connection for detectors, one a direction for the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

import wlanlens as wl
from wlanlens.ledger import ledger
from wlanlens.simulation.simulate import simulate
from wlanlens.trace import Trace


def seconds(trace: Trace) -> dict[str, dict[str, int]]:
    """The ledger of each direction, ns by category."""
    out: dict[str, dict[str, int]] = {}
    for row in ledger.summary(trace.table("ledger")).to_pylist():
        out.setdefault(trace.subject(row["flow"], row["direction"]), {})[row["category"]] = row["ns"]
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Requests to a server, and its answers: each host's capture is at the sender of one direction."""
    made = tmp_path_factory.mktemp("both")
    simulate("browsing", made, seed=3, duration_s=4.0)
    return made


def test_each_direction_is_that_of_the_capture_at_its_sender(folder: Path) -> None:
    together = seconds(wl.align([folder / "sender.pcap", folder / "receiver.pcap"]))
    alone = {tap: seconds(wl.align([folder / f"{tap}.pcap"])) for tap in ("sender", "receiver")}
    assert len({subject.partition(":")[0] for subject in together}) == 2
    for subject, categories in together.items():
        tap = "sender" if subject.startswith("10.0.0.1") else "receiver"
        own = alone[tap][subject]
        # The SYN left its host before it reached the other.
        assert (categories.pop("handshake") > own.pop("handshake")) == (tap == "receiver")
        assert categories == own
    # The captures differ, so that the choice matters.
    assert all(alone["sender"][subject] != alone["receiver"][subject] for subject in together)


def test_a_run_has_the_same_ledger(folder: Path, tmp_path: Path) -> None:
    captures = [folder / "sender.pcap", folder / "receiver.pcap"]
    run = wl.analyze(captures, out=tmp_path / "out", report=False)
    assert seconds(run.trace) == seconds(wl.align(captures))
    # A connection has one leading capture, whichever capture the facts of a direction come from.
    leading = {row["flow"]: row["capture"] for row in run.trace.table("segments").to_pylist()}
    assert {(row["flow"], row["capture"]) for row in run.ledger.to_pylist()} <= set(leading.items())
