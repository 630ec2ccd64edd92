"""What a capture holds, counted in one pass and flat memory: the facts from which `doctor` says what a better one needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wlanlens.capture.decryption_keys import SECURITY_OF_NOTE
from wlanlens.capture.quality import Quality
from wlanlens.errors import WlanlensError
from wlanlens.formatting import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture, Note

#: Tables with a timestamp in every row.
_TIMED = ("packets", "frames", "urbs")


@dataclass
class CaptureFacts:
    """What was counted.

    Attributes
    ----------
    capture : Capture
        The capture, read to its end.
    point : str
        Its capture point.
    packets, frames, encrypted : int
        IP packets; 802.11 frames, and those with data that could not be decrypted.
    times, tick_ns : int
        Timestamps seen, and the largest step of which all are multiples: the resolution of the clock.
    connections, one_sided, without_syn, merged : int
        TCP connections with data; of these with packets of only one direction, without a SYN of the sender, and with
        segments larger than the agreed maximum (offload).
    tap_drops : int or None
        Packets that the capturing system reported as dropped; None where the file does not say.
    transfer : tuple or None
        Address and port of the sender and the receiver of the connection with the most data.
    security : set of str
        Protection of the captured networks.
    """

    capture: Capture
    point: str = "unknown"
    packets: int = 0
    frames: int = 0
    encrypted: int = 0
    times: int = 0
    tick_ns: int = 0
    connections: int = 0
    one_sided: int = 0
    without_syn: int = 0
    merged: int = 0
    tap_drops: int | None = None
    transfer: tuple[str, int, str, int] | None = None
    security: set[str] = field(default_factory=set)
    _most_bytes: int = 0

    @classmethod
    def of(cls, capture: Capture) -> CaptureFacts:
        """Read a capture to its end and count.

        Raises
        ------
        WlanlensError
            It cannot be read.
        """
        facts, counts = cls(capture), Quality()
        feed = capture.feed()
        try:
            for batches in feed:
                for name, batch in batches:
                    counts.add(name, batch)
                    facts._add(name, batch)
        except WlanlensError as error:
            error.path = printable(capture.path)
            raise
        capture.take(feed)
        facts.security |= {SECURITY_OF_NOTE[note.name] for note in capture.notes if note.name in SECURITY_OF_NOTE}
        row = counts.row(capture)
        facts.point, facts.tap_drops = str(row["point"]), row["tap_drops"]
        return facts

    def notes(self, *names: str) -> Iterator[Note]:
        """The notes of these names that the capture has, in this order."""
        known = {note.name: note for note in self.capture.notes}
        yield from (known[name] for name in names if name in known)

    def _add(self, name: str, batch: pa.RecordBatch) -> None:
        """Count one batch of a table."""
        if name in _TIMED:
            self._add_times(batch)
        if name == "packets":
            self.packets += batch.num_rows
        elif name == "frames":
            self.frames += batch.num_rows
            carried = batch.column("carries").dictionary_decode().value_counts().to_pylist()
            self.encrypted += sum(row["counts"] for row in carried if row["values"] == "protected")
        elif name == "flows":
            self._add_flows(batch)
        elif name == "networks":
            self.security |= set(batch.column("security").dictionary_decode().drop_null().to_pylist())

    def _add_times(self, batch: pa.RecordBatch) -> None:
        import numpy as np
        import pyarrow as pa

        column = "t_submit_ns" if "time" not in batch.schema.names else "time"
        times = batch.column(column).drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
        if len(times):
            self.times += len(times)
            self.tick_ns = int(np.gcd(self.tick_ns, np.gcd.reduce(times)))

    def _add_flows(self, batch: pa.RecordBatch) -> None:
        names = ["flow", "ip_src", "src_port", "ip_dst", "dst_port", "payload_bytes", "packets", "syn_packets"]
        rows = batch.select([*names, "segment_max_bytes", "mss_bytes"]).to_pylist()
        answered = {row["flow"]: 0 for row in rows}
        for row in rows:
            answered[row["flow"]] += bool(row["packets"])
        for row in rows:
            if not row["payload_bytes"]:
                continue
            self.connections += 1
            self.one_sided += answered[row["flow"]] < 2
            self.without_syn += not row["syn_packets"]
            self.merged += bool(row["mss_bytes"] and (row["segment_max_bytes"] or 0) > row["mss_bytes"])
            if row["payload_bytes"] > self._most_bytes:
                self._most_bytes = row["payload_bytes"]
                self.transfer = (row["ip_src"], row["src_port"], row["ip_dst"], row["dst_port"])
