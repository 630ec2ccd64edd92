"""Folders of many traces, and what of a batch must be equal for every order and number of workers."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.captures import ROOT

SAMPLES = sorted((ROOT / "sample_traces").glob("*_*.sender.pcap"))

#: What is wrong with the captures that cannot be read, by the first letters of their names.
BAD = {"empty": b"", "text": b"not a capture\n", "header": bytes.fromhex("d4c3b2a1") + b"\x02\x00"}

#: Columns of `runs` that measure this run of the program.
MEASURED = ("seconds", "cpu_s", "peak_bytes")


def traces(folder: Path, good: int, bad: int = 0) -> list[Path]:
    """Write captures: copies of the samples, and some that cannot be read."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(good):
        paths.append(folder / f"good{number:04}.pcap")
        shutil.copyfile(SAMPLES[number % len(SAMPLES)], paths[-1])
    for number in range(bad):
        name, content = list(BAD.items())[number % len(BAD)]
        paths.append(folder / f"{name}{number:04}.pcap")
        paths[-1].write_bytes(content)
    return paths


def shuffled(paths: list[Path], seed: int) -> list[Path]:
    """The same paths in another order."""
    out = list(paths)
    random.Random(seed).shuffle(out)  # noqa: S311 - a fixed order
    return out


def runs(out: Path) -> pa.Table:
    """runs.parquet without what was measured."""
    return pq.read_table(out / "runs.parquet").drop_columns(list(MEASURED))


def results(out: Path) -> dict[str, bytes]:
    """Every file of the runs but their records, which have times; reports have the name of the directory."""
    found = sorted((out / "runs").rglob("*"))
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in found
        if path.is_file() and path.name not in ("run.json", "report.html")
    }


def litter(out: Path) -> list[str]:
    """Files that nobody needs after a run."""
    return [
        str(p.relative_to(out)) for p in out.rglob("*") if p.name.endswith((".tmp", ".lock")) or "scratch" in p.name
    ]
