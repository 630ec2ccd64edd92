"""Timeouts in runs: the expiries of one timer between two ACKs of new data."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.common import NULL, Array, Facts

COLUMNS = (
    "packet", "t_ns", "rel_seq", "len", "kind", "kind_evidence", "evidence_packet", "backoff", "rto_ns", "fresh_rto_ns",
    "waited_ns", "silent_from_ns", "progress_ns", "progress_packet", "flight_bytes",
)  # fmt: skip

#: Kinds of a timeout for a segment that had arrived.
NEEDLESS = ("spurious", "ack_lost")


class Runs:
    """Rows of `timeouts`, and the runs that they form.

    Attributes
    ----------
    rows : Rows
        Every expiry, by key and time.
    first, last : array
        Positions in `rows` of each run's first and last expiry.
    key : array
        Each run's key.
    t_start_ns, t_end_ns : array
        From the last data before the first expiry to the ACK of new data that ended the run; where none came, to the
        last that was heard of the connection.
    answered : array of bool
        Whether such an ACK came.
    """

    def __init__(self, facts: Facts) -> None:
        rows = facts.rows("timeouts", COLUMNS)
        # A SYN or SYN-ACK sent again after its ACK had passed the tap crossed that ACK: there was nothing to wait for.
        crossed = (rows["rel_seq"] == 0) & (rows["kind_evidence"] == "acked")
        rows = rows.take(~crossed)
        order = np.lexsort((rows["packet"], rows["t_ns"], rows.key))
        self.rows = rows.take(order)
        key, t, progress = self.rows.key, self.rows["t_ns"], self.rows["progress_ns"]
        n = len(key)
        begins = np.ones(n, bool)
        # A run goes on while no ACK of new data has come since the expiry before. The timer sends the first byte that is not
        # acknowledged (RFC 6298 section 5.4): a later one than before shows that ACK, whichever the tap saw when.
        moved = self.rows["rel_seq"][1:] > self.rows["rel_seq"][:-1]
        begins[1:] = (key[1:] != key[:-1]) | ((progress[:-1] != NULL) & (progress[:-1] <= t[1:])) | moved
        self.first = np.flatnonzero(begins)
        self.last = np.append(self.first[1:], n)[: len(self.first)] - 1
        self.key = key[self.first]
        self.answered = progress[self.last] != NULL
        ends = np.where(self.answered, progress[self.last], np.maximum(facts.end_ns(self.key), t[self.last]))
        self.t_start_ns = self.rows["silent_from_ns"][self.first]
        self.t_end_ns = np.maximum(ends, self.t_start_ns)

    def __len__(self) -> int:
        return len(self.first)

    def members(self, run: int) -> slice:
        """Positions in `rows` of a run's expiries."""
        return slice(int(self.first[run]), int(self.last[run]) + 1)

    def any_of(self, mask: Array) -> Array:
        """Runs of which at least one expiry is marked."""
        hits = np.concatenate(([0], np.cumsum(mask)))
        return np.asarray(hits[self.last + 1] - hits[self.first] > 0)

    def packets(self, run: int) -> list[int]:
        """What proves a run: the segments that the timer sent, the ACKs that tell their kind, the ACK that ended it."""
        part = self.members(run)
        found = [*self.rows["packet"][part], *self.rows["evidence_packet"][part], *self.rows["progress_packet"][part]]
        return [int(p) for p in found if p != NULL]
