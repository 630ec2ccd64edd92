"""Transfers of the shared USB captures compared with a few lines of Python on tshark's fields."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import wlanlens as wl
from tests.captures import ROOT

FOLDER = ROOT.parent / "shared" / "captures" / "usb"
FILES = sorted(path for path in FOLDER.glob("*") if path.is_file())
FIELDS = (
    "frame.number", "frame.interface_id", "usb.urb_id", "usb.irp_id", "usb.urb_type", "usb.irp_info.direction",
    "usb.transfer_type", "usb.bus_id", "usb.device_address", "usb.endpoint_address", "usb.data_len", "usb.urb_len",
    "usb.urb_status", "usb.usbd_status", "usb.control_stage", "usb.function", "usb.data_flag",
)  # fmt: skip
TRANSFERS = {"0x00": "isochronous", "0x01": "interrupt", "0x02": "control", "0x03": "bulk"}
SETUP, DATA = "0", "1"

pytestmark = [
    pytest.mark.skipif(not FILES, reason="the shared captures (../shared) are absent"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed"),
]


class Transfer(NamedTuple):
    """What is compared of one row."""

    submit: int | None
    complete: int | None
    bus: int
    device: int
    endpoint: int
    transfer: str
    status: int | None
    captured: int | None


def records(path: Path) -> Iterator[dict[str, str]]:
    fields = [word for field in FIELDS for word in ("-e", field)]
    command = ["tshark", "-n", "-r", str(path), "-Y", "usb", "-T", "fields", "-E", "occurrence=f", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        yield dict(zip(FIELDS, line.split("\t"), strict=True))


def transfers(path: Path) -> Iterator[Transfer]:
    """Pairs by URB id and endpoint: in usb_memory_stick.pcap records are missing, so that the completion of another endpoint
    follows a submission (1004, 1005), and Windows uses one IRP for all phases of a mass storage command."""
    waiting: dict[tuple[str, ...], tuple[int | None, int, dict[str, str]]] = {}
    for r in records(path):
        usbmon = bool(r["usb.urb_id"])
        endpoint = "" if TRANSFERS[r["usb.transfer_type"]] == "control" else r["usb.endpoint_address"]
        key = (r["frame.interface_id"], r["usb.urb_id"] or r["usb.irp_id"], r["usb.device_address"], endpoint)
        begins = r["usb.urb_type"] == "'S'" if usbmon else r["usb.irp_info.direction"] == "0x00"
        number, length = int(r["frame.number"]), held(r, usbmon, begins)
        if begins:
            if key in waiting:
                yield row(*waiting.pop(key), None)
            waiting[key] = (number, length, r)
        elif not usbmon and r["usb.control_stage"] == DATA:
            first = waiting.get(key, (None, 0, r))
            waiting[key] = (first[0], length, first[2])
        else:
            submit, before, first = waiting.pop(key, (None, 0, r))
            yield row(submit, max(before, length), first, r)
    for rest in waiting.values():
        yield row(*rest, None)


def held(r: dict[str, str], usbmon: bool, begins: bool) -> int:
    """Bytes of data in the record: of isochronous transfers the descriptors count, of USBPcap the setup packet."""
    length = int(r["usb.data_len"] or 0)
    return max(0, length - 8) if not usbmon and begins and r["usb.control_stage"] == SETUP else length


def row(submit: int | None, captured: int, first: dict[str, str], end: dict[str, str] | None) -> Transfer:
    status = None
    if end is not None:
        status = int(end["usb.urb_status"]) if end["usb.urb_status"] else int(end["usb.usbd_status"], 16)
    transfer = TRANSFERS[first["usb.transfer_type"]]
    return Transfer(
        submit,
        None if end is None else int(end["frame.number"]),
        int(first["usb.bus_id"]),
        int(first["usb.device_address"]),
        int(first["usb.endpoint_address"], 16) & 0xF,
        transfer,
        status,
        None if transfer == "isochronous" else captured,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_transfer(path: Path) -> None:
    found = wl.open(path).table("urbs").to_pylist()
    ours = [
        Transfer(
            r["submit_packet"], r["complete_packet"], r["bus"], r["device"], r["endpoint"], r["transfer"], r["status"],
            None if r["transfer"] == "isochronous" else r["captured_bytes"],
        )
        for r in found
    ]  # fmt: skip
    theirs = list(transfers(path))
    assert Counter(ours) == Counter(theirs)
    numbers = [r["packet"] for r in found]
    assert len(numbers) == len(set(numbers))
    completed = [r["packet"] for r in found if r["complete_packet"] is not None]
    assert completed == sorted(completed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_lengths_and_directions(path: Path) -> None:
    by_packet = {}
    for r in wl.open(path).table("urbs").to_pylist():
        by_packet[r["submit_packet"]] = by_packet[r["complete_packet"]] = r
    for r in records(path):
        mine = by_packet.get(int(r["frame.number"]))
        if not r["usb.urb_id"] or mine is None:
            continue
        assert (mine["direction"] == "in") == bool(int(r["usb.endpoint_address"], 16) & 0x80)
        side = "asked_bytes" if r["usb.urb_type"] == "'S'" else "done_bytes"
        assert mine[side] == int(r["usb.urb_len"]), r
        if mine["latency_ns"] is not None:
            assert mine["latency_ns"] == mine["t_complete_ns"] - mine["t_submit_ns"] >= 0
        assert mine["queue_depth"] is None or mine["queue_depth"] >= 1
