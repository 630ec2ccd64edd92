"""`wlanlens show DIR CAPTURE:PACKET`: the journey of one packet as text."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from wlanlens_cli import journey

import wlanlens as wl
from tests.captures import MIXED
from tests.warm import completed


def show(*arguments: object, columns: int = 120) -> subprocess.CompletedProcess[str]:
    return completed(Path.cwd(), "show", *arguments, COLUMNS=str(columns))


@pytest.fixture(scope="module")
def usb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("usb")
    run = wl.simulate("ack_holding_over_usb", out=folder, duration_s=6.0)
    return wl.analyze(list(run.captures.values()), out=folder / "out", report=False).out


@pytest.fixture(scope="module")
def thrashing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("thrashing")
    run = wl.simulate("rate_thrashing", out=folder, duration_s=10.0)
    return wl.analyze(list(run.captures.values()), out=folder / "out", report=False).out


def test_a_journey_names_every_point_frame_and_stage(usb: Path) -> None:
    rows = wl.load(usb).trace.table("links").to_pandas()
    row = rows[(rows.direction == "a2b") & (rows.payload_bytes > 0) & (rows.receiver_outcome == "seen")].iloc[20]
    numbers = {point["capture"]: int(point["packet"]) for point in row.points}
    text = show(usb, f"sender.pcap:{numbers['sender.pcap']}").stdout
    assert re.search(r"^10\.0\.0\.1:40000 > 10\.0\.0\.2:5001, data \d+ to \d+ \(1448 bytes\), t = ", text)
    for capture, number in numbers.items():
        point = capture.removesuffix(".pcap")
        assert re.search(rf"^  {point} +{re.escape(capture)} +{number}  \d+\.\d{{9}}  seen$", text, re.M)
    for stage in ("queue", "bus", "air_wait", "air", "wire"):
        lasted = getattr(row, f"{stage}_ns") / 1e6
        within = getattr(row, f"{stage}_bound_ns") / 1e6
        open_ = r"\*" if lasted <= within else " "
        assert re.search(rf"^  {stage} .* {lasted:.3f} ms{open_} +{within:.3f} ms  \|[ #]+\|$", text, re.M), stage
    assert re.search(r"transmission 1: frame \d+, 11 Mbit/s", text)
    assert "it may have taken no time" in text
    usb_records = f"{int(row.usb_submit_packet)}, {int(row.usb_complete_packet)}"
    assert re.search(rf"usb\.pcap +frame\.number in {{{usb_records}}}", text)
    # The same journey by any of its records, and by the point's name.
    for other in (
        f"usb:{int(row.usb_complete_packet)}",
        f"air:{int(row.mac_ack_packet)}",
        f"receiver:{numbers['receiver.pcap']}",
    ):
        assert show(usb, other).stdout == text


def test_lines_are_as_wide_as_the_terminal(usb: Path) -> None:
    for columns, bars in ((82, False), (110, True), (200, True)):
        text = show(usb, "sender:35", columns=columns).stdout
        assert bars <= ("#" in text)
        assert max(map(len, text.splitlines())) <= columns


def test_a_lost_packet_says_after_which_point(thrashing: Path) -> None:
    trace = wl.load(thrashing).trace
    rows = trace.table("links").to_pandas()
    row = rows[(rows.direction == "a2b") & (rows.air_outcome == "lost_after")].iloc[0]
    number = next(int(p["packet"]) for p in row.points if p["capture"] == "sender.pcap")
    (lines,) = journey.blocks(trace, "sender.pcap", number, 120)
    text = "\n".join(lines)
    assert re.search(r"^  air .* seen, and at no later point: lost after this point$", text, re.M)
    assert re.search(r"^  receiver +receiver\.pcap +- +not seen: lost before this point$", text, re.M)
    assert text.count("transmission ") == len(row.transmissions_heard) > 1
    assert "no MAC acknowledgment was heard" in text
    assert re.search(r"^\d+ copies of this segment: .*\(this\)", text, re.M)


@pytest.mark.parametrize(
    ("packet", "status", "said"),
    [
        ("35", 2, "several journeys have a packet 35: say which, one of sender.pcap:35"),
        ("nowhere:35", 2, "the analysis has sender.pcap"),
        ("sender:none", 2, "not a packet number"),
        ("sender:0", 2, "not a packet number"),
        ("sender:99999999", 3, "packet 99999999 of sender.pcap"),
    ],
)
def test_errors(usb: Path, packet: str, status: int, said: str) -> None:
    done = show(usb, packet)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_analysis_of_one_capture_shows_its_packets(tmp_path: Path) -> None:
    wl.analyze(MIXED, out=tmp_path / "one", report=False)
    done = show(tmp_path / "one", f"{MIXED.name}:5")
    assert done.returncode == 0
    assert "###[ TCP ]###" in done.stdout
