"""The fit of one capture's clock to another's, from pairs of common packets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from wlanlens.alignment.clock import drift, offset_line, step_detection
from wlanlens.alignment.clock.delay_hulls import COARSE_NS, OffsetLimits
from wlanlens.alignment.clock.drift import Drift
from wlanlens.alignment.clock_map import ClockMap, Piece
from wlanlens.tables.columns import Array

_WRAP_32_NS = (1 << 32) * 1000


class NoClockFit(ValueError):
    """Why no clock can be fitted, as text."""


class Fit:
    """Clock steps and drift from the pairs of two captures, and the resulting map.

    Parameters
    ----------
    t_ref_ns, t_cap_ns : int64 arrays
        Times of the same packets in both captures, each by its own clock, ns since 1970; in the reference's order of packets.
    before : int8 array
        1: the packet passed the reference first; -1: the capture first; 0: not known, which gives no bound.
    packets : int64 array
        Their numbers in the capture.
    tick_ns, reference_tick_ns : int
        Resolution of the capture's clock, and of the reference's if it differs. A timestamp is the last tick before its
        time; a clock that rounds is half a tick ahead.
    sizes : int array
        Bytes of the packets: a step smaller than their delays is searched among packets of one size.

    Attributes
    ----------
    steps, reference_steps, contradictions : int
        As in ClockMap.
    drift : Drift or None
        Drift of the capture's clock; None: too few pairs.
    """

    def __init__(
        self,
        capture: str,
        reference: str,
        t_ref_ns: Array,
        t_cap_ns: Array,
        before: Array,
        packets: Array,
        *,
        tick_ns: int = 1,
        reference_tick_ns: int | None = None,
        sizes: Array | None = None,
    ) -> None:
        if not len(t_ref_ns):
            raise NoClockFit("the captures have no packet in common")
        self._names = capture, reference
        # In the order of the capture, so that a packet under way during a step is on the right side of it.
        order = np.argsort(packets, kind="stable")
        t_ref_ns, t_cap_ns, before, packets = (np.asarray(v)[order] for v in (t_ref_ns, t_cap_ns, before, packets))
        d = t_cap_ns - t_ref_ns
        self._base = int(np.median(d))
        self._ticks = (tick_ns if reference_tick_ns is None else reference_tick_ns, tick_ns)
        self._points = OffsetLimits(
            (t_ref_ns - t_ref_ns[0]) / 1e9,
            (d - self._base).astype(float),
            np.asarray(before, np.int8),
            self._ticks,
            None if sizes is None else np.asarray(sizes)[order],
            order,
        )
        if self._points.coarse >= COARSE_NS:
            self._points.widen_uncertain()
        cuts, self._out = step_detection.find(self._points)
        self._spans = list(pairwise((0, *cuts, len(d))))
        # Number and times of the first pair of each piece.
        first = [start for start, _ in self._spans]
        # Unsigned and signed integers together become floats, which cannot represent nanoseconds since 1970.
        packets = packets.astype(np.int64)
        self._first = [tuple(v) for v in np.stack((packets[first], t_ref_ns[first], t_cap_ns[first]), axis=1).tolist()]
        self.steps = len(cuts)
        self.reference_steps = int(
            sum(abs(t_ref_ns[k] - t_ref_ns[k - 1]) > abs(t_cap_ns[k] - t_cap_ns[k - 1]) for k in cuts)
        )
        self.contradictions = int(self._out.sum())
        self.drift = drift.estimate(self._points, self._spans, self._out)

    def map(self, known: Drift | None = None) -> ClockMap:
        """The map with this drift, as far as the pairs allow it, or with their own drift."""
        points, out = self._points, self._out
        drift_used = known or self.drift
        pieces: list[Piece] = []
        lines: list[offset_line.OffsetLine] = []
        theta = np.zeros(len(points.x))
        for (start, end), (number, t_ref_ns, t_cap_ns) in zip(self._spans, self._first, strict=True):
            best = offset_line.fit(points, start, end, out, None if drift_used is None else drift_used.slope)
            lines.append(best)
            theta[start:end] = best.at(points.x[start:end])
            here = self._base + round(best.offset)
            pieces.append(
                Piece(
                    first_packet=number if pieces else 0,
                    from_ns=t_cap_ns,
                    at_ns=t_ref_ns + round((best.x - points.x[start]) * 1e9) + here,
                    offset_ns=-here,
                    drift_ppm=best.slope / 1e3,
                    bound_ns=best.bound,
                    bound_most_ns=best.bound_most,
                    pairs=end - start - int(out[start:end].sum()),
                    two_way_ns=best.two_way,
                    drift_bound_ppm=best.drift_bound_ppm,
                    drift_error_ppm=None if drift_used is None else drift_used.error / 1e3,
                )
            )
        residual = np.abs(points.y - theta)[~out if not out.all() else slice(None)]
        half, most_of, most = (round(float(v)) for v in np.percentile(residual, (50, 99, 100)))
        main = max(pieces, key=lambda p: p.pairs)
        capture, reference = self._names
        cuts = [start for start, _ in self._spans[1:]]
        return ClockMap(
            capture,
            offset_ns=main.offset_ns,
            drift_ppm=main.drift_ppm,
            bound_ns=main.bound_ns,
            pairs=len(points.x),
            residual_ns=half,
            residual_p99_ns=most_of,
            residual_most_ns=most,
            two_way_ns=main.two_way_ns,
            contradictions=self.contradictions,
            tick_ns=max(self._ticks),
            reference_steps=self.reference_steps,
            reference=reference,
            pieces=tuple(pieces),
            sentence=_sentence(
                pieces,
                [float(b.at(points.x[k]) - a.at(points.x[k])) for k, (a, b) in zip(cuts, pairwise(lines), strict=True)],
                points,
            ),
        )


def _sentence(pieces: Sequence[Piece], jumps_ns: Sequence[float], points: OffsetLimits) -> str:
    remarks = []
    if open_ended := [p for p in pieces if p.bound_ns is None and p.two_way_ns is None]:
        known = "in one direction only" if (points.side != 0).any() else "of unknown direction"
        part = "" if len(open_ended) == len(pieces) else " for part of the time"
        remarks.append(f"packets {known}{part}: the offset includes their delay")
    if any(p.bound_ns is None and p.two_way_ns is not None for p in pieces):
        remarks.append("too few packets beside a step to bound the offset there")
    for by, later in zip(jumps_ns, pieces[1:], strict=True):
        wrapped = abs(abs(by) - _WRAP_32_NS) < 1e9
        what = "32-bit microsecond counter wrapped" if wrapped else f"clock step of {by / 1e9:+.6f} s"
        remarks.append(f"{what} at packet {later.first_packet}")
    return "; ".join(remarks)
