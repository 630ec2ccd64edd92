"""Quality: one row a capture, with the counts that limit how far it can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from wlanlens import tables

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture

#: LINKTYPE_ values of 802.11 frames: only a radio receives them.
_AIR = frozenset((105, 119, 127, 163))
#: LINKTYPE_ values of USB transfers.
_BUS = frozenset((189, 220, 249))

#: The capture point by the column `tap` of `flows`.
_POINT_OF_TAP = {"near_sender": "sender", "near_receiver": "receiver"}


class Quality:
    """Counts of one capture, added up batch by batch."""

    def __init__(self) -> None:
        self.segments = 0
        self.lost_before_tap = 0
        self.not_captured_ns = 0
        self.transmissions: Counter[str] = Counter()
        self.taps: Counter[str] = Counter()

    def add(self, name: str, batch: pa.RecordBatch) -> None:
        """Count a batch of `segments`, `intervals` or `flows`; other tables are ignored."""
        import numpy as np
        import pyarrow.compute as pc

        if name == "segments":
            self.segments += batch.num_rows
            self.lost_before_tap += batch.column("lost_before_tap").true_count
            transmissions = batch.column("transmission")
            counts = np.bincount(transmissions.indices, minlength=len(transmissions.dictionary))
            for word, count in zip(transmissions.dictionary.to_pylist(), counts.tolist(), strict=True):
                self.transmissions[word] += count
        elif name == "intervals":
            state = batch.column("state")
            if "not_captured" in state.dictionary.to_pylist():
                hole = pc.equal(state.dictionary_decode(), "not_captured")
                lengths = pc.subtract(batch.column("t_end_ns"), batch.column("t_start_ns"))
                self.not_captured_ns += int(pc.sum(lengths.filter(hole)).as_py() or 0)
        elif name == "flows":
            taps = batch.column("tap").dictionary_decode()
            for tap in (*_POINT_OF_TAP, "middle"):
                payload = pc.sum(batch.column("payload_bytes").filter(pc.equal(taps, tap))).as_py()
                self.taps[tap] += payload or 0

    def point(self, capture: Capture) -> str:
        """The capture point.

        The user's, if given; `air` or `usb` by the link type; else the end of the path that the tap is near for most
        payload.
        """
        if capture.point != "unknown":
            return capture.point
        if any(link_type in _AIR for link_type, _ in capture.link_types):
            return "air"
        if capture.link_types and all(link_type in _BUS for link_type, _ in capture.link_types):
            return "usb"
        tap, payload = max(self.taps.items(), key=lambda item: item[1], default=("", 0))
        return _POINT_OF_TAP.get(tap, "unknown") if payload else "unknown"

    def row(self, capture: Capture) -> dict[str, Any]:
        """The row of the table `quality`."""
        info, notes = capture.info, capture.notes
        dropped = [interface[4] for interface in info.get("interfaces", ()) if interface[4] is not None]
        by_severity: Counter[str] = Counter()
        by_name: Counter[str] = Counter()
        for note in notes:
            by_severity[note.severity] += note.count
            by_name[note.name] += note.count
        return {
            "capture": capture.name,
            "format": capture.format,
            "point": self.point(capture),
            "records": int(info.get("records", 0)),
            "other_records": int(info.get("other_records", 0)),
            "tcp_segments": self.segments,
            "tap_drops": min(sum(dropped), 2**64 - 1) if dropped else None,
            "lost_before_tap": self.lost_before_tap,
            "capture_duplicates": self.transmissions["capture_duplicate"],
            "network_duplicates": self.transmissions["network_duplicate"],
            "mac_copies": self.transmissions["mac_copy"],
            "reordered": self.transmissions["reordered"],
            "unseen_data_acks": by_name["acked_unseen"],
            "unseen_mpdus": by_name["missing_sequence"],
            "not_captured_ns": self.not_captured_ns,
            "time_steps": by_name["time_backwards"],
            "info_notes": min(by_severity["info"], 2**64 - 1),
            "loss_notes": min(by_severity["loss"], 2**64 - 1),
            "error_notes": min(by_severity["error"], 2**64 - 1),
        }


#: The columns that are counted.
_COUNTED = {
    "segments": ("lost_before_tap", "transmission"),
    "intervals": ("state", "t_start_ns", "t_end_ns"),
    "flows": ("tap", "payload_bytes"),
}


def counted(capture: Capture, names: Collection[str] = tuple(_COUNTED)) -> Quality:
    """The counts of a capture that has been read, in some of the tables that are counted; `flows` has those of the point."""
    counts = Quality()
    for name in names:
        for batch in capture.scan(name, _COUNTED[name]):
            counts.add(name, batch)
    return counts


def of(captures: Sequence[Capture]) -> pa.Table:
    """The table `quality` of captures that have been read."""
    return to_table([counted(capture) for capture in captures], captures)


def to_table(counts: Sequence[Quality], captures: Sequence[Capture]) -> pa.Table:
    """The table `quality` from each capture's counts."""
    import pyarrow as pa

    rows = [mine.row(capture) for mine, capture in zip(counts, captures, strict=True)]
    return pa.Table.from_pylist(rows, schema=tables.schema("quality"))
