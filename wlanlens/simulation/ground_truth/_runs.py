"""Each sender's data, the ACKs that reached it, and its timer expiries in runs without progress between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.simulation.ground_truth._columns import NEVER, Array, Rows, events, packets

if TYPE_CHECKING:
    from wlanlens.simulation.ground_truth import Truth


@dataclass(frozen=True)
class Expiry:
    """One expiry of the retransmission timer: time, byte, timer value and its doublings, and whether that byte had arrived.

    The last data before it passed the tap at `silent_from_ns`; TCP had made the last copy of that byte at `last_made_ns`. `measured`:
    whether TCP had a round trip to set the timer from.
    """

    t_ns: int
    rel_seq: int
    rto_ns: int
    silent_from_ns: int
    last_made_ns: int
    arrived: bool
    backoff: int
    measured: bool


@dataclass(frozen=True)
class Run:
    """Expiries between two ACKs of new data, the time of the ACK that ended them (or None), the end of the recovery, and the highest byte
    sent before that ACK."""

    expiries: tuple[Expiry, ...]
    progress_ns: int | None
    recovered_ns: int | None
    sent_to: int


class Side:
    """One direction of one flow, from its sender's view.

    Attributes
    ----------
    flow, direction : int, str
    data : Rows
        Segments that occupy sequence space, in order of creation.
    back : Rows
        The other direction's packets, in order of creation.
    events : list of dict
        Rows of `truth_events`.
    """

    def __init__(self, flow: int, direction: str, data: Rows, back: Rows, events: list[Any]) -> None:
        self.flow, self.direction, self.data, self.back, self.events = flow, direction, data, back, events

    @cached_property
    def _heard(self) -> tuple[Array, Array]:
        back = self.back
        got = np.flatnonzero(back["delivered"] & (back["rel_ack"] > 0))
        t = back["t_end_ns"][got]
        order = np.argsort(t, kind="stable")
        return t[order], np.maximum.accumulate(back["rel_ack"][got[order]])

    @property
    def ack_t_ns(self) -> Array:
        """Times at which ACKs reached the sender."""
        return self._heard[0]

    @property
    def acked(self) -> Array:
        """The highest byte acknowledged at each of these times."""
        return self._heard[1]

    @cached_property
    def again(self) -> Array:
        """Whether each of `data` begins where an earlier one began."""
        order = np.argsort(self.data["rel_seq"], kind="stable")
        out = np.zeros(len(order), bool)
        seq = self.data["rel_seq"][order]
        out[order[1:]] = seq[1:] == seq[:-1]
        return out

    @cached_property
    def once(self) -> Array:
        """Whether each of `data` is the only one that begins there."""
        again = self.again
        return ~again if not again.any() else ~np.isin(self.data["rel_seq"], self.data["rel_seq"][again])

    @cached_property
    def last_ns(self) -> int:
        """Time of the connection's last packet at the sender: what comes after it, no capture there shows."""
        sent, came = self.data["t_tap_ns"], self.back["t_end_ns"][self.back["delivered"]]
        return max(int(sent.max(initial=0)), int(came.max(initial=0)))

    def window_filled(self, t_ns: Array) -> Array:
        """Whether the receiver's window limited the sender at each time, by its own events. After a timeout its own window does."""
        limits, frees = ("window_filled", "window_closed"), ("window_freed", "timeout")
        turns = [e for e in self.events if e["what"] in (*limits, *frees)]
        times = np.array([e["t_ns"] for e in turns], np.int64)
        states = np.array([False, *(e["what"] in limits for e in turns)])
        return np.asarray(states[np.searchsorted(times, t_ns, side="right")])

    def acked_at(self, t_ns: int) -> int:
        """The highest byte acknowledged before a time; 0 for none."""
        at = int(np.searchsorted(self.ack_t_ns, t_ns)) - 1
        return int(self.acked[at]) if at >= 0 else 0

    def reached_ns(self, byte: int) -> int | None:
        """Time at which an ACK of at least this byte reached the sender; None: never."""
        at = int(np.searchsorted(self.acked, byte))
        return int(self.ack_t_ns[at]) if at < len(self.acked) else None

    def reached_all_ns(self, bytes_: Array) -> Array:
        """Times at which an ACK of at least each of these bytes reached the sender; -1: never."""
        at = np.searchsorted(self.acked, bytes_)
        known = at < len(self.acked)
        return (
            np.where(known, self.ack_t_ns[np.minimum(at, len(self.acked) - 1)], NEVER)
            if len(self.acked)
            else np.full(len(at), NEVER)
        )

    def round_trips(self, since: str = "t_tap_ns") -> tuple[Array, Array]:
        """For each acknowledged segment that was sent once: the time of its ACK, and its distance from the segment's time at the tap.

        The time since `t_made_ns` also includes the wait before the tap, in the device's queue.
        """
        d = self.data
        mine = self.once & (d["t_tap_ns"] != NEVER) & (d["rel_seq"] > 0)
        came = self.reached_all_ns(d["end"][mine])
        rtt = came - d[since][mine]
        known = (came != NEVER) & (rtt > 0)
        return came[known], rtt[known]

    def _last_sent(self, before_ns: int, byte: int) -> tuple[int, int]:
        """When data last passed the sender's tap before a time, and when TCP had last made a copy of this byte."""
        d = self.data
        passed = (d["t_tap_ns"] != NEVER) & (d["t_tap_ns"] < before_ns)
        holds = (d["rel_seq"] <= byte) & (byte < d["end"]) & (d["t_made_ns"] < before_ns)
        times = d["t_tap_ns"][passed], d["t_made_ns"][holds]
        tapped, made = (int(t.max()) if len(t) else before_ns for t in times)
        return tapped, made

    def arrived(self, byte: int, made_before_ns: int) -> bool:
        """Whether a copy of this byte created before a time reached the receiver, at any time."""
        d = self.data
        holds = (d["rel_seq"] <= byte) & (byte < d["end"]) & (d["t_made_ns"] < made_before_ns)
        return bool(d["delivered"][holds].any())

    def repeated(self, since_ns: int, until_ns: int) -> bool:
        """Whether the sender retransmitted, between two times, a segment of which an earlier copy arrived."""
        d = self.data
        made = (d["t_made_ns"] >= since_ns) & (d["t_made_ns"] <= until_ns)
        again = np.flatnonzero(made & self.again)
        return any(self.arrived(int(d["rel_seq"][i]), int(d["t_made_ns"][i])) for i in again)

    @cached_property
    def runs(self) -> list[Run]:
        """Runs of expiries, in order."""
        return list(self._runs())

    def _at_tap(self, t_ns: int) -> bool:
        """Whether the copy made at an expiry passed the tap, and data before it: what a full device queue dropped shows nowhere."""
        d = self.data
        passed = d["t_tap_ns"] != NEVER
        return bool((passed & (d["t_made_ns"] == t_ns)).any() and (passed & (d["t_tap_ns"] < t_ns)).any())

    def _runs(self) -> Iterator[Run]:
        part: list[Expiry] = []
        for e in self.events:
            t = int(e["t_ns"])
            if e["what"] != "timeout" or not self._at_tap(t):
                continue
            byte = int(e["rel_seq"])
            one = Expiry(
                t,
                byte,
                int(e["rto_ns"]),
                *self._last_sent(t, byte),
                self.arrived(byte, t),
                int(e["backoff"] or 0),
                e["srtt_ns"] is not None,
            )
            if part and self.acked_at(t) > self.acked_at(part[-1].t_ns):
                yield self._run(part, one.silent_from_ns)
                part = []
            part.append(one)
        if part:
            yield self._run(part, None)

    def _run(self, part: list[Expiry], next_ns: int | None) -> Run:
        """`next_ns`: begin of the next run's silence, which ends this run's recovery."""
        last = part[-1].t_ns
        progress = self.reached_ns(self.acked_at(last) + 1)
        before = self.data["end"][self.data["t_made_ns"] < part[0].t_ns]
        recovered = self.reached_ns(int(before.max())) if len(before) else None
        undone = [int(e["t_ns"]) for e in self.events if e["what"] == "timeout_undone" and e["t_ns"] >= part[0].t_ns]
        if undone and (recovered is None or undone[0] < recovered):
            recovered = undone[0]
        if next_ns is not None and (recovered is None or next_ns < recovered):
            recovered = next_ns
        sent_to = int(self.data["end"][self.data["t_made_ns"] < (progress or last)].max(initial=0))
        return Run(tuple(part), progress, recovered, sent_to)


def sides(facts: Truth, *, every: bool = False) -> list[Side]:
    """TCP directions with an event of this kind, such as an expiry; or every direction with data."""
    known = _known(facts)
    return [known.side(*key) for key in (known.senders if every else sorted(known.events))]


def side(facts: Truth, flow: int, direction: str) -> Side:
    """One TCP direction."""
    return _known(facts).side(flow, direction)


class _Sides:
    """The senders of a run, each made once."""

    def __init__(self, facts: Truth) -> None:
        self.packets = packets(facts)
        self.events: dict[tuple[int, str], list[Any]] = {}
        for e in events(facts):
            self.events.setdefault((e["flow"], e["direction"]), []).append(e)
        rows = self.packets
        ways = np.flatnonzero(np.bincount(rows["way"][rows["len_bytes"] > 0])).tolist()
        tcp = [flow.tcp is not None for flow in facts.world.flows]
        self.senders = [(way >> 1, "b2a" if way & 1 else "a2b") for way in ways if tcp[way >> 1]]
        self._made: dict[tuple[int, str], Side] = {}

    def side(self, flow: int, direction: str) -> Side:
        if (flow, direction) not in self._made:
            rows, none = self.packets, np.zeros(0, np.int64)
            way = 2 * flow + (direction == "b2a")
            forth, back = (rows.ways.get(w, none) for w in (way, way ^ 1))
            occupies = (rows["len_bytes"][forth] > 0) | (rows["rel_seq"][forth] == 0)
            done = self.events.get((flow, direction), [])
            self._made[flow, direction] = Side(flow, direction, Rows(rows, forth[occupies]), Rows(rows, back), done)
        return self._made[flow, direction]


_known = lru_cache(maxsize=1)(_Sides)
