"""What was on the air, as vectors: every attempt of a station, and the packets that it tried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.truth import Truth

Array = np.ndarray[Any, np.dtype[Any]]

#: Damage that comes in spells; noise and independent errors do not.
SPELLS = ("fade", "burst", "script")
#: What a DSSS attempt takes beside its airtime, us: DIFS, SIFS, an ACK at 2 Mb/s with a long preamble; slot and windows.
_OVERHEAD_US, _SLOT_US, _CW, _CW_MOST = 308.0, 20.0, 32, 1024


@dataclass(frozen=True)
class Attempts:
    """Data frames with a packet in them, in order of time.

    `bad`: it failed, or another followed; a last attempt that arrived though its ACK was lost is not. `spell`: for a damage
    that comes in spells, its own or its ACK's; `tie`: number of the group of frames that collided, -1 for none; `first`:
    the packet's first attempt; `last`: its last one; `done`: the last one arrived.
    """

    start_ns: Array
    end_ns: Array
    station: Array
    to: Array
    packet: Array
    nth: Array
    rate_mbps: Array
    bad: Array
    spell: Array
    tie: Array
    first: Array
    last: Array
    done: Array
    bytes: Array
    tcp_data: Array
    tcp_ack: Array

    @property
    def airtime_us(self) -> Array:
        """How long each was."""
        return np.asarray((self.end_ns - self.start_ns) / 1e3)

    @property
    def took_us(self) -> Array:
        """With spaces, ACK, and the mean backoff before it, whose window doubles."""
        window = np.minimum(_CW * 2.0 ** np.minimum(self.nth, 10), _CW_MOST)
        return np.asarray(self.airtime_us + _OVERHEAD_US + _SLOT_US * (window - 1) / 2)

    def of(self, station: int, to: int) -> Array:
        """Positions of one pair's attempts."""
        return np.flatnonzero((self.station == station) & (self.to == to))

    def pairs(self) -> list[tuple[int, int]]:
        """Who sends to whom."""
        codes = np.unique((np.asarray(self.station, np.int64) << 32) | np.asarray(self.to, np.int64))
        return [(code >> 32, code & 0xFFFF_FFFF) for code in codes.tolist()]


@lru_cache(maxsize=1)
def attempts(facts: Truth) -> Attempts:
    """The attempts of a run; those to all stations are left out."""
    f, p = facts.frames, facts.packets
    kind, fate, damage = words(f["kind"]), words(f["fate"]), words(f["damaged_by"])
    packet = np.asarray(f["packet"].cast("int64").fill_null(-1))
    to = np.asarray(f["to"].cast("int64").fill_null(-1))
    rows = np.flatnonzero((kind == "data") & (packet >= 0) & (to >= 0))
    # The ACK, if there is one, is the next frame.
    behind = np.minimum(rows + 1, max(0, len(kind) - 1))
    answered = (rows + 1 < len(kind)) & (kind[behind] == "ack")
    arrived = fate[rows] == "received"
    received = arrived & answered & (fate[behind] == "received")
    spell = np.isin(damage[rows], SPELLS) | (answered & np.isin(damage[behind], SPELLS))
    start, station = np.asarray(f["t_start_ns"])[rows], np.asarray(f["station"], np.int64)[rows]
    packet = packet[rows]
    collided = fate[rows] == "collision"
    begins = collided & ~np.concatenate(([False], collided[:-1] & collided[1:] & (np.diff(start) < 2_000)))
    # A packet's attempts are those of its station: at a router it starts anew.
    owner = packet * (int(station.max(initial=0)) + 1) + station
    _, first_at, group = np.unique(owner, return_index=True, return_inverse=True)
    last_at = np.zeros(len(first_at), np.int64)
    np.maximum.at(last_at, group, np.arange(len(rows)))
    place = np.arange(len(rows))
    last = place == last_at[group]
    received |= last & arrived
    flows = np.asarray(p["flow"], np.int64)[packet]
    tcp = np.array([flow.tcp is not None for flow in facts.world.flows] or [False], bool)[flows]
    size = np.asarray(p["len_bytes"], np.int64)[packet]
    return Attempts(
        start_ns=start,
        end_ns=np.asarray(f["t_end_ns"])[rows],
        station=station,
        to=to[rows],
        packet=packet,
        nth=np.asarray(f["attempt"], np.int64)[rows],
        rate_mbps=np.asarray(f["rate_mbps"])[rows],
        bad=~received,
        spell=~received & spell,
        tie=np.where(collided, np.cumsum(begins) - 1, -1),
        first=place == first_at[group],
        last=last,
        done=received[last_at[group]],
        bytes=size,
        tcp_data=tcp & (size > 0),
        tcp_ack=tcp & (size == 0),
    )


def words(column: pa.ChunkedArray) -> Array:
    """A column of words as an array of objects; null is None."""
    chunks = [
        np.array([*chunk.dictionary.to_pylist(), None], object)[
            np.asarray(chunk.indices.fill_null(len(chunk.dictionary)), np.int64)
        ]
        for chunk in column.chunks
    ]
    return np.concatenate(chunks) if chunks else np.zeros(0, object)


def runs(mask: Array) -> tuple[Array, Array]:
    """First place and length of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return edges[::2], edges[1::2] - edges[::2]


def severity(cost_s: float, life_s: float) -> str:
    """As detectors have it: info below 1 % and 0.1 s, serious above 10 % or 1 s."""
    if cost_s > 1.0 or cost_s > 0.1 * life_s:
        return "serious"
    return "info" if cost_s < 0.1 and cost_s < 0.01 * life_s else "warning"
