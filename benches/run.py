"""Compare the speed of wlanlens with capinfos, tcpdump, tcptrace and tshark on generated captures.

    python benches/run.py [--packets 1000000] [--runs 3]

Figures are CPU seconds (user and system, all threads): the median of `--runs` runs after one warm-up run, all commands on
the same file in the page cache. A busy machine changes CPU seconds little. Programs that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import make_air  # noqa: E402 - beside this file
import make_capture  # noqa: E402
import make_usb  # noqa: E402

WLANLENS = [sys.executable, "-m", "wlanlens_cli.main"]
#: tshark is slow: it reads the first packets only, and its figure is scaled to the whole file.
TSHARK_PACKETS = 100_000
TSHARK_FIELDS = (
    "frame.number frame.time_epoch ip.src ip.dst tcp.srcport tcp.dstport tcp.seq tcp.ack tcp.len tcp.flags "
    "tcp.analysis.retransmission tcp.analysis.ack_rtt"
)

#: Targets in million packets per CPU second, TCP with a snap length of 96 bytes. They hold for the machine on which the
#: other programs ran at the rates of ANCHORS; on a slower machine all figures shrink together.
TARGETS = {"decode to Arrow": 5.0, "+ flow facts": 2.5, "+ detectors and ledger": 1.5}
#: Million usbmon records per CPU second, URBs joined. There is no target for records with TCP flow facts.
USB_TARGETS = {"decode to Arrow": 2.0}
USB_FIELDS = (
    "frame.number frame.time_epoch usb.urb_id usb.urb_type usb.transfer_type usb.bus_id usb.device_address "
    "usb.endpoint_address usb.urb_status usb.urb_len usb.data_len usb.time"
)
#: Million frames per CPU second, frames without readable packets: only frames and exchanges are found.
AIR_TARGETS = {"decode to Arrow": 2.0, "+ exchanges": 2.0}
AIR_FIELDS = (
    "frame.number frame.time_epoch wlan.fc.type_subtype wlan.ra wlan.ta wlan.seq wlan.fc.retry wlan_radio.data_rate "
    "wlan_radio.signal_dbm wlan_radio.duration wlan_radio.ifs wlan.fcs.status"
)
ANCHORS = {"capinfos": 12.97, "tcpdump -w /dev/null": 11.12, "tcptrace -l -r -W": 4.82}

#: Steps inside one process of wlanlens: each is measured without the imports.
STEPS = {"decode to Arrow": "decode", "+ flow facts": "facts", "+ detectors and ledger": "detectors"}


@dataclass(frozen=True)
class Cost:
    """What one command took: CPU seconds, elapsed seconds, largest resident set in bytes."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def cost(command: list[str], runs: int, *, warm: bool = True, written: Path | None = None) -> Cost:
    """The median of `runs` runs, after one that is not counted.

    What a run wrote is removed after it, outside the measurement.
    """
    taken = []
    for _ in range(runs + warm):
        taken.append(_once(command))
        if written is not None and written.is_dir():
            shutil.rmtree(written)
        elif written is not None:
            written.unlink(missing_ok=True)
    taken = taken[int(warm) :]
    return Cost(median(c.cpu_s for c in taken), median(c.wall_s for c in taken), max(c.peak_bytes for c in taken))


#: Runs a command from a small process: a child's peak memory includes what its parent held when the child was started,
#: and this process holds millions of packets.
LAUNCH = """
import json, os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
begun = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
wall_s = time.perf_counter() - begun
print(json.dumps([status, usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024]))
"""


def _once(command: list[str]) -> Cost:
    """One run, measured by the operating system's account of that child process."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCH]
    done = subprocess.run([*launcher, *command], check=True, capture_output=True, text=True)
    status, cpu_s, wall_s, peak_bytes = json.loads(done.stdout)
    if status:
        raise SystemExit(f"failed with {status}: {' '.join(command)}")
    return Cost(cpu_s, wall_s, peak_bytes)


def peers(path: Path) -> dict[str, list[str]]:
    """Commands of the other programs that are installed."""
    commands = {
        "capinfos": ["capinfos", "-c", str(path)],
        "tcpdump -w /dev/null": ["tcpdump", "-r", str(path), "-w", "/dev/null"],
        "tcptrace -l -r -W": ["tcptrace", "-l", "-r", "-W", str(path)],
    }
    return {name: command for name, command in commands.items() if shutil.which(command[0])}


def tshark(path: Path, names: str = TSHARK_FIELDS) -> list[str]:
    """tshark writing twelve fields."""
    fields = [word for field in names.split() for word in ("-e", field)]
    return ["tshark", "-r", str(path), "-c", str(TSHARK_PACKETS), "-T", "fields", *fields]


def step(name: str, paths: list[str], runs: int) -> tuple[int, float]:
    """Rows read, and CPU seconds of one step of wlanlens in its own process."""
    command = [sys.executable, str(HERE / "steps.py"), name, *paths, "--runs", str(runs)]
    rows, spent = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return rows, median(spent)


def steps(path: Path, runs: int) -> dict[str, float]:
    """CPU seconds of each step of wlanlens on one capture."""
    return {title: step(name, [str(path)], runs)[1] for title, name in STEPS.items()}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    cpu_s: float
    packets: int
    target: float = 0.0
    note: str = ""

    @property
    def rate(self) -> float:
        """Million packets per CPU second."""
        return self.packets / self.cpu_s / 1e6


def speed(path: Path, packets: int, folder: Path, runs: int, targets: Mapping[str, float]) -> list[Row]:
    """The other programs and wlanlens on one file."""
    rows = [Row(name, cost(command, runs).cpu_s, packets) for name, command in peers(path).items()]
    if shutil.which("tshark"):
        head = min(packets, TSHARK_PACKETS)
        spent = cost(tshark(path), 1, warm=False).cpu_s * packets / head
        rows.append(Row("tshark, 12 fields", spent, packets, note=f"measured on the first {head:,} packets, scaled"))
    rows += [Row(name, spent, packets, targets.get(name, 0.0)) for name, spent in steps(path, runs).items()]
    for name, extra in (("analyze --no-report", ["--no-report"]), ("analyze", [])):
        taken = cost([*WLANLENS, "analyze", str(path), "-o", str(folder / "out"), "--quiet", *extra], runs)
        rows.append(
            Row(
                name,
                taken.cpu_s,
                packets,
                note=f"{taken.wall_s:.2f} s elapsed, peak {taken.peak_bytes / 1e6:.0f} MB",
            )
        )
    return rows


def link(path: Path, records: int, runs: int, fields: str, targets: Mapping[str, float], tracked: str) -> list[Row]:
    """The programs that read this link layer, and wlanlens, on one file; `tracked` names what is added to decoding."""
    rows = [Row(name, cost(command, runs).cpu_s, records) for name, command in peers(path).items() if "tcp" not in name]
    if shutil.which("tshark"):
        head = min(records, TSHARK_PACKETS)
        spent = cost(tshark(path, fields), 1, warm=False).cpu_s * records / head
        rows.append(Row("tshark, 12 fields", spent, records, note=f"measured on the first {head:,} records, scaled"))
    own = {
        name.replace("+ flow facts", tracked): spent
        for name, spent in steps(path, runs).items()
        if "detectors" not in name
    }
    return rows + [Row(name, spent, records, targets.get(name, 0.0)) for name, spent in own.items()]


#: Million packets of both captures aligned per CPU second: pairs found, clocks fitted, connections joined.
ALIGN_TARGET = 1.0
#: Peak memory at three times the packets, relative to the peak at one time: it is constant except for the window's size,
#: which varies by one slice.
ALIGN_GROWTH = 1.05


def align(folder: Path, packets: int, runs: int) -> tuple[Row, list[Cost]]:
    """Two captures of the same packets: aligned after decoding, and analysed at one and at three times the size."""
    paths = [str(folder / f"{name}.pcap") for name in ("sender", "receiver")]
    costs: list[Cost] = []
    row = Row("align, both decoded", 0.0, 0, ALIGN_TARGET)
    for size in (packets, 3 * packets):
        made = make_capture.all_rows(size, 50, 1)
        make_capture.write(Path(paths[0]), made, 96)
        there, there_ns = make_capture.at_receiver(made)
        make_capture.write(Path(paths[1]), there, 96, there_ns)
        del made, there, there_ns
        if not costs:
            count, spent = step("align", paths, runs)
            row = Row("align, both decoded", spent, count, ALIGN_TARGET)
        command = [*WLANLENS, "analyze", *paths, "-o", str(folder / "out"), "--quiet", "--no-report"]
        costs.append(cost(command, 1, warm=False))
    for path in paths:
        os.unlink(path)
    return row, costs


def show(title: str, rows: list[Row]) -> None:
    """One table; each ratio says how many times less CPU than another program was used."""
    names = [
        row.name.split()[0] for row in rows if row.name.split()[0] in ("capinfos", "tcpdump", "tcptrace", "tshark,")
    ]
    beside = {name.rstrip(","): rows[i].cpu_s for i, name in enumerate(names)}
    print(f"\n{title}")
    heads = "".join(f"{'x ' + name:>12}" for name in beside)
    print(f"{'':24}{'CPU s':>8}{'M pkt/s':>9}{'target':>9}{heads}")
    for row in rows:
        target = f">= {row.target}" if row.target else ""
        ratios = "".join(f"{spent / row.cpu_s:12.2f}" for spent in beside.values())
        missed = "  below target" if row.target and row.rate < row.target else ""
        print(f"{row.name:24}{row.cpu_s:8.3f}{row.rate:9.2f}{target:>9}{ratios}{missed}  {row.note}".rstrip())


def check(name: str, measured: float, most: float, form: Callable[[float], str]) -> None:
    """Print one figure and its bound."""
    print(f"{name:56}{form(measured):>10}   < {form(most)}{'' if measured < most else '   above target'}")


def main() -> None:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--packets", type=int, default=make_capture.PACKETS)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wlanlens-bench-") as name:
        folder = Path(name)
        snap, full, small = folder / "snap96.pcap", folder / "full.pcap", folder / "small.pcap"
        made = make_capture.all_rows(given.packets, 50, 1)
        make_capture.write(snap, made, 96)
        make_capture.write(full, made, 65535)
        make_capture.write(small, make_capture.all_rows(10_000, 4, 1), 96)
        del made

        load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
        print(
            f"{given.packets:,} packets, 50 TCP flows; median CPU of {given.runs} runs; load before: {load}, {os.cpu_count()} cores"
        )
        print("x PROGRAM: how many times less CPU than PROGRAM on the same file")
        show(
            f"96-byte snap, {snap.stat().st_size / 1e6:.0f} MB",
            rows := speed(snap, given.packets, folder, given.runs, TARGETS),
        )
        pace = [row.rate / ANCHORS[row.name] for row in rows if row.name in ANCHORS]
        if pace:
            print(
                f"The other programs run at {min(pace):.2f} to {max(pace):.2f} of their reference rates: scale the targets by that."
            )
        bus = folder / "usb.pcap"
        make_usb.write(bus, given.packets, make_usb.SNAPLEN)
        show(
            f"usbmon with TCP in CDC-ECM, {given.packets:,} records, {bus.stat().st_size / 1e6:.0f} MB",
            link(bus, given.packets, given.runs, USB_FIELDS, USB_TARGETS, "+ flow facts"),
        )
        bus.unlink()
        air = folder / "air.pcap"
        for protected, tracked in ((True, "+ exchanges"), (False, "+ exchanges, TCP")):
            make_air.write(air, make_air.FRAMES, protected=protected)
            what = "encrypted" if protected else "open, with TCP in them"
            show(
                f"radiotap 802.11n, A-MPDUs, {what}, {make_air.FRAMES:,} frames, {air.stat().st_size / 1e6:.0f} MB",
                link(air, make_air.FRAMES, given.runs, AIR_FIELDS, AIR_TARGETS, tracked),
            )
        row, (once, thrice) = align(folder, given.packets, given.runs)
        show(f"two captures of the same packets, {row.packets:,} in both together", [row])
        for times, taken in ((1, once), (3, thrice)):
            size = times * given.packets
            print(
                f"analyze --no-report of both, {size:,} packets each: {taken.cpu_s:.1f} CPU s, "
                f"{taken.wall_s:.1f} s elapsed, peak {taken.peak_bytes / 1e6:.0f} MB"
            )
        check(
            "peak memory at three times the packets, relative to one",
            thrice.peak_bytes / once.peak_bytes,
            ALIGN_GROWTH,
            "{:.2f}".format,
        )
        show(f"full size, {full.stat().st_size / 1e9:.2f} GB", speed(full, given.packets, folder, given.runs, {}))

        print()
        out = ["-o", str(folder / "out"), "--quiet"]
        whole = cost([*WLANLENS, "analyze", str(full), *out], 1, warm=False)
        check(
            f"peak memory of analyze, {full.stat().st_size / 1e9:.2f} GB file",
            whole.peak_bytes / 1e9,
            1.0,
            "{:.3f} GB".format,
        )
        check("wlanlens --help, elapsed", cost([*WLANLENS, "--help"], given.runs).wall_s, 0.3, "{:.3f} s".format)
        quick = cost([*WLANLENS, "analyze", str(small), *out], given.runs)
        check("analyze of 10,000 packets with report, elapsed", quick.wall_s, 2.0, "{:.2f} s".format)
        check("the same, CPU", quick.cpu_s, 2.0, "{:.2f} s".format)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
