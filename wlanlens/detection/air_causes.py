"""Causes on the air: the finding about two stations that explains a timeout or a loss of a connection that they carried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import STATIONS, Finding
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.tables.columns import NULL, Array, encoded, enum_mask, vector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Findings about stations that can drop packets, the most specific first.
CAUSES = ("signal_fade", "rate_thrashing", "burst_loss")

#: Findings about connections, and which packets of theirs explain them when stations give them up.
EFFECTS = {
    "idle_backoff": ("data", "ack"),
    "spurious_timeout": ("data", "ack"),
    "ack_loss": ("ack",),
    "tail_loss": ("data",),
    "packet_loss": ("data",),
}

#: A finding about many losses follows from the air if it dropped this share of them: more than it leaves to others.
SHARE = 0.5


def with_air_causes(trace: Trace, findings: Sequence[Finding]) -> list[Finding]:
    """The findings of a trace or a window of it; those about connections with `caused_by` where the air explains them.

    A finding about stations explains one about a connection if the stations gave up a packet of that connection, by the exchanges
    captured, during both. The stations are in the value `caused_by_stations`.
    """
    causes = sorted((f for f in findings if f.code in CAUSES), key=lambda f: CAUSES.index(f.code))
    if not causes or not all(trace.has(table) for table in ("exchanges", "flows")):
        return list(findings)
    drops, facts = _Drops.of(trace), Facts.of(trace)
    return [_explained(f, causes, drops, facts) if f.flow is not None else f for f in findings]


def _explained(f: Finding, causes: Sequence[Finding], drops: _Drops, facts: Facts) -> Finding:
    """The finding with its cause on the air, if there is one."""
    if f.code not in EFFECTS:
        return f
    which = drops.of_connection(f, EFFECTS[f.code])
    # The lost packet is one of the flight before the silence: sent at most a round trip before the last data.
    since = f.t_start_ns - _longest_trip_ns(f, facts)
    which &= (drops.t_ns >= since) & (drops.t_ns <= f.t_end_ns)
    least = SHARE * float(f.values.get("lost_count", 0))
    # Several fades of a station are findings of their own and one cause.
    for code, subject in dict.fromkeys((cause.code, cause.subject) for cause in causes):
        during = np.zeros(len(which), bool)
        for cause in causes:
            if (cause.code, cause.subject) == (code, subject):
                during |= (drops.t_ns >= cause.t_start_ns) & (drops.t_ns <= cause.t_end_ns)
        count = int((which & during & drops.between(subject)).sum())
        if count and count >= least:
            return replace(f, caused_by=code, values={**f.values, STATIONS: subject})
    return f


def _longest_trip_ns(f: Finding, facts: Facts) -> int:
    """The longest round trip of the finding's direction, at the capture of the finding; 0 where unknown."""
    keys = facts.table_keys("flows")
    mine = [k for k in keys.tolist() if (facts.flow(k), facts.direction(k)) == (f.flow, f.direction)]
    trips = facts.flow_values("tap_rtt_max_ns", np.array(mine, np.int64)) if mine else np.zeros(0, np.int64)
    return int(trips[trips != NULL].max(initial=0))


@dataclass(frozen=True)
class _Drops:
    """Packets of connections that stations gave up.

    Attributes
    ----------
    t_ns : array
        When the last transmission captured began.
    flow, backward : array
        Number of the connection; whether it was sent from b to a.
    data : array
        Whether it carried data.
    pair : array of object
        "ta ra".
    """

    t_ns: Array
    flow: Array
    backward: Array
    data: Array
    pair: Array

    @classmethod
    def of(cls, trace: Trace) -> _Drops:
        """From `exchanges`."""
        table = trace.table("exchanges")
        flow, last = vector(table.column("flow")), vector(table.column("t_last_ns"))
        kept = np.flatnonzero(enum_mask(table.column("outcome"), ("dropped",)) & (flow != NULL) & (last != NULL))
        table = table.take(kept)
        ta, ra = (encoded(table.column(name)).to_pylist() for name in ("ta", "ra"))
        return cls(
            last[kept],
            flow[kept],
            enum_mask(table.column("direction"), ("b2a",)),
            enum_mask(table.column("tcp_kind"), ("data",)),
            np.array([f"{a} > {b}" for a, b in zip(ta, ra, strict=True)], object),
        )

    def of_connection(self, f: Finding, kinds: Sequence[str]) -> Array:
        """Those with data of a finding's direction, or with ACKs of it."""
        same = self.backward == (f.direction == "b2a")
        mine = (same & self.data & ("data" in kinds)) | (~same & ~self.data & ("ack" in kinds))
        return np.asarray(mine & (self.flow == f.flow))

    def between(self, subject: str) -> Array:
        """Those between the stations of a finding's subject, in either direction: a fade or a burst meets both."""
        named = subject.removeprefix("station ")
        ta, _, ra = named.partition(" > ")
        return np.asarray((self.pair == named) | (self.pair == f"{ra} > {ta}"))
