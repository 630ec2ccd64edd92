"""Time on the path by link: the USB bus, the air, or the rest of the path, which no capture shows.

With several captures the ledger's category `path` is divided by where the connection's packets were: on the air
(`air_useful`: the transmission that arrived, its acknowledgment and the channel access before it; `air_retries`: from a
packet's first transmission to its last), waiting while others used the air (`air_others`), or on the USB bus (`usb`).

A window or slow start limits nothing while the air is full of the connection's packets: that time is the path's, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.ledger.air import (
    ACCESS_NS,
    IDLE_PART,
    NEVER,
    NONE,
    SIFS_NS,
    TO_THE_END,
    Air,
    access_ns,
    contends,
    numbers_of,
    part,
    rows_of,
    value_at,
)
from wlanlens.ledger.classify import DELAYED_ACK_NS
from wlanlens.ledger.full_links import FullTimes, answered_within, cut_where_full
from wlanlens.ledger.reservations import first_attempts
from wlanlens.ledger.spans import Spans, without_pause
from wlanlens.tables import CATEGORIES, POINTS
from wlanlens.tables.columns import Array, coded, find, integers, known, narrow, numbers_of_texts

if TYPE_CHECKING:
    import pyarrow as pa

#: The time is divided into pieces of this length; inside a piece the order of the categories is lost. A second of a busy
#: channel has a thousand frames: a ledger with an interval for each would be longer than the capture.
PIECE_NS = 100_000_000

#: A sniffer that misses one packet in so many, or fewer, shows when the air was not full.
MISSED_PART = 50

#: From the end of one packet's exchange until the next one waits, which it caused: DIFS, 50 us (802.11b), and as much for hosts and clocks.
TURN_NS = 100_000

#: A host that sends nothing for so long, the shortest delayed ACK of Linux, has nothing in its queue.
PAUSE_NS = 40_000_000

#: The categories in their order inside a piece; the remaining time stays `path`.
_PARTS = ("usb", "air_others", "air_retries", "air_useful", "path")


class LinkLayer:
    """Where the packets of each connection were, from captures of the air and of the bus."""

    def __init__(self, below: Mapping[str, pa.Table], air: Air) -> None:
        links = below["links"]
        names = ("flow", "air_packet", "air_t_ns", "air_last_ns", "usb_packet", "payload_bytes")
        self._links = {name: numbers_of(links, name) for name in names}
        self._links["back"] = coded(links.column("direction"), ("a2b", "b2a")).astype(np.int64)
        self._links["first"] = np.full(links.num_rows, NEVER)
        self._links["latest"] = np.full(links.num_rows, NONE)
        for column in (links.column(f"{point}_t_ns") for point in POINTS):
            if column.null_count < len(column):
                for name, extreme, none in (("first", np.minimum, NEVER), ("latest", np.maximum, NONE)):
                    extreme(self._links[name], integers(column, none), out=self._links[name])
        #: Whether a capture saw it before it was on the air; of one that was not heard there, whether it arrived.
        sender, usb, receiver = (known(links.column(f"{point}_t_ns")) for point in ("sender", "usb", "receiver"))
        self._links["tapped"] = receiver & (sender | usb)
        of_tcp = self._links["flow"] != NONE
        self._links = self._links if of_tcp.all() else rows_of(self._links, of_tcp)
        self._air(below["frames"], air)
        self._urbs = {name: numbers_of(below["urbs"], name) for name in ("ip_packet", "t_submit_ns", "t_complete_ns")}
        # A packet to the host is in a transfer that was submitted long before: only packets from the host count.
        sent = coded(below["urbs"].column("direction"), ("in", "out")) == 1
        self._urbs = rows_of(self._urbs, sent & (self._urbs["ip_packet"] != NONE))
        order = np.argsort(narrow(self._links["flow"]), kind="stable")
        self._links = rows_of(self._links, order)
        # Clocks of captures differ by more than a short frame takes.
        self._links["tapped"] |= self._links["air_begin"] > self._links["first"]
        order = np.argsort(self._urbs["ip_packet"], kind="stable")
        self._urbs = rows_of(self._urbs, order)
        #: Whether its host sent it over the bus.
        self._links["from_usb"] = np.isin(np.arange(len(self._links["first"])), self._transfers(self._links)[0])
        self._links["on_air"] = self._on_air()
        # What each host sent, in order.
        sent = rows_of(self._links, self._links["tapped"])
        order = np.lexsort((sent["first"], sent["source"]))
        self._sent = {name: sent[name][order] for name in ("source", "first")}

    def _air(self, frames: pa.Table, air: Air) -> None:
        self.busy, self.free, shift, mine = air.busy, air.free, air.shift, air.answered
        data = air.length_of(mine["last_packet"])
        # Whoever waits, waits for the idle slots before others' frames, too, and before their copies, however many those are.
        self.used = Spans.of(
            np.append(self.busy.start, air.exchanges.start), np.append(self.busy.end, air.exchanges.end)
        ).joined(ACCESS_NS)
        # The first transmission may be damaged, and then it is in no exchange.
        longest = air.length_of(self._links["air_packet"])
        self._links["air_start"] = self._links["air_t_ns"] - longest * shift
        # An RTS before it that was not answered was an attempt, too.
        rts = first_attempts(frames)
        began = np.where(rts >= 0, (numbers_of(frames, "t_ns") - air.length_of(air.number) * shift)[rts], NEVER)
        at = find(air.number, self._links["air_packet"])
        self._links["tried"] = np.where(at >= 0, began[at], NEVER) if len(began) else np.full(len(at), NEVER)
        self._links["up"] = air.goes_up(self._links["air_packet"])
        # The stations, or hosts behind an access point, between which each frame goes.
        hosts = [numbers_of_texts(frames.column(name)) for name in ("sa", "da")]
        names, codes = np.unique(np.concatenate(hosts), return_inverse=True)
        self._hosts, (source, target) = len(names), np.split(codes, 2)
        self._links["source"] = value_at(air.number, source, self._links["air_packet"])
        self._links["target"] = value_at(air.number, target, self._links["air_packet"])
        # With RTS and CTS before it.
        whole = self.busy.joined(SIFS_NS)
        self._links["air_begin"] = whole.began(self._links["air_start"])
        # Of a transmission whose MAC acknowledgment was not heard, its own end.
        last = np.maximum(self._links["air_last_ns"], self._links["air_t_ns"]) + longest * (1 - shift)
        self._links["air_end"] = np.maximum(
            last, value_at(mine["t_last_ns"], mine["t_ack_ns"], self._links["air_last_ns"])
        )
        self._useful = {
            "flow": mine["flow"],
            "first_packet": mine["first_packet"],
            "first": whole.began(mine["t_first_ns"] - air.length_of(mine["first_packet"]) * shift),
            "start": whole.began(mine["t_last_ns"] - data * shift),
            "end": air.end_of(mine),
        }
        order = np.argsort(self._useful["flow"], kind="stable")
        self._useful = rows_of(self._useful, order)

    def divided(self, flow: int, start: Array, end: Array) -> Array:
        """ns of each category of `_PARTS` in consecutive pieces of time, one row per piece."""
        each = useful, retries, access, waiting, bus = self._of(flow)
        edges = [start, end, *(edge for spans in each for edge in (spans.start, spans.end))]
        bounds = np.unique(np.clip(np.concatenate(edges), start[0], end[-1]))
        low, high = bounds[:-1], bounds[1:]
        piece = np.searchsorted(start, low, side="right") - 1
        inside = low < end[piece]
        low, high, piece = low[inside], high[inside], piece[inside]
        length = high - low
        on_air, retried = useful.holds(low), retries.holds(low)
        on_air |= access.holds(low) & ~retried
        free = ~on_air & ~retried
        others = np.where(free & waiting.holds(low), self.used.inside(low, high), 0)
        on_bus = np.where(free & bus.holds(low), length - others, 0)
        out = np.zeros((len(start), len(_PARTS)), np.int64)
        spent = {
            "usb": on_bus,
            "air_others": others,
            "air_retries": np.where(retried & ~on_air, length, 0),
            "air_useful": np.where(on_air, length, 0),
        }
        for name, values in spent.items():
            np.add.at(out[:, _PARTS.index(name)], piece, values)
        out[:, _PARTS.index("path")] = end - start - out.sum(axis=1)
        return out

    def saw(self, flow: int) -> bool:
        """Whether a packet of a connection was seen on the air or on the bus."""
        rows = part(self._links, flow)
        return bool(((rows["air_t_ns"] != NONE) | (rows["usb_packet"] != NONE)).any())

    def shows_all(self, flow: int) -> bool:
        """Whether the sniffer missed few packets of a connection that arrived, and few passed no tap before the air: they show when it was not full."""
        rows = part(self._links, flow)
        missed = (heard := rows["air_t_ns"] != NONE) != rows["tapped"]
        return bool(heard.any() and missed.sum() * MISSED_PART <= len(missed))

    def full(self, flow: int, back: int) -> FullTimes | None:
        """When the air had a packet of a connection, but for gaps of a tenth of the time before each, until an answer to its first data was back.

        More data could not have been sent faster: data and ACKs share the air, and one waits for the other.
        """
        mine = part(self._links, flow)
        links, before = rows_of(mine, mine["air_t_ns"] != NONE), (self._before_tap(mine), self._at_end(mine))
        # A packet on the bus waits in the station already.
        ready = np.where(links["from_usb"], np.minimum(links["first"], links["on_air"]), links["on_air"])
        begin, end = self._since_answered(links, ready), links["air_end"]
        data = (links["back"] == back) & (links["payload_bytes"] > 0)
        answer = links["back"] != back
        if not data.any() or not answer.any():
            return None
        acks, of_usb = (self._acks_above_tap(mine, some) for some in (True, mine["from_usb"]))
        arrival = np.maximum(end, links["latest"])
        made = np.minimum(links["first"], links["air_begin"])[answer]

        def of(more: tuple[Spans, ...]) -> Spans:
            waits = Spans.of(
                *(np.concatenate(times) for times in ((begin, *(s.start for s in more)), (end, *(s.end for s in more))))
            )
            spans = waits.joined(TURN_NS).joined_over(IDLE_PART)
            whole, _ = answered_within(spans, begin[data], arrival[data], made, arrival[answer])
            return Spans(spans.start[whole], spans.end[whole])

        # A USB adapter takes packets slowly: the queue of its host is above the tap.
        return FullTimes(of((*before, of_usb)), of((*before, acks)))

    def _since_answered(self, links: dict[str, Array], ready: Array) -> Array:
        """Since when each packet waits for the air, `ready`; of one whose host was not captured, since the packet before it, if the channel was idle for
        no longer meanwhile than its access takes; or was hardly ever free, and a station sent it, which did not delay its ACK."""
        begin = ready.copy()
        order = np.argsort(begin, kind="stable")
        b, reach = begin[order][1:], np.maximum.accumulate(links["air_end"][order])[:-1]
        idle, free, gap = self.busy.outside(reach, b), self.free.inside(reach, b), b - reach
        later = rows_of(links, order[1:])
        turn = later["up"] & (free * IDLE_PART <= gap) & ((later["payload_bytes"] > 0) | (gap < DELAYED_ACK_NS))
        waits = ~later["tapped"] & ((idle <= ACCESS_NS) | turn)
        begin[order[1:]] = np.where(waits, np.minimum(b, reach), b)
        return begin

    def _on_air(self) -> Array:
        """Since when each packet waits for the air.

        The least times from a host to the air and from the air to it are the path's own; their sum does not depend on the
        host's clock.
        """
        links = self._links
        raw, (sent, transfer) = links["first"].copy(), self._transfers(links)
        # Until the adapter had it from its host.
        complete = np.minimum(self._urbs["t_complete_ns"][transfer], links["air_begin"][sent])
        raw[sent] = np.maximum(raw[sent], complete)
        heard = links["air_t_ns"] != NONE
        arrived = heard & (links["latest"] > np.maximum(links["air_t_ns"], links["air_last_ns"]))
        none = np.int64(2**62)
        to_air, from_air = np.full(self._hosts + 1, none), np.full(self._hosts + 1, none)
        np.minimum.at(to_air, links["source"][heard], (links["air_begin"] - raw)[heard])
        np.minimum.at(from_air, links["target"][arrived], (links["latest"] - links["air_end"])[arrived])
        to_air[to_air == none] = 0
        from_air = np.where(from_air == none, -to_air, from_air)
        own = np.maximum(0, to_air + from_air - TURN_NS) - from_air
        return np.asarray(np.minimum(raw + own[links["source"]], links["air_begin"]))

    def _before_tap(self, links: dict[str, Array]) -> Spans:
        """From an ACK that reached one that transmits until the next data of its connection passed the tap there: that data had waited in the
        host's own queue, unless the application was idle.
        """
        rows = rows_of(links, links["first"] < NEVER)
        heard = rows["air_t_ns"] != NONE
        # What has not been on the air to the end of the captures is in the queue of its station.
        sent = (heard & rows["tapped"] | self._left(rows)) & (rows["payload_bytes"] > 0)
        arrived = heard & (rows["latest"] > np.maximum(rows["air_t_ns"], rows["air_last_ns"]))
        begin, end = [], []
        for back in (0, 1):
            own = rows["back"] == back
            mine = np.flatnonzero(own | arrived)
            t = np.where(own, rows["first"], rows["latest"])[mine]
            order = np.argsort(t, kind="stable")
            mine, t = mine[order], t[order]
            waits = own[mine][1:] & sent[mine][1:] & ~own[mine][:-1]
            begin.append(t[:-1][waits])
            end.append(t[1:][waits])
        return Spans.of(np.concatenate(begin), np.concatenate(end))

    def _acks_above_tap(self, links: dict[str, Array], some: Array | bool) -> Spans:
        """From data that reached a host until its next packet without data, of some, passed the tap there, behind others: in the host's queue, maybe."""
        begin, end = [], []
        acks = some & links["tapped"] & (links["payload_bytes"] == 0)
        for back in np.unique(links["back"][acks]).tolist():
            own = (links["back"] == back) & acks
            came = (links["back"] != back) & (links["air_begin"] < links["latest"]) & (links["payload_bytes"] > 0)
            mine = np.flatnonzero(own | came)
            t = np.where(own, links["first"], links["latest"])[mine]
            order = np.argsort(t, kind="stable")
            mine, t = mine[order], t[order]
            waits = np.flatnonzero(own[mine][1:] & ~own[mine][:-1])
            for host in np.unique(links["source"][mine[waits + 1]]).tolist():
                low, high = np.searchsorted(self._sent["source"], [host, host + 1])
                sent = self._sent["first"][low:high]
                start, until = t[waits], t[waits + 1]
                behind = without_pause(sent, start, until, PAUSE_NS)
                behind &= links["source"][mine[waits + 1]] == host
                begin.append(start[behind])
                end.append(until[behind])
        return Spans.of(np.concatenate([*begin, links["first"][:0]]), np.concatenate([*end, links["first"][:0]]))

    def _at_end(self, links: dict[str, Array]) -> Spans:
        """Since when packets waited of which none later was on the air, to the end: in a USB adapter if they came that far."""
        over_usb = links["usb_packet"] != NONE
        left = self._left(links) & (over_usb | ~over_usb.any())
        left &= over_usb | (links["first"] == links["latest"])
        since = links["latest"][left]
        return Spans.of(since, np.full(len(since), TO_THE_END))

    def _left(self, links: dict[str, Array]) -> Array:
        """Packets that were not on the air, of which none later was."""
        heard = links["air_t_ns"] != NONE
        last = np.full(2, NONE)
        np.maximum.at(last, links["back"][heard], links["first"][heard])
        before = last[links["back"]]
        return np.asarray(~heard & (before != NONE) & (links["first"] > before))

    def _transfers(self, links: dict[str, Array]) -> tuple[Array, Array]:
        """Packets that their host sent over the bus, and the transfer of each."""
        at = np.searchsorted(self._urbs["ip_packet"], links["usb_packet"])
        hit = np.flatnonzero(at < len(self._urbs["ip_packet"]))
        hit = hit[self._urbs["ip_packet"][at[hit]] == links["usb_packet"][hit]]
        return hit, at[hit]

    def _of(self, flow: int) -> tuple[Spans, Spans, Spans, Spans, Spans]:
        """When packets of one connection were on the air, in retries, at their access to the channel, waiting for the air, and on the bus."""
        links, mine = part(self._links, flow), part(self._useful, flow)
        heard = links["air_t_ns"] != NONE
        out, transfer = self._transfers(links)
        complete = self._urbs["t_complete_ns"][transfer]
        out, transfer, complete = (rows[complete != NONE] for rows in (out, transfer, complete))
        bus = Spans.of(self._urbs["t_submit_ns"][transfer], complete)
        # The wait for the air begins when the adapter has the packet. The adapter may transmit before the host sees the completion.
        ready = links["first"].copy()
        ready[out] = np.minimum(complete, np.maximum(links["air_start"][out], ready[out]))
        aired = rows_of(links, heard)
        # The clock of a capture may be ahead of the sniffer's.
        first, air = self._since_answered(aired, np.minimum(ready, links["on_air"])[heard]), aired["air_t_ns"]
        last = np.where(links["air_last_ns"][heard] == NONE, air, links["air_last_ns"][heard])
        # A USB adapter has a queue of its own, behind the tap: before that nothing waits for the air.
        over_usb = (links["usb_packet"] != NONE).any()
        more = (*(() if over_usb else (self._before_tap(links),)), self._at_end(links))
        waiting = Spans.of(
            np.concatenate((first, *(spans.start for spans in more))),
            np.concatenate((last, *(spans.end for spans in more))),
        )
        begin = mine["first"]
        # At the station, behind the path's own time from the host to that.
        there = self._since_answered(aired, aired["on_air"])
        order = np.argsort(aired["air_packet"], kind="stable")
        own = value_at(aired["air_packet"][order], there[order], mine["first_packet"])
        free, ready = self.busy.ended(begin), np.where(own == 0, begin, np.minimum(own, begin))
        back = value_at(aired["air_packet"][order], aired["back"][order], mine["first_packet"])
        longest = access_ns((begin - free)[ready <= free], back[ready <= free])
        # The host hears of a transfer a while after the adapter has it, and that contends for the channel meanwhile, if it was not long idle.
        unheard = links["air_packet"][out][complete >= links["air_start"][out]]
        ready = np.where(contends(begin - free, np.isin(mine["first_packet"], unheard), longest), free, ready)
        since = np.maximum(np.maximum(free, begin - longest), ready)
        useful, access = Spans.of(mine["start"], mine["end"]), Spans.of(since, begin)
        tried = np.minimum(aired["air_start"], aired["tried"])
        retried = (last > air) | (tried < aired["air_begin"])
        return useful, Spans.of(tried[retried], last[retried]), access, waiting, bus


def divide(
    flow: Array,
    back: Array,
    start: Array,
    end: Array,
    category: Array,
    limited: Array,
    limits: Array,
    below: Mapping[str, pa.Table],
    air: Air,
) -> tuple[Array, Array, Array, Array]:
    """Divide intervals of category `path` by link; of each result the row it comes from, start, end and category.

    Rows are in order of connection, direction and time, and so are the results; no nanosecond is lost. `limited`, `limits`: as in
    `cut_where_full`, where the link is the `air`.
    """
    path = CATEGORIES.index("path")
    origin = np.arange(len(category))
    seen = (below["links"].column(name).null_count for name in ("air_t_ns", "usb_packet"))
    if not (limited | (category == path)).any() or min(seen) == below["links"].num_rows:
        return origin, start, end, category
    link_layer = LinkLayer(below, air)
    for one in np.unique(flow[limits >= 0]).tolist():
        if not link_layer.shows_all(one):
            limits = np.where(flow == one, -1, limits)
    if (limited | (limits >= 0)).any():
        origin, start, end, category = cut_where_full(link_layer, flow, back, start, end, category, limited, limits)
        flow = flow[origin]
    mine = np.flatnonzero(category == path)
    parts = [(row, start[row], end[row], category[row]) for row in (np.flatnonzero(category != path),)]
    breaks = np.flatnonzero((np.diff(flow[mine]) != 0) | (start[mine][1:] < end[mine][:-1])) + 1
    for rows in np.split(mine, breaks):
        if not len(rows):
            continue
        if not link_layer.saw(int(flow[rows[0]])):
            parts.append((rows, start[rows], end[rows], category[rows]))
            continue
        row, a, b = _pieces(rows, start, end)
        lengths = link_layer.divided(int(flow[rows[0]]), a, b)
        until = a[:, None] + np.cumsum(lengths, axis=1)
        at, which = np.nonzero(lengths)
        codes = np.array([CATEGORIES.index(name) for name in _PARTS], category.dtype)
        parts.append((row[at], (until - lengths)[at, which], until[at, which], codes[which]))
    row, a, b, code = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((b, a, row))
    return origin[row[order]], a[order], b[order], code[order]


def _pieces(rows: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:
    """Intervals cut into pieces of at most `PIECE_NS`: row, start and end of each; empty intervals give none."""
    count = -(-(end[rows] - start[rows]) // PIECE_NS)
    row = np.repeat(rows, count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    a = start[row] + nth * PIECE_NS
    return row, a, np.minimum(a + PIECE_NS, end[row])
