"""Whether anything was lost when a recovery began: the captures at both ends show what of the outstanding data arrived."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.correlation.segment_overlap import EarlierCopies
from wlanlens.tables.columns import filled, find, integers

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.correlation.sent_segments import SentSegments

Array = np.ndarray[Any, Any]


class Outstanding:
    """The data outstanding at the sender when its timer expired or its fast recovery began.

    Attributes
    ----------
    arrived, decided : bool arrays
        Whether all of it arrived in copies sent before the event, and whether that is known.
    """

    def __init__(
        self,
        events: pa.Table,
        rows: SentSegments,
        numbers: Array,
        arrival: Array,
        refused: Callable[[Array], Array] = lambda rows: rows[:0],
    ) -> None:
        """Look at the copies sent before each event.

        Parameters
        ----------
        events : table
            `timeouts` or `recoveries`.
        rows, numbers : SentSegments and array
            The segments of the capture of the events, and their packet numbers.
        arrival : array
            Of each of them: 1 if it arrived, 0 if it was lost, below 0 if that is not known.
        refused : callable
            Of indices of segments that arrived, those that the receiver dropped.
        """
        self.arrived: Array = np.zeros(events.num_rows, bool)
        self.decided: Array = np.zeros(events.num_rows, bool)
        at = find(numbers, events.column("packet").to_numpy())
        here = np.flatnonzero(at >= 0)
        at = at[here]
        if "recover_rel_seq" in events.column_names:
            size = filled(events.column("recover_rel_seq")).astype(np.int64)[here] - rows.start[at]
        else:
            size = integers(events.column("flight_bytes"))[here]
        # The segment of an event passed after it: its copies are those that were sent before that segment.
        eventful = np.zeros(len(rows.keys), bool)
        eventful[rows.stream[at]] = True
        sent = np.flatnonzero(rows.sent & eventful.take(rows.stream))
        copies = EarlierCopies(rows.stream, rows.start, rows.length, sent, at, np.maximum(size, 1))
        taken, mine = arrival == 1, copies.rows()
        taken[refused(mine[taken[mine]])] = False
        self.arrived[here] = copies.cover(taken)
        self.decided[here] = self.arrived[here] | copies.all_are(arrival >= 0)
