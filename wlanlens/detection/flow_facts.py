"""What the verdict reads of `flows`: how much each direction carried, who answered, who ended the connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wlanlens.formatting import bit_rate, size

if TYPE_CHECKING:
    import pyarrow as pa

    from wlanlens.trace import Trace

#: A connection and the direction of its data.
Direction = tuple[int, str]

#: A counter with gaps for more than this share of the packets, and more than three in a handshake, counts others', too.
MISSING_SHARE, MISSING_FEW = 0.1, 3

_COLUMNS = ("flow", "direction", "payload_bytes", "unique_bytes", "packets", "closed_by", "acked_unseen")
_PACKETS = ("ack_packets", "syn_packets", "fin_packets", "rst_packets", "missing_packets")


def other(key: Direction) -> Direction:
    """The other direction of a connection."""
    flow, direction = key
    return flow, "a2b" if direction == "b2a" else "b2a"


class FlowFacts:
    """The rows of `flows` by connection and direction."""

    def __init__(self, trace: Trace) -> None:
        rows = trace.table("flows").select([*_COLUMNS, *_PACKETS]).to_pylist() if trace.has("flows") else []
        self._rows: dict[Direction, Mapping[str, Any]] = {(row["flow"], row["direction"]): row for row in rows}

    def _of(self, key: Direction) -> Mapping[str, Any]:
        return self._rows.get(key, {})

    def payload_bytes(self, key: Direction) -> int:
        """Bytes of payload, retransmissions included; 0 where unknown."""
        return self._of(key).get("payload_bytes") or 0

    def unique_bytes(self, key: Direction) -> int:
        """Bytes of payload, each once; 0 where unknown."""
        return self._of(key).get("unique_bytes") or 0

    def missing_packets(self, key: Direction) -> int:
        """Packets of both ends that the IP identifications count and the capture does not hold; 0 where they count many others', too."""
        facts = [(self._of(k).get("missing_packets") or 0, self._of(k).get("packets") or 0) for k in (key, other(key))]
        return sum(missing for missing, packets in facts if missing <= max(packets * MISSING_SHARE, MISSING_FEW))

    def carried(self, key: Direction, lifetime_ns: int) -> str:
        """ " for 1.2 MB (1.8 Mbit/s)"; empty where the bytes are unknown."""
        carried = self._of(key).get("unique_bytes") or 0
        return f" for {size(carried)} ({bit_rate(carried * 8e9 / lifetime_ns)})" if carried and lifetime_ns else ""

    def lacks_answers(self, key: Direction) -> bool:
        """Whether the peer answered and the capture holds nothing of it: the sender acknowledges what was not captured."""
        fact, back = self._of(key), self._of(other(key))
        opened = fact.get("syn_packets") and fact.get("ack_packets")
        return "packets" in back and not back["packets"] and bool(opened or back.get("acked_unseen"))

    def reset_by(self, key: Direction) -> Direction | None:
        """The direction of the RST that ended a connection, unless a FIN came before; None if no RST did."""
        back = other(key)
        if self._of(key).get("closed_by") == "rst" and not any(self._of(k).get("fin_packets") for k in (key, back)):
            return next((k for k in (back, key) if self._of(k).get("rst_packets")), None)
        return None


class Refusals:
    """Connections that were refused: a RST was all that answered the SYN (RFC 9293 section 3.10.7.1).

    Attributes
    ----------
    count : int
    first : str
        The subject of the first one, from the side that asked.
    """

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def add(self, trace: Trace) -> None:
        """Count those of a trace, or of a window of it."""
        if not trace.has("flows"):
            return
        found = _refused(trace.table("flows"))
        if found and not self.count:
            self.first = trace.subject(*found[0])
        self.count += len(found)

    def sentence(self) -> str:
        """ "10.0.0.2:80 refused the connection of 10.0.0.1:40000 (RST)."; empty if there is none."""
        if not self.count:
            return ""
        client, _, server = self.first.partition(" > ")
        if self.count == 1:
            return f"{server} refused the connection of {client} (RST in answer to the SYN)."
        return f"{self.count} connections were refused (RST in answer to the SYN), the first by {server} to {client}."


def _refused(flows: pa.Table) -> list[Direction]:
    """Directions whose SYN was refused."""
    import pyarrow.compute as pc

    rows = flows.select(["flow", "direction", "packets", "syn_packets", "rst_packets"])
    only_reset = pc.and_(pc.greater(rows["rst_packets"], 0), pc.equal(rows["rst_packets"], rows["packets"]))
    resets, opened = rows.filter(only_reset), rows.filter(pc.greater(rows["syn_packets"], 0))
    asked = set(zip(opened["flow"].to_pylist(), opened["direction"].to_pylist(), strict=True))
    keys = zip(resets["flow"].to_pylist(), resets["direction"].to_pylist(), strict=True)
    return [other(key) for key in keys if other(key) in asked]
