"""A second, independent simulator of the 802.11 DCF, as an oracle for the detectors of the air.

The simulator of the package (rust/sim) and the detectors were developed together. This one shares no code with either: a
detector that is right in both does not depend on the habits of one simulator. It is small on purpose: two or three stations
with backoff, rate control, a channel and a sniffer. It gives the tables `frames`, `exchanges` and `segments`, or a radiotap
capture, and a chance of failure for each frame where the package's simulator has signal and noise.

Station A sends TCP data or UDP; station B (and C) sends one TCP ACK for every `delack` segments. Backoff is drawn, frozen
and doubled as in IEEE 802.11-2020 section 10.3; stations whose counters end in the same slot collide.
"""

# Every rate control and channel takes the same arguments, and most ignore some of them.
# ruff: noqa: ARG002, ARG005

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.rows import columns
from wlanlens import tables
from wlanlens.trace import Trace

A, B, C = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
SUBJECT_AB, SUBJECT_BA = f"station {A} > {B}", f"station {B} > {A}"
DATA_BYTES, ACK_BYTES = 1448 + 52 + 8 + 24 + 4, 52 + 8 + 24 + 4
SLOT_US, SIFS_US, DIFS_US, PLCP_US = 20.0, 10.0, 50.0, 192.0
CW_LEAST, CW_MOST = 32, 1024
MAC_ACK_US = PLCP_US + 14 * 8 / 2
LADDER = (1.0, 2.0, 5.5, 11.0)

#: Chance of success of a frame: (rate, time in s, number of the frame) -> 0..1.
Channel = Callable[[float, float, int], float]


def airtime_us(mpdu_bytes: int, rate: float) -> float:
    """TXTIME of DSSS and CCK with long preamble."""
    return PLCP_US + mpdu_bytes * 8 / rate


class Fixed:
    """Always the same rate."""

    def __init__(self, rate: float) -> None:
        self.now = rate

    def rate(self, nth: int) -> float:
        return self.now

    def result(self, nth: int, ok: bool, over: bool) -> None:
        pass


class Arf:
    """Up after ten successes in a row, down after two failures, or after one if it is the first frame at the new rate.
    AARF doubles the ten after every failed probe, to at most fifty."""

    def __init__(self, adaptive: bool = False, start: int = 3) -> None:
        self.at, self.adaptive, self.wanted = start, adaptive, 10
        self.good = self.bad = 0
        self.fresh = False

    def rate(self, nth: int) -> float:
        return LADDER[self.at]

    def result(self, nth: int, ok: bool, over: bool) -> None:
        self.good, self.bad = (self.good + 1, 0) if ok else (0, self.bad + 1)
        if not ok and (self.fresh or self.bad >= 2):
            if self.adaptive:
                self.wanted = min(50, self.wanted * 2) if self.fresh else 10
            self.at, self.bad = max(0, self.at - 1), 0
        self.fresh = False
        if ok and self.good >= self.wanted and self.at < len(LADDER) - 1:
            self.at, self.good, self.fresh = self.at + 1, 0, True


class Minstrel:
    """The best rate by measured throughput; one frame in ten probes another; the retry chain ends at the lowest rate."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.chance = np.full(len(LADDER), 0.5)
        self.sent = np.zeros(len(LADDER))
        self.good = np.zeros(len(LADDER))
        self.frames, self.chain = 0, [3]

    def rate(self, nth: int) -> float:
        if nth == 0:
            if self.frames % 30 == 0:
                tried = self.sent > 0
                measured = self.good / np.maximum(self.sent, 1)
                self.chance = np.where(tried, 0.75 * self.chance + 0.25 * measured, self.chance)
                self.sent[:], self.good[:] = 0, 0
            self.frames += 1
            worth = np.array(LADDER) * np.where(self.chance < 0.1, 0.0, self.chance)
            best, likely = int(worth.argmax()), int(self.chance.argmax())
            look = int(self.rng.integers(len(LADDER)))
            if self.rng.random() < 0.1 and look != best:
                first = [look, best] if look > best else [best, look]
                self.chain = [*first, best, best, likely, likely, 0, 0]
            else:
                self.chain = [best, best, best, likely, likely, 0, 0, 0]
        self.used = self.chain[min(nth, len(self.chain) - 1)]
        return LADDER[self.used]

    def result(self, nth: int, ok: bool, over: bool) -> None:
        self.sent[self.used] += 1
        self.good[self.used] += ok


class Thrashing:
    """The multiplicative algorithm of early firmware: after `up` successes 11 Mbit/s three times, then `middle` times
    5.5, then 1 up to the retry limit; then 1 again."""

    def __init__(self, up: int, middle: int) -> None:
        self.up, self.middle, self.good, self.probing = up, middle, 0, False

    def rate(self, nth: int) -> float:
        if nth == 0:
            self.probing = self.good >= self.up
        if not self.probing:
            return 1.0
        return 11.0 if nth < 3 else 5.5 if nth < 3 + self.middle else 1.0

    def result(self, nth: int, ok: bool, over: bool) -> None:
        if ok:
            self.good += 1
            if self.probing and nth >= 3:
                self.good = 0
        elif over or self.probing:
            self.good = 0 if over else self.good


@dataclass
class Gilbert:
    """Two states that may change at each frame: p from good to bad, r back; every frame in the bad state fails."""

    p: float
    r: float
    rng: np.random.Generator
    bad: bool = False

    def __call__(self, rate: float, t_s: float, number: int) -> float:
        self.bad = self.rng.random() >= self.r if self.bad else self.rng.random() < self.p
        return 0.0 if self.bad else 1.0


@dataclass
class World:
    """What is simulated.

    `seen` 0..1: chance that the sniffer receives a frame that failed; `collided`: whether it receives both frames of a
    collision; `signal`: dBm of A's frames at the sniffer by time.
    """

    seconds: float
    rate_a: Any
    rate_b: Any
    channel: Channel
    limit: int = 8
    delack: int = 2
    window: int = 20
    udp: bool = False
    collided: bool = False
    seen: float = 1.0
    signal: Callable[[float], float] = lambda t: -50.0
    back: Channel | None = None
    data_bytes: int = DATA_BYTES
    noise_db: float = 1.5
    #: Share of all frames, MAC ACKs too, that the sniffer misses.
    deaf: float = 0.0
    #: A sends to two stations in turn.
    two: bool = False
    #: No two frames ever tie: for worlds that show channel errors only.
    ties: bool = True


@dataclass
class Frame:
    packet: int
    t_us: float
    ta: str | None
    ra: str
    kind: str
    rate: float
    seq: int
    retry: bool
    fcs_ok: bool
    signal: float
    airtime: float
    size: int
    number: int = 0


@dataclass
class Msdu:
    kind: str
    number: int
    ta: str
    ra: str
    seq: int = 0
    attempts: int = 0
    packets: list[int] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    airtimes: list[float] = field(default_factory=list)
    size: int = 0
    outcome: str = ""
    ack: tuple[int, float] | None = None
    again: bool = False


class _Station:
    def __init__(self, name: str, control: Any, channel: Channel, rng: np.random.Generator) -> None:
        self.name, self.control, self.channel, self.rng = name, control, channel, rng
        self.queue: deque[Msdu] = deque()
        self.head: Msdu | None = None
        self.cw, self.backoff, self.seq = CW_LEAST, int(rng.integers(CW_LEAST)), 0

    def ready(self) -> bool:
        if self.head is None and self.queue:
            self.head = self.queue.popleft()
            self.seq = (self.seq + 1) % 4096
            self.head.seq = self.seq
        return self.head is not None

    def draw(self) -> None:
        self.backoff = int(self.rng.integers(self.cw))


@dataclass
class _Flow:
    """TCP as seen on the air."""

    unacked: int = 0
    owed: int = 0
    number: int = 0
    lost: deque[tuple[int, int]] = field(default_factory=deque)

    def next(self, udp: bool, to: str) -> Msdu:
        self.unacked += 1
        if self.lost and self.lost[0][1] <= self.number:
            return Msdu("data", self.lost.popleft()[0], A, to, again=True)
        self.number += 1
        return Msdu("udp" if udp else "data", self.number - 1, A, to)


class Air:
    """A world simulated with a seed: `frames`, `msdus` and their tables."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.rng = np.random.default_rng(seed)
        self.frames: list[Frame] = []
        self.msdus: list[Msdu] = []
        self.ties = 0
        self.retransmissions: list[tuple[int, float, int]] = []
        self._run()

    def _run(self) -> None:
        w = self.world
        a = _Station(A, w.rate_a, w.channel, self.rng)
        peers = [_Station(name, w.rate_b, w.back or w.channel, self.rng) for name in ((B, C) if w.two else (B,))]
        flows = {b.name: _Flow() for b in peers}
        self.number, turn, t = 0, 0, 0.0
        while t < w.seconds * 1e6:
            # TCP: new data while the window allows; a dropped segment is retransmitted after three more. Receivers take turns.
            for step in range(len(peers)):
                to = peers[(turn + step) % len(peers)].name
                if a.head is None and not a.queue and (w.udp or flows[to].unacked < w.window):
                    a.queue.append(flows[to].next(w.udp, to))
                    turn += 1
            ready = [s for s in (a, *peers) if s.ready()]
            if not ready:
                # Everything in flight is lost or waits for a delayed ACK.
                t += 40_000.0
                for b in peers:
                    flow = flows[b.name]
                    if flow.owed:
                        b.queue.append(Msdu("ack", flow.number, b.name, A))
                    flow.unacked, flow.owed = 0, 0
                continue
            slots = min(s.backoff for s in ready)
            t += DIFS_US + slots * SLOT_US
            for s in ready[1:] if not w.ties else ():
                s.backoff += s.backoff == ready[0].backoff
            senders = [s for s in ready if s.backoff == slots]
            for s in ready:
                s.backoff -= slots
            self.ties += len(senders) > 1
            busy = 0.0
            for s in senders:
                ok, length = self._attempt(s, t, len(senders) > 1)
                busy = max(busy, length)
                self._after(s, ok, flows, {b.name: b for b in peers})
            t += busy

    def _after(self, s: _Station, ok: bool, flows: dict[str, _Flow], peers: dict[str, _Station]) -> None:
        """What follows a transmission: rate control, backoff, the end of an exchange, and TCP's answer."""
        w, head = self.world, s.head
        if head is None:
            raise AssertionError
        over = not ok and head.attempts >= w.limit
        s.control.result(head.attempts - 1, ok, over)
        if not ok and not over:
            s.cw = min(CW_MOST, s.cw * 2)
            s.draw()
            return
        head.outcome = "delivered" if ok else "dropped"
        self.msdus.append(head)
        s.head, s.cw = None, CW_LEAST
        s.draw()
        flow = flows[head.ta if head.kind == "ack" else head.ra]
        if head.kind == "data" and ok:
            flow.owed += 1
            if flow.owed >= w.delack:
                peers[head.ra].queue.append(Msdu("ack", head.number, head.ra, A))
                flow.owed = 0
        elif head.kind == "data":
            flow.unacked -= 1
            flow.lost.append((head.number, flow.number + 3))
        elif head.kind == "ack":
            flow.unacked = max(0, flow.unacked - w.delack)
        else:
            flow.unacked = 0

    def _attempt(self, s: _Station, t: float, tie: bool) -> tuple[bool, float]:
        w, m = self.world, s.head
        if m is None:
            raise AssertionError
        rate = s.control.rate(m.attempts)
        size = ACK_BYTES if m.kind == "ack" else w.data_bytes
        length = airtime_us(size, rate)
        self.number += 1
        ok = (self.rng.random() < s.channel(rate, t / 1e6, self.number)) and not tie
        if m.kind == "data" and m.again and m.attempts == 0:
            self.retransmissions.append((m.number, t, len(self.frames) + 1))
        m.attempts += 1
        m.size = size
        heard = w.collided if tie else (ok or self.rng.random() < w.seen)
        if heard and self.rng.random() >= w.deaf:
            m.packets.append(len(self.frames) + 1)
            m.rates.append(rate)
            m.times.append(t)
            m.airtimes.append(length)
            signal = (w.signal(t / 1e6) if s.name == A else -50.0) + self.rng.normal(0, w.noise_db)
            self.frames.append(
                Frame(
                    len(self.frames) + 1, t, m.ta, m.ra, m.kind, rate, m.seq, m.attempts > 1, not tie, signal, length, size,
                    m.number,
                )
            )  # fmt: skip
        if ok and self.rng.random() >= w.deaf:
            t_ack = t + length + SIFS_US
            m.ack = (len(self.frames) + 1, t_ack)
            self.frames.append(
                Frame(len(self.frames) + 1, t_ack, None, s.name, "mac_ack", 2.0, 0, False, True, -50.0, MAC_ACK_US, 14)
            )
        return ok, length + SIFS_US + MAC_ACK_US

    # Tables.

    def trace(self) -> Trace:
        """Its tables; `segments` holds retransmissions only."""
        held = {name: tables.empty(name) for name in tables.names()}
        held.update(frames=self._frames(), exchanges=self._exchanges(), segments=self._segments())
        last = max((int(f.t_us * 1e3) for f in self.frames), default=0)
        return Trace.of_tables(held, duration_ns=last + 10_000_000)

    def _frames(self) -> pa.Table:
        f = self.frames
        carries = {"data": "tcp_data", "ack": "tcp_ack", "udp": "udp", "mac_ack": "control"}
        return columns("frames", {
            "capture": ["test.pcap"] * len(f), "packet": [x.packet for x in f],
            "t_ns": [int(x.t_us * 1e3) for x in f], "mpdu_bytes": [x.size for x in f],
            "type": ["control" if x.kind == "mac_ack" else "data" for x in f],
            "subtype": ["ack" if x.kind == "mac_ack" else "data" for x in f],
            "ta": [x.ta for x in f], "ra": [x.ra for x in f], "seq": [x.seq for x in f],
            "retry": [x.retry for x in f], "fcs_ok": [x.fcs_ok for x in f], "rate_mbps": [x.rate for x in f],
            "signal_dbm": [round(min(0, max(-100, x.signal))) for x in f], "airtime_us": [x.airtime for x in f],
            "carries": [carries[x.kind] for x in f], "channel_mhz": [2412] * len(f),
        })  # fmt: skip

    def _exchanges(self) -> pa.Table:
        m = sorted((x for x in self.msdus if x.packets), key=lambda x: x.packets[0])
        retry = {x.packet: x.retry for x in self.frames}
        # As the tracker of exchanges infers: one earlier transmission where the first frame is a retry, delivery where there is
        # an ACK, a drop after four transmissions without one.
        inferred = [int(retry[x.packets[0]]) for x in m]
        told = [
            "delivered" if x.ack else "dropped" if x.outcome == "dropped" and len(x.packets) >= 4 else "unknown"
            for x in m
        ]
        wasted = [sum(x.airtimes[: None if t == "dropped" else -1]) for x, t in zip(m, told, strict=True)]
        return columns("exchanges", {
            "capture": ["test.pcap"] * len(m), "ta": [x.ta for x in m], "ra": [x.ra for x in m], "seq": [x.seq for x in m],
            "first_packet": [x.packets[0] for x in m], "last_packet": [x.packets[-1] for x in m],
            "packets": pa.array([x.packets for x in m], pa.list_(pa.uint64())),
            "t_first_ns": [int(x.times[0] * 1e3) for x in m], "t_last_ns": [int(x.times[-1] * 1e3) for x in m],
            "t_ack_ns": [None if x.ack is None else int(x.ack[1] * 1e3) for x in m],
            "ack_packet": [None if x.ack is None else x.ack[0] for x in m],
            "attempts": [len(x.packets) + i for x, i in zip(m, inferred, strict=True)], "attempts_inferred": inferred,
            "inferred_by": ["retry_bit" if i else None for i in inferred],
            "rates_mbps": pa.array([x.rates for x in m], pa.list_(pa.float64())),
            "acked": [{"delivered": True, "dropped": False, "unknown": None}[t] for t in told], "outcome": told,
            "airtime_us": [sum(x.airtimes) for x in m], "wasted_us": wasted, "mpdu_bytes": [x.size for x in m],
            "carries": [{"data": "tcp_data", "ack": "tcp_ack", "udp": "udp"}[x.kind] for x in m],
            "tcp_kind": [{"data": "data", "ack": "ack", "udp": None}[x.kind] for x in m],
            "flow": [None if x.kind == "udp" else int(C in (x.ta, x.ra)) for x in m],
            "direction": [{"data": "a2b", "ack": "b2a", "udp": None}[x.kind] for x in m],
        })  # fmt: skip

    def _segments(self) -> pa.Table:
        f = [x for x in self.frames if x.kind in ("data", "ack")]
        again = {packet for _, _, packet in self.retransmissions}
        kinds = ["mac_copy" if x.retry else "retransmission" if x.packet in again else "first" for x in f]
        if not f:
            return tables.empty("segments")
        return columns("segments", {
            "capture": ["test.pcap"] * len(f), "packet": [x.packet for x in f], "t_ns": [int(x.t_us * 1e3) for x in f],
            "flow": [int(C in (x.ta, x.ra)) for x in f], "direction": ["b2a" if x.kind == "ack" else "a2b" for x in f],
            "kind": [x.kind for x in f], "transmission": kinds,
            "rel_seq": [1 if x.kind == "ack" else 1 + 1448 * x.number for x in f],
            "rel_ack": [1 + 1448 * x.number if x.kind == "ack" else 1 for x in f],
            "len": [0 if x.kind == "ack" else 1448 for x in f],
        })  # fmt: skip

    def pcap(self, path: Path) -> None:
        """The same as a radiotap capture: TSFT at the start of each frame, the record's stamp at its end."""
        mpdus = {(kind, ta): self._mpdu(kind, ta) for kind, ta in {(f.kind, f.ta or "") for f in self.frames}}
        with path.open("wb") as out:
            out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 127))
            for f in self.frames:
                # TSFT, Flags (FCS at the end, bad FCS), Rate, Channel (CCK, 2 GHz), antenna signal.
                tap = struct.pack(
                    "<BxHIQBBHHb", 0, 23, 0b101111, 1_000_000 + int(f.t_us), 0x10 if f.fcs_ok else 0x50, round(f.rate * 2),
                    2412, 0x00A0, round(f.signal),
                )  # fmt: skip
                mpdu = bytearray(mpdus[f.kind, f.ta or ""])
                if f.ta is None:
                    mpdu[4:10] = bytes.fromhex(f.ra.replace(":", ""))
                else:
                    mpdu[1] |= 8 * f.retry
                    mpdu[22:24] = struct.pack("<H", f.seq << 4)
                    if f.kind != "udp":
                        at, number = (56, f.number) if f.kind == "data" else (60, f.number + 1)
                        mpdu[at : at + 4] = struct.pack(">I", 1 + 1448 * number)
                mpdu += struct.pack("<I", zlib.crc32(mpdu) ^ (0 if f.fcs_ok else 1))
                raw = tap + bytes(mpdu)
                s, ns = divmod(round((f.t_us + f.airtime) * 1e3), 10**9)
                out.write(struct.pack("<IIII", 1_700_000_000 + s, ns, len(raw), len(raw)) + raw)

    @staticmethod
    def _mpdu(kind: str, ta: str) -> bytes:
        """An MPDU of a kind, without its FCS; numbers are filled in later."""
        from scapy.layers.dot11 import Dot11
        from scapy.layers.inet import IP, TCP, UDP
        from scapy.layers.l2 import LLC, SNAP

        if kind == "mac_ack":
            return bytes(Dot11(type=1, subtype=13, addr1=A))
        src, dst = ("10.0.0.1", "10.0.0.2") if ta == A else ("10.0.0.2", "10.0.0.1")
        stamps = [("NOP", None), ("NOP", None), ("Timestamp", (1, 1))]
        inner = {
            "udp": UDP(sport=40000, dport=5001) / bytes(1472),
            "data": TCP(sport=40000, dport=5001, flags="A", seq=1, ack=1, options=stamps) / bytes(1448),
            "ack": TCP(sport=5001, dport=40000, flags="A", seq=1, ack=1, options=stamps),
        }[kind]
        # To DS from the station, From DS to it: the access point is B.
        mac = Dot11(type=2, subtype=0, FCfield=1 if ta == A else 2, addr1=B if ta == A else A, addr2=ta, addr3=B)
        return bytes(mac / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP() / IP(src=src, dst=dst) / inner)
