"""What tshark finds wrong in simulated captures: one process for many captures, since it needs most of its time to start."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

CHECKS = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "wlan.check_checksum:TRUE"]
_BAD = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0"
#: A frame that collided or was damaged has a wrong FCS, and its radiotap header says so.
WRONG = f"(wlan.fcs.status == 0 && radiotap.flags.badfcs == 0) || ((wlan.fcs.status == 1 || !wlan) && ({_BAD}))"


def installed() -> bool:
    return all(shutil.which(program) for program in ("tshark", "mergecap"))


def first_fault(captures: Iterable[Path], folder: Path) -> str:
    """The first frame that tshark calls malformed or whose checksums are wrong, with its capture; or nothing."""
    paths = list(captures)
    whole = folder / "all.pcapng"
    subprocess.run(["mergecap", "-a", "-w", str(whole), *map(str, paths)], check=True)
    fields = ["-T", "fields", "-e", "frame.number", "-e", "_ws.expert"]
    seen = subprocess.run(
        ["tshark", "-n", "-r", str(whole), *CHECKS, "-Y", WRONG, *fields], capture_output=True, text=True, check=True
    )
    whole.unlink()
    if not seen.stdout:
        return ""
    number, said = seen.stdout.splitlines()[0].split("\t")
    ends = accumulate(map(records, paths))
    path = next(path for path, end in zip(paths, ends, strict=True) if int(number) <= end)
    return f"{path}: frame {number} of all: {said}"


def records(path: Path) -> int:
    """The number of records of a pcap file."""
    data, at, count = path.read_bytes(), 24, 0
    while at < len(data):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        count += 1
    return count
