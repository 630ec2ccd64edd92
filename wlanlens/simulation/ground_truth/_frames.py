"""Transmissions on the air as vectors, and the packets that they carried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.simulation.ground_truth._columns import Array, among, numbers, packets

if TYPE_CHECKING:
    from wlanlens.simulation.ground_truth import Truth

#: Causes of damage that come in spells, unlike noise and independent errors.
SPELLS = ("fade", "burst", "script")
#: Time of a DSSS transmission beyond its airtime, us: DIFS, SIFS, an ACK at 2 Mb/s with a long preamble; slot and windows.
_OVERHEAD_US, _SLOT_US, _CW, _CW_MOST = 308.0, 20.0, 32, 1024


@dataclass(frozen=True)
class Attempts:
    """Data frames that carry a packet, in order of time.

    `bad`: it failed, or a retry followed; a last transmission that arrived without its ACK is not bad. `spell`: failed because of
    damage that comes in spells, its own or its ACK's; `tie`: number of the group of frames that collided, -1 for none; `first`:
    the packet's first transmission; `last`: its last one; `done`: the last one arrived; `ways`: positions by station pair.
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
    ways: dict[tuple[int, int], Array]

    def airtime_us(self, at: Array) -> Array:
        """Airtime of the transmissions at these positions."""
        return np.asarray((self.end_ns[at] - self.start_ns[at]) / 1e3)

    def took_us(self, at: Array) -> Array:
        """With interframe spaces, ACK and the mean backoff before it, whose window doubles."""
        window = np.minimum(_CW * 2.0 ** np.minimum(self.nth[at], 10), _CW_MOST)
        return np.asarray(self.airtime_us(at) + _OVERHEAD_US + _SLOT_US * (window - 1) / 2)

    def of(self, station: int, to: int) -> Array:
        """Positions of one pair's transmissions."""
        return self.ways.get((station, to), np.zeros(0, np.int64))

    def pairs(self) -> list[tuple[int, int]]:
        """(transmitter, receiver) of each pair."""
        return list(self.ways)


@lru_cache(maxsize=1)
def attempts(facts: Truth) -> Attempts:
    """The transmissions of a run, without group-addressed ones."""
    f, p = facts.frames, packets(facts)
    packet, to = numbers(f["packet"]), numbers(f["to"])
    rows = np.flatnonzero(among(f["kind"], "data") & (packet >= 0) & (to >= 0))
    # The ACK, if there is one, is the next frame.
    behind = np.minimum(rows + 1, max(0, len(to) - 1))
    answered = (rows + 1 < len(to)) & among(f["kind"], "ack")[behind]
    whole, in_spell = among(f["fate"], "received"), among(f["damaged_by"], *SPELLS)
    arrived = whole[rows]
    received = arrived & answered & whole[behind]
    spell = in_spell[rows] | (answered & in_spell[behind])
    start, station, to, packet = (
        f["t_start_ns"].to_numpy()[rows],
        f["station"].to_numpy()[rows].astype(np.int64),
        to[rows],
        packet[rows],
    )
    collided = among(f["fate"], "collision")[rows]
    begins = collided & ~np.concatenate(([False], collided[:-1] & collided[1:] & (np.diff(start) < 2_000)))
    # Transmissions of a packet are counted at each station: after a router the count starts again.
    owner = packet * (int(station.max(initial=0)) + 1) + station
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    edges = np.concatenate(([True], owner[1:] != owner[:-1], [True]))[: len(rows) + 1]
    first, last = np.empty(len(rows), bool), np.empty(len(rows), bool)
    first[order], last[order] = edges[:-1], edges[1:]
    received |= last & arrived
    done = np.empty(len(rows), bool)
    ends = order[last[order]]
    done[order] = received[ends][np.cumsum(first[order]) - 1]
    tcp = np.array([flow.tcp is not None for flow in facts.world.flows] or [False], bool)[p["flow"][packet]]
    size = p["len_bytes"][packet]
    return Attempts(
        start_ns=start,
        end_ns=f["t_end_ns"].to_numpy()[rows],
        station=station,
        to=to,
        packet=packet,
        nth=f["attempt"].to_numpy()[rows].astype(np.int64),
        rate_mbps=f["rate_mbps"].to_numpy()[rows],
        bad=~received,
        spell=~received & spell,
        tie=np.where(collided, np.cumsum(begins) - 1, -1),
        first=first,
        last=last,
        done=done,
        bytes=size,
        tcp_data=tcp & (size > 0),
        tcp_ack=tcp & (size == 0),
        ways=_ways(station, to),
    )


def _ways(station: Array, to: Array) -> dict[tuple[int, int], Array]:
    """Positions by (transmitter, receiver), in that order."""
    many = int(to.max(initial=0)) + 1
    key = station * many + to
    order = np.argsort(key.astype(np.uint16) if key.max(initial=0) < 1 << 16 else key, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else []
    return {divmod(int(key[part[0]]), many): part for part in parts}


def runs(mask: Array) -> tuple[Array, Array]:
    """First place and length of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return edges[::2], edges[1::2] - edges[::2]


def severity(cost_s: float, life_s: float) -> str:
    """Severity as in detectors: info below 1 % and 0.1 s, serious above 10 % or 1 s."""
    if cost_s > 1.0 or cost_s > 0.1 * life_s:
        return "serious"
    return "info" if cost_s < 0.1 and cost_s < 0.01 * life_s else "warning"
