"""Real pairs of captures, and captures that must not be aligned."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import CLEAN, MIXED, ROOT
from wlanlens.errors import AlignmentError

FOLDER = ROOT.parent / "shared" / "captures"
needed = pytest.mark.skipif(not FOLDER.is_dir(), reason="the captures are not beside the repository")


@needed
@pytest.mark.parametrize("reverse", [False, True])
def test_a_ping_at_both_ends(reverse: bool) -> None:
    """Two packets: the clocks are 48.85 s apart, with a bound of half the round trip of 1 ms."""
    paths = [FOLDER / "tcp" / f"ip_ttl_{end}.pcapng" for end in ("source", "dest")]
    trace = wl.align(paths[::-1] if reverse else paths)
    assert {c.name: c.point for c in trace.captures} == {
        "ip_ttl_source.pcapng": "sender",
        "ip_ttl_dest.pcapng": "receiver",
    }
    clock_map = trace.clocks[1]
    # (125.135911 - 76.285089 + 125.136917 - 76.285111) / 2: the mean of both directions' offsets without delay.
    assert abs(clock_map.offset_ns) == pytest.approx(48_851_314_000, abs=1000)
    assert clock_map.two_way_ns == 984_000
    assert clock_map.bound_ns == pytest.approx(492_000, abs=3000)
    links = trace.table("links").to_pandas()
    assert list(links.sender_packet) == [1, 2]
    assert list(links.receiver_packet) == [1, 2]
    assert list(links.arrival) == ["arrived", "arrived"]


@needed
def test_probe_trains() -> None:
    """Probes with repeated sequence numbers: 4800 are identified by IP id, 4799 resets without one by order."""
    trace = wl.align([FOLDER / "tcp" / "sender.pcap", FOLDER / "tcp" / "receiver.pcap"])
    links = trace.table("links").to_pandas()
    assert (links.captures_seen == 2).sum() == 9599 == len(links)
    assert links.copy_safe.sum() == 4800
    packets = trace.table("packets").to_pandas()
    ids = {(c, p): i for c, p, i in zip(packets.capture, packets.packet, packets.ip_id, strict=True)}
    safe = links[links.copy_safe]
    assert all(
        ids["sender.pcap", s] == ids["receiver.pcap", r]
        for s, r in zip(safe.sender_packet, safe.receiver_packet, strict=True)
    )
    clock_map = trace.clocks[1]
    assert clock_map.bound_ns is None
    assert "one direction" in clock_map.sentence


@needed
def test_ten_hops() -> None:
    """ns-3 nodes share one clock; each sniffer hears a packet on every nearby hop."""
    trace = wl.align([FOLDER / "wlan" / f"tcp-chain-test-{n}-0.pcap" for n in (0, 9)])
    clock_map = trace.clocks[1]
    assert clock_map.bound_ns is not None
    assert abs(clock_map.offset_ns) <= clock_map.bound_ns
    links = trace.table("links").to_pandas()
    both = links[links.captures_seen == 2]
    assert len(both) == 35
    assert both.copy_safe.all()
    assert links.row_count.sum() == trace.table("packets").num_rows
    assert (links.transmissions.dropna() >= 1).all()
    assert links.transmissions.notna().all()


@needed
def test_an_access_point_and_its_client() -> None:
    """Encrypted frames are linked with their key; without it the error names the cause."""
    paths = [FOLDER / "wlan" / f"eapol-amsdu_BP-{end}.pcapng" for end in ("fromap", "onclient")]
    with pytest.raises(AlignmentError, match="only 1 packet in common"):
        wl.align(paths)
    trace = wl.align(paths, keys=["wpa-pwd:abcdefgh"])
    clock_map = next(m for m in trace.clocks if m.pieces)
    assert clock_map.pairs >= 20
    assert clock_map.bound_ns is not None
    assert clock_map.bound_ns < 1_000_000
    links = trace.table("links").to_pandas()
    assert (links.captures_seen == 2).sum() >= 30


@needed
def test_usb_without_ip() -> None:
    """tfp_capture_tcp_usb: the same commands over USB and over TCP, but no IP packet passes the bus."""
    with pytest.raises(AlignmentError, match="no readable IP packet"):
        wl.align([FOLDER / "usb" / "tfp_capture_tcp_usb.pcapng", FOLDER / "usb" / "usb_memory_stick.pcap"])


def test_unrelated_traffic() -> None:
    with pytest.raises(AlignmentError, match="no packet in common"):
        wl.align([MIXED, CLEAN])


def test_one_capture_twice(tmp_path: Path) -> None:
    with pytest.raises(AlignmentError, match="given twice"):
        wl.align([MIXED, MIXED])
    shutil.copy(MIXED, tmp_path / "copy.pcap")
    with pytest.raises(AlignmentError, match="copies of one capture"):
        wl.align([MIXED, tmp_path / "copy.pcap"])
    (tmp_path / "link.pcap").symlink_to(MIXED)
    with pytest.raises(AlignmentError, match="given twice"):
        wl.align([MIXED, tmp_path / "link.pcap"])


def test_equal_timestamps_are_no_proof_of_a_copy(tmp_path: Path) -> None:
    """Two taps of one host get one timestamp a packet: here the second tap kept fewer bytes."""
    data, at, short = MIXED.read_bytes(), 24, MIXED.read_bytes()[:24]
    while at < len(data):
        captured = int.from_bytes(data[at + 8 : at + 12], "little")
        kept = min(captured, 60)
        short += data[at : at + 8] + kept.to_bytes(4, "little") + data[at + 12 : at + 16 + kept]
        at += 16 + captured
    (tmp_path / "short.pcap").write_bytes(short)
    trace = wl.align([MIXED, tmp_path / "short.pcap"])
    assert [note.name for note in trace.captures[0].notes if note.name == "equal_times"] == ["equal_times"]
    assert trace.clocks[1].offset_ns == 0
    links = trace.table("links").to_pandas()
    assert (links.captures_seen == 2).all()
    assert (links.arrival == "arrived").all()


@pytest.mark.parametrize("place", [0, 1])
def test_an_empty_capture_is_left_out(tmp_path: Path, place: int) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(MIXED.read_bytes()[:24])
    captures = [MIXED]
    captures.insert(place, empty)
    trace = wl.align(captures)
    assert [capture.name for capture in trace.captures] == [MIXED.name]
    (note,) = [note for note in trace.captures[0].notes if note.name == "capture_left_out"]
    assert "empty.pcap" in note.sentence
    done = wl.analyze(captures, out=tmp_path / "out", report=False)
    assert [c["name"] for c in done.description["captures"]] == [MIXED.name]
    assert "capture_left_out" in [n["name"] for n in done.description["captures"][0]["notes"]]


def test_seconds_that_run_over(tmp_path: Path) -> None:
    """A capture across 7 February 2106, when the 32-bit seconds of pcap begin at 0 again."""
    data, at = bytearray(MIXED.read_bytes()), 24
    shift = 2**32 - 3 - int.from_bytes(data[24:28], "little")
    while at < len(data):
        seconds = int.from_bytes(data[at : at + 4], "little") + shift
        data[at : at + 4] = (seconds % 2**32).to_bytes(4, "little")
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    path = tmp_path / "over.pcap"
    path.write_bytes(data)
    capture = wl.open(path)
    assert capture.table("packets").column("t_ns") == wl.open(MIXED).table("packets").column("t_ns")
    assert [note.name for note in capture.notes if note.name.startswith("time")] == ["time_wrapped"]


def test_one_capture_in_two_halves(tmp_path: Path) -> None:
    """The same connection, but never at the same time."""
    data = MIXED.read_bytes()
    at, ends = 24, []
    while at < len(data):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        ends.append(at)
    middle = ends[len(ends) // 2]
    (tmp_path / "a.pcap").write_bytes(data[:middle])
    (tmp_path / "b.pcap").write_bytes(data[:24] + data[middle:])
    with pytest.raises(AlignmentError, match=r"in common, and their clocks are .* s apart"):
        wl.align([tmp_path / "a.pcap", tmp_path / "b.pcap"])


def test_many_unrelated_captures_are_not_all_named() -> None:
    names = ("ackhold1000_newreno", "blackout3", "bloat100", "clean_cubic", "mixed_newreno", "rnd2_cubic")
    captures = [MIXED.with_name(f"{name}.sender.pcap") for name in names]
    with pytest.raises(AlignmentError, match=r"^(?:[^;]*;){3} and 2 more pairs; analyse each on its own"):
        wl.align(captures)
