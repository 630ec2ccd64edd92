"""The batch of 1000 traces: time, overhead per trace, and the same results from two workers and from Dask, after kill -9 too.

    python benches/fleet.py [--traces 1000] [--folder WORK]

The traces are copies of the kernel captures (../shared/kernel); 5 % are bad inputs (../shared/badinputs), one of which needs
more memory than it gets, so that its process dies.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
#: Bad inputs by their file: one whose process dies with `MEMORY_MB`, others that are unreadable or damaged.
BAD = (
    "container/empty.pcap",
    "compression/gz_2gib_zeros.pcap.gz",
    "container/ng_cut.pcapng",
    "compression/zip_named_pcap.pcap",
)
KILLS = "ip_tcp/flow_flood.pcap"
MEMORY_MB = 64


def make(folder: Path, count: int) -> None:
    """Write the captures."""
    bad = folder.parent / "bad"
    subprocess.run(
        [sys.executable, SHARED / "badinputs" / "make_badinputs.py", bad], check=True, stdout=subprocess.DEVNULL
    )
    kernel = sorted((SHARED / "kernel").glob("*.sender.pcap"))
    folder.mkdir()
    for number in range(count):
        if number == 7:
            source = bad / KILLS
        elif number % 20 == 7:
            source = bad / BAD[number // 20 % len(BAD)]
        else:
            source = kernel[number % len(kernel)]
        shutil.copyfile(source, folder / f"t{number:04}.{source.name.split('.', 1)[1]}")


def batch(folder: Path, out: Path, *words: str) -> tuple[float, float, dict[str, object]]:
    """Run a batch; seconds by the clock, seconds of CPU, and its summary."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(_command(folder, out, *words, "--json"), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begun, cpu_s, json.loads(done.stdout)


def _command(folder: Path, out: Path, *words: str) -> list[str]:
    limits = ["--memory-mb", str(MEMORY_MB), "--no-report"]
    return [sys.executable, "-m", "wlanlens_cli.main", "batch", str(folder), "-o", str(out), *limits, *words]


def tables(out: Path) -> dict[str, bytes]:
    """Every table of every run."""
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.glob("runs/*/tables/*/*")) if p.is_file()}


def main() -> None:
    """Run it three times and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as work:
        place = Path(work)
        make(place / "in", given.traces)
        took_s, cpu_s, told = batch(place / "in", place / "two", "-j", "2")
        print(f"-j 2: {took_s:.1f} s, {cpu_s:.1f} s of CPU, {told['statuses']}", flush=True)
        rows: list[dict[str, object]] = told["runs"]  # type: ignore[assignment]
        inside = sum(float(str(row["seconds"])) * int(str(row["attempts"])) for row in rows)
        print(f"overhead: {1000 * (2 * took_s - inside) / given.traces:.1f} ms a trace over the analyses, all included")
        reasons = Counter(str(row["reason"]).partition(": ")[2] for row in rows if row["status"] != "done")
        print("\n".join(f"  {number} x {reason}" for reason, number in reasons.most_common()), flush=True)
        want = tables(place / "two")

        killed = subprocess.Popen(_command(place / "in", place / "again", "-j", "2", "--quiet"))
        while len(list((place / "again").glob("runs/*/run.json"))) < 0.3 * given.traces:
            time.sleep(0.05)
        killed.kill()
        killed.wait()
        time.sleep(1)
        before = {path: path.stat().st_mtime_ns for path in (place / "again").glob("runs/*/run.json")}
        took_s, _, told = batch(place / "in", place / "again", "-j", "2")
        redone = sum(path.stat().st_mtime_ns != at for path, at in before.items())
        print(
            f"after kill -9 at {len(before)}: {told['new']} new in {took_s:.1f} s, {redone} redone, equal: {tables(place / 'again') == want}"
        )
        shutil.rmtree(place / "again")

        took_s, _, told = batch(place / "in", place / "dask", "-j", "2", "--scheduler", "local")
        print(f"Dask: {took_s:.1f} s, {told['statuses']}, equal: {tables(place / 'dask') == want}")
        begun = time.monotonic()
        took_s, _, told = batch(place / "in", place / "two", "-j", "2")
        print(f"again: {told['new']} new in {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
