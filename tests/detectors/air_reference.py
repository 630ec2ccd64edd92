"""Exchanges, transmissions and trials in NumPy, an operation on whole columns at a time: what the core's must equal."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.air_vectors import TCP_ACK, TCP_DATA, Exchanges, Transmissions
from wlanlens.detection.toolkit.airtime import is_dsss, transmission_us
from wlanlens.detection.toolkit.station_pairs import pair_number
from wlanlens.detection.toolkit.trials import Trials
from wlanlens.tables.columns import NULL, Array, enum_mask, ordered_by, vector

_ACK_NS, _MAX_AIRTIME_NS = 600_000, 12_500_000.0
_NO_DATA = ("management", "control", "null")
_MAX_INFERRED = 32


def exchanges(air: Air, table: pa.Table) -> tuple[Exchanges, Transmissions]:
    ta, ra = (air.number_addresses(table.column(name)) for name in ("ta", "ra"))
    heard, rated = (np.asarray(pc.list_value_length(table.column(c)), np.int64) for c in ("packets", "rates_mbps"))
    t_first, first_packet = vector(table.column("t_first_ns")), vector(table.column("first_packet"))
    keep = (heard > 0) & (heard == rated) & (ta >= 0) & (ra >= 0) & ~air.group_addresses()[ra] & (t_first != NULL)
    keep &= ~enum_mask(table.column("carries"), _NO_DATA)
    capture = air.number_captures(table.column("capture"))
    where = np.flatnonzero(keep)
    pair = pair_number(capture[where], ta[where], ra[where])
    # The numbers of a pair without gaps sort faster than its number.
    stations = len(air.group_addresses())
    group = (capture[where] * stations + ta[where]) * stations + ra[where]
    order = ordered_by(group, first_packet[where])
    where, pair = where[order], pair[order]
    # The lists of packets and rates, in the order of the exchanges.
    begins = (np.cumsum(heard) - heard)[where]
    heard = heard[where]
    first = np.cumsum(heard) - heard
    exchange = np.repeat(np.arange(len(heard)), heard)
    nth = np.arange(len(exchange)) - first[exchange]
    flat = begins[exchange] + nth
    packet = np.asarray(pc.list_flatten(table.column("packets")), np.uint64).astype(np.int64)[flat]
    begins = np.cumsum(rated) - rated
    rates = np.asarray(pc.list_flatten(table.column("rates_mbps")), np.float64)[begins[where][exchange] + nth]
    rates = _positive(rates)

    outcome = table.column("outcome")
    delivered, dropped = (enum_mask(outcome, (word,))[where] for word in ("delivered", "dropped"))
    last = nth == heard[exchange] - 1
    t_last, t_ack = (vector(table.column(name))[where] for name in ("t_last_ns", "t_ack_ns"))
    t_last = np.where(t_last == NULL, t_first[where], t_last)
    row = air.frame_rows(capture[where][exchange], packet)
    known = row >= 0
    lacking, f = not known.all(), air.frames

    def of_frame(values: Array, empty: float) -> Array:
        if not len(values):
            return np.full(len(row), empty)
        return np.where(known, values[row], empty) if lacking else values[row]

    size = of_frame(f.mpdu_bytes, 0).astype(np.int64)
    airtime = of_frame(f.airtime_us, np.nan)
    airtime = np.where(np.isnan(airtime), _estimated_airtime_us(size, rates), airtime)
    # The sniffer may have heard only the ACK of the last transmission: it comes too late for the last one heard.
    answer_ns = np.nan_to_num(airtime[first + heard - 1] * 1e3, nan=_MAX_AIRTIME_NS) + _ACK_NS
    missed_last = delivered & enum_mask(table.column("inferred_by"), ("lone_ack",))[where]
    missed_last &= (t_ack != NULL) & (t_ack - t_last > answer_ns)
    # The transmitter missed the ACK of an earlier transmission: the frame after the last one shows its fate.
    early = np.flatnonzero(delivered & ~missed_last & (t_ack != NULL) & (t_ack < t_last))
    unanswered = early[~_answered(air, row[first + heard - 1][early], ta[where][early], answer_ns[early])]
    delivered_last = delivered & ~missed_last
    delivered_last[unanswered] = False
    settled = np.where(delivered_last, 0, np.where(delivered | dropped, 1, -1))
    bad = np.where(last, settled[exchange], 1)
    made = Transmissions(
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
        heard=heard,
        attempts=attempts,
        inferred=column("attempts_inferred"),
        missed_last=missed_last,
        delivered=delivered,
        dropped=dropped,
        failed=(attempts > 1) | dropped,
        first_heard=of_frame(f.retry, -1)[first] == 0,
        lead=_leads(pair, made.ampdu[first]),
        airtime_us=_or(column("airtime_us"), np.bincount(exchange, airtime, len(first))),
        wasted_us=_or(column("wasted_us"), wasted),
        mpdu_bytes=column("mpdu_bytes"),
        tcp=np.where(data, TCP_DATA, np.where(ack, TCP_ACK, 0)).astype(np.int8),
        udp=enum_mask(carries, ("udp",))[where],
        protected=enum_mask(carries, ("protected",))[where],
        first_packet=first_packet[where],
    ), made


def _answered(air: Air, row: Array, station: Array, within_ns: Array) -> Array:
    """Whether the next frame after each row is an ACK to the station, in time."""
    f = air.frames
    following = np.minimum(row + 1, len(f) - 1)
    answer = (row >= 0) & (following > row) & (f.ta[following] < 0) & (f.ra[following] == station)
    return np.asarray(answer & (f.t_ns[following] - f.t_ns[row] <= within_ns))


def _estimated_airtime_us(size_bytes: Array, rate_mbps: Array) -> Array:
    preamble = np.where(is_dsss(rate_mbps), 192.0, 20.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(preamble + size_bytes * 8 / rate_mbps)


def _leads(pair: Array, ampdu: Array) -> Array:
    """All but the later MPDUs of each A-MPDU of a pair."""
    order = np.flatnonzero(ampdu != NULL)
    whose, number = pair[order], ampdu[order]
    if ((whose[1:] < whose[:-1]) | ((whose[1:] == whose[:-1]) & (number[1:] < number[:-1]))).any():
        sort = np.lexsort((number, whose))
        order, whose, number = order[sort], whose[sort], number[sort]
    same = (number[1:] == number[:-1]) & (whose[1:] == whose[:-1])
    out = np.ones(len(pair), bool)
    out[order[1:][same]] = False
    return out


def _positive(values: Array) -> Array:
    """NaN for values that no radio has: zero, negative or infinite."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _or(values: Array, others: Array) -> Array:
    return np.where(np.isnan(values), others, values)


def trials(air: Air) -> Trials:
    """Every transmission as a trial: those that the sniffer missed precede the first that it heard."""
    e, a = air.exchanges, air.transmissions
    # MPDUs of an A-MPDU are not told apart, so those missed are not counted.
    alone = a.ampdu[e.first] == NULL
    missed = np.repeat(np.arange(len(e)), np.where(alone, np.clip(e.inferred - e.missed_last, 0, _MAX_INFERRED), 0))
    # If only the ACK of the last transmission was heard, it follows the others.
    late = np.flatnonzero(e.missed_last & alone)
    last = e.first[late] + e.heard[late] - 1
    exchange = np.concatenate((missed, a.exchange, late))
    phase = np.repeat([0, 1, 2], [len(missed), len(a), len(late)])
    packet = np.concatenate((e.first_packet[missed], a.packet, a.packet[last]))
    # Exchanges are in order of pair.
    of_pair = np.cumsum(np.diff(e.pair, prepend=e.pair[:1]) != 0)
    order = np.lexsort((phase, packet, of_pair[exchange]))
    source = np.concatenate((e.first[missed], np.arange(len(a)), last))[order]
    exchange, phase, packet = exchange[order], phase[order], packet[order]
    pair, ampdu = e.pair[exchange], a.ampdu[source]
    bad = np.where(phase == 0, 1, np.where(phase == 2, 0, a.bad[source]))
    new = np.ones(len(order), bool)
    new[1:] = (pair[1:] != pair[:-1]) | (ampdu[1:] != ampdu[:-1]) | (ampdu[1:] == NULL)
    start = np.flatnonzero(new) if len(new) else np.zeros(0, np.int64)
    size = np.diff(np.append(start, len(order)))
    known = np.add.reduceat((bad >= 0).astype(np.int64), start) if len(start) else size
    failed = np.add.reduceat((bad == 1).astype(np.int64), start) if len(start) else size
    # An A-MPDU costs its airtime and one backoff.
    airtime = np.add.reduceat(np.nan_to_num(a.airtime_us[source]), start) if len(start) else np.zeros(0)
    first = source[start]
    took = a.took_us[first]
    several = np.flatnonzero(size > 1)
    took[several] = transmission_us(airtime[several], a.rate_mbps[first[several]], a.nth[first[several]])
    rate = np.nan_to_num(a.rate_mbps[first], nan=0.0) * 64
    length = np.log2(np.maximum(a.mpdu_bytes[first], 1)).astype(np.int64)
    return Trials(
        pair=pair[start],
        bad=np.where(known == 0, -1, (2 * failed >= known).astype(np.int64)),
        inferred=phase[start] != 1,
        exchange=exchange[start],
        packet=packet[start],
        stratum=rate.astype(np.int64) * 32 + np.where(size > 1, 31, length),
        took_us=took,
    )
