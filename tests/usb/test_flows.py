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
        pytest.skip("the shared captures are not beside the repository")
    capture = wl.open(path)
    packets, urbs = capture.table("packets").to_pandas(), capture.table("urbs").to_pandas()
    assert (len(packets), len(urbs)) == (1123, 888)
    assert packets["tcp_seq"].notna().any()
    assert urbs["interface"].nunique() == 4
    used = [*packets["packet"], *urbs["submit_packet"].dropna(), *urbs["complete_packet"].dropna()]
    assert len(used) == len(set(used))
