"""Compare the CPU cost of simulations with ns-2 and ns-3 where installed, and measure a sweep on two workers.

    python benches/simulator.py [--runs 3] [--seconds 60]

Figures are CPU milliseconds (user and system, all threads) per simulated second: the cost of a long run minus the cost of
a short one, which excludes start-up. wlanlens is measured with nothing written, with captures, and with captures, truth
tables and findings. ns-2 (command `ns`, Debian package ns2) runs dcf.tcl of this folder and writes its text trace of agents
and the MAC in the last column. ns-3 runs its own example of a TCP download over one 802.11 station (`ns3-wifi-tcp` or the
path in NS3_WIFI_TCP) in 802.11n, which costs ns-3 less than 802.11b.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from measure import cost  # noqa: E402 - beside this file

#: Target: CPU ms per simulated second of one flow at 5 Mb/s with all four captures written.
TARGET_MS = 1.9

#: What wlanlens and ns-2 write.
OUT, TRACE = "out", "ns2.tr"

#: How much wlanlens writes.
WRITES = ("nothing", "captures", "all")


@dataclass(frozen=True)
class Case:
    """A world of both simulators.

    Attributes
    ----------
    what : str
    scenario : str
        The scenario of wlanlens.
    settings : tuple of str
    ns2 : tuple of str
        STATIONS, FLOWS and KIND of dcf.tcl.
    target_ms : float
        0 for none.
    """

    what: str
    scenario: str
    settings: tuple[str, ...] = ()
    ns2: tuple[str, str, str] = ("1", "1", "tcp")
    target_ms: float = 0.0


CASES = (
    Case("one TCP flow at 5 Mb/s, four captures (with its USB bus)", "clean_usb_link", target_ms=TARGET_MS),
    Case("one TCP flow at 5 Mb/s, three captures", "clean_link"),
    Case("ten TCP flows", "many_downloads", ("downloads=10",), ("10", "10", "tcp")),
    Case("50 saturated stations", "saturated_stations", ("stations=50",), ("50", "50", "udp")),
)


def slope_ms(command: Callable[[float], list[str]], seconds: float, runs: int, written: Path | None = None) -> float:
    """CPU ms per simulated second: the long run minus the short one; each run writes to an empty folder."""
    short = seconds / 6
    long_s = cost(command(seconds), runs, written=written).cpu_s
    return 1e3 * (long_s - cost(command(short), runs, written=written).cpu_s) / (seconds - short)


def ours(case: Case, folder: Path, what: str) -> Callable[[float], list[str]]:
    """The command of wlanlens for `seconds` simulated seconds; `what` is one of WRITES."""
    out = str(folder / OUT) if what != WRITES[0] else ""
    base = [sys.executable, str(HERE / "simulate_once.py"), case.scenario, out, what, *case.settings]
    return lambda seconds: [*base, f"duration_s={seconds}"]


def ns2(case: Case, folder: Path, *, write: bool) -> Callable[[float], list[str]]:
    """The command of ns-2."""
    stations, flows, kind = case.ns2
    trace = str(folder / TRACE) if write else "none"
    return lambda seconds: ["ns", str(HERE / "dcf.tcl"), stations, flows, str(seconds), kind, trace]


def ns3() -> str | None:
    """The example of ns-3, where it is installed."""
    return shutil.which(os.environ.get("NS3_WIFI_TCP", "ns3-wifi-tcp"))


def table(folder: Path, seconds: float, runs: int) -> None:
    """One line per case and simulator."""
    print(f"{'CPU ms a simulated second':58}{'nothing written':>17}{'captures':>10}{'and truth':>11}")
    for case in CASES:
        mine = [slope_ms(ours(case, folder, what), seconds, runs, folder / OUT) for what in WRITES]
        met = f"   target {case.target_ms:g}{' missed' if mine[1] > case.target_ms else ''}" if case.target_ms else ""
        print(f"{case.what:58}{mine[0]:17.2f}{mine[1]:10.2f}{mine[2]:11.2f}{met}")
        if shutil.which("ns"):
            bare, traced = (
                slope_ms(ns2(case, folder, write=write), seconds, runs, folder / TRACE) for write in (False, True)
            )
            ratios = f"without its trace {bare / mine[0]:.2f}, {bare / mine[1]:.2f} and {bare / mine[2]:.2f} times ours"
            print(f"{'  ns-2':58}{bare:17.2f}{'':10}{traced:11.2f}   {ratios}")
        if case is CASES[1] and (command := ns3()) is not None:
            base = [command, "--pcap=0"]
            theirs_ms = slope_ms(lambda s: [*base, f"--simulationTime={s}"], seconds, runs)  # noqa: B023 - called here
            print(f"{'  ns-3, 802.11n':58}{theirs_ms:17.2f}{'':10}   {theirs_ms / mine[0]:.1f} times ours")
    if not shutil.which("ns"):
        print("ns-2 is not installed (Debian: ns2)")
    if ns3() is None:
        print("ns-3 is not installed (NS3_WIFI_TCP names its wifi-tcp example)")


def sweeps(folder: Path, count: int) -> None:
    """Elapsed time of a sweep on one worker and on two."""
    spent = []
    for workers in (1, 2):
        begun = time.perf_counter()
        out = folder / f"sweep-{workers}"
        words = ["-s", "clean_link", "--set", "duration_s=20", "--seeds", f"1..{count}", "--tap", "none", "--quiet"]
        cost(
            [sys.executable, "-m", "wlanlens_cli.main", "simulate", *words, "-j", str(workers), "-o", str(out)],
            1,
            warm=False,
        )
        spent.append(time.perf_counter() - begun)
    print(
        f"{f'sweep of {count} runs of 20 s, by the clock':58}{spent[0]:8.1f} s with 1 worker, {spent[1]:.1f} s with 2: "
        f"{spent[0] / spent[1]:.2f} times faster on {os.cpu_count()} cores"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"median CPU of {given.runs} runs; load before: {load}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="wlanlens-bench-") as name:
        table(Path(name), given.seconds, given.runs)
        sweeps(Path(name), 200)


if __name__ == "__main__":
    main()
