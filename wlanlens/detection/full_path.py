"""What a path that limited a transfer carried: its rate by the spacing of ACKs, and how long data waited in its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.flow_facts import Direction
from wlanlens.detection.savings.delivery import Delivery
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.formatting import bit_rate, seconds
from wlanlens.tables.columns import NULL

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: The columns of `segments` that are read.
OF_SEGMENTS = ("capture", "flow", "direction", "t_ns", "rel_ack")
#: A transfer that had this share of the path's rate had no other limit: the rest are its opening, its end and single pauses.
FULL_SHARE = 0.9
#: Two round trips are never quite alike; from this factor on data waited in a queue.
QUEUED_RATIO = 1.25


def full_path(trace: Trace, which: Direction, payload_bytes: int, lifetime_ns: int) -> str:
    """ ", full at 4.75 of 4.84 Mbit/s (round trip 101 ms on average, 20.4 ms at least)"; "" where the path was not full.

    Only at the sender, where the times of ACKs show the path, and of a connection that one capture holds.

    Parameters
    ----------
    trace : Trace
        A trace, or a window of it.
    which : (int, str)
        The connection and the direction of its data.
    payload_bytes, lifetime_ns : int
        What it carried in its life.
    """
    if not (trace.has("segments") and trace.has("flows")) or lifetime_ns <= 0:
        return ""
    own = trace.of_flow(which[0])  # holds the facts' arrays
    facts = Facts.of(own)
    keys = [int(k) for k in np.unique(facts.table_keys("flows")) if (facts.flow(k), facts.direction(k)) == which]
    if len(keys) != 1 or facts.tap_away_from_sender(np.array(keys))[0]:
        return ""
    key = keys[0]
    acks = facts.rows("segments", ["t_ns", "rel_ack"], valid=("t_ns", "rel_ack"), keys=np.array([key ^ 1]))
    least, mean = (facts.flow_values(f"tap_rtt_{name}_ns", np.array([key]))[0] for name in ("min", "mean"))
    if least == NULL or not mean > 0:
        return ""
    order = np.argsort(acks["t_ns"], kind="stable")
    path_bps = Delivery.of(acks["t_ns"][order], acks["rel_ack"][order], int(least)).path_rate() * 8e9
    goodput_bps = payload_bytes * 8e9 / lifetime_ns
    # More than the path's rate is no measure of it: ACKs were compressed, or this window of a long capture was slower.
    if not FULL_SHARE * path_bps <= goodput_bps <= path_bps:
        return ""
    queue = f"round trip {seconds(round(mean))} on average, {seconds(int(least))} at least"
    waited = f" ({queue})" if mean >= QUEUED_RATIO * least else ""
    had, carries = bit_rate(goodput_bps), bit_rate(path_bps)
    number, _, unit = had.partition(" ")
    return f", full at {number if carries.endswith(f' {unit}') else had} of {carries}{waited}"
