"""Real captures, mutated, through `wlanlens batch`: every one ends as an analysis or with its reason, none as a bug.

`python -m tests.pipeline.mutated_captures 3000 SEED` mutates captures in 3000 ways and prints each fault with the file that it keeps.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from tests.captures import ROOT, samples

SHARED = Path(os.environ.get("WLANLENS_SHARED", ROOT.parent / "shared"))
#: Larger captures would make the analysis slow, not the mutations better.
MOST_BYTES, MOST_RECORDS = 4 << 20, 400
#: Longest time and largest memory of one analysis.
SECONDS, MEMORY_MB = 30, 1024
#: Numbers at which lengths and counts overflow.
EDGES = (0, 1, 2, 3, 4, 7, 8, 0xFF, 0x7FFF, 0xFFFF, 262_144, 262_145, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)


def sources() -> list[list[Path]]:
    """The captures to mutate: the samples, those that belong together in one list, and the shared ones where they are."""
    out = [list(paths) for paths in samples().values()]
    for folder in ("captures", "wlan-modern", "answers/captures"):
        files = sorted(p for p in (SHARED / folder).rglob("*") if p.is_file() and p.stat().st_size < MOST_BYTES)
        out += [[p] for p in files if p.suffix not in (".tsv", ".md", ".txt", ".py", ".json", ".csv")]
    for sender in sorted((SHARED / "kernel").glob("*.sender.pcap")):
        receiver = sender.with_name(sender.name.replace(".sender.", ".receiver."))
        out.append([sender, receiver] if receiver.exists() else [sender])
    return out


def records(data: bytes) -> tuple[bytes, list[bytes]]:
    """The file header and the records of a pcap or the blocks of a pcapng; no records if it is neither."""
    if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"):
        order = "<" if data[0] in (0xD4, 0x4D) else ">"
        return data[:24], list(_split(data, 24, order + "8xI", 16))
    if data[:4] == b"\n\r\r\n" and len(data) >= 12:
        order = "<" if data[8:12] == b"\x4d\x3c\x2b\x1a" else ">"
        blocks = list(_split(data, 0, order + "4xI", 0))
        head = next(
            (i for i, block in enumerate(blocks) if block[:4] not in (b"\n\r\r\n", b"\1\0\0\0", b"\0\0\0\1")), 0
        )
        return b"".join(blocks[:head]), blocks[head:]
    return b"", []


def _split(data: bytes, at: int, form: str, extra: int) -> Iterator[bytes]:
    while at + struct.calcsize(form) <= len(data):
        (length,) = struct.unpack_from(form, data, at)
        if length + extra < 12:
            return
        yield data[at : at + length + extra]
        at += length + extra


def damaged(data: bytes, rng: random.Random, reach: int) -> bytes:
    """A few bytes changed among the first `reach`, where the headers are."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        if not out:
            break
        at = rng.randrange(min(len(out), reach))
        kind = rng.randrange(5)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at] = rng.randrange(256)
        elif kind == 2:
            width = rng.choice([1, 2, 4])
            edge = (rng.choice(EDGES) & ((1 << 8 * width) - 1)).to_bytes(width, rng.choice(["little", "big"]))
            out[at : at + width] = edge
        elif kind == 3:
            del out[at : at + rng.choice([1, 4, 20])]
        else:
            out[at:at] = rng.randbytes(rng.choice([1, 4, 40]))
    return bytes(out)


def mutated(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """A capture mutated once: as bytes, or record by record so that its framing stays."""
    head, rows = records(data)
    if not rows or rng.random() < 0.2:
        return damaged(data, rng, rng.choice([64, 4096, len(data) or 1]))
    begin = rng.choice([0, 0, rng.randrange(len(rows))])
    rows = rows[begin : begin + MOST_RECORDS]
    for _ in range(rng.choice([1, 3, 20])):
        kind, at = rng.randrange(7), rng.randrange(len(rows))
        if kind <= 1:
            # The record's own header has 16 bytes in pcap and 28 in pcapng; lengths in it are wrong once in a while.
            keep = 0 if rng.random() < 0.1 else 28 if head[:4] == b"\n\r\r\n" else 16
            inner = damaged(rows[at][keep:], rng, 100)
            # The same length, so that the records behind it are read.
            rows[at] = rows[at][:keep] + inner[: len(rows[at]) - keep].ljust(len(rows[at]) - keep, b"\0")
        elif kind == 2:
            rows[at] = rows[rng.randrange(len(rows))]
        elif kind == 3:
            rows.insert(at, rows[rng.randrange(len(rows))])
        elif kind == 4:
            del rows[at : at + rng.choice([1, 10])]
            rows = rows or [b""]
        elif kind == 5:
            time = rng.choice(EDGES) if rng.random() < 0.3 else rng.randrange(1 << 31)
            rows[at] = rows[at][:4] + struct.pack("<I", time) + rows[at][8:] if rng.random() < 0.5 else rows[at]
        else:
            foreign = records(other)
            if foreign[1] and foreign[0][:4] == head[:4]:
                rows[at:at] = foreign[1][: rng.randrange(20)]
    made = head + b"".join(rows)
    return gzip.compress(made, 1) if rng.random() < 0.02 else made


def plain(path: Path) -> bytes:
    """The bytes of a file, decompressed if it is gzip."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            return gzip.decompress(data)
        except (OSError, EOFError):
            return data
    return data


def write(folder: Path, count: int, seed: str) -> None:
    """Write `count` traces into a folder, `N.pcap` or `N.POINT.pcap`, and the manifest that names them."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    every = sources()
    with (folder / "manifest.tsv").open("w") as manifest:
        manifest.write("trace\tcapture\n")
        for number in range(count):
            chosen = rng.choice(every)
            paths = chosen if len(chosen) > 1 and rng.random() < 0.7 else [rng.choice(chosen)]
            for i, path in enumerate(paths):
                name = f"{number:05}.{i}.{path.name.split('.')[0][:40]}"
                other = plain(rng.choice(rng.choice(every)))
                data = plain(path)
                whole = i > 0 and rng.random() < 0.5  # of several captures often one is whole
                (folder / name).write_bytes(data if whole else mutated(data, other, rng))
                manifest.write(f"{number:05}\t{name}\n")


def faults(folder: Path, out: Path, *words: str) -> tuple[list[str], Counter[str]]:
    """Analyse the traces of a folder. What is wrong with each, and how many ended in each way."""
    program = Path(sys.executable).with_name("wlanlens")
    limits = ("--timeout-s", str(SECONDS), "--memory-mb", str(MEMORY_MB))
    done = subprocess.run(
        [program, "batch", folder / "manifest.tsv", "-o", out, *limits, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = [f"batch ended with status {done.returncode}"] if done.returncode not in (0, 3) else []
    if "panicked" in done.stderr or "Traceback" in done.stderr:
        wrong.append(f"standard error: {done.stderr[:2000]}")
    ended: Counter[str] = Counter()
    for row in pq.read_table(out / "runs.parquet").to_pylist():
        ended[row["status"]] += 1
        trace = f"{row['trace']}: "
        if row["status"] in ("timeout", "killed"):
            wrong.append(trace + f"{row['status']}: {row['reason']}")
        if row["status"] != "done":
            continue
        described = json.loads((out / "runs" / row["run"] / "analysis.json").read_bytes())
        wrong += [trace + f"detector failed: {line}" for line in _failed(described)]
    return wrong, ended


def _failed(described: dict[str, object]) -> list[str]:
    states = described["detectors"]
    assert isinstance(states, list)
    return [str(state) for state in states if state["state"] == "failed"]


if __name__ == "__main__":
    number, seed = int(sys.argv[1]), sys.argv[2]
    place = Path(tempfile.mkdtemp(prefix="mutated-"))
    (place / "in").mkdir()
    write(place / "in", number, seed)
    found, ended = faults(place / "in", place / "out", *sys.argv[3:])
    print(dict(ended))
    for line in found:
        print(line)
    if found:
        sys.exit(f"{len(found)} faults; the captures are in {place / 'in'}")
    shutil.rmtree(place)
