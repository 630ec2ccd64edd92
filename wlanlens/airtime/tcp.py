"""What became on the air of the copy that TCP sent before it sent again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.airtime.rows import OUTCOMES, Array, codes, integers
from wlanlens.tables import POINTS

if TYPE_CHECKING:
    import pyarrow as pa

#: Attempts remembered with the outcome of their exchange, 9 bytes each: more than a window of `analyze` holds.
REMEMBERED = 2 * 1024 * 1024

_COLUMNS = ("packet", "flow", "direction", "rel_seq", "transmission", "len")


class Copies:
    """Outcomes of MSDUs with TCP segments, and retransmissions counted by them.

    Attributes
    ----------
    counts : dict
        Retransmissions whose copy before was delivered, dropped, of unknown outcome, or not in the capture (unseen).
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys((*OUTCOMES, "unseen"), 0)
        self._known: list[tuple[Array, Array]] = []
        self._held = 0

    def know(self, packets: Array, outcome: Array) -> None:
        """Attempts, and the outcome of the exchange that each belongs to."""
        self._known.append((packets, outcome))
        self._held += len(packets)
        while self._held > REMEMBERED and len(self._known) > 1:
            self._held -= len(self._known.pop(0)[0])

    def ask(self, segments: pa.Table) -> None:
        """Count the retransmissions in `segments`."""
        again, before = _copies_before(segments)
        if not again:
            return
        found = self._outcomes(before)
        for i, name in enumerate(OUTCOMES):
            self.counts[name] += int(np.count_nonzero(found == i))
        self.counts["unseen"] += again - len(before)

    def ask_links(self, segments: pa.Table, links: pa.Table, points: Mapping[str, str]) -> None:
        """Count the retransmissions in `segments` of captures at these points, by what `links` tells of the copy before."""
        import pyarrow as pa
        import pyarrow.compute as pc

        acked = np.asarray(links.column("acked").cast(pa.int8()).fill_null(-1).to_numpy(), np.int8)
        heard = np.asarray(pc.is_valid(links.column("air_packet")), bool)
        on_air = np.asarray(pc.equal(links.column("loss_location").cast(pa.string()), "on_air").fill_null(False), bool)
        delivered, dropped, unknown, unseen = (*range(len(OUTCOMES)), len(OUTCOMES))
        state = np.select([~heard, acked == 1, (acked == 0) | on_air], [unseen, delivered, dropped], unknown)
        for capture, point in points.items():
            again, before = _copies_before(
                segments.filter(pc.equal(segments.column("capture").cast(pa.string()), capture))
            )
            if not again:
                continue
            numbers = integers(links.column(f"{point}_packet").combine_chunks()) if point in POINTS else before[:0]
            order = np.argsort(numbers, kind="stable")
            at = np.minimum(np.searchsorted(numbers[order], before), max(0, len(numbers) - 1))
            found = order[at] if len(numbers) else at
            known = (numbers[found] == before) if len(numbers) else np.zeros(len(before), bool)
            told = np.where(known, state[found] if len(numbers) else 0, unknown)
            for i, name in enumerate((*OUTCOMES, "unseen")):
                self.counts[name] += int(np.count_nonzero(told == i))
            self.counts["unseen"] += again - len(before)

    def _outcomes(self, wanted: Array) -> Array:
        unknown = OUTCOMES.index("unknown")
        packets = np.concatenate([p for p, _ in self._known]) if self._known else np.zeros(0, np.int64)
        if not len(packets) or not len(wanted):
            return np.full(len(wanted), unknown)
        outcome = np.concatenate([o for _, o in self._known])
        order = np.argsort(packets, kind="stable")
        at = np.minimum(np.searchsorted(packets[order], wanted), len(packets) - 1)
        return np.where(packets[order][at] == wanted, outcome[order][at], unknown)


def _copies_before(segments: pa.Table) -> tuple[int, Array]:
    """How many retransmissions there are, and the packets of the copies before them, of those that were captured."""
    nothing = np.zeros(0, np.int64)
    batches = segments.select(_COLUMNS).combine_chunks().to_batches()
    if not batches:
        return 0, nothing
    batch = batches[0]
    kind = codes(batch.column("transmission"), ("retransmission", "mac_copy"), 2)
    # The same MPDU heard again is no copy of TCP's: it belongs to the same exchange.
    keep = (kind != 1) & np.asarray(batch.column("rel_seq").is_valid(), bool) & (integers(batch.column("len")) > 0)
    if not (kind[keep] == 0).any():
        return 0, nothing
    flow, back = integers(batch.column("flow")), codes(batch.column("direction"), ("a2b", "b2a"), 0)
    columns = (integers(batch.column("packet")), integers(batch.column("rel_seq")), back, flow, kind)
    packet, seq, back, flow, kind = (column[keep] for column in columns)
    order = np.lexsort((packet, seq, back, flow))
    packet, seq, back, flow, kind = (column[order] for column in (packet, seq, back, flow, kind))
    same = np.zeros(len(order), bool)
    same[1:] = (flow[1:] == flow[:-1]) & (back[1:] == back[:-1]) & (seq[1:] == seq[:-1])
    return int(np.count_nonzero(kind == 0)), packet[np.flatnonzero((kind == 0) & same) - 1]
