"""Which connections of several captures are the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wlanlens.alignment.capture_summary import CaptureSummary
from wlanlens.alignment.common_packets import CommonPackets
from wlanlens.tables.columns import Array


def number_connections(
    summaries: Sequence[CaptureSummary], found: dict[tuple[int, int], CommonPackets]
) -> tuple[list[Array], list[Array]]:
    """One number for each connection in all captures: the first capture's number, then new ones in order.

    Returns
    -------
    flows, swapped
        Of each capture: the trace's number of each of its connections, and whether directions a2b and b2a are swapped.
    """
    flows: list[Array] = []
    swapped: list[Array] = []
    total = 0
    for j, summary in enumerate(summaries):
        numbers = np.full(summary.flows, -1, np.int64)
        swap = np.zeros(len(numbers), bool)
        for i in range(j):
            other, own, weight, against = found[i, j].links
            opposite = np.where(swapped[i][other], weight - against, against)
            # Several connections of one capture may be the same connection of the trace.
            links, at = np.unique(flows[i][other] * len(numbers) + own, return_inverse=True)
            weight, against = (np.bincount(at, v, len(links)).astype(np.int64) for v in (weight, opposite))
            used = set(numbers[numbers >= 0].tolist())
            for k in np.argsort(-weight, kind="stable").tolist():
                flow, own_number = divmod(int(links[k]), len(numbers))
                if numbers[own_number] < 0 and flow not in used:
                    numbers[own_number] = flow
                    used.add(flow)
                    swap[own_number] = 2 * against[k] > weight[k]
        new = np.flatnonzero(numbers < 0)
        numbers[new] = total + np.arange(len(new))
        total += len(new)
        flows.append(numbers)
        swapped.append(swap)
    return flows, swapped
