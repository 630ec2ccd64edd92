"""Several captures put on one time axis: common packets, clocks, points and connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment import capture_points, duplicate_frames, length_matching
from wlanlens.alignment.clock_map import ClockMap
from wlanlens.alignment.connections import number_connections
from wlanlens.alignment.length_matching import InferredPairs
from wlanlens.alignment.packet_matching import Pairs
from wlanlens.alignment.path_order import PathOrder
from wlanlens.alignment.reference_clock import MIN_PAIRS, fit_clocks
from wlanlens.alignment.sampling import Survey
from wlanlens.capture.distinct_names import set_distinct_names
from wlanlens.formatting import printable
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from wlanlens.alignment.capture_summary import CaptureSummary
    from wlanlens.alignment.common_packets import CommonPackets
    from wlanlens.capture.capture import Capture


@dataclass(frozen=True)
class Alignment:
    """How several captures fit together.

    Attributes
    ----------
    clocks : list of ClockMap
        One a capture, in their order.
    start_ns : int
        Time of the first packet on the axis, ns since 1970.
    pairs : dict
        Pairs of captures i < j, by (i, j).
    flows : list of arrays
        The trace's number of each connection of a capture.
    swapped : list of arrays
        Whether its directions a2b and b2a are swapped.
    summaries : list of CaptureSummary
        What was read of each capture.
    ends : (int, int) or None
        The two captures at the ends of the path: those with the longest delay between them.
    inferred : dict
        By (capture with readable packets, capture without): pairs by length, direction and order.
    duplicate_frames : list of arrays
        The frames of each capture, by number, that a sniffer before it in the list heard too.
    """

    clocks: list[ClockMap]
    start_ns: int
    pairs: dict[tuple[int, int], Pairs]
    flows: list[Array]
    swapped: list[Array]
    summaries: list[CaptureSummary]
    ends: tuple[int, int] | None
    inferred: dict[tuple[int, int], InferredPairs]
    duplicate_frames: list[Array]


def align_captures(
    captures: Sequence[Capture], *, nat: bool = False, scratch: Path | None = None, survey: Survey | None = None
) -> Alignment:
    """Align several captures. They are read batch by batch.

    Parameters
    ----------
    nat : bool
        Addresses or ports were changed between the capture points.
    survey : Survey or None
        Of these captures, which have distinct names, if a part of it has been done; it knows `nat`.
    scratch : Path or None
        Folder for pairs of packets; without one they stay in memory.

    Raises
    ------
    AlignmentError
        Why they cannot be one trace.
    """
    if survey is None:
        set_distinct_names(captures)
    capture_points.infer_alone(captures)
    survey = survey or Survey(captures, nat=nat)
    summaries, found = survey.summaries, survey.pairs(scratch)
    for (i, j), common in found.items():
        if common.has_equal_times(summaries[i], summaries[j]):
            _note_equal_times(captures[i], captures[j])
    pairs = {both: common.pairs for both, common in found.items()}
    for (i, j), made in pairs.items():
        if made.clipped:
            why = (
                f"Windows of rows with more candidates in {printable(captures[j].name)} than fit: links may be missing."
            )
            captures[i].add_note("pairing_clipped", "loss", made.clipped, why)
    inferred = _infer_pairs(summaries, found)
    heard = _duplicate_frames(summaries, found)
    clocks = fit_clocks(summaries, found)
    starts = [
        int(clock_map.to_axis(np.array([start_ns]))[0])
        for clock_map, capture in zip(clocks, captures, strict=True)
        if (start_ns := capture.start_ns) is not None
    ]
    capture_points.infer_from_order(captures, found, clocks)
    flows, swapped = number_connections(summaries, found)
    ends = _ends(found, clocks)
    return Alignment(clocks, min(starts, default=0), pairs, flows, swapped, summaries, ends, inferred, heard)


def _infer_pairs(
    summaries: Sequence[CaptureSummary], found: dict[tuple[int, int], CommonPackets]
) -> dict[tuple[int, int], InferredPairs]:
    """Pairs by length, direction and order, of captures with too few pairs by their bytes; entered in `found` too."""
    out = {}
    for (i, j), common in list(found.items()):
        if common.exact >= MIN_PAIRS:
            continue
        for readable, opaque in ((i, j), (j, i)):
            points = [summaries[k].capture.point for k in (readable, opaque)]
            if points[1] in PathOrder.OPAQUE and points[0] not in PathOrder.OPAQUE:
                pairs = length_matching.infer(summaries[readable], summaries[opaque])
                if pairs is not None:
                    out[readable, opaque] = pairs
                    found[i, j] = length_matching.common_packets(pairs, readable == i)
    return out


def _duplicate_frames(summaries: Sequence[CaptureSummary], found: dict[tuple[int, int], CommonPackets]) -> list[Array]:
    """The frames of each sniffer that an earlier one heard too. Without common packets, `found` is given these frames."""
    duplicates: list[list[Array]] = [[np.zeros(0, np.int64)] for _ in summaries]
    for (i, j), common in list(found.items()):
        both = [summaries[k].capture for k in (i, j)]
        if not all(capture.point == "air" and capture.rows("frames") for capture in both):
            continue
        numbers_i, numbers_j, frames = duplicate_frames.find_common_frames(summaries[i], summaries[j])
        duplicates[j].append(numbers_j)
        if _same_timestamps(frames, both[0], both[1], len(numbers_i)):
            _note_equal_times(both[0], both[1])
        if common.exact < MIN_PAIRS <= frames.exact:
            frames.pairs = common.pairs
            frames.same_frames = True
            found[i, j] = frames
    return [np.unique(np.concatenate(numbers)) for numbers in duplicates]


def _same_timestamps(frames: CommonPackets, a: Capture, b: Capture, count: int) -> bool:
    """Whether nearly all frames of the smaller capture are in both at the same time."""
    sample = frames.sample
    smaller = min(a.rows("frames"), b.rows("frames"))
    if count < max(2, 0.9 * smaller) or not len(sample["row_a"]):
        return False
    return bool((sample["time_ns_a"] == sample["time_ns_b"]).all())


def _note_equal_times(a: Capture, b: Capture) -> None:
    """Two taps of one host share the timestamps of its kernel, and those of a simulator its clock: no proof of a copy."""
    why = (
        f"{printable(b.name)} has the same packets at the same times: two taps with one timestamp a packet, or copies of one "
        "capture. There is no delay between them."
    )
    a.add_note("equal_times", "info", 1, why)


def _ends(found: dict[tuple[int, int], CommonPackets], clocks: Sequence[ClockMap]) -> tuple[int, int] | None:
    """The two captures with the longest delay between them."""
    delay = {}
    for (i, j), common in found.items():
        t_i, t_j = (
            clocks[k].to_axis(common.sample[f"time_ns_{s}"], common.sample[f"number_{s}"])
            for k, s in ((i, "a"), (j, "b"))
        )
        if len(t_i) and not common.inferred:
            delay[i, j] = float(np.median(np.abs(t_j - t_i)))
    return max(delay, key=lambda both: delay[both], default=None)
