"""TCP through a USB adapter: the tables of a generated USB capture are those of the capture it was made of."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from pathlib import Path

import pandas as pd
import pytest

import wlanlens as wl
from tests.captures import MIXED
from tests.usb import made

#: The record is another one, and so is its length.
OTHERS = ["capture", "packet", "wire_bytes", "captured_bytes"]
FRAMINGS = {
    "ethernet": made.ecm, "ip": made.raw_ip, "rndis": made.rndis, "ncm": made.ncm, "mbim": made.mbim,
    "asix": made.asix, "r8152": made.realtek, "ax88179": made.ax88179, "prism2": made.prism2, "found": made.unknown,
}  # fmt: skip
#: The header does not change with the framing, so each is tried with few.
CASES = [(name, 220) for name in FRAMINGS] + [
    (name, dlt) for name in ("ethernet", "rndis", "prism2") for dlt in (189, 249)
]
AGGREGATED = ("rndis", "ncm", "mbim", "asix", "r8152")


def write(path: Path, framing: made.Framing, groups: list[list[made.Packet]], link_type: int = 220) -> wl.Capture:
    record = {220: made.usbmon, 189: partial(made.usbmon, size=48), 249: made.usbpcap}[link_type]
    path.write_bytes(made.pcap(made.transfers(groups, framing, record), link_type))
    return wl.open(path)


def rows(capture: wl.Capture, table: str, drop: list[str]) -> pd.DataFrame:
    frame = capture.table(table).to_pandas()
    return frame.drop(columns=[c for c in frame.columns if c in drop or c.endswith("packet")])


@pytest.fixture(scope="module")
def original() -> wl.Capture:
    return wl.open(MIXED)


@pytest.fixture(scope="module")
def sent() -> list[made.Packet]:
    return made.packets(MIXED)


def check_links(capture: wl.Capture, framing: str) -> None:
    """urbs.ip_packet and packets.packet name the same records."""
    urbs = capture.table("urbs").to_pandas()
    linked = urbs[urbs["ip_packet"].notna()]
    assert set(linked["framing"]) == {framing}
    assert set(linked["ip_packet"]) == set(capture.table("packets")["packet"].to_pylist())
    assert linked["ip_packets"].sum() == capture.table("packets").num_rows
    out = linked["direction"] == "out"
    assert (linked["ip_packet"] == linked["submit_packet"].where(out, linked["complete_packet"])).all()
    assert not urbs["submit_packet"].isna().any()


@pytest.mark.parametrize(("framing", "link_type"), CASES)
def test_the_same_flow(
    framing: str, link_type: int, original: wl.Capture, sent: list[made.Packet], tmp_path: Path
) -> None:
    capture = write(tmp_path / "usb.pcap", FRAMINGS[framing], [[p] for p in sent], link_type)
    for table in ("packets", "segments", "timeouts", "recoveries"):
        ours, theirs = rows(capture, table, OTHERS), rows(original, table, OTHERS)
        pd.testing.assert_frame_equal(ours, theirs, check_categorical=False, check_dtype=False)
    check_links(capture, framing)


@pytest.mark.parametrize("framing", AGGREGATED)
def test_several_frames_a_transfer(framing: str, original: wl.Capture, sent: list[made.Packet], tmp_path: Path) -> None:
    groups = [list(group) for _, group in groupby(sent, key=lambda p: p.outgoing)]
    groups = [group[i : i + 5] for group in groups for i in range(0, len(group), 5)]
    assert max(map(len, groups)) > 1
    capture = write(tmp_path / "usb.pcap", FRAMINGS[framing], groups)
    ours, theirs = (rows(c, "packets", [*OTHERS, "time", "t_ns"]) for c in (capture, original))
    pd.testing.assert_frame_equal(ours, theirs, check_categorical=False)
    check_links(capture, framing)


def test_usb_and_ethernet_in_one_file() -> None:
    path = Path(__file__).parents[2].parent / "shared/captures/usb/tfp_capture_tcp_usb.pcapng"
    if not path.exists():
        pytest.skip("the shared captures (../shared) are absent")
    capture = wl.open(path)
    packets, urbs = capture.table("packets").to_pandas(), capture.table("urbs").to_pandas()
    assert (len(packets), len(urbs)) == (1123, 888)
    assert packets["tcp_seq"].notna().any()
    assert urbs["interface"].nunique() == 4
    used = [*packets["packet"], *urbs["submit_packet"].dropna(), *urbs["complete_packet"].dropna()]
    assert len(used) == len(set(used))


@pytest.mark.parametrize("framing", ["rndis", "prism2"])
def test_cut_at_every_byte(framing: str, sent: list[made.Packet], tmp_path: Path) -> None:
    records = made.transfers([[p] for p in sent[:3]], FRAMINGS[framing])
    whole = made.pcap(records, 220)
    # Behind the first record: in a file of less the search for a sound one may end anywhere.
    first = 24 + 16 + len(records[0][1])
    path, before = tmp_path / "cut.pcap", 0
    for n in range(first, len(whole) + 1):
        path.write_bytes(whole[:n])
        capture = wl.open(path)
        rows = capture.table("urbs").num_rows
        assert rows >= before
        before = rows
    assert capture.table("packets").num_rows == 3


def test_text_of_usbmon(tmp_path: Path) -> None:
    """A device's descriptor and a mass storage command, as Documentation/usb/usbmon.rst shows them."""
    path = tmp_path / "1u.txt"
    path.write_text(
        "d5ea89a0 3575914555 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <\n"
        "d5ea89a0 3575914560 C Ci:1:001:0 0 4 = 01050000\n"
        "dd65f0e8 4128379752 S Bo:1:008:2 -115 31 = 55534243 ad000000 00800000 80010a28 20000000 20000040 00000000 000000\n"
        "dd65f0e8 4128379808 C Bo:1:008:2 0 31 >\n",
        encoding="ascii",
    )
    capture = wl.open(path)
    control, bulk = capture.table("urbs").to_pylist()
    assert capture.format == "usbmon_text"
    assert (control["transfer"], control["asked_bytes"], control["done_bytes"]) == ("control", 4, 4)
    assert (control["request_type"], control["request"], control["index"]) == (0xA3, 0, 3)
    assert (control["t_submit_ns"], control["latency_ns"]) == (0, 5000)
    assert (bulk["bus"], bulk["device"], bulk["endpoint"], bulk["direction"]) == (1, 8, 2, "out")
    assert (bulk["captured_bytes"], bulk["done_bytes"], bulk["latency_ns"]) == (31, 31, 56_000)
    assert [note.name for note in capture.notes] == ["usbmon_text"]


def test_a_slow_bus_is_found_through_the_whole_path(sent: list[made.Packet], tmp_path: Path) -> None:
    """One 64-byte transaction a frame and a frame for the turnaround, one transfer at a time."""
    records, at = [], sent[0].time_ns
    for n, packet in enumerate([p for p in sent if p.outgoing and p.length > 1000][:60]):
        data, length = made.ecm([packet])
        done = at + (-(-length // 64) + 1) * 1_000_000
        records.append((at, made.usbmon(n, b"S", made.OUT, at, data, length), 64 + length))
        records.append((done, made.usbmon(n, b"C", made.OUT, done, b"", length), 64))
        at = done + 30_000
    path = tmp_path / "slow.pcap"
    path.write_bytes(made.pcap(records, 220))
    analysis = wl.analyze([path], out=tmp_path / "out", only=["usb_bottleneck"], report=False)
    (finding,) = analysis.findings
    assert finding.values["mode"] == "breadth first, no reclamation"
    assert finding.cost_s == pytest.approx(60 * (25 - 1514 / 1216) / 1e3, rel=0.05)
    assert analysis.trace.captures[0].point == "usb"
