"""Whether the data outstanding at a retransmission was the end of a transfer."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.acks import Acks
from wlanlens.detection.toolkit.dupack_answers import third_dupacks
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.losses import sent_up_to
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array

_NEVER = 2**62


class TransferEnds:
    """Whether a transfer ended: what new data was sent after a retransmission.

    Parameters
    ----------
    quiet_ns : int
        No new data within this time after the ACK of all that had been sent.
    handshake_factor : float
        Away from the sender, and within this many round trips of the handshake.
    """

    def __init__(self, facts: Facts, quiet_ns: int, handshake_factor: float) -> None:
        self._facts, self._quiet_ns, self._factor = facts, quiet_ns, handshake_factor
        self._read: tuple[Array, Rows] | None = None

    def at_end(self, keys: Array, packet: Array, t: Array, end: Array) -> tuple[Array, Array, Array]:
        """Whether no new data was sent from `t`, the time of a retransmission, until byte `end` was acknowledged and the quiet time
        after that, and three duplicate ACKs had not requested the left edge; time (`NULL`: never) and packet of that ACK."""
        facts, acks = self._facts, self._facts.cached(Acks)
        covering = acks.first_covering(keys, sent_up_to(facts, keys, end))
        answered = acks.t_ns(covering)
        rtt = facts.flow_values("handshake_rtt_ns", keys)
        away = facts.tap_away_from_sender(keys) & (rtt != NULL)
        quiet = self._quiet_ns + np.where(away, (self._factor * rtt).astype(np.int64), 0)
        until = np.where(answered == NULL, _NEVER, answered + quiet)
        newer = self._new_data(keys).any_between("t_ns", keys, t + 1, until)
        edge = acks.highest_before(keys, packet)
        return ~newer & ~_requested(facts, keys, edge, t), answered, acks.packet(covering)

    def may_be_unseen(self, keys: Array, t: Array) -> Array:
        """Whether the tap is away from the sender and new data came later: a copy of it may have been lost before the tap."""
        later = self._new_data(keys).any_between("t_ns", keys, t + 1, np.full(len(keys), _NEVER))
        return self._facts.tap_away_from_sender(keys) & later

    def _new_data(self, keys: Array) -> Rows:
        """First transmissions of these keys; of the keys asked for last they are kept."""
        if self._read is None or self._read[0] is not keys:
            where = {"kind": ("data", "fin"), "transmission": ("first",)}
            rows = self._facts.rows("segments", ["t_ns", "len"], where=where, valid=("t_ns",), keys=keys)
            self._read = keys, rows.take(rows["len"] > 0)
        return self._read[1]

    def closed(self, keys: Array, t: Array) -> Array:
        """Whether the sender had sent its FIN by a time: no data follows it."""
        where = {"kind": ("fin",)}
        fins = self._facts.rows("segments", ["t_ns"], where=where, valid=("t_ns",), keys=keys).sorted_by("t_ns")
        return fins.any_between("t_ns", keys, np.zeros(len(keys), np.int64), t)


def _requested(facts: Facts, keys: Array, edge: Array, t: Array) -> Array:
    """Whether three duplicate ACKs had requested this byte before this time."""
    third = third_dupacks(facts).sorted_by("rel_ack", "t_ns")
    if not len(third):
        return np.zeros(len(keys), bool)
    again = (third.key[1:] == third.key[:-1]) & (third["rel_ack"][1:] == third["rel_ack"][:-1])
    third = third.take(~np.concatenate(([False], again)))
    at = np.maximum(third.last_until("rel_ack", keys, edge), 0)
    return np.asarray((third.key[at] == keys) & (third["rel_ack"][at] == edge) & (third["t_ns"][at] <= t))
