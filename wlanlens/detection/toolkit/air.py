"""The air as detectors ask for it: exchanges of station pairs and their single attempts, as vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wlanlens.detection.finding import Finding, Undecided, Value
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import MAX_EVIDENCE_ROWS, costliest, make_finding
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.formatting import count, duration
from wlanlens.tables.columns import NULL, Array, enum_mask, vector

if TYPE_CHECKING:
    import pyarrow as pa

#: An exchange's inferred attempts that are entered into a sequence: above any retry limit that devices use.
INFERRED_MOST = 32

#: Rates of the DSSS and CCK PHYs, Mbit/s: their slot is 20 us and their ACKs are slow.
_DSSS = (1.0, 2.0, 5.5, 11.0)

#: What an attempt costs beside its own airtime, us. DSSS with long preamble: DIFS 50, SIFS 10, an ACK at 2 Mbit/s 248.
#: OFDM: DIFS 34, SIFS 16, an ACK at 24 Mbit/s 28.
DSSS_OVERHEAD_US, OFDM_OVERHEAD_US = 308.0, 78.0
#: An ACK comes no later behind its frame, ns: SIFS, the ACK at 1 Mbit/s, and as much again for stamps.
_ANSWER_NS = 600_000
#: Airtime of a frame of which nothing is known, ns: 1500 bytes at 1 Mbit/s.
_LONGEST_NS = 12_500_000.0
#: Preambles, us, for an estimate of the airtime where the table has none.
_DSSS_PREAMBLE_US, _OFDM_PREAMBLE_US = 192.0, 20.0
#: Slot and smallest contention window of both (IEEE 802.11-2020 Tables 15-7, 16-4 and 17-21); the largest is 1023.
DSSS_SLOT_US, OFDM_SLOT_US, DSSS_CW, OFDM_CW, CW_MOST = 20.0, 9.0, 32, 16, 1024

#: Carried by frames that say nothing of how data fare.
_NO_DATA = ("management", "control", "null")

T = TypeVar("T", bound="_Columns")


class _Columns:
    """Vectors of one length; subclasses are dataclasses of arrays."""

    def take(self: T, which: Array) -> T:
        """Some of the rows, by mask or position."""
        return type(self)(**{f.name: getattr(self, f.name)[which] for f in fields(self)})  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]


@dataclass
class Frames(_Columns):
    """Rows of `frames` in order of capture and record. `ta` and `ra` are numbers of addresses, -1 unknown."""

    capture: Array
    packet: Array
    t_ns: Array
    ta: Array
    ra: Array
    retry: Array
    fcs_ok: Array
    ampdu: Array
    streams: Array
    width_mhz: Array
    signal_dbm: Array
    airtime_us: Array
    mpdu_bytes: Array


@dataclass
class Exchanges(_Columns):
    """MSDUs sent from one station to another, by pair and time; those with no attempt seen are left out.

    `late`: the attempt that arrived was missed; only its ACK was heard, after the attempts seen had failed.
    `first` and `seen` say where the attempts stand in `Air.attempts`; `lead` is False for all but one of the MPDUs
    that were first sent in one A-MPDU; `failed` says that the first attempt failed.
    """

    pair: Array
    t_first_ns: Array
    t_last_ns: Array
    t_ack_ns: Array
    first: Array
    seen: Array
    attempts: Array
    inferred: Array
    late: Array
    delivered: Array
    dropped: Array
    failed: Array
    first_seen: Array
    lead: Array
    airtime_us: Array
    wasted_us: Array
    mpdu_bytes: Array
    tcp: Array
    udp: Array
    protected: Array
    first_packet: Array


@dataclass
class Attempts(_Columns):
    """Attempts seen, in the order of `Air.exchanges`: `bad` 1 failed, 0 acknowledged, -1 not known."""

    exchange: Array
    packet: Array
    t_ns: Array
    nth: Array
    bad: Array
    rate_mbps: Array
    streams: Array
    width_mhz: Array
    airtime_us: Array
    mpdu_bytes: Array
    signal_dbm: Array
    ampdu: Array


class Air:
    """What was on the air: `frames`, `exchanges` and their `attempts`.

    A pair is one number: capture, transmitter and receiver; see `pair_of`, `reverse` and `subject`.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._captures: dict[str, int] = {}
        self.frames = self._read_frames()
        self.exchanges, self.attempts = self._read_exchanges()

    # Reading.

    def _read_frames(self) -> Frames:
        table = self._facts.trace.table("frames")
        capture, packet = self._number(table.column("capture"), self._captures), vector(table.column("packet"))
        self._frame_key = (capture << 40) + packet
        made = Frames(
            capture=capture,
            packet=packet,
            t_ns=vector(table.column("t_ns")),
            ta=self._addresses(table.column("ta")),
            ra=self._addresses(table.column("ra")),
            retry=vector(table.column("retry")),
            fcs_ok=vector(table.column("fcs_ok")),
            ampdu=vector(table.column("ampdu")),
            streams=_positive(_floats(table.column("streams"))),
            width_mhz=_positive(_floats(table.column("width_mhz"))),
            signal_dbm=_floats(table.column("signal_dbm")),
            airtime_us=vector(table.column("airtime_us")),
            mpdu_bytes=vector(table.column("mpdu_bytes")),
        )
        if (self._frame_key[1:] < self._frame_key[:-1]).any():
            order = np.argsort(self._frame_key, kind="stable")
            self._frame_key, made = self._frame_key[order], made.take(order)
        return made

    def _read_exchanges(self) -> tuple[Exchanges, Attempts]:
        import pyarrow.compute as pc

        table = self._facts.trace.table("exchanges")
        ta, ra = self._addresses(table.column("ta")), self._addresses(table.column("ra"))
        group = np.array([int(name[1], 16) % 2 == 1 for name in self._names] + [False], bool)
        seen, rated = (np.asarray(pc.list_value_length(table.column(c)), np.int64) for c in ("packets", "rates_mbps"))
        t_first, first_packet = vector(table.column("t_first_ns")), vector(table.column("first_packet"))
        keep = (seen > 0) & (seen == rated) & (ta >= 0) & (ra >= 0) & ~group[ra] & (t_first != NULL)
        keep &= ~enum_mask(table.column("carries"), _NO_DATA)
        capture = self._number(table.column("capture"), self._captures)
        where = np.flatnonzero(keep)
        pair = _pair(capture[where], ta[where], ra[where])
        order = np.lexsort((first_packet[where], pair))
        where, pair = where[order], pair[order]
        # Attempts seen, in the order of the exchanges.
        stands = (np.cumsum(seen) - seen)[where]
        seen = seen[where]
        first = np.cumsum(seen) - seen
        exchange = np.repeat(np.arange(len(seen)), seen)
        nth = np.arange(len(exchange)) - first[exchange]
        flat = stands[exchange] + nth
        packet = np.asarray(pc.list_flatten(table.column("packets")), np.uint64).astype(np.int64)[flat]
        starts = np.cumsum(rated) - rated
        rates = np.asarray(pc.list_flatten(table.column("rates_mbps")), np.float64)[starts[where][exchange] + nth]
        rates = _positive(rates)

        outcome = table.column("outcome")
        delivered, dropped = (enum_mask(outcome, (word,))[where] for word in ("delivered", "dropped"))
        last = nth == seen[exchange] - 1
        t_last, t_ack = (vector(table.column(name))[where] for name in ("t_last_ns", "t_ack_ns"))
        t_last = np.where(t_last == NULL, t_first[where], t_last)
        row = self.frame_at(capture[where][exchange], packet)
        known = row >= 0
        lacking, f = not known.all(), self.frames

        def of_frame(values: Array, empty: float) -> Array:
            if not len(values):
                return np.full(len(row), empty)
            return np.where(known, values[row], empty) if lacking else values[row]

        size = of_frame(f.mpdu_bytes, 0).astype(np.int64)
        airtime = of_frame(f.airtime_us, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            about = np.where(is_dsss(rates), _DSSS_PREAMBLE_US, _OFDM_PREAMBLE_US) + size * 8 / rates
        airtime = np.where(np.isnan(airtime), about, airtime)
        # Of an attempt that was missed only the ACK may have been heard: it comes too late for the last one seen.
        answer_ns = np.nan_to_num(airtime[first + seen - 1] * 1e3, nan=_LONGEST_NS) + _ANSWER_NS
        late = delivered & enum_mask(table.column("inferred_by"), ("lone_ack",))[where]
        late &= (t_ack != NULL) & (t_ack - t_last > answer_ns)
        # The ACK of an earlier attempt was lost on its way to the sender: what became of the last one shows behind it.
        early = np.flatnonzero(delivered & ~late & (t_ack != NULL) & (t_ack < t_last))
        missed = early[~self._answered(row[first + seen - 1][early], ta[where][early], answer_ns[early])]
        delivered_last = delivered & ~late
        delivered_last[missed] = False
        settled = np.where(delivered_last, 0, np.where(delivered | dropped, 1, -1))
        bad = np.where(last, settled[exchange], 1)
        made = Attempts(
            exchange=exchange,
            packet=packet,
            t_ns=of_frame(f.t_ns, NULL).astype(np.int64),
            nth=nth,
            bad=bad,
            rate_mbps=rates,
            streams=of_frame(f.streams, np.nan),
            width_mhz=of_frame(f.width_mhz, np.nan),
            airtime_us=airtime,
            mpdu_bytes=size,
            signal_dbm=of_frame(f.signal_dbm, np.nan),
            ampdu=of_frame(f.ampdu, NULL).astype(np.int64),
        )

        def column(name: str) -> Array:
            return vector(table.column(name))[where]

        attempts = column("attempts")
        carries, kind = table.column("carries"), table.column("tcp_kind")
        data, ack = (enum_mask(kind, (word,))[where] for word in ("data", "ack"))
        wasted = np.bincount(exchange, np.where(bad == 1, airtime, 0.0), len(first))
        return Exchanges(
            pair=pair,
            t_first_ns=t_first[where],
            t_last_ns=t_last,
            t_ack_ns=t_ack,
            first=first,
            seen=seen,
            attempts=attempts,
            inferred=column("attempts_inferred"),
            late=late,
            delivered=delivered,
            dropped=dropped,
            failed=(attempts > 1) | dropped,
            first_seen=of_frame(f.retry, -1)[first] == 0,
            lead=_leads(pair, made.ampdu[first]),
            airtime_us=_or(column("airtime_us"), np.bincount(exchange, airtime, len(first))),
            wasted_us=_or(column("wasted_us"), wasted),
            mpdu_bytes=column("mpdu_bytes"),
            tcp=np.where(data, 1, np.where(ack, 2, 0)).astype(np.int8),
            udp=enum_mask(carries, ("udp",))[where],
            protected=enum_mask(carries, ("protected",))[where],
            first_packet=first_packet[where],
        ), made

    def _answered(self, row: Array, station: Array, within_ns: Array) -> Array:
        """Whether the frame behind one is an answer to a station that comes in time."""
        f = self.frames
        behind = np.minimum(row + 1, len(f) - 1)
        answer = (row >= 0) & (behind > row) & (f.ta[behind] < 0) & (f.ra[behind] == station)
        return np.asarray(answer & (f.t_ns[behind] - f.t_ns[row] <= within_ns))

    def _number(self, column: pa.ChunkedArray, book: dict[str, int]) -> Array:
        """Numbers for a text column, -1 for null."""
        parts = [np.zeros(0, np.int64)]
        for chunk in column.chunks:
            words = chunk.dictionary.to_pylist()
            numbers = np.array([book.setdefault(word, len(book)) for word in words] + [-1], np.int64)
            codes = chunk.indices.fill_null(len(words)) if chunk.indices.null_count else chunk.indices
            parts.append(numbers[np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)])
        return np.concatenate(parts)

    def _addresses(self, column: pa.ChunkedArray) -> Array:
        numbers = self._number(column, self._numbers)
        self._names = list(self._numbers)
        return numbers

    # Asking.

    def frame_at(self, capture: Array, packet: Array) -> Array:
        """Rows of `frames` by capture and record; -1 where there is none."""
        if not len(self._frame_key):
            return np.full(len(packet), -1, np.int64)
        key = (capture << 40) + packet
        row = np.minimum(np.searchsorted(self._frame_key, key), len(self._frame_key) - 1)
        return np.where(self._frame_key[row] == key, row, -1)

    def pairs(self, which: Exchanges | None = None) -> list[tuple[int, slice]]:
        """Each pair and where its exchanges stand."""
        pair = (which or self.exchanges).pair
        first, length = key_groups(pair)
        return [(int(pair[a]), slice(int(a), int(a + n))) for a, n in zip(first, length, strict=True)]

    def ta(self, pair: int) -> int:
        """Number of the transmitter of a pair."""
        return (int(pair) >> 24) & 0xFFFFFF

    def ra(self, pair: int) -> int:
        """Number of the receiver of a pair."""
        return int(pair) & 0xFFFFFF

    def reverse(self, pair: int) -> int:
        """The pair of the other direction."""
        return int(_pair(int(pair) >> 48, self.ra(pair), self.ta(pair)))

    def address(self, number: int) -> str:
        """An address by its number."""
        return self._names[number]

    def subject(self, pair: int) -> str:
        """ "station 02:.. > 02:.." of a pair."""
        return f"station {self.address(self.ta(pair))} > {self.address(self.ra(pair))}"

    def capture(self, pair: int) -> str:
        """The capture's name of a pair."""
        return list(self._captures)[int(pair) >> 48]

    def missed_share(self, which: Array) -> float:
        """Share of the attempts of some exchanges that the sniffer missed, as far as it shows."""
        total = int(self.exchanges.attempts[which].sum())
        return int(self.exchanges.inferred[which].sum()) / total if total else 0.0

    def attempts_of(self, which: Array) -> Array:
        """Positions in `attempts` of some exchanges, in order."""
        e = self.exchanges
        first, seen = e.first[which], e.seen[which]
        return np.repeat(first - (np.cumsum(seen) - seen), seen) + np.arange(int(seen.sum()))

    def tcp_resends(self, which: Array) -> tuple[int, list[int]]:
        """TCP segments of dropped exchanges that TCP sent again, and the records of those retransmissions."""
        trace, e = self._facts.trace, self.exchanges
        if not len(which) or not trace.has("segments"):
            return 0, []
        rows = self._facts.rows("segments", ["packet", "rel_seq"], where={"kind": ("data",)})
        again = self._facts.rows("segments", ["packet", "rel_seq"], where={"transmission": ("retransmission",)})
        if not len(again):
            return 0, []
        lost = rows.take(np.isin(rows["packet"], e.first_packet[which]))
        # The next retransmission of the same bytes behind each lost copy, by one sort of both.
        key = np.concatenate((again.key, lost.key))
        seq, packet = (np.concatenate((again[name], lost[name])) for name in ("rel_seq", "packet"))
        resent = np.arange(len(key)) < len(again)
        order = np.lexsort((packet, seq, key))
        key, seq, packet, resent = key[order], seq[order], packet[order], resent[order]
        following = np.where(resent, np.arange(len(key)), len(key))
        following = np.minimum.accumulate(following[::-1])[::-1]
        here = np.flatnonzero(~resent & (following < len(key)))
        there = following[here]
        same = (key[there] == key[here]) & (seq[there] == seq[here])
        packets = np.unique(packet[there[same]])
        return len(packets), [int(p) for p in packets]

    # Saying.

    def finding(
        self,
        code: str,
        pair: int,
        t_start_ns: int,
        t_end_ns: int,
        *,
        cost_s: float,
        confidence: float,
        values: Mapping[str, Value],
        evidence: Iterable[int],
        sentence: str,
        of: str = "",
        segments: Iterable[int] = (),
    ) -> Finding:
        """A finding about a station pair. The filter shows the pair's frames, or those `of`, over the evidence's span."""
        numbers = sorted({int(p) for p in evidence})
        ta, ra = self.address(self.ta(pair)), self.address(self.ra(pair))
        who = of or f"wlan.ta == {ta} && wlan.ra == {ra}"
        duration_ns = self._facts.trace.duration_ns
        end_ns = min(int(t_end_ns), duration_ns) if duration_ns else int(t_end_ns)
        return make_finding(
            code=code,
            t_start_ns=int(t_start_ns),
            t_end_ns=max(int(t_start_ns), end_ns),
            capture=self.capture(pair),
            subject=self.subject(pair),
            cost_s=min(cost_s, duration_ns / 1e9) if duration_ns else cost_s,
            lifetime_s=(end_ns - int(t_start_ns)) / 1e9,
            confidence=confidence,
            values=values,
            evidence={"frames": numbers, "segments": segments},
            sentence=sentence,
            display_filter=f"{who} && frame.number >= {numbers[0]} && frame.number <= {numbers[-1]}",
        )

    def rest(self, code: str, found: Sequence[Finding]) -> Iterator[Finding]:
        """The costliest findings, and one that sums up those beyond `FINDINGS_MOST`."""
        listed, others = costliest(np.array([f.cost_s for f in found]))
        yield from (found[i] for i in listed.tolist())
        if not len(others):
            return
        more = [found[i] for i in others.tolist()]
        cost_s = sum(f.cost_s for f in more)
        shown = [row for f in more[:MAX_EVIDENCE_ROWS] for row in f.rows("frames")[:1]]
        pairs = len({f.subject for f in more})
        yield make_finding(
            code=code,
            t_start_ns=min(f.t_start_ns for f in more),
            t_end_ns=max(f.t_end_ns for f in more),
            capture=more[0].capture,
            subject=count(pairs, "more station pair"),
            cost_s=min(cost_s, self._facts.trace.duration_ns / 1e9),
            lifetime_s=self._facts.trace.duration_ns / 1e9,
            confidence=0.9,
            values={"cases_count": len(more), "pairs_count": pairs},
            evidence={"frames": shown},
            sentence=(
                f"{count(len(more), 'more case')} of {count(pairs, 'station pair')}, each cheaper than those listed, cost "
                f"{duration(cost_s)} in all."
            ),
        )

    def undecided(self, code: str, pairs: list[int], sentence: str) -> Undecided:
        """Pairs of which this capture cannot tell."""
        return Undecided(code, sentence, count=len(pairs), subject=self.subject(pairs[0]) if len(pairs) == 1 else "")


def _pair(capture: Any, ta: Any, ra: Any) -> Any:
    return (capture << 48) + (ta << 24) + ra


def _leads(pair: Array, ampdu: Array) -> Array:
    """All but the later MPDUs of each A-MPDU of a pair."""
    inside = np.flatnonzero(ampdu != NULL)
    order = inside[np.lexsort((ampdu[inside], pair[inside]))]
    same = (ampdu[order][1:] == ampdu[order][:-1]) & (pair[order][1:] == pair[order][:-1])
    out = np.ones(len(pair), bool)
    out[order[1:][same]] = False
    return out


def _positive(values: Array) -> Array:
    """NaN for what no radio does: nothing, less, or without end."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _or(values: Array, others: Array) -> Array:
    return np.where(np.isnan(values), others, values)


def _floats(column: pa.ChunkedArray) -> Array:
    """A column of whole numbers as floats, NaN for null."""
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)


def is_dsss(rate_mbps: Array) -> Array:
    """Whether rates are those of the DSSS and CCK PHYs."""
    return np.isin(rate_mbps, _DSSS)


def attempt_us(airtime_us: Array, rate_mbps: Array, nth: Array) -> Array:
    """Time that attempts take of the air with all that belongs to them: inter-frame spaces, the ACK (or its absence)
    and the mean backoff before the nth attempt (from 0), whose window doubles (IEEE 802.11-2020 10.3.3)."""
    slow = is_dsss(rate_mbps)
    window = np.where(slow, DSSS_CW, OFDM_CW) * 2.0 ** np.minimum(nth, 10)
    backoff = np.where(slow, DSSS_SLOT_US, OFDM_SLOT_US) * (np.minimum(window, CW_MOST) - 1) / 2
    return np.asarray(airtime_us + np.where(slow, DSSS_OVERHEAD_US, OFDM_OVERHEAD_US) + backoff)


def steady_us(airtime_us: float, rate_mbps: float, success: float, limit: int) -> float:
    """Mean time a delivered MSDU would take at one steady rate with this chance of success, up to `limit` attempts."""
    n = np.arange(max(1, limit))
    reached = (1 - success) ** n
    each = attempt_us(np.full(len(n), airtime_us), np.full(len(n), rate_mbps), n)
    arrives = 1 - (1 - success) ** len(n)
    return float((reached * each).sum() / arrives) if arrives > 0 else math.inf


def poisson_tail(count: float, mean: float) -> float:
    """P(X >= count) of a Poisson variable."""
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    if mean > 200:
        return normal_tail((count - 0.5 - mean) / math.sqrt(mean))
    logs = -mean + np.arange(int(count)) * math.log(mean) - _log_factorials(int(count))
    if count <= mean:
        return float(max(0.0, 1.0 - np.exp(logs).sum()))
    n = np.arange(int(count), int(count) + 200)
    tail = -mean + n * math.log(mean) - _log_factorials(int(count) + 200)[int(count) :]
    return float(min(1.0, np.exp(tail).sum()))


def binomial_tail(count: int, trials: int, chance: float) -> float:
    """P(X >= count) of a binomial variable."""
    if count <= 0:
        return 1.0
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    n = np.arange(count, trials + 1)
    f = _log_factorials(trials + 1)
    logs = f[trials] - f[n] - f[trials - n] + n * math.log(chance) + (trials - n) * math.log1p(-chance)
    return float(min(1.0, np.exp(logs).sum()))


def normal_tail(z: float) -> float:
    """P(Z >= z) of a standard normal variable."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def _log_factorials(n: int) -> Array:
    """ln k! for k below n."""
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, max(n, 1))))))[:n]


def chance(p: float) -> str:
    """A p-value in words: "p = 0.003", "p < 1e-9"."""
    return "p < 1e-9" if p < 1e-9 else f"p = {p:.1g}"
