"""Round trips of data, as the ACKs at the tap sample them: a handshake's small packets are faster than data ever is."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.common import Array, Facts, Rows


def round_trips(facts: Facts) -> Rows:
    """Samples by key of the data, in order of packet: when the ACK passed the tap, the round trip, what it acknowledged."""
    columns = ["packet", "t_ns", "rtt_ns", "rel_ack", "tsval"]
    rows = facts.rows("segments", columns, valid=("t_ns", "rtt_ns", "rel_ack"))
    sends = facts.rows("segments", ["t_ns", "rel_seq", "len", "transmission"], valid=("t_ns", "rel_seq"))
    sends = sends.take(sends["len"] > 0)
    known, first = np.unique(sends.key, return_index=True)
    if not len(known):
        return Rows(rows.key[:0], {name: rows[name][:0] for name in columns})
    last = np.maximum.reduceat(sends["rel_seq"] + sends["len"], first)
    # Neither the SYN nor the FIN is data: both are small.
    of_data = rows.key ^ 1
    at = np.minimum(np.searchsorted(known, of_data), len(known) - 1)
    rows = rows.take((rows["rel_ack"] > 1) & (known[at] == of_data) & (rows["rel_ack"] <= last[at]))
    samples = Rows(rows.key ^ 1, {name: rows[name] for name in columns}).ordered("packet")
    # An ACK that waited for what was sent again meanwhile tells of the loss, not of the way.
    again = sends.take(sends["transmission"] == "retransmission").ordered("t_ns")
    sent = samples["t_ns"] - samples["rtt_ns"]
    return samples.take(~again.any_between("t_ns", samples.key, sent + 1, samples["t_ns"] - 1))


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
