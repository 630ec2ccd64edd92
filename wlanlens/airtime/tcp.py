"""The outcome on the air of the earlier copy of each TCP retransmission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.tables import POINTS
from wlanlens.tables.columns import Array, coded, find, integers, known

if TYPE_CHECKING:
    import pyarrow as pa

#: `exchanges.outcome`; the position is the code.
OUTCOMES = ("delivered", "dropped", "unknown")
#: Transmissions remembered with the outcome of their exchange, 9 bytes each: more than a window of `analyze` holds.
REMEMBERED = 2 * 1024 * 1024

_COLUMNS = ("packet", "flow", "direction", "rel_seq", "transmission", "len")


class EarlierCopies:
    """Outcomes of MSDUs that carry TCP segments, and retransmissions counted by outcome.

    Attributes
    ----------
    counts : dict
        Retransmissions whose earlier copy was delivered, dropped, of unknown outcome, or not in the capture (unseen).
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys((*OUTCOMES, "unseen"), 0)
        self._known: list[tuple[Array, Array]] = []
        self._held = 0

    def remember(self, packets: Array, outcome: Array) -> None:
        """Remember transmissions and the outcome of the exchange of each."""
        self._known.append((packets, outcome))
        self._held += len(packets)
        while self._held > REMEMBERED and len(self._known) > 1:
            self._held -= len(self._known.pop(0)[0])

    def count(self, segments: pa.Table) -> None:
        """Count the retransmissions in `segments`."""
        total, earlier = _earlier_copies(segments)
        if not total:
            return
        found = self._outcomes(earlier)
        for i, name in enumerate(OUTCOMES):
            self.counts[name] += int(np.count_nonzero(found == i))
        self.counts["unseen"] += total - len(earlier)

    def count_linked(self, segments: pa.Table, links: pa.Table, points: Mapping[str, str]) -> None:
        """Count the retransmissions in `segments` of captures at these points, by the earlier copy in `links`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        acked = integers(links.column("acked"), -1)
        heard = known(links.column("air_packet"))
        on_air = coded(links.column("loss_location"), ("on_air",)) == 0
        delivered, dropped, unknown, unseen = (*range(len(OUTCOMES)), len(OUTCOMES))
        state = np.select([~heard, acked == 1, (acked == 0) | on_air], [unseen, delivered, dropped], unknown)
        for capture, point in points.items():
            total, earlier = _earlier_copies(
                segments.filter(pc.equal(segments.column("capture").cast(pa.string()), capture))
            )
            if not total:
                continue
            numbers = integers(links.column(f"{point}_packet")) if point in POINTS else earlier[:0]
            at = find(numbers, earlier)
            states = np.where(at >= 0, state[at], unknown) if len(numbers) else np.full(len(earlier), unknown)
            for i, name in enumerate((*OUTCOMES, "unseen")):
                self.counts[name] += int(np.count_nonzero(states == i))
            self.counts["unseen"] += total - len(earlier)

    def _outcomes(self, packets: Array) -> Array:
        unknown = OUTCOMES.index("unknown")
        if not self._held or not len(packets):
            return np.full(len(packets), unknown)
        remembered = np.concatenate([p for p, _ in self._known])
        outcome = np.concatenate([o for _, o in self._known])
        at = find(remembered, packets)
        return np.where(at >= 0, outcome[at], unknown)


def _earlier_copies(segments: pa.Table) -> tuple[int, Array]:
    """The number of retransmissions, and the packets of their earlier copies, as far as captured."""
    nothing = np.zeros(0, np.int64)
    batches = segments.select(_COLUMNS).combine_chunks().to_batches()
    if not batches:
        return 0, nothing
    batch = batches[0]
    kind = coded(batch.column("transmission"), ("retransmission", "mac_copy"), 2)
    # The same MPDU heard again belongs to the same exchange: it is not another copy by TCP.
    keep = (kind != 1) & known(batch.column("rel_seq")) & (integers(batch.column("len")) > 0)
    if not (kind[keep] == 0).any():
        return 0, nothing
    flow, back = integers(batch.column("flow")), coded(batch.column("direction"), ("a2b", "b2a"), 0)
    columns = (integers(batch.column("packet")), integers(batch.column("rel_seq")), back, flow, kind)
    packet, seq, back, flow, kind = (column[keep] for column in columns)
    order = np.lexsort((packet, seq, back, flow))
    packet, seq, back, flow, kind = (column[order] for column in (packet, seq, back, flow, kind))
    same = np.zeros(len(order), bool)
    same[1:] = (flow[1:] == flow[:-1]) & (back[1:] == back[:-1]) & (seq[1:] == seq[:-1])
    return int(np.count_nonzero(kind == 0)), packet[np.flatnonzero((kind == 0) & same) - 1]
