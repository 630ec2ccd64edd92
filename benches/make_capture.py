"""Write the capture that the benchmarks read: bulk TCP flows with losses above the tap, the same bytes every time.

    python benches/make_capture.py OUT.pcap [--packets 1000000] [--flows 50] [--snaplen 96] [--seed 1] [--blocks]

Each flow keeps 20 to 40 segments of 1448 bytes in flight over a path of about 30 ms, clocked by an ACK for every two,
with timestamps and SACK. With --blocks the flows end after four million packets and others begin, so that a capture
of any length is made in bounded memory; OUT "-" is then standard output. One segment in 500 is lost before the tap: a
hole, a duplicate ACK with a SACK block for each later segment, a fast retransmission one round trip later, and an ACK
of everything. This is not a model of TCP.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

Array = np.ndarray[Any, Any]

SEGMENT = 1448
PACKETS = 1_000_000
LOSS = 1 / 500
#: Nanoseconds from an ACK to the segment that it releases, between two segments of a pair, and of one round trip.
REACTION_NS, PAIR_NS, RTT_NS = 15_000, 12_000, 30_000_000
#: The capture's first packet, and the values of the sender's and the receiver's timestamp clocks (1 kHz) at that time.
EPOCH_S, CLOCKS = 1_700_000_000, (3_487_918_080, 1_204_500_000)
SYN, SYNACK, ACK, PUSH_ACK = 0x02, 0x12, 0x10, 0x18
#: Captured bytes of every header are below this: record 16, Ethernet 14, IPv4 20, TCP 20 and 24 of options.
HEAD_BYTES = 16 + 14 + 20 + 20 + 24
CHUNK = 50_000
#: Packets after which a stream begins new flows.
BLOCK = 4_000_000

ROW = np.dtype(
    [
        ("ns", "i8"), ("flow", "i4"), ("back", "?"), ("flags", "u1"), ("seq", "i8"), ("ack", "i8"), ("len", "i4"),
        ("id", "i8"), ("echo_ns", "i8"), ("sack_left", "i8"), ("sack_right", "i8"),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """One flow: segments in flight, round trip, time of its SYN."""

    window: int
    rtt_ns: int
    start_ns: int


def shapes(flows: int, rng: np.random.Generator) -> list[Shape]:
    """Flows that differ in window and path, and begin within a second."""
    windows = 2 * rng.integers(10, 21, flows)
    trips = rng.integers(RTT_NS * 9 // 10, RTT_NS * 11 // 10, flows)
    starts = np.sort(rng.integers(0, 1_000_000_000, flows))
    return [Shape(int(w), int(r), int(s)) for w, r, s in zip(windows, trips, starts, strict=True)]


def rows_of(flow: int, shape: Shape, until_ns: int, rng: np.random.Generator) -> Array:
    """All packets of one flow, in no order."""
    syn, rtt = shape.start_ns, shape.rtt_ns
    pairs_a_trip = shape.window // 2
    trips = max(1, (until_ns - syn) // rtt)
    lengths = rtt + rng.integers(0, rtt // 50, trips)
    begin = syn + rtt + 100_000 + np.concatenate(([0], np.cumsum(lengths)))[:-1]
    slots = np.arange(pairs_a_trip) * (rtt * 9 // 10 // pairs_a_trip)
    pair_ns = (begin[:, None] + slots[None, :]).ravel()
    answer_ns = np.repeat(lengths, pairs_a_trip) - REACTION_NS

    n = np.arange(2 * len(pair_ns))
    sent_ns = pair_ns[n // 2] + PAIR_NS * (n % 2)
    seq = 1 + SEGMENT * n
    lost = _losses(len(n), shape.window, rng)
    again_ns = sent_ns[lost + 3] + answer_ns[(lost + 3) // 2] + REACTION_NS
    # The hole that is open when segment n arrives: sent after a lost segment, before its retransmission.
    at = np.searchsorted(lost, n, side="right") - 1
    # One more at the end, for flows that lose nothing.
    lost_at, again_at_ns = np.append(lost, 0)[at], np.append(again_ns, 0)[at]
    behind = (at >= 0) & (n > lost_at) & (sent_ns < again_at_ns)
    hole = np.where(behind, lost_at, -1)

    data = _rows(len(n), flow, sent_ns, seq, 1, PUSH_ACK, length=SEGMENT)
    data["id"] = n + np.searchsorted(again_ns, sent_ns)
    data["echo_ns"] = sent_ns - rtt // 2
    resent = _rows(len(lost), flow, again_ns, seq[lost], 1, PUSH_ACK, length=SEGMENT)
    resent["id"] = np.searchsorted(sent_ns, again_ns) + np.arange(len(lost))
    resent["echo_ns"] = again_ns - rtt // 2

    # In order: one ACK per pair, caused by its second segment, or by its first where it has only one.
    second = (n % 2 == 1) & (hole < 0) & ~np.isin(n, lost)
    only = (n % 2 == 0) & (hole < 0) & np.isin(n + 1, lost)
    plain = n[second | only]
    acks = _answers(flow, sent_ns[plain] + answer_ns[plain // 2], seq[plain] + SEGMENT, sent_ns[2 * (plain // 2)])
    ahead = n[behind]
    doubles = _answers(
        flow, sent_ns[ahead] + answer_ns[ahead // 2], seq[hole[ahead]], sent_ns[np.maximum(hole[ahead] - 1, 0)]
    )
    doubles["sack_left"], doubles["sack_right"] = seq[hole[ahead]] + SEGMENT, seq[ahead] + SEGMENT
    highest = np.maximum(np.searchsorted(sent_ns, again_ns) - 1, 0)
    filled = _answers(flow, again_ns + rtt, seq[highest] + SEGMENT, again_ns)

    opening = _rows(3, flow, syn + np.array([0, rtt, rtt + 30_000]), [0, 0, 1], [0, 1, 1], [SYN, SYNACK, ACK])
    opening["back"] = [False, True, False]
    opening["id"], opening["echo_ns"] = [-3, 0, -2], [-1, syn, syn + rtt // 2]
    captured = np.ones(len(n), bool)
    captured[lost] = False
    return np.concatenate((opening, data[captured], resent, acks, doubles, filled))


def _losses(segments: int, window: int, rng: np.random.Generator) -> Array:
    """Numbers of lost segments, one in a window at most, none at the very end."""
    least = 3 * window
    gaps = least + rng.exponential(1 / LOSS - least, max(1, int(segments * LOSS * 2))).astype(np.int64)
    at: Array = np.cumsum(gaps)
    return at[at < segments - least]


def _rows(count: int, flow: int, ns: Any, seq: Any, ack: Any, flags: Any, *, length: int = 0) -> Array:
    rows = np.zeros(count, ROW)
    rows["ns"], rows["flow"], rows["seq"], rows["ack"] = ns, flow, seq, ack
    rows["flags"], rows["len"] = flags, length
    return rows


def _answers(flow: int, ns: Array, ack: Array, echo_ns: Array) -> Array:
    rows = _rows(len(ns), flow, ns, 1, ack, ACK)
    rows["back"], rows["echo_ns"] = True, echo_ns
    return rows


def all_rows(packets: int, flows: int, seed: int) -> Array:
    """The first `packets` packets of all flows together, in order of time."""
    rng = np.random.default_rng(seed)
    chosen = shapes(flows, rng)
    a_second = sum(1.5 * shape.window / shape.rtt_ns * 1e9 for shape in chosen)
    until_ns = int((packets / a_second + 1.5) * 1e9)
    rows = np.concatenate([rows_of(i, shape, until_ns, rng) for i, shape in enumerate(chosen)])
    order = np.argsort(rows["ns"], kind="stable")[:packets]
    rows = rows[order]
    assert len(rows) == packets, f"only {len(rows)} packets were made"
    return rows


def at_receiver(rows: Array, seed: int = 2) -> tuple[Array, Array]:
    """The same packets at a tap near the receivers: data about 8 ms later, ACKs about 8 ms earlier, one packet in 100
    missing, its clock 3.7 s ahead and 20 ppm fast."""
    rng = np.random.default_rng(seed)
    kept = rows[rng.random(len(rows)) > 0.01]
    under_way = 8_000_000 + rng.integers(0, 2_000_000, len(kept))
    there_ns = kept["ns"] + np.where(kept["back"], -under_way, under_way)
    order = np.argsort(there_ns, kind="stable")
    kept, there_ns = kept[order], there_ns[order]
    return kept, there_ns + 3_700_000_000 + there_ns // 50_000


def write(path: Path, rows: Array, snaplen: int, stamps_ns: Array | None = None) -> None:
    """The rows as a pcap of Ethernet frames, microseconds, cut at `snaplen`; `stamps_ns` holds the timestamps of another tap."""
    rng = np.random.default_rng(0)
    payload = rng.integers(0, 256, SEGMENT + HEAD_BYTES, np.uint8)
    stamps_ns = rows["ns"] if stamps_ns is None else stamps_ns
    with path.open("wb") as file:
        file.write(_top(snaplen))
        for i in range(0, len(rows), CHUNK):
            file.write(_records(rows[i : i + CHUNK], stamps_ns[i : i + CHUNK], snaplen, payload))


def stream(out: BinaryIO, packets: int, flows: int, snaplen: int, seed: int) -> None:
    """A capture of any length: blocks of `BLOCK` packets with the same timing, each of its own flows."""
    rng = np.random.default_rng(0)
    payload = rng.integers(0, 256, SEGMENT + HEAD_BYTES, np.uint8)
    block = all_rows(min(packets, BLOCK), flows, seed)
    lasts_ns = int(block["ns"][-1]) + RTT_NS
    out.write(_top(snaplen))
    for done in range(0, packets, BLOCK):
        rows = block[: packets - done]
        for i in range(0, len(rows), CHUNK):
            out.write(_records(rows[i : i + CHUNK], rows["ns"][i : i + CHUNK], snaplen, payload))
        block["ns"] += lasts_ns
        block["echo_ns"][block["echo_ns"] >= 0] += lasts_ns
        block["flow"] += flows


def _top(snaplen: int) -> bytes:
    """The header of a pcap file."""
    header = [("magic", "<u4"), ("major", "<u2"), ("minor", "<u2"), ("zone", "<i4"), ("sigfigs", "<u4")]
    top = np.zeros(1, np.dtype([*header, ("snaplen", "<u4"), ("link", "<u4")]))
    top[0] = (0xA1B2C3D4, 2, 4, 0, 0, snaplen, 1)
    return top.tobytes()


def _records(rows: Array, stamps_ns: Array, snaplen: int, payload: Array) -> bytes:
    """pcap records: every head is filled in at its greatest length, then each record is cut to its own length."""
    head = _heads(rows, stamps_ns)
    options = np.where(rows["flags"] & SYN, 20, np.where(rows["sack_right"] > 0, 24, 12))
    wire = 14 + 20 + 20 + options + rows["len"]
    captured = np.minimum(wire, snaplen)
    head[:, 8:12] = _bytes(captured, "<u4")
    head[:, 12:16] = _bytes(wire, "<u4")
    head[:, 32:34] = _bytes(wire - 14, ">u2")
    head[:, 62] = (20 + options) // 4 << 4
    # The IPv4 header's checksum; TCP's is left to the adapter, as in any capture at a sender.
    words = head[:, 30:50].copy().view(">u2").astype(np.int64)
    total = words.sum(axis=1)
    total = (total & 0xFFFF) + (total >> 16)
    head[:, 40:42] = _bytes(~((total & 0xFFFF) + (total >> 16)) & 0xFFFF, ">u2")

    ends = np.cumsum(captured + 16)
    starts = ends - captured - 16
    out = np.empty(int(ends[-1]) + HEAD_BYTES, np.uint8)
    heads = np.minimum(16 + 14 + 20 + 20 + options, captured + 16)
    full = rows["len"] > 0
    for start, end in zip(starts[full].tolist(), ends[full].tolist(), strict=True):
        out[start:end] = payload[: end - start]
    columns = np.arange(HEAD_BYTES)
    for length in np.unique(heads):
        which = heads == length
        out[starts[which][:, None] + columns[None, :length]] = head[which, :length]
    return out[: int(ends[-1])].tobytes()


def _heads(rows: Array, stamps_ns: Array) -> Array:
    """Record, Ethernet, IPv4 and TCP headers; lengths and checksum are filled in later."""
    head = np.zeros((len(rows), HEAD_BYTES), np.uint8)
    back, flow = rows["back"], rows["flow"].astype(np.int64)
    us = stamps_ns // 1000
    head[:, 0:4], head[:, 4:8] = _bytes(EPOCH_S + us // 1_000_000, "<u4"), _bytes(us % 1_000_000, "<u4")
    head[:, 16:22] = np.where(back[:, None], [2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
    head[:, 22:28] = np.where(back[:, None], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1])
    head[:, 28:30] = [8, 0]
    head[:, 30] = 0x45
    head[:, 34:36] = _bytes(np.where(back, 0, rows["id"] + 1) & 0xFFFF, ">u2")
    head[:, 36] = 0x40
    head[:, 38:40] = [64, 6]
    near, far = 0x0A000001 + (flow << 8), 0x0A010002 + (flow << 8)
    head[:, 42:46], head[:, 46:50] = _bytes(np.where(back, far, near), ">u4"), _bytes(np.where(back, near, far), ">u4")
    port = 40_000 + flow
    head[:, 50:52], head[:, 52:54] = (
        _bytes(np.where(back, 5001, port), ">u2"),
        _bytes(np.where(back, port, 5001), ">u2"),
    )
    # Initial sequence numbers near the end of the space, so that it wraps.
    first = (0xFF000000 + (flow << 18), 0x10000000 + (flow << 12))
    mine, other = np.where(back, first[1], first[0]), np.where(back, first[0], first[1])
    head[:, 54:58] = _bytes((mine + rows["seq"]) & 0xFFFFFFFF, ">u4")
    with_ack = rows["flags"] & ACK > 0
    head[:, 58:62] = _bytes(np.where(with_ack, (other + rows["ack"]) & 0xFFFFFFFF, 0), ">u4")
    head[:, 63] = rows["flags"]
    head[:, 64:66] = [0xFF, 0xFF]
    ms = rows["ns"] // 1_000_000
    clock = np.where(back, CLOCKS[1], CLOCKS[0]) + ms
    echo = np.where(rows["echo_ns"] < 0, 0, np.where(back, CLOCKS[0], CLOCKS[1]) + rows["echo_ns"] // 1_000_000)
    opening = rows["flags"] & SYN > 0
    stamps = np.concatenate((_bytes(clock & 0xFFFFFFFF, ">u4"), _bytes(echo & 0xFFFFFFFF, ">u4")), axis=1)
    # SYN: MSS 1460, SACK permitted, timestamps, NOP, window scale 7. Others: NOP NOP timestamps, and NOP NOP SACK.
    head[opening, 70:78] = [2, 4, 5, 180, 4, 2, 8, 10]
    head[opening, 78:86] = stamps[opening]
    head[opening, 86:90] = [1, 3, 3, 7]
    head[~opening, 70:74] = [1, 1, 8, 10]
    head[~opening, 74:82] = stamps[~opening]
    told = rows["sack_right"] > 0
    head[told, 82:86] = [1, 1, 5, 10]
    head[told, 86:90] = _bytes((other + rows["sack_left"])[told] & 0xFFFFFFFF, ">u4")
    head[told, 90:94] = _bytes((other + rows["sack_right"])[told] & 0xFFFFFFFF, ">u4")
    return head


def _bytes(values: Array, kind: str) -> Array:
    """Numbers as columns of bytes."""
    made = np.ascontiguousarray(values).astype(kind)
    return made.view(np.uint8).reshape(len(made), made.itemsize)


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--packets", type=int, default=PACKETS)
    parser.add_argument("--flows", type=int, default=50)
    parser.add_argument("--snaplen", type=int, default=96)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blocks", action="store_true")
    given = parser.parse_args()
    if given.blocks:
        with sys.stdout.buffer if str(given.out) == "-" else given.out.open("wb") as out:
            stream(out, given.packets, given.flows, given.snaplen, given.seed)
        return
    write(given.out, all_rows(given.packets, given.flows, given.seed), given.snaplen)


if __name__ == "__main__":
    main()
