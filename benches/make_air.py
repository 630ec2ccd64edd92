"""Write the 802.11n capture that the benchmarks read: TCP downloads in A-MPDUs on an open network, the same
bytes every time.

    python benches/make_air.py OUT.pcap [--frames 400000] [--snaplen 160] [--seed 1] [--protected]

An access point sends A-MPDUs of 4 to 24 TCP segments to four stations in turn, each answered by a Block Ack; one MPDU in 25
is missing in its bitmap and is retransmitted with the Retry bit. The TCP ACKs are sent in the same manner. Beacons come
every 102.4 ms, and sometimes a frame with RTS, CTS and ACK at 24 Mb/s. The radiotap headers are those of Linux drivers.
With --protected the frame bodies are encrypted: frames without readable packets.
"""

from __future__ import annotations

import argparse
import random
import struct
from collections.abc import Iterator
from math import ceil
from pathlib import Path

FRAMES, SNAPLEN = 400_000, 160
EPOCH_US = 1_700_000_000_000_000
AP = bytes.fromhex("020000000001")
STATIONS = [bytes.fromhex(f"0200000000{i:02x}") for i in range(0x10, 0x14)]
BEACON_US = 102_400
SEGMENT, LOSS, WINDOW = 1448, 1 / 25, 4096
#: Frame control: QoS data from and to the distribution system, Retry, and the control frames.
DOWN, UP, RETRY, PROTECTED = 0x0288, 0x0188, 0x0800, 0x4000
RTS, CTS, ACK, BLOCK_ACK, BEACON = 0x00B4, 0x00C4, 0x00D4, 0x0094, 0x0080
MCS, MCS_BITS = 7, 260


class Clock:
    """Time on the air, in us."""

    def __init__(self) -> None:
        self.us = 1_000_000.0

    def ppdu(self, idle_us: float, airtime_us: float) -> int:
        """The start of a PPDU after some idle time; the clock moves to its end."""
        start = self.us + idle_us
        self.us = start + airtime_us
        return int(start)


def ht_us(psdu_bytes: int) -> float:
    """TXTIME of HT mixed, 20 MHz, one stream, MCS 7, at 2.4 GHz."""
    return 36 + 4 * ceil((8 * psdu_bytes + 22) / MCS_BITS) + 6


def legacy_us(psdu_bytes: int) -> float:
    """TXTIME of ERP-OFDM at 24 Mb/s."""
    return 20 + 4 * ceil((8 * psdu_bytes + 22) / 96) + 6


def legacy(tsf: int, signal: int) -> bytes:
    """Radiotap of a frame at 24 Mb/s: TSFT, flags, rate, channel, signal, antenna."""
    return struct.pack("<BBHIQBBHHbB", 0, 0, 24, 0x82F, tsf, 0, 48, 2412, 0x0480, signal, 0)


def ht(tsf: int, signal: int, ampdu: int) -> bytes:
    """Radiotap of an MPDU of an A-MPDU: TSFT, flags, channel, signal, antenna, MCS, A-MPDU status."""
    start = struct.pack("<BBHIQBxHHbB", 0, 0, 0, 0x18082B, tsf, 0, 2412, 0x0480, signal, 0)
    mcs = struct.pack("<BBB", 0x3F, 0, MCS)
    body = start + mcs
    body += bytes(-len(body) % 4) + struct.pack("<IHBB", ampdu, 0, 0, 0)
    return body[:2] + struct.pack("<H", len(body)) + body[4:]


class Flow:
    """One TCP download from behind the access point to a station."""

    def __init__(self, number: int) -> None:
        self.station = STATIONS[number]
        self.port = 40_000 + number
        self.address = bytes([10, 0, 0, 10 + number])
        self.server = bytes([192, 0, 2, 1])
        self.seq = {"down": 1000, "up": 500}
        self.ip_id = {"down": 0, "up": 0}
        self.mac_seq = {"down": 0, "up": 0}
        self.acked = self.seq["down"]

    def mpdu(self, way: str, payload: int) -> tuple[int, bytes, int]:
        """Sequence number, captured bytes and length of one MPDU with a segment or an ACK."""
        down = way == "down"
        source, target = (self.server, self.address) if down else (self.address, self.server)
        ports = (80, self.port) if down else (self.port, 80)
        flags = 0x18 if payload else 0x10
        if not down:
            self.acked = min(self.seq["down"], self.acked + 2 * SEGMENT)
        ack = self.seq["up"] if down else self.acked
        tcp = struct.pack(">HHIIBBHHH", *ports, self.seq[way] % 2**32, ack % 2**32, 0x80, flags, 4096, 0, 0)
        tcp += b"\x01\x01\x08\x0a" + struct.pack(">II", self.seq[way] & 0xFFFFFFFF, 1)
        length = 20 + len(tcp) + payload
        ip = bytearray(
            struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, self.ip_id[way] & 0xFFFF, 0x4000, 64, 6, 0, source, target)
        )
        total = sum(struct.unpack(">10H", ip))
        total = (total & 0xFFFF) + (total >> 16)
        ip[10:12] = struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
        self.seq[way] += payload
        self.ip_id[way] += 1
        number = self.mac_seq[way]
        self.mac_seq[way] = (number + 1) % 4096
        ra, ta = (self.station, AP) if down else (AP, self.station)
        head = struct.pack("<HH6s6s6sHH", DOWN if down else UP, 48, ra, ta, AP, number << 4, 0)
        data = head + b"\xaa\xaa\x03\0\0\0\x08\0" + bytes(ip) + tcp
        return number, data, len(data) + payload + 4


def block_ack(ra: bytes, ta: bytes, start: int, bitmap: int) -> bytes:
    """A compressed Block Ack, without its FCS."""
    return struct.pack("<HH6s6sHHQ", BLOCK_ACK, 0, ra, ta, 0x0005, start << 4, bitmap)


def frames(count: int, seed: int) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Time, radiotap header, captured MPDU and its length on the air with FCS."""
    rng = random.Random(seed)  # noqa: S311 - the same bytes every time
    clock = Clock()
    flows = [Flow(i) for i in range(len(STATIONS))]
    waiting: dict[tuple[bytes, str], list[tuple[int, bytes, int]]] = {}
    ampdu, beacon_at, made = 0, 0.0, 0
    while made < count:
        if clock.us >= beacon_at:
            beacon_at = clock.us + BEACON_US
            body = (
                struct.pack("<HH6s6s6sH", BEACON, 0, b"\xff" * 6, AP, AP, 0)
                + struct.pack("<QHH", int(clock.us), 100, 1)
                + b"\0\5bench"
            )
            tsf = clock.ppdu(50, legacy_us(len(body) + 4))
            yield tsf, legacy(tsf, -40), body, len(body) + 4
            made += 1
        flow = flows[rng.randrange(len(flows))]
        if rng.random() < 0.2:
            for kind, ra, ta, idle in ((RTS, AP, flow.station, 60), (CTS, flow.station, b"", 10)):
                body = struct.pack("<HH", kind, 200) + ra + ta
                tsf = clock.ppdu(idle, legacy_us(len(body) + 4))
                yield tsf, legacy(tsf, -60 if ta else -40), body, len(body) + 4
            _, body, length = flow.mpdu("up", 0)
            tsf = clock.ppdu(10, legacy_us(length))
            yield tsf, legacy(tsf, -60), body, length
            body = struct.pack("<HH6s", ACK, 0, flow.station)
            tsf = clock.ppdu(10, legacy_us(14))
            yield tsf, legacy(tsf, -40), body, 14
            made += 4
        segments = rng.randint(4, 24)
        for way, many, payload in (("down", segments, SEGMENT), ("up", (segments + 1) // 2, 0)):
            again = waiting.pop((flow.station, way), [])
            mpdus = again + [flow.mpdu(way, payload) for _ in range(many)]
            psdu = sum(ceil((length + 4) / 4) * 4 for _, _, length in mpdus)
            tsf = clock.ppdu(rng.choice((40, 60, 90)), ht_us(psdu))
            ampdu += 1
            header = ht(tsf, -40 if way == "down" else -60, ampdu)
            first, bitmap = mpdus[0][0], 0
            for number, body, length in mpdus:
                yield tsf, header, body, length
                if rng.random() < LOSS:
                    waiting.setdefault((flow.station, way), []).append(
                        (number, struct.pack("<H", struct.unpack_from("<H", body)[0] | RETRY) + body[2:], length)
                    )
                else:
                    bitmap |= 1 << ((number - first) % 4096) % 64
            ra, ta = (AP, flow.station) if way == "down" else (flow.station, AP)
            body = block_ack(ra, ta, first, bitmap)
            tsf = clock.ppdu(10, legacy_us(len(body) + 4))
            yield tsf, legacy(tsf, -60 if way == "down" else -40), body, len(body) + 4
            made += len(mpdus) + 1


def write(path: Path, count: int, snaplen: int = SNAPLEN, seed: int = 1, *, protected: bool = False) -> None:
    """The capture, cut at `snaplen`."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, 127))
        for n, (tsf, header, body, length) in enumerate(frames(count, seed)):
            if n == count:
                break
            hidden = body
            if protected and body[0] & 0x0F == DOWN & 0x0F:
                # An extended IV replaces LLC's first bytes; the length stays.
                control = struct.unpack_from("<H", body)[0] | PROTECTED
                hidden = struct.pack("<H", control) + body[2:26] + struct.pack("<IHH", n, 0x2000, 0) + body[34:]
            s, us = divmod(EPOCH_US + tsf + 40, 1_000_000)
            # Without its FCS; the payload within the snap length is zeros.
            wire = len(header) + length - 4
            data = (header + hidden)[:snaplen].ljust(min(snaplen, wire), b"\0")
            file.write(struct.pack("<IIII", s, us, len(data), wire) + data)


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--snaplen", type=int, default=SNAPLEN)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--protected", action="store_true")
    given = parser.parse_args()
    write(given.out, given.frames, given.snaplen, given.seed, protected=given.protected)


if __name__ == "__main__":
    main()
