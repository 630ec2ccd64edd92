from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.finding import Finding, Undecided
from wlanlens.detection.toolkit.air import INFERRED_MOST, Air, attempt_us, chance, normal_tail, poisson_tail
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.rows import key_groups
from wlanlens.formatting import count, duration
from wlanlens.registry import detector
from wlanlens.tables.columns import NULL, Array

if TYPE_CHECKING:
    from wlanlens.trace import Trace

#: Trials whose failure rates are compared with each other only: a rate that drifts from block to block is no burst.
_BLOCK = 256
#: Lost packets in a row that are looked at: two happen where losses are many.
_LONG = 3


@detector("burst_loss", needs=("frames", "exchanges"))
def burst_loss(
    trace: Trace,
    *,
    least_frames_count: int = 200,
    least_fer_share: float = 0.01,
    burst_factor: float = 1.1,
    chance_share: float = 0.001,
    missed_share: float = 0.3,
) -> Iterator[Finding | Undecided]:
    """Frames fail in bursts, so that retries fail with them and packets are lost.

    What it finds
    -------------
    Links on which bad frames follow each other more often than independent errors do: frame error rate (FER), mean and
    longest burst of bad frames, packet loss, mean and longest burst of lost packets, and the two-state channel (Gilbert,
    Elliott) that fits: p from good to bad, r back. The cost is the time of the bad frames (airtime, spaces, backoff that
    doubles) that independent errors, beginning as often, would not have made, or of the packets lost behind the first of
    each burst, if that is more. What TCP then waits is a cost of its own findings.

    Why it happens
    --------------
    A link-layer retry is sent milliseconds after the first attempt. Where the channel stays bad for longer (people who
    move, a microwave oven, a fade), all attempts fail and the packet is lost for TCP; several packets in a row leave it
    without duplicate ACKs, and the timer has to find out.

    How it decides
    --------------
    A frame is bad when the exchange shows that its attempt failed: another attempt followed, or the packet was dropped.
    All MPDUs of one A-MPDU are one trial, bad when at least half of them failed. A burst is a run of bad frames of one
    transmitter to one receiver without a good one between, its retries counted; a burst of lost packets a run of dropped
    MSDUs. The null is errors that are independent, each rate, length class and stretch of 256 frames with its own
    chance: so rate probing, long frames and a drifting link are no bursts. Two bad frames in a row are counted against
    that (the worse of a normal and a Poisson p-value). A link that is dead for longer than such a stretch shows in its lost
    packets: at least three in a row (of one A-MPDU: one), more than independent losses of that share make.
    `least_frames_count`: as many trials, in which 1 % makes two bad frames; `least_fer_share`: FER below 1 % costs too little to matter.
    `burst_factor`: the mean burst is so many times that of independent errors; 802.11b links that TCP got on well with
    had 1.04, those it did not 1.5 to 2, and their way back, whose frames share a burst with the data, from 1.1 on.
    `chance_share`: the largest p-value, of 1000 healthy links one.
    `missed_share`: where the sniffer missed more attempts than this share, or the outcome of as many is not known, runs
    cannot be measured: undecided.

    What fools it
    -------------
    Random loss has bursts, too, of 1 / (1 - FER) on average: it stays silent. A sniffer's own losses are not the link's:
    its bad checksums are told as a value only. Attempts that it missed are entered before the first that it heard.

    References
    ----------
    The study of TCP over bursty 802.11b channels, whose definitions of FER and bursts these are; Gilbert, "Capacity of a
    burst-noise channel", 1960; Elliott, 1963.
    """
    air = Facts.of(trace).cached(Air)
    trials = _trials(air)
    first, length = key_groups(trials.pair)
    found: list[Finding] = []
    blind: list[int] = []
    for a, n in zip(first.tolist(), length.tolist(), strict=True):
        pair, part = int(trials.pair[a]), slice(a, a + n)
        if n < least_frames_count:
            continue
        bad = trials.bad[part]
        known = bad >= 0
        fer = float((bad == 1).sum() / max(1, known.sum()))
        if fer < least_fer_share:
            continue
        if (~known).mean() > missed_share or trials.inferred[part].mean() > missed_share:
            blind.append(pair)
            continue
        bursts, losses = _bursts(trials, part), _losses(air, pair)
        runs = bursts.p_value <= chance_share and bursts.mean >= burst_factor * bursts.mean_by_chance
        if runs or losses.p_value <= chance_share:
            found.append(_finding(air, trials, bursts, losses, runs))
    yield from air.rest("burst_loss", found)
    if blind:
        yield air.undecided(
            "burst_loss",
            blind,
            f"The sniffer missed too many attempts or acknowledgements of {count(len(blind), 'station pair')} to measure "
            "runs of bad frames.",
        )


@dataclass
class _Trials:
    """Frames as trials of the channel, by pair and time: `bad` 1, 0, or -1 not known."""

    pair: Array
    bad: Array
    inferred: Array
    exchange: Array
    packet: Array
    stratum: Array
    took_us: Array


@dataclass
class _Losses:
    """Dropped packets of one pair: how many of those whose fate is known, their runs, and what the runs cost."""

    dropped: Array
    share: float
    mean: float
    longest: int
    p_value: float
    cost_s: float


@dataclass
class _Bursts:
    """What one pair's trials say."""

    pair: int
    part: slice
    trials: int
    bad: int
    bursts: int
    longest: int
    longest_first: int
    longest_last: int
    neighbours: int
    expected: float
    p_value: float
    cost_s: float
    evidence: Array

    @property
    def fer(self) -> float:
        """Frame error rate."""
        return self.bad / self.trials

    @property
    def mean(self) -> float:
        """Mean length of a burst."""
        return self.bad / self.bursts

    @property
    def mean_by_chance(self) -> float:
        """Mean length of a burst of as many independent errors."""
        return self.bad / max(1.0, self.bad - self.expected)


def _trials(air: Air) -> _Trials:
    e, a = air.exchanges, air.attempts
    # Attempts that the sniffer missed stand before the first that it heard, but for one of which it heard the ACK last;
    # those of an A-MPDU are not told apart.
    alone = a.ampdu[e.first] == NULL
    missed = np.repeat(np.arange(len(e)), np.where(alone, np.clip(e.inferred - e.late, 0, INFERRED_MOST), 0))
    late = np.flatnonzero(e.late & alone)
    last = e.first[late] + e.seen[late] - 1
    exchange = np.concatenate((missed, a.exchange, late))
    phase = np.repeat([0, 1, 2], [len(missed), len(a), len(late)])
    packet = np.concatenate((e.first_packet[missed], a.packet, a.packet[last]))
    at = np.lexsort((phase, packet, e.pair[exchange]))
    source = np.concatenate((e.first[missed], np.arange(len(a)), last))[at]
    exchange, phase, packet = exchange[at], phase[at], packet[at]
    pair, ampdu = e.pair[exchange], a.ampdu[source]
    bad = np.where(phase == 0, 1, np.where(phase == 2, 0, a.bad[source]))
    # MPDUs of one A-MPDU stand together.
    new = np.ones(len(at), bool)
    new[1:] = (pair[1:] != pair[:-1]) | (ampdu[1:] != ampdu[:-1]) | (ampdu[1:] == NULL)
    start = np.flatnonzero(new)
    if not len(start):
        start = np.zeros(0, np.int64)
    size = np.diff(np.append(start, len(at)))
    known = np.add.reduceat((bad >= 0).astype(np.int64), start) if len(start) else size
    failed = np.add.reduceat((bad == 1).astype(np.int64), start) if len(start) else size
    # An A-MPDU costs its airtime, and one backoff.
    airtime = np.add.reduceat(np.nan_to_num(a.airtime_us[source]), start) if len(start) else np.zeros(0)
    first = source[start]
    kind = np.nan_to_num(a.rate_mbps[first], nan=0.0) * 64
    length = np.log2(np.maximum(a.mpdu_bytes[first], 1)).astype(np.int64)
    return _Trials(
        pair=pair[start],
        bad=np.where(known == 0, -1, (2 * failed >= known).astype(np.int64)),
        inferred=phase[start] != 1,
        exchange=exchange[start],
        packet=packet[start],
        stratum=kind.astype(np.int64) * 32 + np.where(size > 1, 31, length),
        took_us=attempt_us(airtime, a.rate_mbps[first], a.nth[first]),
    )


def _bursts(trials: _Trials, part: slice) -> _Bursts:
    known = np.flatnonzero(trials.bad[part] >= 0) + part.start
    bad = trials.bad[known] == 1
    chances = _chances(bad, trials.stratum[known])
    both = bad[1:] & bad[:-1]
    each = chances[1:] * chances[:-1]
    neighbours, expected = int(both.sum()), float(each.sum())
    spread = float((each * (1 - chances[1:]) * (1 - chances[:-1])).sum())
    z = float(((bad[1:] - chances[1:]) * (bad[:-1] - chances[:-1])).sum()) / math.sqrt(spread) if spread else 0.0
    first, length = key_groups(bad)
    runs = bad[first]
    longest = np.argmax(np.where(runs, length, 0))
    total, bursts = int(bad.sum()), int(runs.sum())
    by_chance = total / max(1.0, total - expected)
    excess = max(0.0, total - bursts * by_chance)
    wasted = trials.took_us[known][bad]
    order = np.argsort(np.where(runs, -length, 0), kind="stable")[:20]
    return _Bursts(
        pair=int(trials.pair[part.start]),
        part=part,
        trials=len(known),
        bad=total,
        bursts=bursts,
        longest=int(length[longest]),
        longest_first=int(trials.packet[known[first[longest]]]),
        longest_last=int(trials.packet[known[first[longest] + length[longest] - 1]]),
        neighbours=neighbours,
        expected=expected,
        p_value=max(normal_tail(z), poisson_tail(neighbours, expected)),
        cost_s=excess * float(wasted.mean()) / 1e6,
        evidence=np.concatenate([trials.packet[known[first[i] : first[i] + length[i]]] for i in order if runs[i]]),
    )


def _chances(bad: Array, stratum: Array) -> Array:
    """Each trial's chance to be bad: of its kind in its block, drawn towards that of its kind in all."""
    _, kind = np.unique(stratum, return_inverse=True)
    whole = np.bincount(kind, bad) / np.bincount(kind)
    _, cell = np.unique(kind * (len(bad) // _BLOCK + 1) + np.arange(len(bad)) // _BLOCK, return_inverse=True)
    size = np.bincount(cell)
    return np.asarray((np.bincount(cell, bad)[cell] + 4 * whole[kind]) / (size[cell] + 4))


def _losses(air: Air, pair: int) -> _Losses:
    e = air.exchanges
    lo, hi = np.searchsorted(e.pair, [pair, pair + 1])
    settled = np.arange(lo, hi)[e.delivered[lo:hi] | e.dropped[lo:hi]]
    settled = settled[np.argsort(e.t_last_ns[settled], kind="stable")]
    dropped = e.dropped[settled]
    first, length = key_groups(dropped)
    runs = length[dropped[first]] if len(first) else length
    if not len(runs):
        return _Losses(settled[dropped], 0.0, 0.0, 0, 1.0, 0.0)
    # MPDUs that were first sent in one A-MPDU are lost together: one of them counts against chance.
    alone = dropped[e.lead[settled]]
    begin, size = key_groups(alone)
    share, longest = float(alone.mean()), int(size[alone[begin]].max(initial=0))
    # So many runs of that length or more would begin among independent losses.
    by_chance = len(alone) * (1 - share) * share**longest if share < 1 else math.inf
    a, inner = air.attempts, dropped & np.concatenate(([False], dropped[:-1]))
    lost = air.attempts_of(settled[inner])
    return _Losses(
        dropped=settled[dropped],
        share=float(dropped.mean()),
        mean=float(runs.mean()),
        longest=int(runs.max()),
        p_value=min(1.0, by_chance) if longest >= _LONG else 1.0,
        cost_s=float(attempt_us(np.nan_to_num(a.airtime_us[lost]), a.rate_mbps[lost], a.nth[lost]).sum()) / 1e6,
    )


def _finding(air: Air, trials: _Trials, b: _Bursts, losses: _Losses, runs: bool) -> Finding:
    e = air.exchanges
    p, r = b.bursts / max(1, b.trials - b.bad), 1 / b.mean
    # Of n geometric bursts the longest is about so long.
    tail = 1 + math.log(max(b.bursts, 1)) / -math.log(1 - r) if 0 < r < 1 else 1.0
    heard = air.frames.fcs_ok
    resends, packets = air.tcp_resends(losses.dropped)
    cost_s = max(b.cost_s if runs else 0.0, losses.cost_s)
    lost = len(losses.dropped)
    rows = air.frame_at(np.full(2, b.pair >> 48), np.array([b.longest_first, b.longest_last]))
    at_s = [max(0, int(t)) / 1e9 for t in air.frames.t_ns[rows]] if (rows >= 0).all() else [0.0, 0.0]
    values: dict[str, float | int | str] = {
        "fer_share": b.fer,
        "frames_count": b.trials,
        "bad_frames_count": b.bad,
        "bursts_count": b.bursts,
        "mean_burst_packets": b.mean,
        "mean_burst_by_chance_packets": b.mean_by_chance,
        "longest_burst_count": b.longest,
        "longest_burst_from_s": at_s[0],
        "longest_burst_to_s": at_s[1],
        "longest_burst_of_two_states_packets": tail,
        "packet_loss_share": losses.share,
        "lost_packets_count": lost,
        "mean_lost_burst_packets": losses.mean,
        "longest_lost_burst_count": losses.longest,
        "good_to_bad_share": p,
        "bad_to_good_share": r,
        "neighbours_count": b.neighbours,
        "neighbours_by_chance_ratio": b.neighbours / b.expected if b.expected else 0.0,
        "p_value_share": b.p_value,
        "lost_burst_p_value_share": losses.p_value,
        "sniffer_bad_checksum_share": float((heard == 0).sum() / max(1, (heard >= 0).sum())),
        "tcp_retransmissions_count": resends,
    }
    what = f"{b.fer:.1%} of {b.trials} frames failed, in bursts of {b.mean:.2f} on average and up to {b.longest}"
    if runs:
        what += f", where independent errors make {b.mean_by_chance:.2f} ({chance(b.p_value)})"
    if lost:
        what += f"; {count(lost, 'packet was', 'packets were')} lost, up to {losses.longest} in a row"
    if losses.p_value < 1 and not runs:
        what += f", which independent losses do not make ({chance(losses.p_value)})"
    mine = trials.exchange[b.part]
    return air.finding(
        "burst_loss",
        b.pair,
        int(e.t_first_ns[mine].min()),
        int(e.t_last_ns[mine].max()),
        cost_s=cost_s,
        confidence=0.9,
        values=values,
        evidence=b.evidence,
        segments=packets,
        sentence=f"{air.subject(b.pair)}: {what}; the frames too many cost {duration(cost_s)}.",
    )
