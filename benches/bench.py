"""Packets a second beside the peers that are installed, on the same file in one run. CPU seconds, medians; no timed test.

python benches/bench.py [PACKETS]
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import generate

RUNS = 3
#: tshark is a hundred times slower: it gets the first part of the file.
TSHARK_PACKETS = 50_000
_FIELDS = (
    "frame.number", "frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.ack", "tcp.len",
    "tcp.flags", "tcp.window_size", "tcp.analysis.flags",
)  # fmt: skip

_READ = "from wlanlens import _core\nr = _core.Reader({path!r}, track={track})\nwhile r.next_batches():\n    pass"


def cpu(command: list[str], folder: Path) -> tuple[float, float]:
    """(CPU seconds, peak MiB) of one run."""
    with open(os.devnull, "wb") as null:
        process = subprocess.Popen(command, stdout=null, stderr=null, cwd=folder)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with status {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def median(command: list[str], folder: Path) -> tuple[float, float]:
    """Medians over `RUNS` runs."""
    runs = [cpu(command, folder) for _ in range(RUNS)]
    return statistics.median(r[0] for r in runs), max(r[1] for r in runs)


def commands(path: Path) -> dict[str, tuple[list[str], bool]]:
    """Name -> (command, whether a Python start is to be taken off) of everything that is there."""
    python, text = sys.executable, str(path)
    wlanlens = [python, "-m", "wlanlens_cli.main", "analyze", text, "-o", "out", "--quiet"]
    peers = {
        "capinfos": ["capinfos", text],
        "tcpdump -w": ["tcpdump", "-r", text, "-w", "/dev/null"],
        "tcptrace -l -r -W": ["tcptrace", "-n", "-l", "-r", "-W", text],
    }
    out = {name: (command, False) for name, command in peers.items() if shutil.which(command[0])}
    out["wlanlens decode"] = ([python, "-c", _READ.format(path=text, track=False)], True)
    out["wlanlens decode + facts"] = ([python, "-c", _READ.format(path=text, track=True)], True)
    out["wlanlens analyze --no-report"] = ([*wlanlens, "--no-report"], True)
    out["wlanlens analyze"] = (wlanlens, True)
    return out


def measure(packets: int, snaplen: int, folder: Path) -> None:
    """Print one table."""
    path = folder / f"{snaplen}.pcap"
    with open(path, "wb") as out:
        generate.write(out, packets, snaplen)
    print(f"\n{packets:,} packets, {snaplen} bytes each at most, {path.stat().st_size / 1e6:.0f} MB")
    print(f"{'':32}{'CPU s':>8}{'million/s':>11}{'peak MiB':>10}")
    start, _ = median([sys.executable, "-c", "import pyarrow; from wlanlens import _core"], folder)
    rates: dict[str, float] = {}
    for name, (command, takes_start) in commands(path).items():
        seconds, peak = median(command, folder)
        rates[name] = packets / max(seconds - (start if takes_start else 0.0), 1e-3)
        print(f"{name:32}{seconds:8.2f}{rates[name] / 1e6:11.2f}{peak:10.0f}")
    if shutil.which("tshark"):
        short = folder / "short.pcap"
        with open(short, "wb") as out:
            generate.write(out, TSHARK_PACKETS, snaplen)
        command = ["tshark", "-n", "-r", str(short), "-T", "fields", *(w for f in _FIELDS for w in ("-e", f))]
        seconds, peak = median(command, folder)
        rates["tshark, 12 fields"] = TSHARK_PACKETS / seconds
        print(
            f"{'tshark, 12 fields':32}{seconds:8.2f}{TSHARK_PACKETS / seconds / 1e6:11.2f}{peak:10.0f}  ({TSHARK_PACKETS:,} packets)"
        )
    ours = [name for name in rates if name.startswith("wlanlens")]
    for peer in (name for name in rates if name not in ours):
        print(f"{'times ' + peer:32}" + "  ".join(f"{name[9:]}: {rates[name] / rates[peer]:.2f}" for name in ours))


def main() -> None:
    """Both snap lengths; the second file is about 1 GB, and its peak memory is the promise of DESIGN.md 9."""
    packets = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"CPU seconds, medians of {RUNS}, a start of Python taken off for wlanlens' rates; {os.cpu_count()} CPUs")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="wlanlens-bench-") as name:
        measure(packets, 96, Path(name))
        measure(packets, 1514, Path(name))


if __name__ == "__main__":
    main()
