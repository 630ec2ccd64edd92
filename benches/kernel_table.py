"""Compare the retransmissions that wlanlens, tshark and tcptrace find in the kernel captures with what the kernel did.

    python benches/kernel_table.py [NAME ...]

At the sender's tap, each packet that occupies sequence space is compared with the truth. tcptrace gives counts only.
Neither tshark nor tcptrace reports timeouts; only tshark marks some retransmissions as spurious.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import kernel

#: tshark's label of a packet is the first of these flags that is set: fast and spurious ones have the last flag too.
LABELS = ("spurious_retransmission", "fast_retransmission", "out_of_order", "retransmission")

#: Groups of columns: the program, and the heading and count of each column.
GROUPS = (
    ("kernel", (("retrans", "truth"), ("spurious", "spurious"), ("RTO", "rto"))),
    ("wlanlens", (("retrans", "ours"), ("trigger", "trigger"), ("need", "need"), ("spurious", "spurious_known"), ("RTO", "rto_named"))),
    ("tshark", (("retrans", "tshark"), ("out-of-order", "out_of_order"), ("fast", "fast"), ("spurious", "spurious"))),
    ("tcptrace", (("rexmt", "tcptrace"), ("out-of-order", "tcptrace_out_of_order"))),
)  # fmt: skip


def ours(name: str) -> Counter[str]:
    """The score of wlanlens for one capture."""
    score = kernel.score(name)
    count: Counter[str] = Counter()
    for flow in kernel.truth(name)["flows"]:
        row = kernel.flow_row(name, flow)
        count["truth"] += len(flow["retransmission_list"])
        count["spurious"] += sum(not entry["needed"] for entry in flow["retransmission_list"])
        count["rto"] += flow["rto"]
        count["rto_named"] += sum(row[f"rto_{kind}"] for kind in ("genuine", "spurious", "ack_lost", "undecided"))
    count["ours"] = len(score.retransmitted)
    count["false"] = len(score.false)
    count["trigger"] = sum(r.trigger_right for r in score.retransmitted)
    count["need"] = sum(r.spurious is not None and r.spurious != r.truth["needed"] for r in score.retransmitted)
    count["need_wrong"] = sum(r.spurious is not None and r.spurious == r.truth["needed"] for r in score.retransmitted)
    count["spurious_known"] = sum(r.spurious is True for r in score.retransmitted)
    return count


def tshark(name: str) -> Counter[str]:
    """tshark's labels of the same packets."""
    fields = ["tcp.srcport", "tcp.len", "tcp.flags.syn", "tcp.flags.fin", "frame.number"]
    fields += [f"tcp.analysis.{label}" for label in LABELS]
    command = ["tshark", "-r", str(kernel.FOLDER / f"{name}.sender.pcap"), "-T", "fields", "-E", "header=y"]
    command += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said = {}
    for row in csv.DictReader(done.stdout.splitlines(), delimiter="\t"):
        label = next((label for label in LABELS if row[f"tcp.analysis.{label}"]), "")
        said[int(row["frame.number"])] = label

    count: Counter[str] = Counter()
    for flow in kernel.truth(name)["flows"]:
        packets = kernel.sent(name, flow)["packet"].tolist()
        truth = {packets[entry["n"]]: entry for entry in flow["retransmission_list"]}
        for packet in packets:
            label, entry = said[packet], truth.get(packet)
            if entry is None:
                count["tshark_false"] += bool(label)
                continue
            count["tshark"] += label not in ("", "out_of_order")
            count["out_of_order"] += label == "out_of_order"
            count["fast"] += label == "fast_retransmission"
            count["spurious"] += label == "spurious_retransmission"
            count["spurious_tshark"] += label == "spurious_retransmission" and not entry["needed"]
    return count


def tcptrace(name: str) -> Counter[str]:
    """tcptrace's counts of all connections."""
    command = ["tcptrace", "-l", "-r", "--csv", str(kernel.FOLDER / f"{name}.sender.pcap")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    lines = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]
    count: Counter[str] = Counter()
    for row in csv.DictReader(lines):
        count["tcptrace"] += int(row["rexmt_data_pkts_a2b"]) + int(row["rexmt_data_pkts_b2a"])
        count["tcptrace_out_of_order"] += int(row["outoforder_pkts_a2b"]) + int(row["outoforder_pkts_b2a"])
    return count


PEERS = {"tshark": tshark, "tcptrace": tcptrace}


def row(name: str) -> Counter[str]:
    """One capture by every program that is installed."""
    count = ours(name)
    for peer, read in PEERS.items():
        if shutil.which(peer):
            count += read(name)
    return count


def main(names: list[str]) -> None:
    """Print the table and its totals."""
    if not kernel.WHOLE:
        raise SystemExit(f"no kernel captures: expected ../{kernel.FOLDER.parent.name}/{kernel.FOLDER.name}")
    total: Counter[str] = Counter()
    print(" " * 22 + "".join(f" |{who:^{sum(len(h) + 2 for h, _ in columns)}}" for who, columns in GROUPS))
    print(" " * 22 + "".join(" |" + "".join(f"{h:>{len(h) + 2}}" for h, _ in columns) for _, columns in GROUPS))
    quiet = []
    for name in names or kernel.WHOLE:
        counts = row(name)
        total += counts
        if any(value for key, value in counts.items() if value):
            _print(name, counts)
        else:
            quiet.append(name)
    _print("total", total)
    t = total
    print(f"No retransmissions, and none reported by any program: {', '.join(quiet) or 'none'}.\n")
    print(f"Of {t['truth']} retransmissions:")
    print(f"  wlanlens finds {t['ours']}, and {t['false']} false ones; the trigger is right for {t['trigger']};")
    print(
        f"           it decides the need of {t['need'] + t['need_wrong']}, {t['need_wrong']} wrongly; it reports {t['rto_named']} timeouts of {t['rto']}."
    )
    print(
        f"  tshark   calls {t['tshark']} a retransmission and {t['out_of_order']} out-of-order, and {t['tshark_false']} other segments one of the two;"
    )
    print(f"           it marks {t['spurious_tshark']} of {t['spurious']} spurious ones; it reports no timeouts.")
    print(
        f"  tcptrace counts {t['tcptrace']}, and {t['tcptrace_out_of_order']} out-of-order; it reports no triggers, no spurious ones and no timeouts."
    )


def _print(name: str, counts: Counter[str]) -> None:
    cells = (" |" + "".join(f"{counts[key] or '.':>{len(h) + 2}}" for h, key in columns) for _, columns in GROUPS)
    print(f"{name:22}" + "".join(cells))


if __name__ == "__main__":
    main(sys.argv[1:])
