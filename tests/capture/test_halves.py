"""`packets` and the tables of facts, read apart, are those of one reading."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import MIXED, SAMPLES
from wlanlens import _core, tables
from wlanlens.capture.capture import Capture
from wlanlens.capture.container import records_of
from wlanlens.trace import TIMED, Trace


def _count_readings(monkeypatch: pytest.MonkeyPatch) -> list[bool | None]:
    """The halves that captures read from here on; None: all tables at once."""
    read: list[bool | None] = []
    made = Capture.reader

    def reader(capture: Capture, **options: bool) -> _core.Reader:
        read.append(options.get("packets"))
        return made(capture, **options)

    monkeypatch.setattr(Capture, "reader", reader)
    return read


def _whole(path: Path) -> Capture:
    capture = wl.open(path)
    capture.scan("packets").__next__()
    return capture


@pytest.mark.parametrize("order", [("packets", "flows"), ("segments", "packets")])
@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.pcap")), ids=lambda path: path.name)
def test_halves_are_the_whole(path: Path, order: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _whole(path)
    read = _count_readings(monkeypatch)
    capture = wl.open(path)
    for name in order:
        capture.table(name)
    for name in tables.core_schemas():
        assert capture.table(name).cast(tables.schema(name)).to_pylist() == whole.table(name).to_pylist(), name
    assert (capture.notes, capture.info, capture.start_ns) == (whole.notes, whole.info, whole.start_ns)
    assert sorted(read, key=str) == [False, None, True]


def test_packets_alone_have_no_facts_and_the_capture_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    read = _count_readings(monkeypatch)
    capture = wl.open(MIXED)
    rows = capture.table("packets").num_rows
    assert read == [None, True]
    assert capture.info["records"] == rows
    # Notes of facts are complete once these are read.
    assert capture.notes == _whole(MIXED).notes


def test_a_file_that_changed_between_the_halves_is_read_as_a_whole(tmp_path: Path) -> None:
    path = Path(shutil.copy(SAMPLES / "clean_cubic.sender.pcap", tmp_path / "growing.pcap"))
    capture = wl.open(path)
    before = capture.table("packets").num_rows
    shutil.copy(MIXED, path)
    os.utime(path, ns=(1, 1))
    assert capture.table("segments").num_rows == _whole(MIXED).table("segments").num_rows
    assert capture.table("packets").num_rows == _whole(MIXED).table("packets").num_rows != before


def test_what_cannot_be_read_twice_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress(MIXED.read_bytes()))
    read = _count_readings(monkeypatch)
    for capture in (wl.open(packed), wl.open(MIXED, keys=["wpa-pwd:passphrase:network"])):
        assert capture.table("packets").num_rows == capture.table("segments").num_rows
    assert read == [None, None]


def test_packets_without_facts_say_where_numbers_depend_on_them() -> None:
    reader = _core.Reader(records_of(str(MIXED)), packets=True)
    names = {name for batches in iter(reader.next_batches, []) for name, _ in batches}
    assert names == {"packets"}
    assert reader.numbered()
    assert not _core.Reader(records_of(str(MIXED)), track=False).numbered()


def test_where_numbers_depend_on_facts_everything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, at = bytearray(MIXED.read_bytes()), 24
    while (end := at + 16 + struct.unpack_from("<I", data, at + 8)[0]) < len(data):
        at = end
    # The last packet comes two hours late: whether its connection was closed before depends on facts.
    struct.pack_into("<I", data, at, struct.unpack_from("<I", data, at)[0] + 7200)
    path = tmp_path / "idle.pcap"
    path.write_bytes(data)
    whole = _whole(path)
    read = _count_readings(monkeypatch)
    capture = wl.open(path)
    assert capture.table("packets").equals(whole.table("packets"))
    assert capture.table("flows").equals(whole.table("flows"))
    assert read[:2] == [None, True]
    assert False not in read


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.pcap")), ids=lambda path: path.stem)
def test_the_time_of_the_last_packet_needs_no_packets(path: Path) -> None:
    capture = wl.open(path)
    assert capture.find_duration_ns() is None
    capture.table("flows")
    known = capture.find_duration_ns()
    timed = {name: capture.table(name) for name in TIMED}
    assert known in (None, Trace.of_tables(timed).duration_ns)
    assert (known is not None) == (capture.info["other_records"] == 0)


def test_records_out_of_order_leave_the_last_time_to_the_tables(tmp_path: Path) -> None:
    data = bytearray(MIXED.read_bytes())
    seconds = int.from_bytes(data[24:28], "little")
    # The first record comes an hour after all others.
    data[24:28] = (seconds + 3600).to_bytes(4, "little")
    path = tmp_path / "back.pcap"
    path.write_bytes(bytes(data))
    capture = wl.open(path)
    capture.table("flows")
    assert any(note.name == "time_backwards" for note in capture.notes)
    assert capture.find_duration_ns() is None
    assert wl.align([path]).duration_ns == 0
