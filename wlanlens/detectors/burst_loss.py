from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    Air,
    Bursts,
    Facts,
    Finding,
    LostRuns,
    Trials,
    Undecided,
    bad_frame_bursts,
    bursty_pairs,
    channel_trials,
    count,
    duration,
    key_groups,
    lost_packet_runs,
    p_value_text,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector(
    "burst_loss",
    needs=("frames", "exchanges"),
    saving="failures",
    remedy=Remedy(
        "Channel: remove the source of the bursts (microwave oven, other radio, a moving obstacle), change the "
        "channel or band, or move the antennas. Station and access point: more retries spread over a longer "
        "time, and a lower rate at once after a failure.",
        "capture the air again: bad frames follow each other as often as independent errors would.",
    ),
)
def burst_loss(
    trace: Trace,
    *,
    least_frames_count: int = 200,
    least_fer_share: float = 0.01,
    burst_factor: float = 1.1,
    chance_share: float = 0.001,
    reverse_chance_share: float = 0.01,
    missed_share: float = 0.3,
    block_count: int = 256,
    long_run_packets: int = 3,
) -> Iterator[Finding | Undecided]:
    """Frames fail in bursts, so retries fail too and packets are lost.

    What it finds
    -------------
    Links on which bad frames follow each other more often than independent errors do: frame error rate (FER), packet
    loss, mean and longest burst of bad frames and of lost packets, and the two-state channel (Gilbert, Elliott) that fits:
    p from good to bad, r back. The cost is the larger of two airtimes with their overhead: the bad frames beyond those of
    independent errors that begin as often, and the packets lost after the first of each burst. TCP's recovery is part of
    other findings.

    Why it happens
    --------------
    A link-layer retry follows within milliseconds. If the channel stays bad for longer (people who move, a microwave oven,
    a fade), all transmissions fail and TCP loses the packet; after several losses in a row no duplicate ACKs come, and
    TCP waits for its timer.

    How it decides
    --------------
    A frame is bad when its exchange shows that the transmission failed: a retry followed, or the packet was dropped.
    All MPDUs of one A-MPDU are one trial, bad when at least half of them failed. A burst is a run of bad frames from one
    transmitter to one receiver, retries included; a burst of lost packets is a run of dropped MSDUs. Under the null
    hypothesis errors are independent, with a failure rate for each bit rate, length class and block of frames: so rate
    probing, long frames and a drifting link are no bursts. The p-value of the number of bad neighbours is normal, and no
    less than a Poisson one where fewer than ten are expected. A link that is dead for longer than a block shows in a run of lost packets that
    independent losses do not make (A-MPDUs count as one packet).
    `least_frames_count`: trials; 1 % of 200 makes two bad frames. `least_fer_share`: a lower FER costs little.
    `burst_factor`: the mean burst over that of independent errors; 802.11b links on which TCP did well had 1.04, the
    others 1.5 to 2, and their reverse direction from 1.1.
    `chance_share`: the largest p-value; one of 1000 healthy links.
    `reverse_chance_share`: the same where the reverse direction, on the same channel, has bursts.
    `missed_share`: where the sniffer missed more, or more outcomes are unknown, it is undecided.
    `block_count`: frames within which failure rates are compared.
    `long_run_packets`: shortest run of lost packets that is judged; runs of two are frequent.

    What fools it
    -------------
    Random loss has bursts of 1 / (1 - FER) on average: it stays silent. Frames that the sniffer lost are not the link's
    losses. Transmissions that it missed are placed before the first that it heard.

    References
    ----------
    The study of TCP over bursty 802.11b channels, which defines FER and bursts so; Gilbert, "Capacity of a burst-noise
    channel", 1960; Elliott, 1963.
    """
    facts = Facts.of(trace)
    air, tried = facts.cached(Air), facts.cached(channel_trials)
    bursts: dict[int, Bursts] = {}
    losses: dict[int, LostRuns] = {}
    unmeasured: list[int] = []
    first, lengths = key_groups(tried.pair)
    often = lengths >= least_frames_count
    for start, length in zip(first[often].tolist(), lengths[often].tolist(), strict=True):
        pair, part = int(tried.pair[start]), slice(start, start + length)
        known = tried.bad[part] >= 0
        fer = float((tried.bad[part] == 1).sum() / max(1, known.sum()))
        if fer < least_fer_share:
            continue
        if (~known).mean() > missed_share or tried.inferred[part].mean() > missed_share:
            unmeasured.append(pair)
            continue
        bursts[pair] = bad_frame_bursts(tried, part, block_count)
        losses[pair] = lost_packet_runs(air, pair, long_run_packets)
    bursty = bursty_pairs(bursts, burst_factor, chance_share, reverse_chance_share)
    found = [
        _finding(air, tried, b, losses[pair], pair in bursty)
        for pair, b in bursts.items()
        if pair in bursty or losses[pair].p_value <= chance_share
    ]
    yield from air.costliest("burst_loss", found)
    if unmeasured:
        yield air.undecided(
            "burst_loss",
            unmeasured,
            f"The sniffer missed too many transmissions or ACKs of {count(len(unmeasured), 'station pair')} to measure "
            "runs of bad frames.",
        )


def _finding(air: Air, tried: Trials, b: Bursts, losses: LostRuns, runs: bool) -> Finding:
    e, heard = air.exchanges, air.frames.fcs_ok
    p, r, fer = b.bursts / max(1, b.trials - b.bad), 1 / b.mean, b.bad / b.trials
    # The expected longest of n geometric bursts.
    longest = 1 + math.log(max(b.bursts, 1)) / -math.log(1 - r) if 0 < r < 1 else 1.0
    again = air.tcp_retransmissions(losses.dropped)
    cost_s = max(b.cost_s if runs else 0.0, losses.cost_s)
    lost = len(losses.dropped)
    rows = air.frame_rows(np.full(2, b.pair >> 48), np.array(b.longest_ends))
    from_s, to_s = [max(0, int(t)) / 1e9 for t in air.frames.t_ns[rows]] if (rows >= 0).all() else [0.0, 0.0]
    what = f"{100 * fer:.1f} % of {b.trials} frames failed, in bursts of {b.mean:.2f} on average, at most {b.longest}"
    if runs:
        what += f", where independent errors give {b.mean_by_chance:.2f} ({p_value_text(b.p_value)})"
    if lost:
        what += f"; {count(lost, 'packet was', 'packets were')} lost, at most {losses.longest} in a row"
    if losses.p_value < 1 and not runs:
        what += f", which independent losses do not explain ({p_value_text(losses.p_value)})"
    mine = tried.exchange[b.part]
    return air.finding(
        "burst_loss",
        b.pair,
        int(e.t_first_ns[mine].min()),
        int(e.t_last_ns[mine].max()),
        cost_s=cost_s,
        confidence=0.9,
        values={
            "fer_share": fer,
            "frames_count": b.trials,
            "bad_frames_count": b.bad,
            "bursts_count": b.bursts,
            "mean_burst_packets": b.mean,
            "mean_burst_by_chance_packets": b.mean_by_chance,
            "longest_burst_count": b.longest,
            "longest_burst_from_s": from_s,
            "longest_burst_to_s": to_s,
            "longest_burst_of_two_states_packets": longest,
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
            "tcp_retransmissions_count": len(again),
        },
        evidence=b.evidence,
        segments=again,
        sentence=f"{air.subject(b.pair)}: {what}; the extra frames cost {duration(cost_s)}.",
    )
