"""Who owns an interval: from what the sender waited for (a fact) to what the time went to (a judgement)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.tables import OWNERS

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]

#: Owner of each state of `intervals`, before refinement.
OWNER_OF_STATE = {
    "handshake": "handshake",
    "idle": "application",
    "zero_window": "receiver_window",
    "window_limited": "receiver_window",
    "delayed_ack": "delayed_ack",
    "rto_wait": "rto_idle",
    "backoff_wait": "backoff_idle",
    "loss_recovery": "loss_recovery",
    "fast_recovery": "fast_recovery",
    "slow_start": "slow_start",
    "transfer": "transfer",
    "closing": "application",
    "not_captured": "unknown",
}

#: Kinds of timeout after which nothing had to be sent again.
NEEDLESS_KINDS = ("spurious", "ack_lost")


def assign(intervals: pa.Table, timeouts: pa.Table | None) -> Array:
    """The owner of each interval, as an index into `OWNERS`."""
    states = intervals.column("state").to_pandas().astype("category")
    table = np.array([OWNERS.index(OWNER_OF_STATE.get(state, "unknown")) for state in states.cat.categories], np.int8)
    owners: Array = np.append(table, np.int8(OWNERS.index("unknown")))[states.cat.codes.to_numpy()]
    if timeouts is not None and timeouts.num_rows and intervals.num_rows:
        owners[_after_needless(intervals, timeouts) & (owners == OWNERS.index("loss_recovery"))] = OWNERS.index(
            "spurious_recovery"
        )
    return owners


def _after_needless(intervals: pa.Table, timeouts: pa.Table) -> Array:
    """Intervals that belong to a timeout though nothing was lost."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = timeouts.column("kind").cast(pa.string())
    packets = timeouts.column("packet").filter(pc.is_in(kinds, pa.array(NEEDLESS_KINDS)))
    found = pc.is_in(intervals.column("timeout_packet"), packets.combine_chunks())
    return np.asarray(found.to_numpy(), dtype=bool)
