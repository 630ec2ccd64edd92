"""usb_bottleneck: the modes of a UHCI bus, and look-alikes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import cycle, islice
from typing import Any

import pytest

from tests.rows import table
from wlanlens.detection.finding import Finding, Undecided
from wlanlens.registry import units
from wlanlens.trace import Trace

CODE = "usb_bottleneck"
MS = 1_000_000
#: A TCP segment of 1448 bytes with its IP and Ethernet headers and the adapter's 60 bytes: 25 transactions.
SEGMENT = 1574
#: The interrupt at a frame's end, and what the driver needs to submit the next transfer.
INTERRUPT, DRIVER = 20_000, 40_000


def urbs(
    services_ms: Iterable[float], *, queue: int = 1, size: int = SEGMENT, gap_ms: float = 0.0, **more: Any
) -> list[dict[str, Any]]:
    """Transfers one after the other, of these services; `queue` are outstanding, with `gap_ms` between them."""
    rows: list[dict[str, Any]] = []
    done = 0
    for i, service in enumerate(services_ms):
        begin = done + int(gap_ms * MS)
        end = begin + int(service * MS)
        submit = begin + DRIVER if queue == 1 else rows[i - queue]["t_complete_ns"] + DRIVER if i >= queue else 0
        rows.append(
            {
                "packet": 2 * i + 2, "bus": 1, "device": 7, "endpoint": 2, "direction": "out", "transfer": "bulk",
                "submit_packet": 2 * i + 1, "complete_packet": 2 * i + 2, "t_submit_ns": submit,
                "t_complete_ns": end + INTERRUPT, "asked_bytes": size, "done_bytes": size, "outcome": "completed",
                "status": 0, "queue_depth": min(i + 1, queue), **more,
            }
        )  # fmt: skip
        done = end
    return rows


def run(rows: list[dict[str, Any]], **thresholds: Any) -> tuple[list[Finding], list[Undecided]]:
    duration = max((row["t_complete_ns"] for row in rows), default=0)
    trace = Trace.of_tables({"urbs": table("urbs", rows)}, duration_ns=duration)
    out = list(units("detectors")[CODE](trace, **thresholds))
    return [x for x in out if isinstance(x, Finding)], [x for x in out if isinstance(x, Undecided)]


def pattern(*services: float, many: int = 200) -> list[float]:
    return list(islice(cycle(services), many))


def whole_frames(mean_ms: float, sd_ms: float, many: int = 200) -> list[float]:
    """Services of a device that waits for the air: any length, reported at a frame's end."""
    rng = random.Random(1)  # noqa: S311  no secret
    return [max(2, round(rng.gauss(mean_ms, sd_ms))) for _ in range(many)]


@pytest.mark.parametrize(
    ("services", "queue", "mode", "queueing", "tcp_mbps"),
    [
        # The study of 802.11b adapters on USB, table 2: throughput of TCP payload.
        (pattern(26, 26, 27), 1, "breadth first, no reclamation", "one at a time", (0.43, 0.45)),
        (pattern(25), 4, "breadth first, no reclamation", "queued", (0.455, 0.465)),
        (pattern(3, 5), 1, "depth first, no reclamation", "one at a time", (2.85, 2.95)),
        (pattern(4), 1, "depth first, no reclamation", "one at a time", (2.85, 2.95)),
        (pattern(2, 4), 4, "depth first, no reclamation", "queued", (3.8, 3.9)),
        (pattern(3), 4, "depth first, no reclamation", "queued", (3.8, 3.9)),
        (pattern(2), 4, "depth first, no reclamation", "queued", (5.75, 5.85)),
        (pattern(2), 1, "full speed, one transfer at a time", "one at a time", (5.75, 5.85)),
    ],
)
def test_the_modes_without_reclamation(
    services: list[float], queue: int, mode: str, queueing: str, tcp_mbps: tuple[float, float]
) -> None:
    (finding,), undecided = run(urbs(services, queue=queue))
    assert not undecided
    assert (finding.values["mode"], finding.values["queueing"]) == (mode, queueing)
    assert tcp_mbps[0] <= float(finding.values["throughput_bps"]) / 1e6 * 1448 / SEGMENT <= tcp_mbps[1]
    assert finding.subject == "USB bus 1 device 7 endpoint 2 out"
    # Against a bus that uses all of a frame: 25 of 19 transactions.
    assert finding.cost_s == pytest.approx(sum(services) / 1e3 - len(services) * SEGMENT / 1216e3, rel=0.01)
    assert finding.rows("urbs")
    assert mode in finding.sentence


def test_transfers_of_many_lengths() -> None:
    sizes = [200, 700, 1574, 640, 1574]
    rows: list[dict[str, Any]] = []
    for i in range(100):
        size = sizes[i % len(sizes)]
        shift = rows[-1]["t_complete_ns"] - INTERRUPT if rows else 0
        (row,) = urbs([-(-size // 64) + 1], size=size)
        row |= {
            "packet": i + 1,
            "t_submit_ns": row["t_submit_ns"] + shift,
            "t_complete_ns": row["t_complete_ns"] + shift,
        }
        rows.append(row)
    (finding,), _ = run(rows)
    assert finding.values["mode"] == "breadth first, no reclamation"


@pytest.mark.parametrize(("per_ms", "mode"), [(1180, "full speed, saturated"), (50_000, "high speed, saturated")])
def test_a_full_bus(per_ms: int, mode: str) -> None:
    size = 4 * per_ms
    (finding,), _ = run(urbs([4 + 0.2 * ((i * 7) % 3 - 1) for i in range(100)], queue=4, size=size))
    assert finding.values["mode"] == mode


@pytest.mark.parametrize(
    "rows",
    [
        # An application that sends occasionally.
        urbs(pattern(2), gap_ms=40),
        urbs(pattern(26), gap_ms=40),
        urbs(pattern(2), gap_ms=3),
        # At the pace of one at a time, but sometimes longer: the device accepts no more.
        urbs(pattern(2, 2, 2, 3)),
        # 11 Mbit/s: two or three frames a segment, depending on backoff.
        urbs(whole_frames(2.25, 0.4), queue=4),
        # 1 and 2 Mbit/s; and an average that would be one transaction a frame.
        urbs(whole_frames(14.2, 1.0), queue=4),
        urbs(whole_frames(7.5, 0.6), queue=4),
        urbs(whole_frames(25.6, 4.0), queue=4),
        # A fast bus that waits for the air in microframes.
        urbs([2.3 + 0.31 * (i % 7) for i in range(200)], queue=4),
        # Far from what a high-speed bus can carry.
        urbs(pattern(1), queue=8, size=20_000),
        # Too few, and none.
        urbs(pattern(26, many=19)),
        [],
    ],
    ids=lambda rows: str(len(rows)),
)  # fmt: skip
def test_look_alikes_are_silent(rows: list[dict[str, Any]]) -> None:
    assert run(rows) == ([], [])


def test_in_transfers_and_other_kinds_are_ignored() -> None:
    for change in ({"direction": "in"}, {"transfer": "interrupt"}, {"transfer": "isochronous"}):
        assert run(urbs(pattern(26), **change)) == ([], [])
    orphans = [{**row, "t_complete_ns": None} for row in urbs(pattern(26))]
    trace = Trace.of_tables({"urbs": table("urbs", orphans)}, duration_ns=MS)
    assert list(units("detectors")[CODE](trace)) == []


def test_received_frames_explain_longer_services() -> None:
    """A received frame of 1500 bytes takes two frames of the bus: the services do not repeat, but each is the bus's (world 340324)."""
    rng = random.Random(2)  # noqa: S311  no secret
    busy = [rng.random() < 0.3 for _ in range(200)]
    rows = urbs([4 if received else 3 for received in busy], queue=4)
    ins = [
        {**row, "endpoint": 1, "direction": "in", "done_bytes": 1568, "packet": 1000 + row["packet"]}
        for row, received in zip(rows, busy, strict=True)
        if received
    ]
    (finding,), undecided = run([*rows, *ins])
    assert not undecided
    assert finding.values["mode"] == "depth first, no reclamation"
    # Where the endpoint of received frames is on another bus, nothing explains them.
    found, (case,) = run([*rows, *({**row, "bus": 2} for row in ins)])
    assert not found
    assert case.spans == ((finding.subject, 0, finding.t_end_ns),)


def test_a_device_that_limits_the_bus_is_undecided() -> None:
    found, (undecided,) = run(urbs(whole_frames(3.6, 0.9), queue=4))
    assert not found
    assert "device" in undecided.sentence
    assert undecided.subject == "USB bus 1 device 7 endpoint 2 out"


def test_each_endpoint_is_judged_separately() -> None:
    slow, fast = urbs(pattern(26)), urbs(whole_frames(2.25, 0.4), device=8, queue=4)
    rows = [{**row, "packet": i + 1} for i, row in enumerate([*slow, *fast])]
    (finding,), _ = run(rows)
    assert finding.subject.startswith("USB bus 1 device 7")


def test_pauses_of_the_application_cost_nothing() -> None:
    rows = urbs(pattern(26, many=100))
    late = 60_000 * MS
    rows += [
        {**row, "packet": row["packet"] + 200, **{t: row[t] + late for t in ("t_submit_ns", "t_complete_ns")}}
        for row in rows
    ]
    (finding,), _ = run(rows)
    assert finding.values["busy_s"] == pytest.approx(5.2, rel=0.01)
    assert finding.cost_s < 5.2


@pytest.mark.parametrize(
    "incomplete", [{"done_bytes": 0, "asked_bytes": 0}, {"t_submit_ns": None, "submit_packet": None}]
)
def test_no_finding_without_a_whole_transfer(incomplete: dict[str, Any]) -> None:
    """USBPcap records of an endpoint of which no transfer is captured from submission to completion, or carries data."""
    assert run([{**row, **incomplete} for row in urbs([25.0] * 200)]) == ([], [])
