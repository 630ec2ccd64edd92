"""Lost ACKs of one direction: what they acknowledged, when they were due, and when a later ACK covered it."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.packet_paths import PacketPaths
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


class LostAcks:
    """Lost ACKs of a data direction.

    Parameters
    ----------
    facts : Facts
    key : int
        The direction of the data.
    lost, arrived : array
        Positions in `PacketPaths` of the ACKs that were lost and of those that arrived.

    Attributes
    ----------
    first_ns : array
        When each was first captured.
    due_ns : array
        When it was due at the sender: after the median delay of those that arrived.
    covered_at : array
        Position in `Acks` of the first ACK at the sender that covers the same bytes; -1 for none.
    covered_ns : array
        Its time; the last packet of the connection where there is none.
    """

    def __init__(self, facts: Facts, key: int, lost: Array, arrived: Array) -> None:
        paths, self._acks = facts.cached(PacketPaths), facts.cached(Acks)
        self.first_ns = paths.first_ns(lost)
        delay = paths.t[paths.point(key)][arrived] - paths.first_ns(arrived)
        self.due_ns = self.first_ns + int(np.median(delay))
        numbers = _relative_numbers(facts.cached(_numbered_acks).of_key(key ^ 1), paths, key, lost, arrived)
        self.covered_at = self._acks.first_covering(np.full(len(lost), key), numbers)
        end_ns = facts.last_packet_ns(np.array([key]))[0]
        self.covered_ns = np.where(self.covered_at >= 0, self._acks.t_ns(self.covered_at), end_ns)

    def covering_packets(self, which: Array) -> list[int]:
        """Packet numbers of the ACKs that cover some of the lost ones."""
        return [int(p) for p in np.unique(self._acks.packet(self.covered_at[which])) if p != NULL]


def _numbered_acks(facts: Facts) -> Rows:
    return facts.rows("segments", ["packet", "rel_ack"], valid=("rel_ack",))


def _relative_numbers(acks: Rows, paths: PacketPaths, key: int, lost: Array, arrived: Array) -> Array:
    """Acknowledgment numbers of lost ACKs relative to the SYN, by the nearest ACK before that arrived."""
    order = np.argsort(acks["packet"], kind="stable")
    number, relative = acks["packet"][order], acks["rel_ack"][order]
    arrived_number = paths.number[paths.point(key)][arrived]
    at = np.minimum(np.searchsorted(number, arrived_number), max(0, len(number) - 1))
    known = np.flatnonzero(number[at] == arrived_number) if len(number) else np.zeros(0, np.int64)
    if not len(known):
        return np.zeros(len(lost), np.int64)
    base, raw = relative[at[known]], paths.ack[arrived[known]]
    nearest = np.searchsorted(paths.first_ns(arrived[known]), paths.first_ns(lost))
    nearest = np.clip(nearest - 1, 0, len(known) - 1)
    # Sequence numbers wrap: the distance is less than half of their range.
    ahead = (paths.ack[lost] - raw[nearest] + (1 << 31)) % (1 << 32) - (1 << 31)
    return np.asarray(base[nearest] + ahead)
