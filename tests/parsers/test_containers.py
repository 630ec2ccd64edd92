"""Every record of every capture at hand: number, time, length on the wire and captured length as tshark has them."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import wlanlens as wl
from wlanlens import errors

SHARED = Path(__file__).resolve().parents[3] / "shared"
CAPTURES = SHARED / "captures"
MAKER = SHARED / "badinputs" / "make_badinputs.py"

NAMES = sorted(str(p.relative_to(CAPTURES)) for p in CAPTURES.glob("*/*")) if CAPTURES.is_dir() else []

UNREADABLE = {
    "malformed/pcap-invalid-version-1.pcap": "version 1.4",
    "malformed/pcapng-invalid-vers-1.pcapng": "version 0.1",
    "malformed/ns3tcp-loss-NewReno0-response-vectors.pcap": "link type 46522869",
}

# Where tshark stops or counts otherwise: records of ours, and why.
MORE_THAN_TSHARK = {
    "malformed/BT_USB_LinCooked_Eth_80211_RT.ntar.gz": (
        27226,
        "tshark stops at the first record, too short; two packets name an interface that is not there",
    ),
    "malformed/shb-option-too-long.pcapng": (1, "tshark stops at the options of the section header"),
    "sniffer/003transf.cap": (
        5000,
        "tshark goes back to the front at the end, as if it were a ring, and reads it twice",
    ),
    "tcp/test202.pcapng": (8, "tshark numbers three custom blocks, capinfos does not"),
}

# Stamps that i64 nanoseconds cannot hold, or with a fraction of seconds: null here, a fiction in tshark.
NO_TIME = {
    "tcp/dhcp_big_endian.pcapng": "year 152 000",
    "tcp/pcapng-example.pcapng.zst": "negative microseconds taken for unsigned",
    "malformed/timestamp_invalid_nano.pcap": "nanoseconds above 2^31",
}


def read(path: str | Path) -> tuple[dict[str, object], list[pa.RecordBatch], set[str]]:
    """The reader's account, the rows of `packets`, the names of the notes."""
    reader = wl.Capture(path).reader(track=False)
    rows = []
    while batches := reader.next_batches():
        rows += [pa.record_batch(batch) for table, batch in batches if table == "packets"]
    return reader.info(), rows, {note[0] for note in reader.notes()}


def copied_frames(path: Path) -> list[tuple[int, int | None, int, int]]:
    """The same by editcap, which reads files as tshark does and needs a tenth of its time to start; nothing where it fails."""
    done = subprocess.run(["editcap", "-F", "nsecpcap", str(path), "-"], capture_output=True, check=False)
    frames, at = [], 24
    while done.returncode == 0 and at < len(done.stdout):
        seconds, fraction_ns, captured, length = struct.unpack_from("<4I", done.stdout, at)
        frames.append((len(frames) + 1, seconds * 10**9 + fraction_ns, length, captured))
        at += 16 + captured
    return frames


def tshark_frames(path: Path) -> list[tuple[int, int | None, int, int]]:
    """(number, epoch ns, length, captured length) of each frame."""
    fields = ("frame.number", "frame.time_epoch", "frame.len", "frame.cap_len")
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", *(f"-e{field}" for field in fields)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    frames = []
    for line in shown.splitlines():
        number, time, length, captured = line.split("\t")
        frames.append((int(number), epoch_ns(time), int(length), int(captured)))
    return frames


def epoch_ns(time: str) -> int | None:
    """tshark prints the fraction as a number of its own: ten digits are more than a second."""
    if not time:
        return None
    seconds, _, fraction = time.partition(".")
    return int(Decimal(seconds) * 10**9) + int(fraction)


@pytest.mark.skipif(not NAMES, reason="../shared/captures is not there")
@pytest.mark.skipif(
    not shutil.which("tshark") or not shutil.which("editcap"), reason="tshark or editcap is not installed"
)
@pytest.mark.parametrize("name", NAMES)
def test_every_record_is_tsharks(name: str) -> None:
    path = CAPTURES / name
    if name in UNREADABLE:
        with pytest.raises(errors.WlanlensError):
            read(path)
        return
    try:
        info, rows, _ = read(path)
    except errors.UnsupportedLinkType as e:
        pytest.skip(f"{e}: its records come with the decoder of that link type")
    if name in MORE_THAN_TSHARK:
        assert info["records"] == MORE_THAN_TSHARK[name][0]
        return
    frames = (name not in NO_TIME and copied_frames(path)) or tshark_frames(path)
    assert info["records"] == len(frames)
    if name.startswith("sniffer/"):
        return  # test_sniffer_tshark.py: to the nanosecond that tshark's arithmetic loses
    if name not in NO_TIME:
        assert (info["first_ns"], info["last_ns"]) == (frames[0][1], frames[-1][1])
        assert info["wire_bytes"] == sum(frame[2] for frame in frames)
    start = info["first_ns"]
    assert isinstance(start, int) or name in NO_TIME
    for batch in rows:
        columns = (batch.column(c).to_pylist() for c in ("packet", "t_ns", "wire_bytes", "captured_bytes"))
        for packet, t_ns, wire_bytes, captured_bytes in zip(*columns, strict=True):
            number, time, length, captured = frames[packet - 1]
            assert (number, length, captured) == (packet, wire_bytes, captured_bytes)
            assert t_ns is None or time is None or (isinstance(start, int) and t_ns + start == time)


@pytest.mark.skipif(not NAMES, reason="../shared/captures is not there")
@pytest.mark.skipif(shutil.which("capinfos") is None, reason="capinfos is not installed")
def test_counts_are_capinfos() -> None:
    for name in NAMES:
        counted = subprocess.run(
            ["capinfos", "-c", "-M", str(CAPTURES / name)], capture_output=True, text=True, check=False
        )
        if counted.returncode != 0 or name in UNREADABLE:
            continue
        (line,) = [line for line in counted.stdout.splitlines() if line.startswith("Number of packets")]
        try:
            records = read(CAPTURES / name)[0]["records"]
        except errors.UnsupportedLinkType:
            continue
        # capinfos and tshark read the file twice.
        counted_twice = name == "sniffer/003transf.cap"
        assert (name, records) == (name, int(line.split()[-1]) // (1 + counted_twice))


GROUPS = ("container", "compression", "time")


@pytest.fixture(scope="module")
def bad_inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """The bad inputs of the groups that the containers answer for, freshly made."""
    if not MAKER.is_file():
        pytest.skip("../shared/badinputs is not there")
    directory = tmp_path_factory.mktemp("bad")
    subprocess.run([sys.executable, str(MAKER), str(directory)], check=True, capture_output=True)
    cases = json.loads((directory / "expected.json").read_text())
    return directory, [case for case in cases if case["group"] in GROUPS and "file" in case]


def test_bad_inputs_keep_their_rows_and_say_what_is_lost(bad_inputs: tuple[Path, list[dict[str, object]]]) -> None:
    directory, cases = bad_inputs
    assert len(cases) > 70
    wrong = []
    for case in cases:
        path = directory / str(case["file"])
        try:
            info, rows, notes = read(path)
        except errors.WlanlensError as e:
            if case["class"] != "error_exit_3":
                wrong.append((case["name"], str(e)))
            continue
        if case["class"] == "error_exit_3":
            wrong.append((case["name"], "was read"))
        if sum(batch.num_rows for batch in rows) < int(str(case.get("min_rows", 0))):
            wrong.append((case["name"], f"{sum(batch.num_rows for batch in rows)} rows"))
        if "records" in case and info["records"] != case["records"]:
            wrong.append((case["name"], f"{info['records']} records"))
        if case["class"] == "rows_with_note" and not notes and case["name"] not in SAID_ELSEWHERE:
            wrong.append((case["name"], "no note"))
    assert wrong == []


# Nothing in the file is odd; what follows from the times is the analysis' to say.
SAID_ELSEWHERE = {"time_zero", "all_one_instant", "gap_30_years"}
