"""Losses with a pattern: slow start overshooting a buffer, periodic losses, and cwnd reduced more than once in one loss episode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding, Value
from wlanlens.simulation.ground_truth._columns import NEVER, Array, Rows, events, packets

if TYPE_CHECKING:
    from wlanlens.simulation.config import Tcp
    from wlanlens.simulation.ground_truth import Truth

CODES = ("startup_overflow", "periodic_loss", "repeated_fast_retransmit")

#: Fates of a packet dropped at a full queue.
_FULL = ("device_queue", "mac_queue", "wire_queue")
#: A router that drops early (RED) refuses a packet for the same queue before it is full.
_REFUSED = (*_FULL, "early_drop")
#: Least losses in the first window that make a run; least losses that make a period.
_RUN, _TICKS = 3, 5
#: Duplicate ACKs that TCP takes for a loss.
_DUPACKS = 3
#: Slow start grows the flight by half each round trip at least, with delayed ACKs: this share of the flight is two thirds.
_GROWN = 0.7
#: A loss may happen at any time of a spell. With fewer spells of an eighth of the period (9 pairs of events, four widths, twice as
#: many periods as events are tried), chance explains the period, unless the losses were closer: they need not be found.
_SPELLS = 8


def findings(facts: Truth) -> list[Finding]:
    """`startup_overflow`, `periodic_loss` and `repeated_fast_retransmit` of each direction with losses."""
    found: list[Finding] = []
    for way in _ways(facts):
        found += way.startup_overflow()
        found += way.periodic_loss()
        found += way.repeated_fast_retransmit()
    return found


def _ways(facts: Truth) -> Iterator[_Way]:
    rows, none = packets(facts), np.zeros(0, np.int64)
    lost = np.flatnonzero(rows["lost"] & (rows["len_bytes"] > 0))
    did: dict[int, list[dict[str, Any]]] = {}
    for e in events(facts):
        did.setdefault(2 * e["flow"] + (e["direction"] == "b2a"), []).append(e)
    cut = {way for way, rest in did.items() if any(e["what"] == "recovery_began" for e in rest)}
    for way in sorted(cut.union(rows["way"][lost].tolist())):
        if facts.world.flows[way >> 1].tcp is None:
            continue
        there, back = rows.ways.get(way, none), rows.ways.get(way ^ 1, none)
        data, acks = there[rows["len_bytes"][there] > 0], back[rows["delivered"][back]]
        direction = "b2a" if way & 1 else "a2b"
        yield _Way(facts, way >> 1, direction, Rows(rows, data), Rows(rows, acks), did.get(way, []))


class _Cut(NamedTuple):
    """A reduction of cwnd: its time, the highest byte sent before, and whether the tap had seen the segment that caused it, and whether
    that arrived."""

    t_ns: int
    point: int
    seen: bool


class _Way:
    """One direction's data, the ACKs that reached its sender, and what the sender did."""

    def __init__(
        self,
        facts: Truth,
        flow: int,
        direction: str,
        data: Rows,
        acks: Rows,
        events: list[dict[str, Any]],
    ) -> None:
        self.facts, self.flow, self.direction, self.data, self.events = facts, flow, direction, data, events
        order = np.argsort(acks["t_end_ns"], kind="stable")
        self.ack_ns = acks["t_end_ns"][order]
        self.acked = np.maximum.accumulate(acks["rel_ack"][order]) if len(order) else acks["rel_ack"]
        self.end = data["end"]
        self.last_ns = int(max(data["t_end_ns"].max(initial=0), self.ack_ns.max(initial=0)))

    def reached_ns(self, byte: int) -> int:
        """Time at which everything below this byte was acknowledged; the end of the run if never."""
        at = int(np.searchsorted(self.acked, byte))
        return int(self.ack_ns[at]) if at < len(self.ack_ns) else self.last_ns

    def known_at(self, t_ns: int) -> int:
        """The highest byte acknowledged at this time."""
        at = int(np.searchsorted(self.ack_ns, t_ns, side="right")) - 1
        return int(self.acked[at]) if at >= 0 else 0

    def sent_to(self, t_ns: int) -> int:
        """The highest byte sent before this time."""
        return int(self.end[self.data["t_made_ns"] < t_ns].max(initial=0))

    def lost(self) -> Array:
        """Positions of lost copies that left their host, in order of sending."""
        d = self.data
        return np.flatnonzero(d["lost"] & (d["t_tap_ns"] != NEVER))

    def finding(
        self, code: str, start: int, end: int, cost_s: float, values: dict[str, Value], sentence: str
    ) -> Finding:
        """The findings of this direction."""
        return Finding(
            code=code,
            t_start_ns=start,
            t_end_ns=max(start, end),
            capture="sender.pcap",
            subject=self.facts.subject(self.flow, self.direction),
            severity="serious" if cost_s > 1 else "warning",
            confidence=1.0,
            cost_s=max(0.0, cost_s),
            values=values,
            sentence=sentence,
            flow=self.flow,
            direction=self.direction,
        )

    def startup_overflow(self) -> Iterator[Finding]:
        """Three or more first transmissions found a full queue before the sender's first reaction to a loss.

        Slow start: a round trip before, less was outstanding by more than the two segments that one ACK releases. It need not be
        found where that was nearly as much (`_GROWN`), where most were dropped early (RED) by a queue that was not full, where other
        flows filled the queue too (less than half of the data on the path was its own), where the initial window alone did: then
        no round trip shows how empty the queue had been, or where the sender had retransmitted fewer than three of them by the
        end of the run: nothing shows that the others were lost.
        """
        d = self.data
        reactions = [e["t_ns"] for e in self.events if e["what"] in ("timeout", "recovery_began") and e["rel_seq"]]
        lost = self.lost()
        if not reactions or not len(lost):
            return
        reaction = int(min(reactions))
        early = lost[(d["t_made_ns"][lost] < reaction) & (d["copy"][lost] == 0)]
        refused = early[np.isin(d["fate"][early], _REFUSED)]
        if len(refused) < _RUN or 2 * len(refused) < len(early):
            return
        full = refused[np.isin(d["fate"][refused], _FULL)]
        now, before = self._flights(int(refused[0]))
        if before > now - 2 * int(d["len_bytes"][early[0]]):
            return
        start, end = int(d["t_tap_ns"][early[0]]), self.reached_ns(int(self.end[early].max()))
        arrived = d["delivered"] & (d["t_end_ns"] > start) & (d["t_end_ns"] <= reaction)
        wait_s = (end - reaction) / 1e9
        pace = float(d["len_bytes"][arrived].sum()) / ((reaction - start) / 1e9)
        news = self.known_at(end) - self.known_at(reaction)
        cost_s = wait_s - news / pace if pace > 0 else wait_s
        found = self.finding(
            "startup_overflow",
            start,
            end,
            cost_s,
            {"losses_count": len(early)},
            "The first window overshot a buffer.",
        )
        again = d["rel_seq"][(d["copy"] > 0) & (d["t_tap_ns"] != NEVER)]
        clear = len(full) >= _RUN and 2 * len(full) >= len(early)
        clear = clear and before <= _GROWN * now and self._own_queue(int(d["t_end_ns"][full[0]]))
        clear = clear and int(np.isin(d["rel_seq"][early], again).sum()) >= _RUN
        yield found if clear else replace(found, confidence=MAY_BE_MISSED)

    def _flights(self, lost: int) -> tuple[int, int]:
        """Bytes outstanding when a segment was made, itself included, and a round trip before: before the first byte outstanding
        now was sent."""
        d, made = self.data, int(self.data["t_made_ns"][lost])
        now = int(self.end[lost]) - self.known_at(made)
        known = self.known_at(made)
        sent = d["t_made_ns"][(self.end >= known) & (d["copy"] == 0)]
        earlier = int(sent.min()) if len(sent) else made
        return now, max(0, self.sent_to(earlier) - self.known_at(earlier))

    def _own_queue(self, t_ns: int) -> bool:
        """Whether data had been acknowledged, and at least half of the data on the path in this direction was this flow's. What a full
        queue refused was never in it."""
        p, d = packets(self.facts), self.data
        # Of two connections through one queue, one may have been opened from either end.
        ends = np.array([(flow.client, flow.server) for flow in self.facts.world.flows])
        same = ends[p["flow"], p["back"].astype(np.int64)] == ends[self.flow, int(self.direction == "b2a")]
        here, own = (
            (t["t_tap_ns"] != NEVER) & (t["t_tap_ns"] <= t_ns) & (t["t_end_ns"] > t_ns) & ~np.isin(t["fate"], _FULL)
            for t in (p, d)
        )
        here &= same
        return self.known_at(t_ns) > 1 and 2 * int(d["len_bytes"][own].sum()) >= int(p["len_bytes"][here].sum())

    def periodic_loss(self) -> Iterator[Finding]:
        """Five or more ticks of one periodic cause at which a loss event began, which hit at least every second time and begin
        at least half of all loss events; if its spells have a length, fewer than eight need not be found. A loss
        that is not repaired by the end of the run is unknown.
        """
        d = self.data
        lost = self.lost()
        lost = lost[self.end[lost] <= self.known_at(self.last_ns)]
        if len(lost) < _TICKS:
            return
        event = self._events(lost)
        starts = lost[np.flatnonzero(np.concatenate(([True], event[1:] != event[:-1])))]
        best: tuple[int, int, Array, bool] | None = None
        for begin, every, lasts, fates in _clocks(self.facts):
            since = d["t_end_ns"][starts] - begin
            struck = (since >= 0) & np.isin(d["fate"][starts], fates)
            # A tick without length hits the next packet.
            struck &= (since % every <= lasts) if lasts else True
            # Further losses within one tick belong to its first loss.
            ticks, first = np.unique(since[struck] // every, return_index=True)
            often = len(ticks) >= _TICKS and 2 * len(ticks) >= ticks[-1] - ticks[0] + 1
            if often and 2 * len(ticks) >= len(starts) and (best is None or len(ticks) > best[0]):
                best = len(ticks), every, np.flatnonzero(struck)[first], not lasts or len(ticks) >= _SPELLS
        if best is None:
            return
        number, every, which, shows = best
        mine = starts[which]
        found = self.finding(
            "periodic_loss",
            int(d["t_tap_ns"][mine[0]]),
            int(d["t_tap_ns"][mine[-1]]),
            self._late_ns(mine) / 1e9,
            {"period_s": every / 1e9, "events_count": number},
            "A clock of the network makes losses.",
        )
        yield found if shows else replace(found, confidence=MAY_BE_MISSED)

    def _events(self, lost: Array) -> Array:
        """Numbers of loss events: losses sent before the first of the event was retransmitted belong to it."""
        d = self.data
        later: dict[int, list[int]] = {}
        for seq, made in zip(d["rel_seq"].tolist(), d["t_made_ns"].tolist(), strict=True):
            later.setdefault(seq, []).append(made)
        event, number, known = np.zeros(len(lost), np.int64), -1, NEVER
        for i, p in enumerate(lost.tolist()):
            made = int(d["t_made_ns"][p])
            if number < 0 or made >= known:
                number += 1
                known = min((t for t in later[int(d["rel_seq"][p])] if t > made), default=2**62)
            event[i] = number
        return event

    def _late_ns(self, positions: Array) -> int:
        """Delay of the ACKs of lost segments beyond the usual."""
        d = self.data
        once = np.flatnonzero((d["copy"] == 0) & d["delivered"] & (d["t_tap_ns"] != NEVER))
        usual = int(np.median(self._answered(once) - d["t_tap_ns"][once])) if len(once) else 0
        return int(np.maximum(self._answered(positions) - d["t_tap_ns"][positions] - usual, 0).sum())

    def _answered(self, positions: Array) -> Array:
        at = np.searchsorted(self.acked, self.end[positions])
        return np.concatenate((self.ack_ns, [self.last_ns]))[at]

    def repeated_fast_retransmit(self) -> Iterator[Finding]:
        """A fast retransmission of data sent before cwnd was last reduced, or, without SACK, of the next byte, which arrived, after three
        spurious retransmissions: these cause the duplicate ACKs; or a timeout of a sender that left fast recovery at a partial ACK.
        Consecutive reductions are one case, which begins with the reduction before them. It need not be found where the first copy of a
        segment that caused one was lost before the tap, or is under way at the end, nor where only spurious retransmissions show that it is
        one, and neither SACK nor timestamps show these."""
        chain: list[_Cut] = []
        cut: _Cut | None = None
        fast: int | None = None
        for e in sorted(self.events, key=lambda e: e["t_ns"]):
            t = int(e["t_ns"])
            if e["what"] in ("timeout_undone", "recovery_undone"):
                cut = None
            if e["what"] not in ("timeout", "recovery_began"):
                continue
            seq, began = int(e["rel_seq"]), e["what"] == "recovery_began"
            shown = cut is None or seq != cut.point or (self._tcp is not None and self._tcp.timestamps)
            now = _Cut(t, self.sent_to(t), self._seen(seq, t) and shown)
            if cut is not None and (self._again(seq, t, cut) if began else self._unanswered(seq, t, cut, fast)):
                chain = [*(chain or [cut]), now]
            else:
                yield from self._chain(chain)
                chain = []
            cut, fast = now, seq if began else None
        yield from self._chain(chain)

    @property
    def _tcp(self) -> Tcp | None:
        return self.facts.world.flows[self.flow].tcp

    def _seen(self, seq: int, t_ns: int) -> bool:
        """Whether a copy of the segment made before a time passed the tap, and arrived or was lost."""
        d = self.data
        return bool(
            ((d["rel_seq"] == seq) & (d["t_made_ns"] < t_ns) & (d["t_tap_ns"] != NEVER) & ~d["under_way"]).any()
        )

    def _unanswered(self, seq: int, t_ns: int, cut: _Cut, fast: int | None) -> bool:
        """Whether a timeout is for a segment that a partial ACK had shown, and that the sender had not retransmitted since."""
        since, point, _ = cut
        tcp = self._tcp
        if fast is None or tcp is None or tcp.sack or not fast < seq < point:
            return False
        d = self.data
        between = (d["copy"] > 0) & (d["t_made_ns"] > since) & (d["t_made_ns"] < t_ns) & (d["rel_seq"] != fast)
        # With new data in its place: a sender that sends nothing may still be in fast recovery.
        new = (d["copy"] == 0) & (d["t_made_ns"] >= self.reached_ns(seq)) & (d["t_made_ns"] < t_ns)
        return bool(new.any() and not between.any())

    def _again(self, seq: int, t_ns: int, cut: _Cut) -> bool:
        since, point, _ = cut
        tcp = self._tcp
        # A sender with SACK counts segments that arrived, not duplicate ACKs.
        if seq != point or tcp is None or tcp.sack:
            return seq < point
        d = self.data
        arrived = d["delivered"] & (d["t_made_ns"] < t_ns)
        if not ((arrived | d["under_way"]) & (d["rel_seq"] == seq) & (d["t_made_ns"] < t_ns)).any():
            return False
        again = np.flatnonzero((d["copy"] > 0) & (d["t_made_ns"] >= since) & (d["t_made_ns"] < t_ns))
        spurious = [i for i in again if (arrived & (d["rel_seq"] == d["rel_seq"][i]))[:i].any()]
        return len(spurious) >= _DUPACKS

    def _chain(self, chain: list[_Cut]) -> Iterator[Finding]:
        if not chain:
            return
        start, (last, point, _) = chain[0].t_ns, chain[-1]
        expiries = [int(e["t_ns"]) for e in self.events if e["what"] == "timeout" and int(e["t_ns"]) > last]
        end = min([self.reached_ns(point), *expiries])
        found = self.finding(
            "repeated_fast_retransmit",
            start,
            end,
            (end - chain[1].t_ns) / 1e9,
            {"cwnd_reductions_count": len(chain)},
            "cwnd was reduced again for data sent before it was reduced.",
        )
        yield found if all(cut.seen for cut in chain) else replace(found, confidence=MAY_BE_MISSED)


def _clocks(facts: Truth) -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
    """Periodic causes of this world: first time, period, length, and the fates of the packets hit."""
    world = facts.world

    def clock(first_s: float, every_s: float, lasts_s: float, fates: tuple[str, ...]) -> Any:
        return round(first_s * 1e9), round(every_s * 1e9), round(lasts_s * 1e9), fates

    for node in world.nodes:
        yield from (clock(first, every, 0.0, ("router",)) for first, every, _ in node.drops_s if every > 0)
    for wire in world.wires:
        yield from (clock(first, every, lasts, ("wire",)) for first, lasts, _, every in wire.bursts_s if every > 0)
        yield from (clock(*even, ("wire",)) for even in _even(wire.blackouts_s))
    if world.cell is None:
        return
    for station in world.cell.stations:
        yield from (clock(first, every, lasts, _FULL) for first, lasts, every in station.stalls_s if every > 0)
        yield from (clock(first, every, lasts, ("air",)) for first, lasts, _, every in station.fades_s if every > 0)
    for path in world.cell.paths:
        yield from (clock(first, every, lasts, ("air",)) for first, lasts, _, every in path.fades_s if every > 0)
        yield from (clock(*even, ("air",)) for even in _even(path.blackouts_s))


def _even(spans: tuple[tuple[float, float], ...]) -> Iterator[tuple[float, float, float]]:
    """First time, period and length of periodic spells; nothing for others."""
    starts = np.array([start for start, _ in spans])
    if len(starts) >= _TICKS and np.ptp(np.diff(starts)) < 1e-6:
        yield float(starts[0]), float(np.diff(starts).mean()), max(lasts for _, lasts in spans)
