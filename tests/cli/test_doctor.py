"""`wlanlens doctor` and `wl.doctor`: each topic on a capture that has the fault, and on one that has it not."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import CLEAN, SAMPLES, conversation, pcap, tcp
from tests.warm import completed
from wlanlens.capture.decryption_keys import needed_keys
from wlanlens.capture.doctor import TOPICS, Advice

AT = 1_700_000_000 * 10**9


def advice(path: Path, *others: Path) -> dict[str, Advice]:
    """The advice about one capture, by topic."""
    found = wl.doctor([path, *others])
    assert {one.topic for one in found} <= set(TOPICS)
    return {one.topic: one for one in found if one.capture == path.name}


def written(folder: Path, data: bytes) -> Path:
    path = folder / "made.pcap"
    path.write_bytes(data)
    return path


def test_a_good_capture_has_nothing_to_improve() -> None:
    found = advice(CLEAN)
    assert {one.state for one in found.values()} <= {"good", "unknown"}
    assert {"snaplen", "timestamps", "offload", "start", "directions"} <= set(found)
    assert all(one.command == "" for one in found.values())


def test_snaplen(tmp_path: Path) -> None:
    head, packets = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 30, 101), b""
    for i in range(3):
        data = tcp(40000, 80, 100 + i, 0, 0x18, b"x" * 50)
        packets += struct.pack("<IIII", 1_700_000_000, i * 1000, 30, len(data)) + data[:30]
    found = advice(written(tmp_path, head + packets))["snaplen"]
    assert (found.state, "3 records" in found.sentence, "-s 128" in found.command) == ("better", True, True)


@pytest.mark.parametrize(("step_ns", "state"), [(10_000_000, "better"), (1_001_000, "good")])
def test_timestamps(tmp_path: Path, step_ns: int, state: str) -> None:
    data = pcap([(AT + i * step_ns, tcp(40000, 80, 100 + i, 0, 0x10)) for i in range(20)])
    found = advice(written(tmp_path, data))["timestamps"]
    assert found.state == state
    assert ("nano" in found.command) == (state == "better")


def test_one_direction_and_no_start(tmp_path: Path) -> None:
    data = pcap([(AT + i * 1_001_000, tcp(40000, 80, 100 + 10 * i, 500, 0x18, b"x" * 10)) for i in range(20)])
    found = advice(written(tmp_path, data))
    assert found["directions"].state == found["start"].state == "better"
    assert "host 10.0.0.1 and host 10.0.0.2 and port 80" in found["directions"].command
    both = advice(written(tmp_path, conversation(20)))
    assert both["directions"].state == both["start"].state == "good"


def test_offload_and_missed_packets(tmp_path: Path) -> None:
    syn = tcp(40000, 80, 100, 0, 0x02)
    mss = syn[:3] + bytes([syn[3] + 4]) + syn[4:32] + b"\x60" + syn[33:] + b"\x02\x04\x00\x64"
    rows = [(0, mss), (1, tcp(80, 40000, 500, 101, 0x12)), (2, tcp(40000, 80, 101, 501, 0x10))]
    rows += [(3, tcp(40000, 80, 101, 501, 0x18, b"x" * 400)), (4, tcp(80, 40000, 501, 501, 0x10))]
    found = advice(written(tmp_path, pcap([(AT + 1_001_000 * i, data) for i, data in rows])))
    assert found["offload"].state == "better"
    assert "tso off" in found["offload"].command
    assert found["dropped packets"].state == "unknown"
    rows = [row for row in rows if row[0] != 3]
    found = advice(written(tmp_path, pcap([(AT + 1_001_000 * i, data) for i, data in rows])))
    assert found["dropped packets"].state == "better"
    assert "-B 16384" in found["dropped packets"].command


def test_a_sniffer_and_the_other_points() -> None:
    air, sender = SAMPLES / "ap_overflow.air.pcap", SAMPLES / "ap_overflow.receiver.pcap"
    assert advice(air)["missed frames"].state == "better"
    assert advice(SAMPLES / "usb_ack_holding.air.pcap")["missed frames"].state in ("good", "better")
    assert "missed frames" not in advice(CLEAN)
    said = " ".join(one.sentence for one in wl.doctor([air, sender]) if not one.capture)
    assert "`air`" not in said
    assert "`sender`" in said
    commands = [one.command for one in wl.doctor([CLEAN]) if not one.capture]
    assert any("type monitor" in text for text in commands)
    assert any("usbmon" in text for text in commands)


def test_the_advice_for_802_1x_names_the_pmk() -> None:
    assert "PMK" in needed_keys(["enterprise"])
    assert "wpa-psk:HEX" in needed_keys(["enterprise"])
    assert "PMK" not in needed_keys(["psk"])
    assert "--key-file" in needed_keys([])
    assert "sending host" in needed_keys(["sae"])


def test_the_command(tmp_path: Path) -> None:
    done = completed(tmp_path, "doctor", CLEAN, COLUMNS="80")
    assert done.returncode == 0
    assert "Other capture points" in done.stdout
    assert "$ tcpdump -i wlan0" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert completed(tmp_path, "doctor", "nowhere.pcap").returncode == 3
    assert completed(tmp_path, "doctor").returncode == 2
