"""What a capture holds of TCP, and why there is nothing for a detector to look at."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wlanlens.capture.decryption_keys import SECURITY_OF_NOTE, key_of_network
from wlanlens.tables.columns import encoded, enum_mask

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.capture.capture import Capture
    from wlanlens.trace import Trace

#: Networks whose key is named; on a crowded channel there are dozens.
_MOST_NETWORKS = 3


class TcpSeen:
    """What the capture holds of TCP, over all windows: whether there was anything for a detector to look at."""

    def __init__(self) -> None:
        self._frames = self._connections = self._data = self._both = False
        self._protected: Counter[str] = Counter()
        self._networks: dict[str, tuple[str | None, str | None]] = {}
        self._captures: tuple[Capture, ...] = ()

    def add(self, trace: Trace) -> None:
        """Look at one window."""
        self._captures = tuple(trace.captures)
        if trace.has("frames") and trace.table("frames").num_rows:
            self._frames = True
            self._add_protected(trace.table("frames"))
        if trace.has("networks"):
            self.add_networks(trace.table("networks"))
        if self._both or not trace.has("segments") or not trace.table("segments").num_rows:
            return
        self._connections = True
        by_direction = trace.table("segments").group_by(["flow", "direction"], use_threads=False)
        most = by_direction.aggregate([("len", "max")])
        flows = most["flow"].to_pylist()
        with_data = {flow for flow, length in zip(flows, most["len_max"].to_pylist(), strict=True) if length}
        self._data |= bool(with_data)
        answered = {flow for flow, times in Counter(flows).items() if times == 2}
        self._both = not answered.isdisjoint(with_data)

    def add_networks(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Take the names of networks from rows of `networks`, which belong to no window."""
        for row in rows.select(["bssid", "ssid", "security"]).to_pylist():
            self._networks[row["bssid"]] = row["ssid"], row["security"]

    def _add_protected(self, frames: pa.Table) -> None:
        """Count the stations of encrypted frames; one of the two is the access point."""
        protected = enum_mask(frames.column("carries"), ("protected",))
        if protected.any():
            for name in ("ta", "ra"):
                addresses = encoded(frames.column(name).filter(protected)).value_counts()
                for row in addresses.to_pylist():
                    self._protected[str(row["values"])] += row["counts"]

    @property
    def encrypted(self) -> bool:
        """Whether frames are encrypted and no TCP connection could be read."""
        return bool(self._protected) and not self._connections

    def lacks(self) -> str:
        """What a capture should hold instead; empty if a transfer was captured in both directions."""
        if self._both:
            return ""
        if self._data:
            return "needs both directions of a connection: capture at the sender if possible"
        if self._connections:
            return "needs a TCP connection that carries data: capture while the transfer runs"
        if self._protected:
            return f"the frames are encrypted: {self._keys()}; or capture at a host"
        if self._frames:
            return "needs TCP packets, and none could be read from the frames: capture whole frames while a transfer runs, or capture at a host"
        return "needs a TCP connection: capture while the transfer runs"

    def _keys(self) -> str:
        """The keys that open the encrypted frames, of the networks with most of them."""
        busy = [self._networks[address] for address, _ in self._protected.most_common() if address in self._networks]
        if not busy:
            # Without beacons the handshakes may show how the network is protected.
            noted = {note.name for capture in self._captures for note in capture.notes}
            busy = [(None, kind) for name, kind in SECURITY_OF_NOTE.items() if name in noted] or [(None, None)]
        keys = list(dict.fromkeys(key_of_network(ssid, security) for ssid, security in busy))
        more = f"; and those of {len(keys) - _MOST_NETWORKS} more networks" if len(keys) > _MOST_NETWORKS else ""
        return "; ".join(keys[:_MOST_NETWORKS]) + more
