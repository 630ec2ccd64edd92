"""Why a sender rightly sent no fast retransmit for three duplicate ACKs."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.acks import DUPACK_THRESHOLD
from wlanlens.detection.toolkit.dupack_surroundings import has_data_between, latest_before, reported, sent_above
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import Rows
from wlanlens.tables.columns import NULL, Array

#: Why no fast retransmit was needed, in words.
NO_FAST_RETRANSMIT = {
    "few_above": "as RFC 6675 section 4 requires where fewer than three segments above the missing one were sent: copies of them "
    "caused duplicate ACKs",
    "reordering": "correctly for Linux, which waits for more duplicate ACKs since the path seemed to reorder",
    "recovery_point": "as RFC 6582 section 3.2 requires for ACKs up to the recovery point of the previous recovery",
    "after_timeout": "as RFC 6582 section 3.2 requires after a timeout, whose retransmissions may cause duplicate ACKs",
    "spurious_retransmissions": "correctly, because the sender's own spurious retransmissions caused the duplicate ACKs",
    "no_sack_blocks": "correctly, because the duplicate ACKs had no SACK blocks, which were agreed, and reported no loss",
    "data_between": "correctly for Linux, which does not count ACKs that follow new data of their sender",
    "filled_without_retransmission": "correctly, because the missing segment arrived late: it was reordered, not lost",
}


def reasons_without(
    facts: Facts, third: Rows, copies: Rows, missing: Array, filled: Array, recoveries: Rows, cause_s: float
) -> Array:
    """Why no fast retransmit was needed, a key of `NO_FAST_RETRANSMIT`; "" where one was, or where none is missing.

    Parameters
    ----------
    third : Rows
        As of `third_dupacks`.
    copies : Rows
        Retransmissions: columns `t_ns rel_seq spurious`.
    missing : array of bool
        Where the fast retransmit is missing.
    filled : array of bool
        Whether new data was acknowledged before a retransmission.
    recoveries : Rows
        By time: columns `t_start_ns recover_rel_seq spurious dupacks`.
    cause_s : float
        Spurious retransmissions cause duplicate ACKs for this long.
    """
    out, asked = np.full(len(third), "", object), np.flatnonzero(missing)
    if len(asked):
        out[asked] = _reasons(facts, third.take(asked), copies, filled.take(asked), recoveries, cause_s)
    return out


def _reasons(facts: Facts, third: Rows, copies: Rows, filled: Array, recoveries: Rows, cause_s: float) -> Array:
    """The reasons of `reasons_without`; a later one takes precedence."""
    out = np.full(len(third), "", object)
    sack = facts.flow_values("sack_agreed", third.key) == 1
    undone = recoveries.take((recoveries["spurious"] == 1) | (recoveries["dupacks"] > DUPACK_THRESHOLD))
    out[latest_before(undone, "t_start_ns", undone["t_start_ns"], third) != NULL] = "reordering"
    out[sack & (sent_above(facts, third) < DUPACK_THRESHOLD)] = "few_above"
    out[filled] = "filled_without_retransmission"
    out[(facts.flow_values("sack_agreed", third.key) == 0) & has_data_between(facts, third)] = "data_between"
    blocks = facts.flow_values("sack_packets", third.key ^ 1)
    out[sack & (blocks == 0)] = "no_sack_blocks"
    spurious = copies.take(copies["spurious"] == 1).sorted_by("t_ns")
    if len(spurious) >= DUPACK_THRESHOLD:
        newest = spurious.last_until("t_ns", third.key, third["t_ns"])
        enough = newest >= DUPACK_THRESHOLD - 1
        for back in range(DUPACK_THRESHOLD):
            at = np.maximum(newest - back, 0)
            enough &= (spurious.key[at] == third.key) & (spurious["rel_seq"][at] < third["rel_ack"])
            enough &= spurious["t_ns"][at] >= third["t_ns"] - int(cause_s * 1e9)
        out[enough] = "spurious_retransmissions"
    out[sack & (reported(facts, third, spurious) < DUPACK_THRESHOLD)] = "spurious_retransmissions"
    out[latest_before(recoveries, "t_start_ns", recoveries["recover_rel_seq"], third) >= third["rel_ack"]] = (
        "recovery_point"
    )
    expiries = facts.rows("timeouts", ["t_ns", "rel_seq", "flight_bytes"]).sorted_by("t_ns")
    sent = expiries["rel_seq"] + expiries["flight_bytes"]
    out[latest_before(expiries, "t_ns", sent, third) >= third["rel_ack"]] = "after_timeout"
    return out
