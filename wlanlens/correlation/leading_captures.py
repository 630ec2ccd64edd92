"""The captures that the facts of each connection are taken from: one for detectors, one a direction for the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.alignment.align import Alignment
from wlanlens.alignment.path_order import PathOrder
from wlanlens.tables.columns import coded, filled

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

Array = np.ndarray[Any, Any]

#: The facts of which the ledger is made.
LEDGER_FACTS = ("intervals", "timeouts", "recoveries")

#: Those of them that the ledger is given with other values than the detectors.
EVENTS = ("timeouts", "recoveries")

_DIRECTIONS = ("a2b", "b2a")


@dataclass(frozen=True)
class LeadingCaptures:
    """Captures by their numbers in the trace.

    A detector compares the segments of both directions, so its facts of a connection come from one capture: the best for the
    direction with most data. The ledger is about the sender of one direction, and the sender's decisions show at its own end:
    a connection with data in both directions has two.

    Attributes
    ----------
    connection : int64 array
        The capture for each connection.
    direction : int64 array
        [connection, direction]: the one with the best evidence of this direction's data.
    """

    connection: Array
    direction: Array

    @classmethod
    def of(cls, captures: Sequence[Capture], alignment: Alignment) -> LeadingCaptures:
        """By the point of each capture, or else by where it sits on the path of each direction."""
        total = max((int(numbers.max(initial=-1)) for numbers in alignment.flows), default=-1) + 1
        connection, direction = np.full(total, -1, np.int64), np.full((total, 2), -1, np.int64)
        least, nearest = np.full(total, np.inf), np.full((total, 2), np.inf)
        for i, capture in enumerate(captures):
            seen: list[tuple[int, int, int, float]] = []
            for batch in capture.scan("flows", ("flow", "direction", "payload_bytes", "tap")):
                taps = batch.column("tap").cast("string").to_pylist()
                ranks = [PathOrder.evidence_rank(capture.point, tap) + i / 1000 for tap in taps]
                own = filled(batch.column("flow")).astype(np.int64)
                back = (coded(batch.column("direction"), _DIRECTIONS) == 1) ^ alignment.swapped[i][own]
                numbers = alignment.flows[i][own].tolist()
                carried = batch.column("payload_bytes").to_pylist()
                seen += zip(carried, numbers, back.astype(int).tolist(), ranks, strict=True)
            # Of both directions, the one with the data decides; without data that of the client, who waits for its answer.
            for carried_bytes, number, back_to_a, rank in sorted(seen, key=lambda row: (row[0], -row[2])):
                if rank < least[number] or connection[number] == i:
                    connection[number], least[number] = i, rank
                if carried_bytes and rank < nearest[number, back_to_a]:
                    direction[number, back_to_a], nearest[number, back_to_a] = i, rank
        return cls(connection, np.where(direction < 0, connection[:, None], direction))

    def leads(self, table: pa.Table, number: int) -> Array:
        """Which rows of a capture's facts detectors are given."""
        return np.asarray(self.connection[filled(table.column("flow"))] == number)

    def sees_sender(self, table: pa.Table, number: int) -> Array:
        """Which rows of a capture's facts the ledger is given."""
        mine: Array = self._of_direction(table) == number
        return mine

    def only_for_ledger(self, table: pa.Table, number: int) -> Array:
        """Which of them detectors are not given."""
        return self.sees_sender(table, number) & ~self.leads(table, number)

    def for_ledger(self, led: Mapping[str, pa.Table], more: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """`LEDGER_FACTS` with each direction from its own capture.

        Parameters
        ----------
        led : mapping
            The rows that detectors are given.
        more : mapping
            Those that the ledger alone is given: all rows of `EVENTS`.
        """
        import pyarrow as pa

        intervals, further = led["intervals"], more["intervals"]
        if further.num_rows:
            flow = filled(intervals.column("flow"))
            kept = intervals.filter(pa.array(self._of_direction(intervals) == self.connection[flow]))
            intervals = pa.concat_tables([kept, further]).unify_dictionaries()
        return {"intervals": intervals, **{name: more[name] for name in EVENTS}}

    def labelled(self, ledger: pa.Table, names: Sequence[str]) -> pa.Table:
        """A ledger with the capture that leads each connection, so that its directions and its findings have the same one."""
        import pyarrow as pa

        at = ledger.schema.get_field_index("capture")
        codes = self.connection[filled(ledger.column("flow"))].astype(np.int32)
        column = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(names), pa.string()))
        return ledger.set_column(at, ledger.schema.field(at), column.cast(ledger.schema.field(at).type))

    def _of_direction(self, table: pa.Table) -> Array:
        back = coded(table.column("direction"), _DIRECTIONS)
        return np.asarray(self.direction[filled(table.column("flow")), back])
