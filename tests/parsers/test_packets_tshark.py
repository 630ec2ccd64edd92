"""Every TCP packet of the shared captures, field by field, as tshark reads it.

Needs the captures in ``../shared`` and tshark; without them the tests are skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import wlanlens as wl

SHARED = Path(__file__).resolve().parents[3] / "shared"

WIRED = [
    "200722_win_scale_examples_anon.pcapng", "206_example_b.pcap", "HEYFE0002_CPE_FTP1MEGdownload_Mirrored.pcap",
    "accecn_handshake.pcap", "bigtcp-ipv6.pcap", "comp008.trace", "dhcp_big_endian.pcapng", "discard.solaris.dmp.gz",
    "dlt_null.dmp.gz", "dsack.dmp.gz", "fack024.trace", "hardware_dups.dmp.gz", "http-qinq-0.pcap",
    "ip_ttl_dest.pcapng", "ip_ttl_source.pcapng", "iperf-mptcp-0-0.pcap", "ipv6-http-atomic-frag.pcap",
    "linux_dlt_sll2.pcap", "loss-window-approximation.trace", "many_interfaces.pcapng", "nanosecs_big_endian.pcap",
    "nfs_bad_stalls.cap", "one_tcp_stream_max_seq.pcap", "pcap_v2.2.dmp.gz", "pcapng-example.pcapng.zst",
    "pcapng-multi-interface.pcapng", "pppoe-over-qinq.pcap", "rawip.dmp.gz", "receiver.pcap", "rto006.trace",
    "sender.pcap", "tcp-ecn-sample.pcap", "tcp-ethereal-file1.trace", "tcp_zerowindowdead.pcapng",
    "tcp_zerowindowrecovery.pcapng", "test202.pcapng", "zwnd.dmp.gz",
]  # fmt: skip
KERNEL = [
    "ackhold1000_newreno.receiver.pcap", "eth_rnd2.sender.pcap", "ipv6_ackhold.sender.pcap", "reorder1.sender.pcap",
    "rnd10_newreno.sender.pcap", "rnd2_cubic-late.sender.pcap", "zerowin.sender.pcap",
]  # fmt: skip
WIRELESS = [
    "Http.cap", "active1.pcap", "active2.pcap", "capture.pcapng", "eapol-amsdu_BP-onclient.pcapng", "mesh.pcap",
    "tcp-chain-test-0-0.pcap", "tcp-chain-test-9-0.pcap", "testing_mix1.pcap", "wlp2s0_ch11.pcap",
]  # fmt: skip
CAPTURES = (
    [f"captures/tcp/{name}" for name in WIRED]
    + [f"kernel/{name}" for name in KERNEL]
    + [f"captures/wlan/{name}" for name in WIRELESS]
)

# Where tshark 4.0 is wrong: (capture, frame) and why.
TSHARK_WRONG = {
    ("bigtcp-ipv6.pcap", 1): "takes the payload length 0 of BIG TCP for an empty packet and finds no TCP in it",
}
# Where tshark guesses a relative number and we leave it null.
TSHARK_GUESSES = {
    (
        "HEYFE0002_CPE_FTP1MEGdownload_Mirrored.pcap",
        884,
    ): "a lone reset: nothing of the other side was captured, so its acknowledgment is relative to nothing",
}

FIELDS = (
    "frame.number", "frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport",
    "tcp.seq", "tcp.ack", "tcp.len", "tcp.flags", "tcp.window_size_value", "tcp.options.sack_le",
    "tcp.options.sack_re", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr",
    "tcp.seq_raw", "tcp.ack_raw", "wlan.fcs.status", "ip.checksum.status", "tcp.checksum.status",
)  # fmt: skip
BAD, GOOD = "0", "1"


class Segment(NamedTuple):
    """What is compared of one TCP packet; None where a field was not captured."""

    src: str
    dst: str
    src_port: int | None
    dst_port: int | None
    seq: int | None
    ack: int | None
    len: int | None
    flags: int | None
    window: int | None
    sack: tuple[tuple[int, int], ...]
    tsval: int | None
    tsecr: int | None


class Dissected(NamedTuple):
    """One frame with TCP, as tshark sees it."""

    segment: Segment
    damaged: bool
    ip_checksum_bad: bool
    tcp_checksum_good: bool


def fetch(relative: str, tmp_path: Path) -> Path:
    """The capture, where tshark can read it too."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"{relative} is absent from ../shared")
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    if path.suffix != ".zst":
        return path
    plain = tmp_path / path.stem
    with pa.input_stream(str(path), compression="zstd") as packed:
        plain.write_bytes(packed.read())
    return plain


@lru_cache(maxsize=1)
def tshark(path: Path) -> list[dict[str, list[str]]]:
    """The fields of each frame with TCP, every occurrence of each."""
    options = {
        "tcp.desegment_tcp_streams": False,
        "ip.defragment": False,
        "ipv6.defragment": False,
        "ip.check_checksum": True,
        "tcp.check_checksum": True,
        "wlan.check_checksum": True,
        "wlan.enable_decryption": False,
    }
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields"]
    command += [word for field in FIELDS for word in ("-e", field)]
    command += [word for key, on in options.items() for word in ("-o", f"{key}:{str(on).upper()}")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = ([v.split(",") if v else [] for v in line.split("\t")] for line in done.stdout.splitlines())
    return [dict(zip(FIELDS, values, strict=True)) for values in lines]


def theirs(path: Path) -> dict[int, Dissected]:
    """Frame number to TCP packet; a segment that an ICMP error quotes is none."""
    found = {}
    for f in tshark(path):
        protocols = f["frame.protocols"][0].split(":")
        if "icmp" in protocols or "icmpv6" in protocols:
            continue
        assert len(f["tcp.srcport"]) == 1, "no capture has two segments in a frame"
        below = [p for p in protocols[: protocols.index("tcp")] if p in ("ip", "ipv6")][-1]

        def number(name: str, f: dict[str, list[str]] = f) -> int | None:
            return int(f[name][0], 0) if f[name] else None

        flags = number("tcp.flags")
        edges = zip(f["tcp.options.sack_le"], f["tcp.options.sack_re"], strict=True)
        # SACK edges are relative to the same number as the acknowledgment.
        base = (number("tcp.ack_raw") or 0) - (number("tcp.ack") or 0)
        segment = Segment(
            src=f[f"{below}.src"][-1],
            dst=f[f"{below}.dst"][-1],
            src_port=number("tcp.srcport"),
            dst_port=number("tcp.dstport"),
            seq=number("tcp.seq_raw"),
            ack=number("tcp.ack_raw") if flags is not None and flags & 0x10 else None,
            len=number("tcp.len"),
            flags=flags,
            window=number("tcp.window_size_value"),
            sack=tuple(((int(left) + base) % 2**32, (int(right) + base) % 2**32) for left, right in edges),
            tsval=number("tcp.options.timestamp.tsval"),
            tsecr=number("tcp.options.timestamp.tsecr"),
        )
        found[int(f["frame.number"][0])] = Dissected(
            segment,
            damaged=f["wlan.fcs.status"] == [BAD],
            ip_checksum_bad=f["ip.checksum.status"] == [BAD],
            tcp_checksum_good=f["tcp.checksum.status"] == [GOOD],
        )
    return found


def tables(path: Path, *, track: bool) -> dict[str, list[dict[str, Any]]]:
    """Our rows by table."""
    reader = wl.Capture(path).reader(track=track)
    rows: dict[str, list[dict[str, Any]]] = {}
    while batches := reader.next_batches():
        for name, batch in batches:
            rows.setdefault(name, []).extend(batch.to_pylist())
    return rows


def ours(path: Path) -> dict[int, tuple[Segment, str | None]]:
    """Frame number to TCP packet and its stop."""
    found: dict[int, tuple[Segment, str | None]] = {}
    for row in tables(path, track=False).get("packets", []):
        if row["protocol"] != 6 or row["src_port"] is None:
            continue
        sack = tuple(tuple(edge.values()) for edge in row["tcp_sack"] or ())
        before = ("ip_src", "ip_dst", "src_port", "dst_port", "tcp_seq", "tcp_ack", "payload_bytes", "tcp_flags")
        values = [row[name] for name in before] + [row["tcp_window"], sack, row["tcp_tsval"], row["tcp_tsecr"]]
        assert row["packet"] not in found, "no capture has two segments in a frame"
        found[row["packet"]] = (Segment(*values), row["stop"])
    return found


# By module: the tests of a capture follow each other, and tshark runs once for both.
@pytest.mark.parametrize("relative", CAPTURES, scope="module")
def test_every_tcp_field(relative: str, tmp_path: Path) -> None:
    path = fetch(relative, tmp_path)
    name = Path(relative).name
    expected, got = theirs(path), ours(path)
    wrong: list[object] = []
    for frame in sorted(expected.keys() | got.keys()):
        if (name, frame) in TSHARK_WRONG:
            continue
        if frame not in expected:
            wrong.append((frame, "only ours", got[frame]))
            continue
        want = expected[frame]
        if want.damaged:
            wrong += check_damaged(frame, want, got.get(frame))
        elif frame not in got:
            wrong.append((frame, "only tshark", want.segment))
        elif got[frame][0] != want.segment:
            wrong.append((frame, got[frame], want.segment))
    assert wrong == []
    assert expected or not any(p in relative for p in ("kernel/", "active", "chain", "Http"))


def check_damaged(frame: int, want: Dissected, got: tuple[Segment, str | None] | None) -> list[object]:
    """tshark dissects 802.11 frames that arrived damaged as if they were sound.

    We keep one where the IPv4 header checksum is right, and say that it is damaged; what TCP says in it may be wrong.
    """
    if got is None:
        return [] if want.ip_checksum_bad else [(frame, "dropped though its IP header is sound", want)]
    segment, stop = got
    sound = stop == "bad_fcs" and not want.ip_checksum_bad
    if sound and segment.seq is None:
        # The damage is in TCP's data offset: tshark goes on, we believe nothing behind it.
        sound = not want.tcp_checksum_good
        segment = want.segment._replace(**dict(zip(Segment._fields[:4], segment[:4], strict=True)))  # type: ignore[arg-type]
    return [] if sound and segment == want.segment else [(frame, got, want)]


@pytest.mark.parametrize("relative", [c for c in CAPTURES if "/wlan/" not in c], scope="module")
def test_relative_numbers(relative: str, tmp_path: Path) -> None:
    path = fetch(relative, tmp_path)
    segments = {row["packet"]: row for row in tables(path, track=True).get("segments", [])}
    if not segments:
        pytest.skip("no segments in this capture")
    wrong = []
    for f in tshark(path):
        row = segments.get(int(f["frame.number"][0]))
        if row is None or not f["tcp.seq"] or (Path(relative).name, row["packet"]) in TSHARK_GUESSES:
            continue
        pairs = [(row["rel_seq"], f["tcp.seq"][0])]
        if int(f["tcp.flags"][0], 0) & 0x10:
            pairs.append((row["rel_ack"], f["tcp.ack"][0]))
        # tshark's are 32 bits wide, ours go on.
        if any(a is None or (int(str(a)) - int(b)) % 2**32 for a, b in pairs):
            wrong.append((row["packet"], pairs))
    assert wrong == []
