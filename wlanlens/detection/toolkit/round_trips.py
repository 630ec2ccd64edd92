"""Round trips of data, sampled at the tap. Those of the handshake are shorter, for its packets are small."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array


def round_trip_samples(facts: Facts) -> Rows:
    """Samples by key of the data, in packet order: columns `packet t_ns rtt_ns rel_ack tsval` of the ACK."""
    columns = ["packet", "t_ns", "rtt_ns", "rel_ack", "tsval"]
    rows = facts.rows("segments", columns, valid=("t_ns", "rtt_ns", "rel_ack"))
    sends = facts.rows("segments", ["t_ns", "rel_seq", "len", "transmission"], valid=("t_ns", "rel_seq"))
    sends = sends.take(sends["len"] > 0)
    known, first = np.unique(sends.key, return_index=True)
    if not len(known):
        return Rows(rows.key[:0], {name: rows[name][:0] for name in columns})
    last = np.maximum.reduceat(sends["rel_seq"] + sends["len"], first)
    # SYN and FIN are not data.
    of_data = rows.key ^ 1
    at = np.minimum(np.searchsorted(known, of_data), len(known) - 1)
    rows = rows.take((rows["rel_ack"] > 1) & (known[at] == of_data) & (rows["rel_ack"] <= last[at]))
    samples = Rows(rows.key ^ 1, {name: rows[name] for name in columns}).sorted_by("packet")
    # A retransmission during the sample: the ACK waited for it, and the time is not the path's.
    retransmitted = sends.take(sends["transmission"] == "retransmission").sorted_by("t_ns")
    sent = samples["t_ns"] - samples["rtt_ns"]
    return samples.take(~retransmitted.any_between("t_ns", samples.key, sent + 1, samples["t_ns"] - 1))


def min_data_rtt_ns(facts: Facts, keys: Array) -> Array:
    """Shortest round trip of data between the same two hosts, ns; `NULL` for no sample.

    A connection that begins while others fill the queue never sees an empty path: the shortest round trip of all
    connections from one host to the other is the path's. Where only the handshake was sampled, it is that of the flow.
    """
    known, least = facts.cached(_least)
    flow = facts.flow_values("tap_rtt_min_ns", keys)
    if not len(known):
        return flow
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, least[at], flow)


def _least(facts: Facts) -> tuple[Array, Array]:
    """Each key with samples, and its shortest round trip."""
    rows = facts.cached(round_trip_samples)
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    known, first = np.unique(rows.key, return_index=True)
    least = np.minimum.reduceat(rows["rtt_ns"], first)
    hosts = [
        np.unique(facts.flow_values(name, known).astype(str), return_inverse=True)[1] for name in ("ip_src", "ip_dst")
    ]
    # A window of a long capture lacks the addresses of connections that continue: each is alone then.
    listed = facts.flow_values("t_start_ns", known) != NULL
    _, path = np.unique(np.stack((known >> 34, *hosts, np.where(listed, -1, known))), axis=1, return_inverse=True)
    path = path.ravel()
    of_path = np.full(path.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(of_path, path, least)
    return known, of_path[path]
