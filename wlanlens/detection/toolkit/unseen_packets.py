"""Packets that a sender has made and the capture does not show: in a queue before the tap, or dropped there."""

from __future__ import annotations

import numpy as np

from wlanlens.detection.toolkit.facts import Facts
from wlanlens.tables.columns import Array

#: Of a packet of the largest size: where others wait, the next one does not come later.
_PAUSE = 2
#: Fewer packets pass without a pause by chance.
_RUN = 16


def may_be_unseen(facts: Facts, keys: Array, from_ns: Array, until_ns: Array, by_ids: Array) -> Array:
    """Whether what each sender made at `from_ns` may not have passed the tap by `until_ns`.

    Its IP identifications count packets that the capture does not hold (asked for `by_ids`), or its host sent without a pause all the time:
    the packet may have been in the queue of the interface, which hands packets to the tap when they leave (Linux, `dev_hard_start_xmit`).
    """
    out = by_ids & (facts.flow_values("missing_packets", keys) > 0)
    if out.all():
        return out
    senders, host = np.unique(_hosts(facts, keys), return_inverse=True)
    flows = facts.table_keys("flows")
    of = _hosts(facts, flows)
    for number, sender in enumerate(senders.tolist()):
        asked = np.flatnonzero((host == number) & ~out)
        if not sender or not len(asked):
            continue
        rows = facts.rows("segments", ["t_ns", "len"], valid=("t_ns",), keys=flows[of == sender])
        t_ns, payload = rows["t_ns"], rows["len"]
        order = np.argsort(t_ns, kind="stable")
        out[asked] = until_ns[asked] <= _busy_until_ns(t_ns[order], payload[order], from_ns[asked])
    return out


def _hosts(facts: Facts, keys: Array) -> Array:
    """The capture and the address of each sender; "" where it is not known."""
    names = zip((keys >> 34).tolist(), facts.flow_values("ip_src", keys).tolist(), strict=True)
    return np.array([f"{capture} {address}" if address else "" for capture, address in names], object)


def _busy_until_ns(t_ns: Array, payload_bytes: Array, from_ns: Array) -> Array:
    """Until when an interface has sent without a pause since each time; that time itself where it was idle.

    The pace is the least time that a packet of the largest size took: where packets are stamped in batches, all times are idle.
    """
    if not len(t_ns):
        return from_ns
    gap, largest = np.diff(t_ns), payload_bytes[:-1] == payload_bytes.max(initial=0)
    pauses = t_ns[:-1][gap > _PAUSE * gap[largest].min(initial=np.iinfo(np.int64).max >> 1)]
    at = np.searchsorted(t_ns, from_ns, "right") - 1
    ends = np.append(pauses, t_ns[-1])[np.searchsorted(pauses, t_ns[np.maximum(at, 0)])]
    enough = np.searchsorted(t_ns, ends) - at >= _RUN
    return np.where((at >= 0) & enough, np.maximum(ends, from_ns), from_ns)
