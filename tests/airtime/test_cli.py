"""Sentences about the air on the terminal, for a radiotap capture made by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import pcap
from tests.warm import completed

AP, STATION, ALL = b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x0a", b"\xff" * 6
BAIT = b"<script>\x1b[31m\xff\xe2\x80\xae"
Run = Callable[..., str]


def radiotap(half_mbps: int) -> bytes:
    """A radiotap header with rate, 2.4 GHz and -40 dBm."""
    present = 1 << 2 | 1 << 3 | 1 << 5
    fields = struct.pack("<BxHHb", half_mbps, 2412, 0x00A0, -40)
    return struct.pack("<BBHI", 0, 0, 8 + len(fields), present) + fields


def mac(control: int, ra: bytes, ta: bytes, bssid: bytes, seq: int) -> bytes:
    """A MAC header with three addresses."""
    return struct.pack("<HH", control, 44) + ra + ta + bssid + struct.pack("<H", seq << 4)


def beacon(ssid: bytes, seq: int) -> bytes:
    """A beacon on channel 1 that requires encryption."""
    fixed = struct.pack("<QHH", 0, 100, 0x0011)
    return mac(0x0080, ALL, AP, AP, seq) + fixed + bytes((0, len(ssid))) + ssid + b"\x03\x01\x01"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beacons, a protected data frame that is retried, and its ACK."""
    start, ms = 1_700_000_000 * 10**9, 1_000_000
    ack = struct.pack("<HH", 0x00D4, 0) + STATION
    data = mac(0x4108, AP, STATION, AP, 7) + b"\x11" * 40
    again = mac(0x4908, AP, STATION, AP, 7) + b"\x11" * 40
    frames = [(2, beacon(BAIT, 1)), (108, data), (108, again), (108, ack), (2, beacon(BAIT, 2))]
    packets = [(start + i * 10 * ms, radiotap(rate) + frame) for i, (rate, frame) in enumerate(frames)]
    path = tmp_path_factory.mktemp("air") / "air.pcap"
    path.write_bytes(pcap(packets, 127))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def go(*arguments: object) -> str:
        done = completed(tmp_path, *arguments, COLUMNS="200")
        done.check_returncode()
        return done.stdout

    return go


def test_analyze_prints_what_the_air_was_used_for(run: Run, capture: Path) -> None:
    text = run("analyze", capture)
    assert "No readable TCP connection; 2 data frames (100 %) could not be decrypted" in text
    assert "give the network's key with --key-file" in text
    assert "The channel was busy" in text
    assert "the frames are encrypted: give the WEP key of <script>" in " ".join(text.split())
    assert "management (beacons" in text


def test_show_prints_the_frames_row_after_the_dissection(run: Run, capture: Path) -> None:
    text = run("show", capture, 3)
    assert "RadioTap" in text
    assert "802.11" in text
    brief, whole = (set(run("show", capture, 3, *more).split("\nframes")[1].split()) for more in ((), ("--all",)))
    assert {"subtype", "retry", "rate_mbps", "54.0"} <= brief
    assert {"duration_us", "bssid"} <= whole - brief
    assert "more columns with --all" in text
    assert "\nexchanges" in text
    assert not any(c in run("show", capture, 1) for c in "\x1b\u202e")


def test_list_and_query_include_the_air(run: Run, capture: Path) -> None:
    run("analyze", capture, "--quiet")
    assert "rate_over_time" in run("list", "plots")
    assert "0 1 2" in run(
        "query", "air.wlanlens", "select retry_frames a, 1 b, 2 c from stations where role = 'access_point'"
    ).replace("  ", " ").replace("  ", " ")


def test_networks_and_views(capture: Path) -> None:
    trace = wl.align([capture])
    network = trace.table("networks").to_pylist()[0]
    assert network["ssid"] == "<script>\x1b[31m\\xff\u202e"
    assert (network["channel"], network["security"], network["beacons"]) == (1, "wep", 2)
    assert tuple(trace.view("frames").columns) == wl.brief_columns("frames")
    assert len(trace.view("frames", all=True).columns) > 30
    assert trace.table("stations").num_rows == 3


def test_the_report_can_be_written_again(run: Run, capture: Path, tmp_path: Path) -> None:
    run("analyze", capture, "--quiet")
    first = (tmp_path / "air.wlanlens" / "report.html").read_text("utf-8")
    run("report", "air.wlanlens")
    assert (tmp_path / "air.wlanlens" / "report.html").read_text("utf-8") == first
    assert 'id="air"' in first
    assert "\x1b" not in first
