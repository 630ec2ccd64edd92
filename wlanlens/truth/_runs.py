"""What happened to each sender: data it sent, ACKs it got, and its timer's expiries in runs without progress between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from wlanlens.truth import Truth

Array = np.ndarray[Any, np.dtype[Any]]

#: Stands for null among times, which are never negative.
_NEVER = -1


@dataclass(frozen=True)
class Expiry:
    """One expiry of the retransmission timer: when, for which byte, how long it had run, whether that byte arrived."""

    t_ns: int
    rel_seq: int
    rto_ns: int
    silent_from_ns: int
    arrived: bool


@dataclass(frozen=True)
class Run:
    """Expiries between two ACKs of new data, the time of the ACK that ended them (or None), the end of the recovery."""

    expiries: tuple[Expiry, ...]
    progress_ns: int | None
    recovered_ns: int | None


class Side:
    """One direction of one flow, as its sender lived it.

    Attributes
    ----------
    flow, direction : int, str
    data : dict of array
        Segments that occupy sequence space, in order of their making: rel_seq, end, t_made_ns, t_tap_ns (-1: never left
        the device), t_end_ns, delivered.
    ack_t_ns, acked : array
        When ACKs reached the sender, and the highest byte acknowledged by then.
    events : list of dict
        Rows of `truth_events`.
    """

    def __init__(
        self, flow: int, direction: str, rows: dict[str, Array], back: dict[str, Array], events: list[Any]
    ) -> None:
        self.flow, self.direction, self.events = flow, direction, events
        occupies = (rows["len_bytes"] > 0) | (rows["rel_seq"] == 0)
        self.data = {name: column[occupies] for name, column in rows.items()}
        self.data["end"] = self.data["rel_seq"] + np.maximum(self.data["len_bytes"], self.data["rel_seq"] == 0)
        self.back = back
        got = back["delivered"] & (back["rel_ack"] > 0)
        order = np.argsort(back["t_end_ns"][got], kind="stable")
        self.ack_t_ns = back["t_end_ns"][got][order]
        self.acked = np.maximum.accumulate(back["rel_ack"][got][order])

    def acked_at(self, t_ns: int) -> int:
        """The highest byte acknowledged before a time; 0 for none."""
        at = int(np.searchsorted(self.ack_t_ns, t_ns)) - 1
        return int(self.acked[at]) if at >= 0 else 0

    def reached_ns(self, byte: int) -> int | None:
        """When an ACK of at least this reached the sender; None: never."""
        at = int(np.searchsorted(self.acked, byte))
        return int(self.ack_t_ns[at]) if at < len(self.acked) else None

    def reached_all_ns(self, bytes_: Array) -> Array:
        """When an ACK of at least each of these reached the sender; -1: never."""
        at = np.searchsorted(self.acked, bytes_)
        known = at < len(self.acked)
        return (
            np.where(known, self.ack_t_ns[np.minimum(at, len(self.acked) - 1)], _NEVER)
            if len(self.acked)
            else np.full(len(at), _NEVER)
        )

    def round_trips(self, since: str = "t_tap_ns") -> tuple[Array, Array]:
        """Of each segment sent once that was acknowledged: when its ACK came, and how long after it had passed the tap.

        Since `t_made_ns` it has waited before the tap as well, in the device's queue.
        """
        d = self.data
        seen, times = np.unique(d["rel_seq"], return_counts=True)
        once = times[np.searchsorted(seen, d["rel_seq"])] == 1
        mine = once & (d["t_tap_ns"] != _NEVER) & (d["rel_seq"] > 0)
        came = self.reached_all_ns(d["end"][mine])
        rtt = came - d[since][mine]
        known = (came != _NEVER) & (rtt > 0)
        return came[known], rtt[known]

    def last_sent_ns(self, before_ns: int) -> int:
        """When data last passed the sender's tap before a time."""
        t = self.data["t_tap_ns"]
        earlier = t[(t != _NEVER) & (t < before_ns)]
        return int(earlier.max()) if len(earlier) else before_ns

    def arrived(self, byte: int, made_before_ns: int) -> bool:
        """Whether a copy of this byte that was made before a time reached the receiver in the end."""
        d = self.data
        holds = (d["rel_seq"] <= byte) & (byte < d["end"]) & (d["t_made_ns"] < made_before_ns)
        return bool(d["delivered"][holds].any())

    def repeated(self, since_ns: int, until_ns: int) -> bool:
        """Whether the sender made a copy between two times of a segment of which an earlier one arrived in the end."""
        d = self.data
        made = (d["t_made_ns"] >= since_ns) & (d["t_made_ns"] <= until_ns)
        firsts = np.unique(d["rel_seq"], return_index=True)[1]
        again = np.setdiff1d(np.flatnonzero(made), firsts)
        return any(self.arrived(int(d["rel_seq"][i]), int(d["t_made_ns"][i])) for i in again)

    def runs(self) -> Iterator[Run]:
        """Runs of expiries, in order."""
        part: list[Expiry] = []
        for e in self.events:
            if e["what"] != "timeout":
                continue
            t = int(e["t_ns"])
            one = Expiry(
                t, int(e["rel_seq"]), int(e["rto_ns"]), self.last_sent_ns(t), self.arrived(int(e["rel_seq"]), t)
            )
            if part and self.acked_at(t) > self.acked_at(part[-1].t_ns):
                yield self._run(part, one.silent_from_ns)
                part = []
            part.append(one)
        if part:
            yield self._run(part, None)

    def _run(self, part: list[Expiry], next_ns: int | None) -> Run:
        """`next_ns`: when the silence of the next run begins, which ends this one's recovery."""
        last = part[-1].t_ns
        progress = self.reached_ns(self.acked_at(last) + 1)
        before = self.data["end"][self.data["t_made_ns"] < part[0].t_ns]
        recovered = self.reached_ns(int(before.max())) if len(before) else None
        undone = [int(e["t_ns"]) for e in self.events if e["what"] == "timeout_undone" and e["t_ns"] >= part[0].t_ns]
        if undone and (recovered is None or undone[0] < recovered):
            recovered = undone[0]
        if next_ns is not None and (recovered is None or next_ns < recovered):
            recovered = next_ns
        return Run(tuple(part), progress, recovered)


@lru_cache(maxsize=2)
def sides(facts: Truth, *, every: bool = False) -> list[Side]:
    """Directions of TCP flows of which there is an event, such as an expiry; or every direction with data."""
    by: dict[tuple[int, str], list[Any]] = {}
    for e in facts.events.to_pylist():
        by.setdefault((e["flow"], e["direction"]), []).append(e)
    if every:
        by = {key: by.get(key, []) for key in _senders(facts)}
    if not by:
        return []
    table = facts.packets
    columns = {
        name: table.column(name).to_numpy().astype(np.int64)
        for name in ("flow", "rel_seq", "rel_ack", "len_bytes", "t_made_ns", "t_end_ns")
    }
    columns["t_tap_ns"] = table.column("t_tap_ns").fill_null(_NEVER).to_numpy().astype(np.int64)
    columns["delivered"] = _among(table, "fate", "delivered")
    columns["probe"] = _among(table, "trigger", "tail_loss_probe")
    back = _among(table, "direction", "b2a")
    out = []
    for (flow, direction), events in sorted(by.items()):
        of_flow = columns["flow"] == flow
        forth, reverse = of_flow & (back == (direction == "b2a")), of_flow & (back != (direction == "b2a"))
        rows, other = ({name: column[mask] for name, column in columns.items()} for mask in (forth, reverse))
        out.append(Side(flow, direction, rows, other, events))
    return out


def _senders(facts: Truth) -> list[tuple[int, str]]:
    """Directions of TCP flows that carry data."""
    import pyarrow.compute as pc

    rows = facts.packets.filter(pc.greater(facts.packets.column("len_bytes"), 0)).select(["flow", "direction"])
    pairs = {
        (int(row["flow"]), str(row["direction"]))
        for row in rows.group_by(["flow", "direction"]).aggregate([]).to_pylist()
    }
    return sorted(pair for pair in pairs if facts.world.flows[pair[0]].tcp is not None)


def _among(table: Any, column: str, word: str) -> Array:
    import pyarrow.compute as pc

    mask: Array = pc.equal(table.column(column).cast("string"), word).to_numpy()
    return mask
