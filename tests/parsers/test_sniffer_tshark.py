"""Sniffer-family captures record by record as tshark reads them: the real ones, and many written by editcap."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest

import wlanlens as wl
from tests.captures import pcap, tcp
from tests.parsers.test_containers import CAPTURES, epoch_ns
from wlanlens import errors
from wlanlens.capture.container import choose

pytestmark = [
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
    pytest.mark.skipif(shutil.which("editcap") is None, reason="editcap is not installed"),
]

#: Nanoseconds by which tshark's arithmetic in floating point may miss a microsecond (it cuts, we round).
FLOAT_NS = 1

REAL = {
    "003transf.cap": ("netxray", 5000, "frames"),
    "cr_ss101.cap": ("netxray", 10_326, "packets"),
    "ftp-guesspassword.cap": ("netxray", 36, "packets"),
    "nam.enc": ("sniffer", 4385, "packets"),
    "Ethernet_Pause_Frame.cap": ("sniffer", 2, "packets"),
}


@dataclass(frozen=True)
class Seen:
    """One record as tshark shows it."""

    number: int
    time_ns: int
    wire_bytes: int
    captured_bytes: int
    data: bytes
    ip_id: str
    tcp_seq: str
    tcp_payload: str
    wlan: tuple[str, ...]


FIELDS = (
    "frame.number",
    "frame.time_epoch",
    "frame.len",
    "frame.cap_len",
    "ip.id",
    "tcp.seq_raw",
    "tcp.len",
    "wlan.fc.type_subtype",
    "wlan.ra",
    "wlan.ta",
    "wlan.seq",
    "wlan.fc.retry",
)


def _run(path: Path, *, written: bool) -> tuple[str, bytes]:
    """The fields of every record, and all records as pcap, which tshark refuses to write of some kinds."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.pcap"
        writing = ["-w", str(copy), "-F", "nsecpcap", "-P"] if written else []
        fields = ["-T", "fields", "-E", "occurrence=f", *(f"-e{f}" for f in FIELDS)]
        done = subprocess.run(
            ["tshark", "-n", "-r", str(path), *writing, *fields],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "TZ": "UTC"},
        )
        return done.stdout, copy.read_bytes() if copy.exists() else b""


def tshark(path: Path) -> list[Seen]:
    """Every record, with its bytes where tshark can write them as pcap (not of a kind told by each frame alone)."""
    shown, dumped = _run(path, written=True)
    if not shown:
        shown, dumped = _run(path, written=False)
    at, out = 24, []
    for line in shown.splitlines():
        number, time, wire, captured, ip_id, seq, length, *wlan = line.split("\t")
        data = b""
        if dumped:
            size = int.from_bytes(dumped[at + 8 : at + 12], "little")
            data = dumped[at + 16 : at + 16 + size]
            at += 16 + size
        ns = epoch_ns(time)
        assert ns is not None
        out.append(Seen(int(number), ns, int(wire), int(captured), data, ip_id, seq, length, tuple(wlan)))
    return out


def read(path: Path | str) -> tuple[dict[str, object], dict[str, list[dict[str, object]]], dict[str, int]]:
    """The reader's account, its rows by table, its notes with their counts."""
    reader = wl.Capture(path).reader()
    rows: dict[str, list[dict[str, object]]] = {}
    while batches := reader.next_batches():
        for table, batch in batches:
            rows.setdefault(table, []).extend(pa.record_batch(batch).to_pylist())
    return reader.info(), rows, {note[0]: note[2] for note in reader.notes()}


def compare(path: Path, frames: list[Seen], tick_ns: int = FLOAT_NS) -> dict[str, list[dict[str, object]]]:
    """Whatever the tables say of a record is tshark's; the tables, for more."""
    info, rows, _ = read(path)
    assert info["records"] == len(frames)
    assert info["wire_bytes"] == sum(f.wire_bytes for f in frames)
    for (number, time_ns, wire, data, *_), seen in zip(
        wl.Capture(path).records(f.number for f in frames), frames, strict=True
    ):
        assert (number, wire, len(data)) == (seen.number, seen.wire_bytes, seen.captured_bytes)
        assert data == seen.data or not seen.data
        assert time_ns is not None
        assert abs(time_ns - seen.time_ns) <= tick_ns
    start = info["first_ns"]
    assert isinstance(start, int)
    assert abs(start - frames[0].time_ns) <= tick_ns
    for row in rows.get("packets", []):
        packet, t_ns = row["packet"], row["t_ns"]
        assert isinstance(packet, int)
        assert isinstance(t_ns, int)
        seen = frames[packet - 1]
        assert (row["wire_bytes"], row["captured_bytes"]) == (seen.wire_bytes, seen.captured_bytes)
        assert abs(t_ns + start - seen.time_ns) <= tick_ns
        if seen.ip_id and row["ip_id"] is not None:
            assert row["ip_id"] == int(seen.ip_id, 16)
        if seen.tcp_seq:
            assert (row["tcp_seq"], row["payload_bytes"]) == (int(seen.tcp_seq), int(seen.tcp_payload))
    return rows


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="../shared/captures is not there")
@pytest.mark.parametrize("name", REAL)
def test_real_captures(name: str) -> None:
    path = CAPTURES / "sniffer" / name
    expected, count, table = REAL[name]
    container = choose(path.read_bytes()[:4096])
    assert container is not None
    assert container.name == expected
    frames = tshark(path)
    if name == "003transf.cap":
        # The file's header counts 5000 frames and there are 5000. It leaves the end offset 0; tshark takes that for
        # a ring, goes back to the front at the end of the file, and shows every frame a second time.
        assert int.from_bytes(path.read_bytes()[16:20], "little") == count
        assert [(f.time_ns, f.data) for f in frames[count:]] == [(f.time_ns, f.data) for f in frames[:count]]
        frames = frames[:count]
    assert len(frames) == count
    rows = compare(path, frames)
    if table == "packets":
        ip = {f.number for f in frames if f.ip_id}
        assert ip <= {row["packet"] for row in rows.get("packets", [])}
    else:
        assert len(rows["frames"]) == count


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="../shared/captures is not there")
def test_the_air_of_a_windows_sniffer() -> None:
    """Addresses, sequence numbers and retries of the only 802.11 file are tshark's; what it leaves 0 is null."""
    path = CAPTURES / "sniffer" / "003transf.cap"
    rows = read(path)[1]["frames"]
    for row, seen in zip(rows, tshark(path), strict=False):
        _, ra, ta, seq, retry = seen.wlan
        if seen.data[0] & 3:
            # Noise: a protocol version other than 0 says nothing of what follows (IEEE 802.11-2020 clause 9.2.4.1.2).
            assert row["ra"] is None
            continue
        if not ta and row["ta"]:
            # Cut within the header: what was captured stays, tshark drops the address.
            assert seen.wire_bytes < 24
            continue
        assert (row["ra"] or "", row["ta"] or "") == (ra, ta)
        assert row["seq"] == (int(seq) if seq else None)
        assert row["retry"] == (retry == "1" if retry else None)
        assert (row["rate_mbps"], row["channel_mhz"], row["signal_dbm"]) == (None, None, None)


def write(folder: Path, kind: str, source: Path, *options: str) -> Path:
    """What editcap makes of a capture."""
    target = folder / f"{kind}.cap"
    zone = {**os.environ, "TZ": "UTC"}
    done = subprocess.run(
        ["editcap", "-F", kind, *options, str(source), str(target)],
        capture_output=True,
        text=True,
        check=False,
        env=zone,
    )
    assert done.returncode == 0, done.stderr
    return target


KINDS = {"ngwsniffer_1_1": 1, "ngwsniffer_2_0": 1, "ngsniffer": 1}


def ethernet(count: int, step_ns: int, first_ns: int = 1_200_000_000 * 10**9 + 123_456_000) -> bytes:
    """TCP over Ethernet, `step_ns` apart, of every length."""
    head = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0"
    return pcap(
        [(first_ns + i * step_ns, head + tcp(40000, 80, i, 0, 0x18, b"x" * (i * 37 % 1400))) for i in range(count)], 1
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step_ns", [1000, 61_000_000_000, 3_600_000_000_000])
@pytest.mark.parametrize("snaplen", [0, 60])
def test_written_by_editcap(tmp_path: Path, kind: str, step_ns: int, snaplen: int) -> None:
    source = tmp_path / "a.pcap"
    source.write_bytes(ethernet(50, step_ns))
    path = write(tmp_path, kind, source, *(["-s", str(snaplen)] if snaplen else []))
    rows = compare(path, tshark(path))
    assert len(rows["packets"]) == 50


@pytest.mark.parametrize("kind", ["ngsniffer"])
def test_ppp(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "a.pcap"
    packets = [
        (1_200_000_000 * 10**9 + i * 1000, b"\xff\x03\0\x21" + tcp(40000, 80, i, 0, 0x18, b"x" * i)) for i in range(40)
    ]
    source.write_bytes(pcap(packets, 9))
    path = write(tmp_path, kind, source)
    assert len(compare(path, tshark(path))["packets"]) == 40


@pytest.mark.parametrize("kind", ["ngwsniffer_1_1", "ngwsniffer_2_0", "ngsniffer"])
def test_token_ring_is_named(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "a.pcap"
    source.write_bytes(pcap([(0, b"\x10\x40" + bytes(40))], 6))
    path = write(tmp_path, kind, source)
    with pytest.raises(errors.UnsupportedLinkType, match="Token Ring"):
        read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_other_captures_as_sniffer_files(tmp_path: Path, kind: str) -> None:
    """Real TCP over Ethernet, cut to 96 bytes."""
    source = CAPTURES / "tcp" / "tcp-ethereal-file1.trace"
    if not source.is_file():
        pytest.skip("../shared/captures is not there")
    path = write(tmp_path, kind, source, "-s", "96")
    ours, theirs = compare(path, tshark(path)), read(source)[1]
    assert [row["tcp_seq"] for row in ours["packets"]] == [row["tcp_seq"] for row in theirs["packets"]]
    assert [row["kind"] for row in ours["segments"]] == [row["kind"] for row in theirs["segments"]]


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_and_gzip(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "a.pcap"
    source.write_bytes(ethernet(2000, 1000))
    path = write(tmp_path, kind, source)
    packed = tmp_path / "packed"
    with packed.open("wb") as out:
        subprocess.run(["gzip", "-c", str(path)], stdout=out, check=True)
    assert read(packed)[1] == read(path)[1]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", str(path), str(pipe)]):
        assert read(pipe)[1] == read(path)[1]


def compress(records: bytes, size: int = 3000) -> bytes:
    """DOS Sniffer blocks: runs and strings, so that every code is used."""
    return b"".join(_block(records[i : i + size]) for i in range(0, len(records), size))


def _block(data: bytes) -> bytes:
    items: list[tuple[bool, bytes]] = []
    at = 0
    while at < len(data):
        run = len(data[at:]) - len(data[at : at + 4000].lstrip(data[at : at + 1])) - len(data[at + 4000 :])
        back, same = 0, 0
        for length in (60, 16, 9, 5, 3):
            found = data.rfind(data[at : at + length], max(0, at - 4000), at) if at + length <= len(data) else -1
            if found >= 0 and at - found >= length:
                back, same = at - found, length
                break
        if run > 18:
            items.append((True, bytes([0x10 | (run - 19) & 15, run - 19 >> 4, data[at]])))
        elif run > 2:
            items.append((True, bytes([run - 3, data[at]])))
        elif same >= 16:
            run = same
            items.append((True, bytes([0x20 | (back - 3) & 15, back - 3 >> 4, same - 16])))
        elif same:
            run = same
            items.append((True, bytes([same << 4 | (back - 3) & 15, back - 3 >> 4])))
        else:
            run = 1
            items.append((False, data[at : at + 1]))
        at += run
    out = b""
    for i in range(0, len(items), 16):
        group = items[i : i + 16]
        flags = sum(1 << 15 - n for n, (coded, _) in enumerate(group) if coded)
        out += flags.to_bytes(2, "little") + b"".join(item for _, item in group)
    return len(out).to_bytes(2, "little") + out


def test_compressed_dos_sniffer(tmp_path: Path) -> None:
    """No program here writes them: what we wrote by the description, tshark reads as we do."""
    source = tmp_path / "a.pcap"
    source.write_bytes(ethernet(100, 1000))
    plain = write(tmp_path, "ngsniffer", source).read_bytes()
    head = bytearray(plain[:41])
    head[33] = 2
    path = tmp_path / "packed.enc"
    path.write_bytes(bytes(head) + compress(plain[41:]))
    assert path.stat().st_size < len(plain) / 3
    frames = tshark(path)
    assert len(frames) == 100
    assert len(compare(path, frames)["packets"]) == 100


#: (version, time unit, capture type, "real tick") of headers that editcap does not write, and tshark reads.
CLOCKS = [
    (b"002.000", 0, 0, 0),
    (b"002.001", 1, 0, 0),
    (b"002.001", 2, 0, 1_193_182),
    (b"002.002", 2, 0, 3_579_545),
    (b"002.001", 0, 2, 0),
    (b"002.002", 0, 2, 0),
    (b"002.003", 2, 2, 0),
    (b"002.003", 0, 3, 0),
    (b"002.003", 2, 3, 0),
    (b"002.003", 0, 5, 0),
    (b"002.003", 0, 6, 0),
    (b"002.003", 2, 6, 0),
]


def patched(path: Path, at: dict[int, bytes]) -> None:
    """Write bytes over a file."""
    data = bytearray(path.read_bytes())
    for offset, value in at.items():
        data[offset : offset + len(value)] = value
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(("version", "unit", "capture_type", "real_tick"), CLOCKS)
def test_clocks_of_cards_and_pods(tmp_path: Path, version: bytes, unit: int, capture_type: int, real_tick: int) -> None:
    source = tmp_path / "a.pcap"
    source.write_bytes(ethernet(50, 61_000_000))
    path = write(tmp_path, "ngwsniffer_2_0", source)
    start = (77_777).to_bytes(8, "little")
    real = real_tick.to_bytes(4, "little")
    patched(path, {4: version, 48: bytes([unit]), 52: start, 76: real, 84: bytes([capture_type])})
    # tshark subtracts two numbers of seconds in floating point: some nanoseconds are lost.
    compare(path, tshark(path), tick_ns=64)


def test_trailers(tmp_path: Path) -> None:
    """Records that say that four bytes are behind the frame: an FCS by one header, junk by another."""
    source = tmp_path / "a.pcap"
    source.write_bytes(ethernet(2, 1000))
    path = write(tmp_path, "ngwsniffer_2_0", source)
    patched(path, {128 + 40 + 54 + 14: b"\xff\xff"})
    compare(path, tshark(path))
    patched(path, {76: (1_193_000).to_bytes(4, "little")})
    compare(path, tshark(path))


def test_rings(tmp_path: Path) -> None:
    """A ring begins at its oldest record and goes on at the front of the file."""
    source = tmp_path / "a.pcap"
    source.write_bytes(ethernet(20, 1000))
    path = write(tmp_path, "ngwsniffer_2_0", source)
    line = path.read_bytes()
    at = 128
    for _ in range(12):
        at += 40 + int.from_bytes(line[at + 10 : at + 12], "little")
    ring = bytearray(line[:128] + line[at:] + bytes(10) + line[128:at])
    newest_end = 128 + len(line) - at
    ring[24:32] = (newest_end + 10).to_bytes(4, "little") + newest_end.to_bytes(4, "little")
    path.write_bytes(bytes(ring))
    frames = tshark(path)
    assert [f.number for f in frames] == list(range(1, 21))
    compare(path, frames)
    assert [row["tcp_seq"] for row in read(path)[1]["packets"]] == list(range(20))


def test_what_the_adapter_heard(tmp_path: Path) -> None:
    """Channel and rate of the 2.x record header; the percentages are no dBm."""
    source = tmp_path / "a.pcap"
    beacon = bytes.fromhex("80000000ffffffffffff020000000001020000000001") + bytes(30)
    packets = [(1_200_000_000 * 10**9, beacon)] * 3
    source.write_bytes(pcap(packets, 1))
    path = write(tmp_path, "ngwsniffer_2_0", source)
    record = 40 + len(beacon)
    heard = [(6, 22, 50, 10), (36, 108, 80, 0xFF), (0, 0, 0, 0)]
    patched(path, {44: b"\x09", **{128 + i * record + 24: bytes(h) for i, h in enumerate(heard)}})
    fields = ("wlan_radio.channel", "wlan_radio.data_rate", "wlan_radio.signal_percentage")
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", *(f"-e{f}" for f in fields)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    assert [line.split("\t")[:2] for line in shown[:2]] == [["6", "11"], ["36", "54"]]
    rows = read(path)[1]["frames"]
    assert [(r["phy"], r["rate_mbps"], r["channel_mhz"], r["signal_dbm"]) for r in rows] == [
        ("b", 11.0, 2437, None),
        ("a", 54.0, 5180, None),
        (None, None, None, None),
    ]
