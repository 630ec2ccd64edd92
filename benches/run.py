"""`make bench`: commands as users run them, beside capinfos, tcpdump, tcptrace and tshark on the same files.

    python benches/run.py [--rounds 3] [--accept] [--memory] [--packets 1000000] [--note TEXT]

Every command runs once in each round, and the least CPU and elapsed time of all rounds count. Each figure is kept as a ratio
to a peer of the same run; exit status 1 names the figures that are more than 15 % worse than accepted on such a machine
(results.json), and --accept writes them anew. What seems worse is measured again with its peers, twice at most: a machine may have been busy. A
figure below its floor is marked and does not change the exit status. --memory adds the peak memory of 20 and 80 million
packets from a pipe. Programs that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import figures
import make_air
import make_capture
import make_usb
import measure
import results
from figures import Figure
from measure import Command, Cost

FLOWS = 50
#: Packets of the streams whose peak memory is compared, relative to --packets: 20 and 80 million.
STREAM = 20
#: How often what seems worse is measured again.
AGAIN = 2


def make(folder: Path, packets: int) -> tuple[dict[str, Path], dict[str, int]]:
    """Write the captures; their paths and their numbers of packets, frames or records."""
    files = {name: folder / f"{name}.pcap" for name in ("10k", "1M", "4M", "16M", "there", "air", "air+TCP", "usb")}
    sizes = {
        "10k": packets // 100,
        "1M": packets,
        "4M": 4 * packets,
        "16M": 16 * packets,
        "there": packets,
        "usb": packets,
    }
    for name in ("10k", "1M", "4M", "16M"):
        flows = 4 if name == "10k" else FLOWS
        rows = make_capture.all_rows(sizes[name], flows, 1)
        make_capture.write(files[name], rows, 96)
        if name == "1M":
            there, stamps_ns = make_capture.at_receiver(rows)
            sizes["there"] = len(there)
            make_capture.write(files["there"], there, 96, stamps_ns)
        del rows
    make_usb.write(files["usb"], packets, make_usb.SNAPLEN)
    for name, protected in (("air", True), ("air+TCP", False)):
        sizes[name] = packets
        make_air.write(files[name], packets, protected=protected)
    return files, sizes


def measured_again(
    taken: dict[str, Cost],
    wanted: Sequence[Figure],
    commands: dict[str, Command],
    rounds: int,
    said: Callable[[str], None],
) -> dict[str, Cost]:
    """`taken` with the least of these and of `rounds` more runs of what the figures that seem worse than accepted are made of."""
    accepted = results.load()
    for _ in range(AGAIN):
        worse = [figure for figure in wanted if results.worse({figure.key: results.entry(figure, taken)}, accepted)]
        names = {name for figure in worse for name in (*figure.ours, *figure.peer, *figure.over)}
        more = measure.interleaved({name: commands[name] for name in commands if name in names}, rounds, said)
        taken = taken | {name: measure.least([taken[name], cost]) for name, cost in more.items()}
    return taken


def beside(taken: dict[str, Cost], sizes: dict[str, int]) -> list[str]:
    """The rates of all programs on three files, per CPU second."""
    lines = []
    for name, what in (("1M", "96-byte TCP"), ("air", "radiotap, encrypted"), ("usb", "usbmon")):
        rates = []
        for program in ("capinfos", "tcpdump", "tcptrace", "tshark", "analyze"):
            spent = taken.get(f"{program} {name}")
            if spent is not None:
                rows = min(sizes[name], figures.TSHARK_PACKETS) if program == "tshark" else sizes[name]
                rates.append(f"{program} {rows / spent.cpu_s / 1e6:.2f}")
        lines.append(f"million a CPU second, {what}: {', '.join(rates)}")
    return lines


def main() -> int:
    """Make the files, measure, print, compare; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packets", type=int, default=make_capture.PACKETS)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    if given.accept and given.packets != make_capture.PACKETS:
        parser.error("figures of other sizes are no figures to accept")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def said(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="wlanlens-bench-") as name:
        folder = Path(name)
        load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
        said("writing the captures")
        files, sizes = make(folder, given.packets)
        measure.once(Command(figures.analyze(folder / "out", str(files["10k"])).words, folder / "out"))  # warm
        commands = figures.commands(files, folder / "out")
        taken = measure.interleaved(commands, given.rounds, said)
        wanted = figures.figures(sizes)
        if not given.accept:
            taken = measured_again(taken, wanted, commands, given.rounds, said)
        if given.memory:
            streams, more = figures.streams(STREAM * given.packets, folder / "out")
            taken |= measure.interleaved(streams, 1, said)
            wanted += more
    said("")
    entries = {figure.key: results.entry(figure, taken) for figure in wanted}
    held = {figure.key: figure.holds(taken) for figure in wanted}
    accepted = results.load()
    print(
        f"{given.packets:,} packets, {FLOWS} TCP flows; the least of {given.rounds} interleaved runs; load before: {load}"
    )
    if accepted.where not in ("", results.machine()):
        print(f"no figures of this machine ({results.machine()}) are accepted; beside those of: {accepted.where}")
    print("\n".join([*results.table(entries, held, accepted), *beside(taken, sizes)]))
    if given.accept:
        results.accept(entries, given.note or f"Least of {given.rounds} interleaved runs")
        print(f"accepted: {results.STORED.name} and {results.PAGE.name} are written")
        return 0
    found = results.worse(entries, accepted)
    for sentence in found:
        print(f"worse: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
