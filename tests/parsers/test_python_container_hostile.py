"""What a container written in Python may hand over: no value and no exception stops wlanlens with a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl
from tests.captures import conversation
from tests.parsers.toy import MAGIC, PACKET, START, Add, counts, failing, packets_of, read_toy, reads, toy, yields
from wlanlens import errors
from wlanlens.registry import Container

HOSTILE = {
    "a time of 100 bits": ((1 << 100, 101, 40, PACKET), "time_not_representable"),
    "a negative time of 100 bits": ((-(1 << 100), 101, 40, PACKET), "time_not_representable"),
    "no time": ((None, 101, 40, PACKET), "no_time"),
    "a negative length": ((START, 101, -40, PACKET), "wire_length_implausible"),
    "a length of 100 bits": ((START, 101, 1 << 100, PACKET), "wire_length_implausible"),
    "a length below what was captured": ((START, 101, 1, PACKET), "captured_over_wire"),
    "no bytes": ((START, 101, 40, b""), "empty_records"),
    "a link type without a decoder": ((START, 9999, 40, PACKET), "unsupported_link_type"),
    "a negative link type": ((START, -1, 40, PACKET), "unsupported_link_type"),
    "a link type of 100 bits": ((START, 1 << 100, 40, PACKET), "unsupported_link_type"),
    "a huge record": ((START, 101, 1 << 20, PACKET + bytes(1 << 20)), "oversized_record"),
    "noise": ((START, 101, 40, b"\x4f" * 40), "length_lies"),
    "a time that is a float": ((1.5, 101, 40, PACKET), "reader_failed"),
    "text for bytes": ((START, 101, 40, "text"), "reader_failed"),
    "a negative interface": ((START, 101, 40, PACKET, -1), "reader_failed"),
    "too few values": ((START, 101, 40), "reader_failed"),
    "no tuple": (7, "reader_failed"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_values_are_noted(case: str, tmp_path: Path, add: Add) -> None:
    record, note = HOSTILE[case]
    good = (START, 101, 40, PACKET)
    (tmp_path / "c.toy").write_bytes(MAGIC)
    add(yields([good, record, good]))
    capture = wl.open(tmp_path / "c.toy")
    assert capture.table("packets").num_rows >= 1
    assert note in counts(capture)
    wl.analyze([tmp_path / "c.toy"], out=tmp_path / "out")


REFUSED = [name for name, (_, note) in HOSTILE.items() if note in ("reader_failed", "unsupported_link_type")]


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_first_records_are_noted_or_refused(case: str, tmp_path: Path, add: Add) -> None:
    record, note = HOSTILE[case]
    (tmp_path / "c.toy").write_bytes(MAGIC)
    add(yields([record, (START, 101, 40, PACKET)]))
    capture = wl.open(tmp_path / "c.toy")
    if case in REFUSED:
        with pytest.raises(wl.WlanlensError, match=r"c\.toy: "):
            capture.table("packets")
    else:
        assert note in counts(capture)


def test_a_cut_file_keeps_what_was_read(tmp_path: Path, add: Add) -> None:
    add()
    packets = packets_of(conversation(count=0))
    whole = toy(packets)
    ends = [len(toy(packets[:n])) for n in range(len(packets) + 1)]
    for length in range(len(MAGIC), len(whole)):
        (tmp_path / "c.toy").write_bytes(whole[:length])
        capture = wl.open(tmp_path / "c.toy")
        assert capture.table("packets").num_rows >= sum(end <= length for end in ends) - 1
        assert ("cut_file" in counts(capture)) == (length not in ends)


@pytest.mark.parametrize("error", [ValueError("bad header"), KeyError("x"), RecursionError(), SystemExit(1)])
def test_a_reader_that_fails(tmp_path: Path, add: Add, error: BaseException) -> None:
    (tmp_path / "c.toy").write_bytes(MAGIC)
    add(failing(0, error))
    with pytest.raises(errors.CorruptCapture, match=f"the reader of toy failed: {type(error).__name__}"):
        wl.open(tmp_path / "c.toy").table("packets")
    add(failing(2000, error))
    capture = wl.open(tmp_path / "c.toy")
    assert capture.table("packets").num_rows == 2000
    assert counts(capture)["reader_failed"] == 1
    assert capture.info["texts"][0][0] == "reader_failed"
    assert type(error).__name__ in capture.info["texts"][0][1]


def test_an_error_of_ours_passes_through(tmp_path: Path, add: Add) -> None:
    (tmp_path / "c.toy").write_bytes(MAGIC)
    for error in (errors.UnsupportedFormat("toy version 9", next="write version 1"), errors.CorruptCapture("cut", 7)):
        add(failing(0, error))
        with pytest.raises(type(error)) as raised:
            wl.open(tmp_path / "c.toy").table("packets")
        assert (raised.value.what, raised.value.offset, raised.value.next) == (error.what, error.offset, error.next)
    add(failing(0, OSError(5, "Input/output error")))
    with pytest.raises(OSError, match="Input/output"):
        wl.open(tmp_path / "c.toy").table("packets")


def test_an_error_met_ahead_is_raised_where_the_batches_are_asked_for(tmp_path: Path, add: Add) -> None:
    (tmp_path / "c.toy").write_bytes(MAGIC)
    add(failing(0, errors.CorruptCapture("cut", 7)))
    reader = wl.Capture(tmp_path / "c.toy").reader()
    assert reader.read_ahead(3) is False
    with pytest.raises(errors.CorruptCapture, match="cut"):
        reader.next_batches()
    assert reader.next_batches() == []


@pytest.mark.parametrize("read", [lambda _: None, lambda _: 1 / 0, lambda file: file.read(-1)])
def test_a_reader_that_is_no_generator(tmp_path: Path, add: Add, read: Callable[[Any], Any]) -> None:
    (tmp_path / "c.toy").write_bytes(MAGIC)
    add(reads(read))
    with pytest.raises(errors.CorruptCapture, match="the reader of toy failed"):
        wl.open(tmp_path / "c.toy")


def test_a_sniff_that_fails_is_named(tmp_path: Path, add: Add) -> None:
    (tmp_path / "other").write_bytes(b"anything")
    add(Container("toy", __name__, "Toy captures.", clock="none", sniff=lambda head: head.x, read=read_toy))
    with pytest.raises(errors.RegistryError, match="'toy'"):
        wl.open(tmp_path / "other")
