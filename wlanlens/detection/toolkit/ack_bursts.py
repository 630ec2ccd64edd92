"""Bursts of ACKs after a silence, and whether the ACKs had been held: by their timestamps, or by another capture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wlanlens.detection.toolkit.ack_timestamps import PURE_ACKS, SENT, AckTimestamps, ticks_between
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.packet_paths import PacketPaths
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


@dataclass(frozen=True)
class HeldBurst:
    """A burst of ACKs that had been held.

    Attributes
    ----------
    key : int
        The ACKs' direction.
    packets, t_ns : array
        Of the ACK before the silence, and of each held ACK.
    hold_ns : int
        Delay of the first held ACK beyond that of the ACK before.
    spread_ns : int
        Over how long they had been made, or had passed the other capture.
    tick_ns : int
        Tick of their timestamps; 0 where another capture shows the hold.
    seen_at : str
        That capture's point.
    """

    key: int
    packets: Array
    t_ns: Array
    hold_ns: int
    spread_ns: int
    tick_ns: int = 0
    seen_at: str = ""


@dataclass(frozen=True)
class BurstSearch:
    """Searches for held bursts.

    Attributes
    ----------
    min_hold_ns : int
        Shortest silence, and shortest hold of the first ACK.
    burst_ns : int
        A burst's longest duration.
    min_acks, max_acks : int
        Its fewest ACKs, and how many are looked at.
    min_spread_ns : int
        The ACKs had been made over at least this time.
    min_compression_ratio : int
        ... and over so many times the burst's duration: ACKs made at one moment were not held one by one.
    min_hold_ticks : int
        The timestamps' ticks are at most this part of the shortest hold: a timestamp is uncertain by one tick at each end.
    """

    min_hold_ns: int
    burst_ns: int
    min_acks: int
    max_acks: int
    min_spread_ns: int
    min_compression_ratio: int = 2
    min_hold_ticks: int = 2

    def by_timestamps(self, facts: Facts) -> tuple[list[HeldBurst], Array]:
        """Held bursts of ACKs with timestamps; and the data's key of each burst whose timestamps are too coarse."""
        stamps = facts.cached(AckTimestamps)
        start = self._starts(stamps.key, stamps.t)
        if not len(start):
            return [], start
        fine = (stamps.tick[start] > 0) & (stamps.tick[start] * self.min_hold_ticks <= self.min_hold_ns)
        coarse, start = stamps.key[start[~fine]] ^ 1, start[fine]
        # One tick of doubt: a timestamp is the time at which its tick began.
        start = start[stamps.lateness_ns(start, start - 1) - stamps.tick[start] >= self.min_hold_ns]
        found: list[HeldBurst] = []
        until = -1
        for i in start.tolist():
            if i <= until:
                continue
            held = self._held(stamps, i)
            tick = int(stamps.tick[i])
            spread = int(ticks_between(stamps.tsval[held[0]], stamps.tsval[held[-1]])) * tick
            if self._is_held(len(held), spread - tick, int(stamps.t[held[-1]] - stamps.t[held[0]])):
                until = int(held[-1])
                hold = int(stamps.lateness_ns(np.array([i]), np.array([i - 1]))[0])
                rows = [i - 1, *held]
                found.append(HeldBurst(int(stamps.key[i]), stamps.packet[rows], stamps.t[rows], hold, spread, tick))
        return found, coarse

    def by_other_captures(self, facts: Facts) -> tuple[list[HeldBurst], Array]:
        """Held bursts of ACKs without timestamps; and the data's key of each burst that no other capture decides.

        A capture at the receiver decides for each burst whether it was held, one on the path only that it was.
        """
        acks, starts = self._without_timestamps(facts)
        if not len(starts) or not facts.trace.has("links"):
            return [], acks.key[starts] ^ 1
        paths, t = facts.cached(PacketPaths), acks["t_ns"]
        found: list[HeldBurst] = []
        open_: list[int] = []
        until = -1
        for start in starts.tolist():
            if start <= until:
                continue
            key = int(acks.key[start])
            stop = int(np.searchsorted(t[start : start + self.max_acks], t[start] + self.burst_ns, side="right"))
            part = np.arange(start - 1, start + stop)
            part = part[acks.key[part] == key]
            point, path = paths.point(key), paths.path(key)
            at = paths.at(key, point, acks["packet"][part]) if point in path else np.full(len(part), -1)
            decided = False
            for earlier in path[: path.index(point)] if (at >= 0).all() else []:
                left = paths.t[earlier][at]
                if NULL in left[:2]:
                    continue
                late = np.where(left == NULL, 0, (t[part] - left) - (t[part[0]] - left[0]))
                held = np.flatnonzero(late > np.maximum(t[part] - t[start], 0))
                took = int(t[part[held[-1]]] - t[start]) if len(held) else 0
                spread = int(left[held[-1]] - left[1]) if len(held) else 0
                if late[1] >= self.min_hold_ns and self._is_held(len(held), spread, took):
                    rows = part[[0, *held]]
                    packets = acks["packet"][rows]
                    found.append(HeldBurst(key, packets, t[rows], int(late[1]), spread, seen_at=earlier))
                    until = int(part[held[-1]])
                    decided = True
                    break
                decided |= earlier == "receiver"
            if not decided:
                open_.append(start)
        return found, acks.key[np.array(open_, np.int64)] ^ 1

    def _is_held(self, acks: int, spread_ns: int, took_ns: int) -> bool:
        return acks >= self.min_acks and spread_ns >= max(self.min_spread_ns, self.min_compression_ratio * took_ns)

    def _starts(self, key: Array, t: Array) -> Array:
        """Positions of ACKs that follow a silence of their key and start a burst."""
        n, more = len(key), self.min_acks - 1
        i = np.flatnonzero((np.diff(t) >= self.min_hold_ns) & (key[1:] == key[:-1])) + 1
        i = i[i + more < n]
        return np.asarray(i[(key[i + more] == key[i]) & (t[i + more] - t[i] <= self.burst_ns)])

    def _held(self, stamps: AckTimestamps, start: int) -> Array:
        """Positions of the burst's ACKs that would have arrived before it started, had they taken no longer than the ACK before."""
        end = min(len(stamps.t), start + self.max_acks)
        outside = (stamps.t[start:end] > stamps.t[start] + self.burst_ns) | (stamps.key[start:end] != stamps.key[start])
        part = np.arange(start, start + int(np.argmax(np.append(outside, True))))
        late = stamps.lateness_ns(part, np.full(len(part), start - 1))
        held = part[late - stamps.tick[start] > stamps.t[part] - stamps.t[start]]
        return held if len(held) else part[:1]

    def _without_timestamps(self, facts: Facts) -> tuple[Rows, Array]:
        """ACKs without timestamps, and the first of each burst after a silence that the round trip does not explain."""
        columns = ["packet", "t_ns", "rel_ack", "flight_bytes", "srtt_ns", "tsval"]
        where = {"kind": PURE_ACKS, "transmission": SENT}
        rows = facts.rows("segments", columns, where=where, valid=("t_ns", "rel_ack"))
        # Most hosts agree on timestamps: then there is nothing to read.
        every = not facts.trace.table("segments").column("tsval").null_count
        rows = rows.take(np.zeros(0, np.int64) if every else rows["tsval"] == NULL)
        i = self._starts(rows.key, rows["t_ns"])
        silence = rows["t_ns"][i] - rows["t_ns"][i - 1]
        srtt = np.where(rows["srtt_ns"][i - 1] == NULL, 0, rows["srtt_ns"][i - 1])
        overdue = (rows["flight_bytes"][i - 1] > 0) & (silence - srtt >= self.min_hold_ns)
        # After lost ACKs the first one acknowledges much at once: here at most twice the burst's mean.
        mean = (rows["rel_ack"][i + self.min_acks - 1] - rows["rel_ack"][i]) / max(1, self.min_acks - 1)
        return rows, i[overdue & (rows["rel_ack"][i] - rows["rel_ack"][i - 1] <= 2 * mean)]
