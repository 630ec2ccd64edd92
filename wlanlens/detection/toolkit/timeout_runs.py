"""Timeout runs: expiries of the retransmission timer between two ACKs of new data."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.ack_timestamps import AckTimestamps
from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables import SPURIOUS_KINDS
from wlanlens.tables.columns import NULL, Array

COLUMNS = (
    "packet", "t_ns", "rel_seq", "len", "kind", "kind_evidence", "evidence_packet", "backoff", "rto_ns", "fresh_rto_ns",
    "waited_ns", "silent_from_ns", "progress_ns", "progress_packet", "flight_bytes",
)  # fmt: skip


class TimeoutRuns:
    """Rows of `timeouts`, grouped in runs.

    Attributes
    ----------
    rows : Rows
        Every expiry, by key and time.
    first, last : array
        Positions in `rows` of each run's first and last expiry.
    key : array
        Each run's key.
    t_start_ns, t_end_ns : array
        From the last data before the first expiry to the ACK of new data that ended the run, or to the connection's last
        packet; to the last expiry where the tap had seen all acknowledged before.
    answered : array of bool
        Whether such an ACK came.
    spurious : array of bool
        Of each expiry: whether its segment had arrived, by its kind or because the copy that it sent was spurious. Where the
        kind is undecided, it is unknown whether the ACK was late or lost.
    evidence : array of str or None
        What shows the kind of each expiry, or that its copy was spurious.
    """

    def __init__(self, facts: Facts) -> None:
        rows = facts.rows("timeouts", COLUMNS)
        # A SYN or SYN-ACK retransmitted after its ACK was captured crossed that ACK: the sender did not wait.
        crossed = (rows["rel_seq"] == 0) & (rows["kind_evidence"] == "acked")
        rows = rows.take(~crossed)
        order = np.lexsort((rows["packet"], rows["t_ns"], rows.key))
        self.rows = rows.take(order)
        key, t, progress = self.rows.key, self.rows["t_ns"], self.rows["progress_ns"]
        n = len(key)
        begins = np.ones(n, bool)
        # A run continues until an ACK of new data. The timer retransmits the first unacknowledged byte (RFC 6298 section
        # 5.4): a higher byte than at the expiry before proves such an ACK, even where the tap missed it.
        moved = self.rows["rel_seq"][1:] > self.rows["rel_seq"][:-1]
        begins[1:] = (key[1:] != key[:-1]) | ((progress[:-1] != NULL) & (progress[:-1] <= t[1:])) | moved
        self.first = np.flatnonzero(begins)
        self.last = np.append(self.first[1:], n)[: len(self.first)] - 1
        self.key = key[self.first]
        # All had been acknowledged at the tap before the expiry, as when a SYN-ACK is repeated because the ACK was lost behind it: no
        # later ACK can be told from those of the copies, and the next expiry would have shown that the sender still waited.
        acked = (progress[self.last] == NULL) & (self.rows["flight_bytes"][self.last] == 0)
        self.answered = (progress[self.last] != NULL) | acked
        open_until = np.where(acked, t[self.last], np.maximum(facts.last_packet_ns(self.key), t[self.last]))
        ends = np.where(progress[self.last] != NULL, progress[self.last], open_until)
        self.spurious, self.evidence = _spurious(facts, self.rows)
        self.t_start_ns = self.rows["silent_from_ns"][self.first]
        self.t_end_ns = np.maximum(ends, self.t_start_ns)

    def __len__(self) -> int:
        return len(self.first)

    def members(self, run: int) -> slice:
        """Positions in `rows` of a run's expiries."""
        return slice(int(self.first[run]), int(self.last[run]) + 1)

    def any_of(self, mask: Array) -> Array:
        """Runs with at least one expiry in the mask."""
        hits = np.concatenate(([0], np.cumsum(mask)))
        return np.asarray(hits[self.last + 1] - hits[self.first] > 0)

    def packets(self, run: int) -> list[int]:
        """The evidence of a run: segments that the timer sent, packets that prove their kind, the ACK that ended it."""
        part = self.members(run)
        found = [*self.rows["packet"][part], *self.rows["evidence_packet"][part], *self.rows["progress_packet"][part]]
        return [int(p) for p in found if p != NULL]


def _spurious(facts: Facts, expiries: Rows) -> tuple[Array, Array]:
    """Whether the segment of each expiry had arrived, and what shows that.

    Away from the sender a spurious copy is no proof: the ACK that the tap saw may have reached the sender after its timer.
    """
    spurious, evidence = np.isin(expiries["kind"], SPURIOUS_KINDS), np.array(expiries["kind_evidence"], object)
    if not len(expiries):
        return spurious, evidence
    copies = facts.rows("segments", ["packet", "spurious", "spurious_evidence"], where={"trigger": ("rto",)})
    copies = copies.take(copies["spurious"] == 1).sorted_by("packet")
    at = copies.last_until("packet", expiries.key, expiries["packet"])
    if not len(copies):
        return spurious, evidence
    proved = (at >= 0) & (copies["packet"][at] == expiries["packet"]) & (expiries["kind"] == "undecided")
    proved &= ~facts.tap_away_from_sender(expiries.key)
    evidence[proved] = copies["spurious_evidence"][at[proved]]
    return spurious | proved, evidence


def last_ack_lateness_ns(facts: Facts, runs: TimeoutRuns) -> Array:
    """Delay of each run's last ACK beyond that of the ACK before it, by their timestamps; `NULL` without timestamps."""
    stamps = facts.cached(AckTimestamps)
    i = stamps.positions(runs.key ^ 1, runs.rows["progress_packet"][runs.last])
    known = i > 0
    known[known] &= (stamps.key[i[known] - 1] == stamps.key[i[known]]) & (stamps.tick[i[known]] > 0)
    out = np.full(len(i), NULL, np.int64)
    out[known] = stamps.lateness_ns(i[known], i[known] - 1)
    return out


def recovery_after_runs(facts: Facts, runs: TimeoutRuns) -> tuple[Array, Array, Array]:
    """Loss recovery after each run: its length, its end and the end of the sender's recovery state, ns."""
    spans = facts.rows("intervals", ["t_start_ns", "t_end_ns", "timeout_packet"], where={"state": ("loss_recovery",)})
    spans = spans.take(spans["timeout_packet"] != NULL)
    packet = runs.rows["packet"]
    order = np.argsort(packet, kind="stable")
    at = np.minimum(np.searchsorted(packet[order], spans["timeout_packet"]), len(packet) - 1)
    expiry = order[at]
    match = (packet[expiry] == spans["timeout_packet"]) & (runs.rows.key[expiry] == spans.key)
    run = np.searchsorted(runs.first, expiry[match], side="right") - 1
    start, end = spans["t_start_ns"][match], spans["t_end_ns"][match]
    # A sender without SACK stays in that state longer: the recovery ends with the ACK of all data sent before.
    acks = facts.cached(Acks)
    sent = runs.rows["rel_seq"][runs.first] + runs.rows["flight_bytes"][runs.first]
    acked = acks.t_ns(acks.first_covering(runs.key, sent))[run]
    total, until, state = np.zeros(len(runs), np.int64), np.array(runs.t_end_ns), np.array(runs.t_end_ns)
    np.maximum.at(state, run, end)
    end = np.where(acked == NULL, end, np.clip(acked, start, end))
    np.add.at(total, run, end - start)
    np.maximum.at(until, run, end)
    return total, until, state
