"""Round trips of data, as the ACKs at the tap sample them: a handshake's small packets are faster than data ever is."""

from __future__ import annotations

import numpy as np

from wlanlens.detectors._common import Array, Facts, Rows


def round_trips(facts: Facts) -> Rows:
    """Samples by key of the data, in order of packet: when the ACK passed the tap, the round trip and the flight then."""
    columns = ["packet", "t_ns", "rtt_ns", "flight_bytes", "rel_ack"]
    rows = facts.rows("segments", columns, valid=("t_ns", "rtt_ns", "rel_ack"))
    rows = rows.take(rows["rel_ack"] > 1)
    return Rows(rows.key ^ 1, {name: rows[name] for name in columns}).ordered("packet")


def least_of_data(facts: Facts, keys: Array) -> Array:
    """Least round trip of data, ns; that of the whole flow where only the handshake was sampled, NULL where nothing was."""
    known, least = facts.keep(_least)
    flow = facts.of_flow("tap_rtt_min_ns", keys)
    if not len(known):
        return flow
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, least[at], flow)


def _least(facts: Facts) -> tuple[Array, Array]:
    rows = facts.keep(round_trips)
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    known, first = np.unique(rows.key, return_index=True)
    return known, np.minimum.reduceat(rows["rtt_ns"], first)
