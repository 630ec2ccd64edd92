"""The simulator's TCP compared with a real kernel's: over the same link with the same losses it sends the same segments.

What the kernel's captures do not leave to TCP is taken from them: which transmissions were lost, when ACKs were held, how
the receiver's memory let its window grow, and the phase of the timers' clock. All else is the simulator's: which segment
follows which, how large, how often, why. Where a capture goes another way, `DEPARTS` says from which segment on and why.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cache

import pytest

import wlanlens as wl
from tests.kernel import FOLDER, TRIGGERS, needed, truth
from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Flow, Node, SendBuffer, Tcp, Wire, World
from wlanlens.simulation.scenario import Scenario
from wlanlens.simulation.simulate import Run

#: What Linux's memory accounting allows a connection to queue at first (2 x 10 x 2304 bytes), and a segment of cwnd.
FIRST_BUFFER, BUFFER_A_SEGMENT = 46_080, 2_304
#: Levels of a kernel's timer wheel at 4 ms a tick: long timers fire every 32 ms.
WHEEL_S = 0.032

#: Number of the first data segment from which on the kernel goes another way, and why.
DEPARTS = {
    "mixed_newreno": (
        606,
        "held ACKs are released in one batch while the sender's socket is locked: the kernel merged 8 of them in its backlog "
        "(TCPBacklogCoalesce), so that four retransmissions, each released by one ACK, were never sent",
    ),
    "ackhold400_frto0_ts0": (
        497,
        "the writer woke between two ACKs of the released batch (10 merged in the backlog) and filled its last segment "
        "before it was sent; here it wakes after all of them, so that the end of a 64 KiB write goes out as a small segment",
    ),
}

#: Retransmissions after the point of departure are not compared.
NAMES = (
    "clean_newreno", "loss3_newreno", "tail3_newreno", "buf7_newreno", "burst_newreno", "rnd10_newreno",
    "ackhold1000_newreno", "mixed_newreno", "ackhold400_frto0_ts0",
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """A kernel's capture at the sender: data segments (time, offset, length, push flag), ACKs (offset, window)."""

    sent: tuple[tuple[float, int, int, bool], ...]
    acks: tuple[tuple[int, int], ...]


@cache
def seen(name: str) -> Seen:
    rows = wl.open(FOLDER / f"{name}.sender.pcap").table("packets").to_pandas()
    first, isn = rows["time"].iloc[0], int(rows["tcp_seq"].iloc[0])
    times = (rows["time"] - first).dt.total_seconds()
    sent, acks = [], []
    for t, row in zip(times, rows.itertuples(), strict=True):
        if row.src_port == 5001:
            acks.append(((int(row.tcp_ack) - isn - 1) % 2**32, int(row.tcp_window) << 10))
        elif row.payload_bytes:
            offset = (int(row.tcp_seq) - isn - 1) % 2**32
            sent.append((float(t), offset, int(row.payload_bytes), bool(int(row.tcp_flags) & 8)))
    return Seen(tuple(sent), tuple(acks[1:]))


def lost(name: str) -> tuple[int, ...]:
    """Numbers of the data packets that the link lost by chance or by script, not for want of room."""
    gone = [(row[0], row[2]) for row in truth(name)["emulator"]["a2b"]["lost_list"] if row[4] != "queue"]
    sent = seen(name).sent
    numbers = [i for i, s in enumerate(sent) if any(s[1] == offset and abs(s[0] - t) < 2e-3 for t, offset in gone)]
    assert len(numbers) == len(gone)
    return tuple(numbers)


def window_steps(name: str) -> tuple[tuple[int, int], ...]:
    """Where the receiver's memory let the window grow: to 80 KiB, again from an ACK on, to the end of the growth."""
    acks = seen(name).acks
    pairs = list(itertools.pairwise(acks))
    steps = [(0, 81_160)]
    resumes = next((b[0] - 1460 for a, b in pairs if b[1] > 81_920 and b[1] > a[1]), None)
    if resumes is not None:
        steps.append((resumes, 1 << 22))
        most = max(window for _, window in acks)
        ends = next((a[0] for a, b in pairs if a[1] == most and b[0] - a[0] > 1460), None)
        if ends is not None:
            steps.append((ends + 1, 0))
    return tuple(steps)


@dataclass(frozen=True, kw_only=True)
class KernelLink(Scenario):
    """A kernel capture's link, application and TCP."""

    capture: str
    stale_dupacks: bool = True
    cwnd_validation: bool = True
    minshall: bool = True
    prr: bool = True

    def world(self) -> World:
        facts = truth(self.capture)
        link = {way: dict(word.split("=", 1) for word in text.split()) for way, text in facts["link"].items()}
        app, kernel = facts["app"][0], facts["tcp"]
        buffer = SendBuffer(FIRST_BUFFER, grows_by_bytes=BUFFER_A_SEGMENT)
        if "sndbuf" in app:
            buffer = SendBuffer(2 * app["sndbuf"])
        # The emulator falls behind its plan by 1.5 ms until the holds begin, so that they take the same ACKs.
        behind = 0.0015
        holds = [tuple(map(float, h.split(":"))) for h in re.findall(r"[\d.]+:[\d.]+", link["b2a"].get("hold", ""))]
        expiries = facts["flows"][0]["rto_events"]
        sack = bool(kernel["sack"])
        tcp = Tcp(
            mss_bytes=1460, initial_window_segments=10, receive_window_bytes=1 << 22, sack=sack, dsack=sack,
            timestamps=bool(kernel["ts"]), frto=bool(kernel["frto"]), eifel=False, rto_tick_s=0.004,
            timer_phase_s=expiries[0]["t"] % WHEEL_S if expiries else 0.0, receive_window_first_bytes=64_240,
            receive_window_steps=window_steps(self.capture), ack_pushed=True, send_buffer=buffer,
            receive_window_script=tuple(window for _, window in seen(self.capture).acks),
            stale_dupacks=self.stale_dupacks, cwnd_validation=self.cwnd_validation, minshall=self.minshall, prr=self.prr,
        )  # fmt: skip
        line = Wire(
            0, 1, rate_bps=float(link["a2b"]["rate"]), delay_s=float(link["a2b"]["delay"]) / 1e3, header_bytes=0,
            # The emulator counts the packet that it is sending.
            queue_packets=int(link["a2b"]["limit"]) - 1, lose_data=lost(self.capture),
            holds_s=tuple((start - behind, end - start + behind) for start, end in holds),
        )  # fmt: skip
        nodes = (Node("sender", queue_packets=1000), Node("receiver", queue_packets=1000))
        return World(nodes=nodes, wires=(line,), flows=(Flow(0, 1, file(app["bytes"]), tcp=tcp),))


def simulated(name: str, **switches: bool) -> list[dict[str, object]]:
    run: Run = wl.simulate(KernelLink(capture=name, duration_s=30.0, **switches))
    columns = ["direction", "rel_seq", "len_bytes", "copy", "trigger", "t_made_ns"]
    rows = run.facts.packets.select(columns).to_pylist()
    return [row for row in rows if row["direction"] == "a2b" and row["len_bytes"]]


def kernel_sequence(name: str) -> list[tuple[int, int, int]]:
    """(offset, length, copy) of the kernel's data segments in order."""
    copies: dict[int, int] = {}
    out = []
    for _, offset, length, _ in seen(name).sent:
        out.append((offset, length, copies.get(offset, 0)))
        copies[offset] = copies.get(offset, 0) + 1
    return out


def sequence(rows: list[dict[str, object]]) -> list[tuple[int, int, int]]:
    return [(int(str(r["rel_seq"])) - 1, int(str(r["len_bytes"])), int(str(r["copy"]))) for r in rows]


@needed
@pytest.mark.parametrize("name", NAMES)
def test_the_same_segments_for_the_same_reasons(name: str) -> None:
    rows = simulated(name)
    ours, theirs = sequence(rows), kernel_sequence(name)
    until = DEPARTS.get(name, (len(theirs), ""))[0]
    assert ours[:until] == theirs[:until]
    if name in DEPARTS:
        # The departure is where the list says, or the list is stale.
        assert ours[until] != theirs[until]
    else:
        assert len(ours) == len(theirs)
    times = [s[0] for s in seen(name).sent[:until]]
    resent = [(ours[i][0], str(rows[i]["trigger"])) for i in range(until) if ours[i][2]]
    told = [
        (r["off"], TRIGGERS[r["trigger"]])
        for r in truth(name)["flows"][0]["retransmission_list"]
        if r["t"] <= times[-1]
    ]
    assert [offset for offset, _ in resent] == [offset for offset, _ in told]
    assert all(trigger in allowed for (_, trigger), (_, allowed) in zip(resent, told, strict=True))


@needed
@pytest.mark.parametrize("name", ["clean_newreno", "loss3_newreno", "buf7_newreno"])
def test_at_the_same_time(name: str) -> None:
    # Within the lateness of the emulator: 50 us a packet, so a few milliseconds over a transfer.
    rows = simulated(name)
    off = [int(str(r["t_made_ns"])) / 1e9 - s[0] for r, s in zip(rows, seen(name).sent, strict=True)]
    assert max(map(abs, off)) < 0.004


@needed
def test_each_rule_of_the_kernel_is_needed() -> None:
    for name, switches in (
        ("mixed_newreno", {"stale_dupacks": False}),
        ("mixed_newreno", {"cwnd_validation": False}),
        ("clean_newreno", {"minshall": False}),
        ("buf7_newreno", {"prr": False}),
    ):
        until = DEPARTS.get(name, (None, ""))[0]
        assert sequence(simulated(name, **switches))[:until] != kernel_sequence(name)[:until], name
