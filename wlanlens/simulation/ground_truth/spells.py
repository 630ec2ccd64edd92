"""Errors in bursts, and signal fades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from wlanlens.detection.finding import MAY_BE_MISSED, Finding
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.ground_truth._columns import Array, among, numbers
from wlanlens.simulation.ground_truth._frames import Attempts, attempts, runs
from wlanlens.simulation.ground_truth.air import made

#: Codes decided here.
CODES = ("burst_loss", "signal_fade")

#: As in the detectors.
_LEAST_FRAMES, _LEAST_FER, _BURST, _BLOCK, _LOST = 200, 0.01, 1.1, 256, 3
#: Least number of failures in spells, and their least share of all failures.
_LEAST_BAD, _SPELLS = 10, 0.2
#: Chance makes an excess of so many standard deviations in one of 30 000 pairs, and as few runs of losses.
_SIGMAS, _RARE = 4.0, 3e-5
_DROP_DB, _LEAST_LOW, _FACTOR, _LEAST_FAILED = 10.0, 5, 2.0, 3
_AROUND_NS, _SHORTEST_NS, _SURE_NS = 1_000_000_000, 100_000_000, 200_000_000


def findings(facts: Truth) -> list[Finding]:
    """For each pair of stations."""
    if facts.world.cell is None or not facts.frames.num_rows:
        return []
    a = attempts(facts)
    return [*_bursts(facts, a), *_fades(facts, a)]


def _bursts(facts: Truth, a: Attempts) -> Iterator[Finding]:
    """Pairs whose transmissions failed in longer runs than independent errors make, because of damage in spells.

    Independent: for each rate and each 256 frames. The cost is the time of the extra transmissions, or of the packets lost
    after the first of each burst, if that is more. A pair with half of such damage need not be found, nor is it silent; nor one
    whose runs chance may make, or that lost packets in a row to noise alone, which varies where a station or its paths move.
    """
    for pair in a.pairs():
        mine = a.of(*pair)
        bad = a.bad[mine]
        total = int(bad.sum())
        if len(mine) < _LEAST_FRAMES or total < max(1.0, _LEAST_FER * len(mine)):
            continue
        spells = int(a.spell[mine].sum())
        chances = _chances(bad, a.rate_mbps[mine])
        expected = float((chances[1:] * chances[:-1]).sum())
        number = len(runs(bad)[0])
        by_chance = total / max(1.0, total - expected)
        longer = total / number / by_chance - 1
        ends = mine[a.last[mine]]
        first, length = runs(~a.done[ends])
        in_spell = np.isin(a.packet[ends], a.packet[mine[a.spell[mine]]])
        longest = runs(~a.done[ends] & in_spell)[1].max(initial=0)

        def shown(share: float, longer: float = longer, spells: int = spells, total: int = total) -> bool:
            return longer >= share * (_BURST - 1) and spells >= share * max(_LEAST_BAD, _SPELLS * total)

        in_runs, dead = shown(1.0), longest >= _LOST and spells >= _LEAST_BAD
        if not in_runs and not dead and not shown(0.5) and length.max(initial=0) < _LOST:
            continue
        wasted_us = max(0.0, total - number * by_chance) * float(a.took_us(mine[bad]).mean())
        behind = [p for b, n in zip(first, length, strict=True) for p in a.packet[ends[b + 1 : b + n]]]
        lost_us = float(a.took_us(mine[np.isin(a.packet[mine], behind)]).sum())
        found = made(
            facts,
            "burst_loss",
            pair,
            (a.end_ns[mine[0]], a.end_ns[mine[-1]]),
            max(wasted_us if in_runs else 0.0, lost_us) / 1e6,
            f"{total} of {len(mine)} frames failed in {number} bursts.",
            fer_share=total / len(mine),
            mean_burst_packets=total / number,
            longest_burst_count=int(runs(bad)[1].max()),
            lost_packets_count=int((~a.done[ends]).sum()),
        )
        clear = in_runs and _excess(bad, chances) >= _SIGMAS
        clear |= bool(dead and _expected_runs(~a.done[ends], int(longest)) <= _RARE)
        yield found if clear else replace(found, confidence=MAY_BE_MISSED)


def _excess(bad: Array, chances: Array) -> float:
    """Failures directly after a failure beyond those of independent errors, in standard deviations."""
    spread = float((chances[1:] * chances[:-1] * (1 - chances[1:]) * (1 - chances[:-1])).sum())
    return float(((bad[1:] - chances[1:]) * (bad[:-1] - chances[:-1])).sum()) / spread**0.5 if spread else 0.0


def _expected_runs(lost: Array, longest: int) -> float:
    """The expected number of runs of at least this length among independent losses."""
    share = float(lost.mean())
    return len(lost) * (1 - share) * share**longest


def _chances(bad: Array, rate: Array) -> Array:
    """Each transmission's probability of failure: that of its rate in its 256 frames, shrunk towards that of its rate overall."""
    _, kind = np.unique(rate, return_inverse=True)
    whole = np.bincount(kind, bad) / np.bincount(kind)
    _, cell = np.unique(kind * (len(bad) // _BLOCK + 1) + np.arange(len(bad)) // _BLOCK, return_inverse=True)
    return np.asarray((np.bincount(cell, bad)[cell] + 4 * whole[kind]) / (np.bincount(cell)[cell] + 4))


def _fades(facts: Truth, a: Attempts) -> Iterator[Finding]:
    """Fades of a station by 10 dB or more on all its paths at once, in which frames from or to it failed.

    Multipath fading differs on each path: the sniffer does not measure what the receiver does. From the first to the last
    of the station's frames in the fade; the cost is the throughput missing in it, compared with that around it. Where the signal
    is low for half of the time, that is the usual one: such fades need not be found, nor those of a signal that is near the noise
    already, nor those that fill none of the tenths of a second over which a signal is taken.
    """
    f = facts.frames
    cell = facts.world.cell
    if cell is None:
        return
    end = numbers(f["t_end_ns"])
    spells = [_spells_ns(one.fades_s, int(end.max())) for one in cell.stations]
    if not any(spells):
        return
    station, receiver = numbers(f["station"]), numbers(f["to"])
    by_fade = among(f["damaged_by"], "fade")
    # Frames with a transmitter address.
    clear = among(f["kind"], "data")
    for s, fades in enumerate(spells):
        own = end[(station == s) & clear]
        mine = (a.station == s) | (a.to == s)
        inside = np.zeros(len(a.end_ns), bool)
        for start, stop in fades:
            inside |= (a.end_ns >= start) & (a.end_ns < stop)
        outside = float(a.bad[mine & ~inside].mean()) if (mine & ~inside).any() else 0.0
        usual = 2 * sum(stop - start for start, stop in fades) >= end.max()
        weak = cell.stations[s].signal_dbm - cell.noise_dbm < _DROP_DB
        hit = end[by_fade & ((station == s) | (receiver == s))]
        for start, stop in fades:
            low = own[(own >= start) & (own < stop)]
            within = mine & (a.end_ns >= start) & (a.end_ns < stop)
            failed = int(((hit >= start) & (hit < stop)).sum())
            if len(low) < _LEAST_LOW or low[-1] - low[0] < _SHORTEST_NS or failed < _LEAST_FAILED:
                continue
            if a.bad[within].mean() < _FACTOR * outside:
                continue
            span = int(low[0]), int(low[-1])
            sends = within & (a.station == s)
            whose = sends if sends.any() else within
            names, times = np.unique(np.stack((a.station[whose], a.to[whose])), axis=1, return_counts=True)
            pair = names[:, times.argmax()].tolist()
            found = made(
                facts,
                "signal_fade",
                (pair[0], pair[1]),
                span,
                _missing_s(a, mine, span),
                f"The signal faded and {failed} frames failed.",
                failed_count=failed,
            )
            yield replace(found, confidence=MAY_BE_MISSED) if usual or weak or span[1] - span[0] < _SURE_NS else found


def _spells_ns(fades_s: tuple[tuple[float, float, float, float], ...], end_ns: int) -> list[tuple[int, int]]:
    """Start and end of each time in which a fade of some depth lasts, or several that overlap."""
    out = []
    for start, lasts, depth_db, every in fades_s:
        count = 1 + (int((end_ns / 1e9 - start) / every) if every > 0 and end_ns / 1e9 > start else 0)
        if depth_db >= _DROP_DB:
            out += [(int((start + k * every) * 1e9), int((start + k * every + lasts) * 1e9)) for k in range(count)]
    merged: list[tuple[int, int]] = []
    for start_ns, stop_ns in sorted(out):
        if merged and start_ns <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], stop_ns)
        elif start_ns < end_ns:
            merged.append((start_ns, min(stop_ns, end_ns)))
    return merged


def _missing_s(a: Attempts, mine: Array, span: tuple[int, int]) -> float:
    """Length of a spell times the share of throughput that is missing in it, compared with the time around it."""
    done = mine & a.last & a.done
    t, size = a.end_ns[done], a.bytes[done] + 88
    length = span[1] - span[0]
    reach = max(length, _AROUND_NS)
    low, high = max(int(a.end_ns[mine].min()), span[0] - reach), min(int(a.end_ns[mine].max()), span[1] + reach)

    def arrived(start: int, stop: int) -> float:
        return float(size[(t >= start) & (t < stop)].sum())

    around_ns = max(0, span[0] - low) + max(0, high - span[1])
    around = arrived(low, span[0]) + arrived(span[1], high)
    if not around or not around_ns:
        return 0.0
    return max(0.0, 1 - arrived(*span) / length / (around / around_ns)) * length / 1e9
