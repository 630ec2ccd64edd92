"""The points of captures that do not state their own: from the capture alone, then from the order of its packets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wlanlens.alignment.clock_map import ClockMap
from wlanlens.alignment.common_packets import CommonPackets
from wlanlens.alignment.path_order import PathOrder
from wlanlens.capture import quality
from wlanlens.capture.capture import Capture


def infer_alone(captures: Sequence[Capture]) -> None:
    """Set the point of each capture from its own packets, where these decide it."""
    stated = [capture.point != "unknown" for capture in captures]
    for capture in captures:
        capture.point = quality.counted(capture, ["flows"]).point(capture)
    inferred = [capture for capture, known in zip(captures, stated, strict=True) if not known]
    points = [capture.point for capture in inferred]
    for capture, point in zip(inferred, points, strict=True):
        # Two hosts cannot both be the sender: the order of their packets decides.
        if point in PathOrder.HOSTS and points.count(point) > 1:
            capture.point = "unknown"


def infer_from_order(
    captures: Sequence[Capture], found: dict[tuple[int, int], CommonPackets], clocks: Sequence[ClockMap]
) -> None:
    """Set the points still unknown: the capture that most payload passes first is the sender's."""
    ahead = np.zeros((len(captures), len(captures)))
    for (i, j), common in found.items():
        sample = common.sample
        if not len(sample["row_a"]):
            continue
        on_axis = [clocks[k].to_axis(sample[f"time_ns_{s}"], sample[f"number_{s}"]) for k, s in ((i, "a"), (j, "b"))]
        payload = sample["payload"].astype(float)
        later = np.sign(on_axis[1] - on_axis[0])
        # Equal payload in both directions: the first packet decides.
        ahead[i, j] = np.sign(later @ payload) or later[0]
        ahead[j, i] = -ahead[i, j]
    upstream, downstream = (ahead > 0).sum(axis=0), (ahead < 0).sum(axis=0)
    taken = {capture.point for capture in captures}
    first, last = PathOrder.HOSTS
    for k, capture in enumerate(captures):
        if capture.point != "unknown" or not (upstream[k] or downstream[k]):
            continue
        point = first if not upstream[k] else last if not downstream[k] else "ap"
        if point not in taken:
            capture.point = point
            taken.add(point)
