"""The figures of `make bench`: commands as users run them, and what is computed from their costs.

A figure is a sum of costs of commands, some of them negative ("4 M packets minus 1 M"), beside the same sum of a peer on the
same files in the same run. Floors are those of the issue and of the design; a figure without one is kept for its ratio alone.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from measure import Command, Cost

HERE = Path(__file__).resolve().parent
WLANLENS = [sys.executable, "-m", "wlanlens_cli.main"]
SAMPLES = [
    str(HERE.parent / "sample_traces" / f"usb_ack_holding.{tap}.pcap") for tap in ("sender", "usb", "air", "receiver")
]

#: tshark is slow: it reads the first packets only.
TSHARK_PACKETS = 100_000
TSHARK_FIELDS = {
    "wired": "frame.number frame.time_epoch ip.src ip.dst tcp.srcport tcp.dstport tcp.seq tcp.ack tcp.len tcp.flags "
    "tcp.analysis.retransmission tcp.analysis.ack_rtt",
    "radiotap": "frame.number frame.time_epoch wlan.fc.type_subtype wlan.ra wlan.ta wlan.seq wlan.fc.retry "
    "wlan_radio.data_rate wlan_radio.signal_dbm wlan_radio.duration wlan_radio.ifs wlan.fcs.status",
    "usbmon": "frame.number frame.time_epoch usb.urb_id usb.urb_type usb.transfer_type usb.bus_id usb.device_address "
    "usb.endpoint_address usb.urb_status usb.urb_len usb.data_len usb.time",
}

#: Starts Python, imports what a report needs, makes and reads a million objects.
PYTHON_WORK = "import json, jinja2, numpy, pandas, pyarrow; json.loads(json.dumps([str(n) for n in range(1_000_000)]))"

Sum = Mapping[str, int]


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes
    ----------
    key : str
        Its name in results.json.
    label : str
        Its name in the table.
    clock : str
        cpu_s, wall_s or peak_bytes: what is summed.
    ours, peer : mapping
        The sums: how often the cost of each command is added. Without a peer the figure itself is kept.
    form : str
        us (each), M/s, s, times (of `over`) or MB.
    count : float
        Millions of packets, frames or records of a figure in us or M/s.
    over : mapping
        The sum that a figure in times is divided by.
    floor : tuple of two floats or None
        The least and the greatest value that holds.
    """

    key: str
    label: str
    clock: str
    ours: Sum
    form: str
    peer: Sum = field(default_factory=dict)
    count: float = 1.0
    over: Sum = field(default_factory=dict)
    floor: tuple[float, float] | None = None

    def seconds(self, taken: Mapping[str, Cost], terms: Sum) -> float:
        """A sum of costs."""
        return sum(times * float(getattr(taken[name], self.clock)) for name, times in terms.items())

    def value(self, taken: Mapping[str, Cost]) -> float:
        """The figure in the unit of its form."""
        spent = self.seconds(taken, self.ours)
        if self.form == "M/s":
            return self.count / spent
        if self.form == "times":
            return spent / self.seconds(taken, self.over)
        return spent / {"us": self.count, "s": 1.0, "MB": 1e6}[self.form]

    def ratio(self, taken: Mapping[str, Cost]) -> float | None:
        """Its cost relative to the peer's: less is better. None: the peer is not installed."""
        if not self.peer:
            return self.value(taken)
        if any(name not in taken for name in self.peer):
            return None
        return self.seconds(taken, self.ours) / self.seconds(taken, self.peer)

    def holds(self, taken: Mapping[str, Cost]) -> bool:
        """Whether the floor holds."""
        return self.floor is None or self.floor[0] <= self.value(taken) <= self.floor[1]


def most(value: float) -> tuple[float, float]:
    """A floor for a cost."""
    return (0.0, value)


def fewest(value: float) -> tuple[float, float]:
    """A floor for a rate."""
    return (value, float("inf"))


def analyze(out: Path, *words: str, rounds: int = 1_000) -> Command:
    """A command that analyses captures to a new directory."""
    return Command([*WLANLENS, "analyze", *words, "-o", str(out), "--quiet"], out, rounds=rounds)


def tshark(path: Path, fields: str) -> list[str]:
    """tshark writing twelve fields."""
    words = [word for name in TSHARK_FIELDS[fields].split() for word in ("-e", name)]
    return ["tshark", "-r", str(path), "-c", str(TSHARK_PACKETS), "-T", "fields", *words]


def commands(files: Mapping[str, Path], out: Path) -> dict[str, Command]:
    """Every command by its name; peers that are not installed are left out."""
    bare = "--no-report"
    found = {
        **{
            f"analyze {name}": analyze(out, str(files[name]), bare)
            for name in ("10k", "1M", "4M", "air", "air+TCP", "usb")
        },
        "analyze 16M": analyze(out, str(files["16M"]), bare, rounds=2),
        "report 1M": analyze(out, str(files["1M"])),
        "report air+TCP": analyze(out, str(files["air+TCP"])),
        "report 10k": analyze(out, str(files["10k"])),
        "json 10k": analyze(out, str(files["10k"]), "--json"),
        "aligned 1M": analyze(out, str(files["1M"]), str(files["there"]), bare),
        "four taps": analyze(out, *SAMPLES),
        "--help": Command([*WLANLENS, "--help"]),
        # -n: without it tcptrace waits five seconds for the names of hosts.
        "tcptrace 1M": Command(["tcptrace", "-n", "-l", "-r", "-W", str(files["1M"])]),
        "tcptrace 4M": Command(["tcptrace", "-n", "-l", "-r", "-W", str(files["4M"])]),
        "tshark 1M": Command(tshark(files["1M"], "wired"), rounds=1),
        "tshark air": Command(tshark(files["air"], "radiotap"), rounds=1),
        "tshark usb": Command(tshark(files["usb"], "usbmon"), rounds=1),
        "python": Command([sys.executable, "-I", "-c", "pass"]),
        "python work": Command([sys.executable, "-I", "-c", PYTHON_WORK]),
    }
    for name in ("1M", "air", "usb"):
        found[f"tcpdump {name}"] = Command(["tcpdump", "-r", str(files[name]), "-w", "/dev/null"])
        found[f"capinfos {name}"] = Command(["capinfos", "-c", str(files[name])])
    for name, path in (("decode", "1M"), ("facts", "1M"), ("detectors", "1M"), ("packets", "1M"), ("segments", "1M")):
        found[f"step {name}"] = Command([sys.executable, str(HERE / "steps.py"), name, str(files[path])], inner=True)
    both = [str(files["1M"]), str(files["there"])]
    found["step align"] = Command([sys.executable, str(HERE / "steps.py"), "align", *both], inner=True)
    return {name: command for name, command in found.items() if shutil.which(command.words[0])}


def _difference(after: str, before: str) -> Sum:
    return {after: 1, before: -1}


def figures(sizes: Mapping[str, int]) -> list[Figure]:
    """Every figure; `sizes` are the packets, frames or records of each file."""
    millions = {name: count / 1e6 for name, count in sizes.items()}
    small, large, huge = "analyze 1M", "analyze 4M", "analyze 16M"
    margin, theirs = _difference(large, small), _difference("tcptrace 4M", "tcptrace 1M")
    report, air_report = _difference("report 1M", small), _difference("report air+TCP", "analyze air+TCP")
    pairs = millions["1M"] + millions["there"]
    open_air = {"analyze air+TCP": 1}
    # tcptrace reads neither radiotap nor usbmon, but it is steady within 2 %: tcpdump mostly copies a file out of the kernel's
    # cache, in 0.1 s or in 0.18 s as that cache happens to lie in memory.
    wired = {"tcptrace 1M": 1}
    # Where most is Python's start, imports and objects: machines on which tcptrace takes twice as long have the same Python.
    python = {"python work": 1}
    step = {"count": millions["1M"], "peer": wired}
    more = millions["4M"] - millions["1M"]

    def grown(name: str) -> Sum:
        return _difference(name, "analyze 10k")  # 10 000 packets are start-up

    return [
        Figure("margin_cpu", "analyze --no-report at the margin, CPU a packet", "cpu_s", margin, "us", theirs, more, floor=most(1.2)),
        Figure("margin_wall", "analyze --no-report at the margin, by the clock", "wall_s", margin, "M/s", theirs, more, floor=fewest(1.2)),
        Figure("analyze_1m", "analyze --no-report, 1 M packets, CPU", "cpu_s", {small: 1}, "s", wired),
        Figure("analyze_4m", "analyze --no-report, 4 M packets, CPU", "cpu_s", {large: 1}, "s", {"tcptrace 4M": 1}),
        Figure("report", "the report of 1 M packets adds, by the clock", "wall_s", report, "s", python, floor=most(0.8)),
        Figure("report_cpu", "the report of 1 M packets adds, CPU", "cpu_s", report, "s", python),
        Figure("report_air", "the report of radiotap with TCP adds, by the clock", "wall_s", air_report, "s", python, floor=most(0.8)),
        Figure("air", "analyze --no-report, radiotap, encrypted, by the clock", "wall_s", {"analyze air": 1}, "M/s", wired, millions["air"], floor=fewest(0.7)),
        Figure("air_tcp", "analyze --no-report, radiotap with TCP, by the clock", "wall_s", open_air, "M/s", wired, millions["air+TCP"], floor=fewest(0.7)),
        Figure("air_tcp_cpu", "analyze --no-report, radiotap with TCP, CPU a frame", "cpu_s", open_air, "us", wired, millions["air+TCP"]),
        Figure("usb", "analyze --no-report, usbmon, by the clock", "wall_s", {"analyze usb": 1}, "M/s", wired, millions["usb"], floor=fewest(1.0)),
        Figure("usb_cpu", "analyze --no-report, usbmon, CPU a record", "cpu_s", {"analyze usb": 1}, "us", wired, millions["usb"]),
        Figure("judgement", "detectors and ledger, CPU a packet", "cpu_s", {"step detectors": 1}, "us", floor=most(0.5), **step),
        Figure("small", "analyze of 10 000 packets with report, by the clock", "wall_s", {"report 10k": 1}, "s", python, floor=most(0.7)),
        Figure("small_cpu", "analyze of 10 000 packets with report, CPU", "cpu_s", {"report 10k": 1}, "s", python),
        Figure("small_json", "analyze --json of 10 000 packets, CPU", "cpu_s", {"json 10k": 1}, "s", python),
        Figure("aligned", "two captures of 1 M packets, aligned, by the clock", "wall_s", {"aligned 1M": 1}, "s", wired, floor=most(4.0)),
        Figure("aligned_cpu", "two captures of 1 M packets, aligned, CPU", "cpu_s", {"aligned 1M": 1}, "s", wired),
        Figure("four", "four captures of one transfer with report, by the clock", "wall_s", {"four taps": 1}, "s", python),
        Figure("packets", 'wl.open(f).table("packets") in a new process, by the clock', "wall_s", {"step packets": 1}, "M/s", floor=fewest(3.0), **step),
        Figure("segments", 'wl.open(f).table("segments") in a new process, by the clock', "wall_s", {"step segments": 1}, "M/s", floor=fewest(1.8), **step),
        Figure("decode", "decode to Arrow, CPU", "cpu_s", {"step decode": 1}, "M/s", floor=fewest(5.0), **step),
        Figure("facts", "decode and flow facts, CPU", "cpu_s", {"step facts": 1}, "M/s", floor=fewest(2.5), **step),
        Figure("pairing", "alignment of two decoded captures, CPU", "cpu_s", {"step align": 1}, "M/s", wired, pairs, floor=fewest(1.0)),
        Figure("help", "wlanlens --help, by the clock", "wall_s", {"--help": 1}, "s", {"python": 1}, floor=most(0.3)),
        Figure("growth_4m", "CPU of 4 M packets relative to 1 M, without start-up", "cpu_s", grown(large), "times", over=grown(small), floor=(3.8, 4.3)),
        Figure("growth_16m", "CPU of 16 M packets relative to 4 M, without start-up", "cpu_s", grown(huge), "times", over=grown(large), floor=(3.8, 4.3)),
        Figure("memory", "peak memory of analyze, 16 M packets", "peak_bytes", {huge: 1}, "MB", floor=most(1073.7)),
        Figure("memory_aligned", "peak memory of two captures, aligned", "peak_bytes", {"aligned 1M": 1}, "MB", floor=most(1073.7)),
    ]  # fmt: skip


def streams(count: int, out: Path) -> tuple[dict[str, Command], list[Figure]]:
    """Peak memory of two endless captures, one four times as long: minutes."""
    made = {
        name: Command(
            [*WLANLENS, "analyze", "-", "-o", str(out), "--quiet", "--no-report"],
            out,
            rounds=1,
            source=[sys.executable, str(HERE / "make_capture.py"), "-", "--packets", str(packets), "--blocks"],
        )
        for name, packets in (("stream", count), ("stream x 4", 4 * count))
    }
    grows = Figure(
        "memory_growth", f"peak memory of {4 * count / 1e6:g} M packets relative to {count / 1e6:g} M", "peak_bytes",
        {"stream x 4": 1}, "times", over={"stream": 1}, floor=most(1.1),
    )  # fmt: skip
    return made, [grows]
