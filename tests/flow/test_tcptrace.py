"""`flows` equals `tcptrace -l -r -W`, column by column; every difference has its reason below."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from tcptrace_columns import COLUMNS, Row, printed_rows

import wlanlens as wl

SHARED = Path(__file__).resolve().parents[3] / "shared"
CAPTURES = SHARED / "captures" / "tcp"

NAMES = (
    "dsack.dmp.gz",
    "discard.solaris.dmp.gz",
    "hardware_dups.dmp.gz",
    "zwnd.dmp.gz",
    "dlt_null.dmp.gz",
    "rawip.dmp.gz",
    "pcap_v2.2.dmp.gz",
    "comp008.trace",
    "fack024.trace",
    "rto006.trace",
    "loss-window-approximation.trace",
    "206_example_b.pcap",
    "tcp-ecn-sample.pcap",
    "nfs_bad_stalls.cap",
    "one_tcp_stream_max_seq.pcap",
    "tcp-ethereal-file1.trace",
    "sender.pcap",
    "receiver.pcap",
    "HEYFE0002_CPE_FTP1MEGdownload_Mirrored.pcap",
    "accecn_handshake.pcap",
    "nanosecs_big_endian.pcap",
)

ZERO_IS_UNSET = "tcptrace takes a least time of 0 for unset and prints the least of what came after it"
WRAPS = "tcptrace subtracts 32-bit sequence numbers in 64 bits: past the wrap the outstanding bytes are near 2^64"
ONE_BYTE_COUNTER = "tcptrace counts resets in one byte: 4799 mod 256 = 191"
SIGNED_MSS = "tcptrace reads the MSS as a signed 16-bit number: 65495 becomes 2^32 - 41"
MICROSECONDS = "tcptrace cuts nanosecond stamps to microseconds, and this connection lasts 0.8 ms"

DIFFERENCES = {
    ("hardware_dups.dmp.gz", "rtt_resent_min_ns"): ZERO_IS_UNSET,
    ("hardware_dups.dmp.gz", "resend_min_ns"): ZERO_IS_UNSET,
    ("zwnd.dmp.gz", "rtt_min_ns"): ZERO_IS_UNSET,
    ("one_tcp_stream_max_seq.pcap", "owin_max_bytes"): WRAPS,
    ("one_tcp_stream_max_seq.pcap", "owin_mean_bytes"): WRAPS,
    ("one_tcp_stream_max_seq.pcap", "owin_time_mean_bytes"): WRAPS,
    ("sender.pcap", "rst_packets"): ONE_BYTE_COUNTER,
    ("receiver.pcap", "rst_packets"): ONE_BYTE_COUNTER,
    ("nanosecs_big_endian.pcap", "mss_bytes"): SIGNED_MSS,
    ("nanosecs_big_endian.pcap", "throughput_bytes_per_s"): MICROSECONDS,
}

FULL_SIZE = "rtt_full_"
"""tcptrace takes segments of one byte (SYN, FIN) for 2^32 long on 64-bit hosts: see the test without them."""

needs_tcptrace = pytest.mark.skipif(shutil.which("tcptrace") is None, reason="tcptrace is not installed")


def kernel_captures() -> list[Path]:
    return sorted((SHARED / "kernel").glob("*.pcap"))


def flow_rows(path: Path) -> list[list[Row]]:
    """The rows of `flows`, a list a connection."""
    reader = wl.Capture(path).reader()
    flows: dict[int, list[Row]] = {}
    while batches := reader.next_batches():
        for table, batch in batches:
            if table == "flows":
                for row in batch.to_pylist():
                    flows.setdefault(row["flow"], []).append(row)
    return [flows[flow] for flow in sorted(flows)]


#: Packets with a wrong checksum, which change no connection. tcptrace counts them; it reads a copy without them.
DAMAGED = {"dsack.dmp.gz": [2534]}


@cache
def undamaged(path: Path) -> Path:
    """The capture, or a copy without its damaged packets."""
    if path.name not in DAMAGED:
        return path
    if shutil.which("editcap") is None:
        pytest.skip("editcap is not installed")
    copy = Path(tempfile.mkdtemp()) / "undamaged.pcap"
    subprocess.run(
        ["editcap", "-F", "pcap", path, copy, *map(str, DAMAGED[path.name])], check=True, capture_output=True
    )
    return copy


def pairs(path: Path) -> list[tuple[Row, Row]]:
    """Each row of `flows` with what tcptrace prints of the same direction."""
    flows, printed = flow_rows(path), printed_rows(undamaged(path))
    assert 2 * len(flows) == len(printed)
    matched = []
    for flow, connection in zip(flows, zip(printed[::2], printed[1::2], strict=True), strict=True):
        ours = {(r["ip_src"], r["src_port"], r["ip_dst"], r["dst_port"]): r for r in flow}
        for row in connection:
            key = (*row["src"], *row["dst"])
            if key in ours:
                matched.append((ours[key], row))
            else:
                assert int(row["total_packets"]) == 0, f"{key} is not in flows"
    return matched


def differences(path: Path, names: tuple[str, ...] = ()) -> dict[str, str]:
    """Column -> the values that differ; only the columns that begin with one of `names`, if any are given."""
    found = {}
    for row, printed in pairs(path):
        for column in COLUMNS:
            if column.ours.startswith(names or "") and not column.agrees(row, printed):
                found[column.ours] = f"{row[column.ours]!r}, tcptrace prints {printed[column.theirs]}"
    return found


@needs_tcptrace
@pytest.mark.parametrize("name", NAMES)
def test_every_column(name: str) -> None:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    found = {c: d for c, d in differences(path).items() if not c.startswith(FULL_SIZE)}
    explained = {column for capture, column in DIFFERENCES if capture == name}
    assert not {c: d for c, d in found.items() if c not in explained}
    assert not explained - set(found), "explained, but there is no difference"


@needs_tcptrace
@pytest.mark.parametrize("path", kernel_captures() or [None], ids=lambda p: p.name if p else "none")
def test_every_column_of_a_kernel_capture(path: Path | None) -> None:
    if path is None:
        pytest.skip("../shared/kernel is not here")
    assert not {c: d for c, d in differences(path).items() if not c.startswith(FULL_SIZE)}


@needs_tcptrace
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize(
    "name", ["dsack.dmp.gz", "discard.solaris.dmp.gz", "comp008.trace", "fack024.trace", "206_example_b.pcap"]
)
def test_full_size_rtt_without_segments_of_one_byte(name: str, tmp_path: Path) -> None:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    longer = tmp_path / "longer.pcap"
    keep = "tcp.len > 1 or (tcp.len == 0 and tcp.flags.syn == 0 and tcp.flags.fin == 0)"
    subprocess.run(["tshark", "-r", path, "-Y", keep, "-F", "pcap", "-w", longer], check=True, capture_output=True)
    assert any(row["rtt_full_samples"] > 0 for flow in flow_rows(longer) for row in flow)
    assert not differences(longer, (FULL_SIZE,))
