"""Clock trials: align each scenario with wrong clocks at its taps, and judge clocks and links against the truth.

The same seed is simulated twice, with wrong clocks and with perfect ones. Both captures of a tap hold the same packets,
so the second gives the true time of each row of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.alignment import align
from wlanlens.alignment.clock_map import ClockMap, Piece
from wlanlens.capture.capture import Capture
from wlanlens.capture.capture import open as open_capture
from wlanlens.correlation.combined_tables import CombinedTables
from wlanlens.correlation.packet_index import PacketIndex
from wlanlens.errors import AlignmentError
from wlanlens.pipeline.open_captures import open_captures
from wlanlens.simulation.config import TapClock
from wlanlens.simulation.scenario import find
from wlanlens.simulation.simulate import EPOCH_NS, simulate
from wlanlens.simulation.temporary_folder import run_folder, temporary_folder
from wlanlens.simulation.worker_pool import sweep
from wlanlens.tables.columns import Array
from wlanlens.validation.validate import chosen

if TYPE_CHECKING:
    import pyarrow as pa


HOUR_NS = 3_600_000_000_000
DRIFT_PPM, MISSED_SHARE = 200.0, 0.05
TICKS_NS = (1_000, 1_000_000)

#: Steps from the smallest that NTP makes to those of a wrong battery clock.
STEP_NS_LEAST, STEP_NS_MOST = 1_000_000, 10_000_000_000

#: Long enough for every continuous scenario to span the minute that drift needs.
DURATION_S, JUDGED_S = 70.0, 60.0

#: No simulated packet is in flight for longer, and no IP id repeats sooner: beyond it, two rows are different packets.
_UNDER_WAY_NS = 50_000_000_000


@dataclass(frozen=True)
class Trial:
    """One run: a scenario and a seed, which also draws the clocks."""

    scenario: str
    seed: int
    duration_s: float = DURATION_S
    folder: str = ""


@dataclass(frozen=True)
class ClockScore:
    """One fitted clock compared with the true one.

    Attributes
    ----------
    capture, reference : str
        Taps.
    ticks_ns : tuple of int
        Resolution of the reference and of the capture.
    step_ns : int
        Step of one of the two clocks; 0: none.
    steps : int
        Number of steps found.
    pairs : int
    span_s : float
        From the first common packet to the last.
    errors_ns, bounds_ns : tuple of int
        For each piece with a bound: error of its offset at `at_ns`, and its bound.
    most_error_ns, most_bound_ns : int
        The same for the worst of all common rows.
    two_way_ns : int or None
        Least true sum of delays of two neighbouring packets in opposite directions; None: one direction only.
    bound_ratio : float
        The largest bound divided by that delay in its piece plus a tick of each clock.
    drift_error_ppm, drift_bound_ppm, drift_stated_ppm : float or None
        Error of the drift, its bound, and its stated standard error.
    """

    capture: str
    reference: str
    ticks_ns: tuple[int, int]
    step_ns: int
    steps: int
    pairs: int
    span_s: float
    errors_ns: tuple[int, ...]
    bounds_ns: tuple[int, ...]
    most_error_ns: int
    most_bound_ns: int
    two_way_ns: int | None
    bound_ratio: float
    drift_error_ppm: float
    drift_bound_ppm: float | None
    drift_stated_ppm: float | None

    @property
    def inside(self) -> bool:
        """Whether the true offset lies inside every bound."""
        return all(e <= b for e, b in zip(self.errors_ns, self.bounds_ns, strict=True))

    @property
    def inside_throughout(self) -> bool:
        """Whether it does at every row between the first and the last pair."""
        return self.most_error_ns <= self.most_bound_ns


@dataclass(frozen=True)
class TrialScore:
    """The result of one run.

    Attributes
    ----------
    trial : Trial
    clocks : tuple of ClockScore
    shared, linked, wrong : int
        Packets captured at two taps, linked ones, and links of two different packets.
    refused : str
        Why the captures could not be aligned; else "".
    """

    trial: Trial
    clocks: tuple[ClockScore, ...] = ()
    shared: int = 0
    linked: int = 0
    wrong: int = 0
    refused: str = ""


def trials(
    scenarios: Iterable[str] = (),
    *,
    seeds: Sequence[int] = range(1, 6),
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[TrialScore]:
    """Each scenario with each seed, in order of completion. `progress` is called with (finished, all)."""
    names = chosen("scenarios", scenarios)
    with temporary_folder("clocks") as place:
        wanted = [Trial(name, seed, folder=str(place)) for seed in seeds for name in names]
        tell = None if progress is None else lambda done: progress(done, len(wanted))
        with closing(sweep(tried, wanted, workers=workers, progress=tell, within=place)) as results:
            for _, found in results:
                yield found


def clocks_of(trial: Trial) -> dict[str, TapClock]:
    """The wrong clocks of a trial: any offset within an hour, any drift within 200 ppm, timestamps of 1 us or 1 ms, and in
    every second run one step at one tap."""
    rng = np.random.default_rng((trial.seed, *trial.scenario.encode()))
    taps = find(trial.scenario).make({"duration_s": trial.duration_s}).world().taps
    made = {
        tap: TapClock(
            offset_ns=int(rng.integers(-HOUR_NS, HOUR_NS)),
            drift_ppm=float(rng.uniform(-DRIFT_PPM, DRIFT_PPM)),
            tick_ns=int(rng.choice(TICKS_NS)),
            missed_share=MISSED_SHARE,
        )
        for tap in taps
    }
    tap, sign = str(rng.choice(taps)), int(rng.choice((-1, 1)))
    size_ns = int(np.exp(rng.uniform(np.log(STEP_NS_LEAST), np.log(STEP_NS_MOST))))
    at_s = float(rng.uniform(0.1, 0.9) * trial.duration_s)
    if rng.random() < 0.5:
        made[tap] = replace(made[tap], step_at_s=at_s, step_ns=sign * size_ns)
    return made


def tried(trial: Trial) -> TrialScore:
    """Simulate, align and judge one run; its files are removed."""
    with run_folder(trial.folder) as folder:
        wrong = clocks_of(trial)
        exact = {tap: TapClock(tick_ns=1, missed_share=clock.missed_share) for tap, clock in wrong.items()}
        made, truly = (
            simulate(
                trial.scenario,
                folder / name,
                seed=trial.seed,
                clocks=clocks,
                truth=False,
                duration_s=trial.duration_s,
            )
            for name, clocks in (("wrong", wrong), ("exact", exact))
        )
        taps = tuple(made.captures)
        true_rows = [_Rows(open_capture(truly.captures[tap])) for tap in taps]
        try:
            captures = open_captures([], roles=made.captures)
            aligned = align.align_captures(captures)
        except AlignmentError as error:
            return TrialScore(trial, refused=str(error))
        index = CombinedTables(captures, aligned).index
        return TrialScore(trial, _clocks(aligned.clocks, taps, wrong, true_rows), *_links(index, true_rows))


class _Rows:
    """The rows of a tap: true times, ns since the start, and which packet each is."""

    def __init__(self, capture: Capture) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        packets: pa.Table = capture.table("packets")
        self.number: Array = packets.column("packet").to_numpy()
        self.t_ns: Array = packets.column("time").cast(pa.int64()).fill_null(0).to_numpy() - EPOCH_NS
        names = ("ip_src", "ip_dst", "src_port", "dst_port", "ip_id", "tcp_seq", "payload_bytes")
        whole = packets.column("ip_id").is_valid()
        damaged = pc.equal(packets.column("stop").cast(pa.string()), "bad_fcs").fill_null(False)
        self.known: Array = np.asarray(pc.and_(whole, pc.invert(damaged)).to_numpy(zero_copy_only=False), bool)
        words = [packets.column(name).cast(pa.string()).fill_null("") for name in names]
        self.key: Array = pc.binary_join_element_wise(*words, " ").to_numpy(zero_copy_only=False).astype(object)


def shown_ns(clock: TapClock, t_ns: Array) -> Array:
    """What a clock without ticks shows at true times since the start, ns since 1970 (rust/sim/src/taps/clock.rs)."""
    gained = np.rint(t_ns.astype(float) * clock.drift_ppm * 1e-6).astype(np.int64)
    stepped = np.where(t_ns >= clock.step_at_s * 1e9, clock.step_ns, 0)
    shown: Array = EPOCH_NS + clock.offset_ns + t_ns + gained + stepped
    return shown


def _clocks(
    maps: Sequence[ClockMap], taps: Sequence[str], clocks: Mapping[str, TapClock], rows: Sequence[_Rows]
) -> tuple[ClockScore, ...]:
    axis = next(number for number, made in enumerate(maps) if not made.pieces)
    return tuple(
        _clock(made, clocks[taps[axis]], clocks[tap], rows[axis], mine, taps[axis], tap)
        for made, tap, mine in zip(maps, taps, rows, strict=True)
        if made.pieces
    )


def _clock(
    made: ClockMap, reference: TapClock, own: TapClock, there: _Rows, mine: _Rows, axis: str, tap: str
) -> ClockScore:
    here, other = _shared(mine, there)
    t_ns, t_ref_ns, number = mine.t_ns[here], there.t_ns[other], mine.number[here]
    off = np.abs(made.to_axis(shown_ns(own, t_ns), number) - shown_ns(reference, t_ns))
    piece_of = np.searchsorted([p.first_packet for p in made.pieces[1:]], number, side="right")
    bounded = [k for k, piece in enumerate(made.pieces) if piece.bound_ns is not None and (piece_of == k).any()]
    worst = max(
        ((int(off[piece_of == k].max()), made.pieces[k].bound_most_ns or 0) for k in bounded),
        key=lambda pair: pair[0] - pair[1],
        default=(0, 0),
    )
    true_drift = ((1 + own.drift_ppm * 1e-6) / (1 + reference.drift_ppm * 1e-6) - 1) * 1e6
    main, ticks = max(made.pieces, key=lambda p: p.pairs), (reference.tick_ns, own.tick_ns)
    return ClockScore(
        capture=tap,
        reference=axis,
        ticks_ns=ticks,
        step_ns=own.step_ns or reference.step_ns,
        steps=made.steps,
        pairs=made.pairs,
        span_s=float(np.ptp(t_ns) / 1e9) if len(t_ns) else 0.0,
        errors_ns=tuple(
            _error(made.pieces[k], reference, own, t_ns[piece_of == k], t_ref_ns[piece_of == k]) for k in bounded
        ),
        bounds_ns=tuple(made.pieces[k].bound_ns or 0 for k in bounded),
        most_error_ns=worst[0],
        most_bound_ns=worst[1],
        two_way_ns=_two_way(t_ns, t_ref_ns),
        bound_ratio=max(
            (_ratio(made.pieces[k], t_ns[piece_of == k], t_ref_ns[piece_of == k], ticks) for k in bounded), default=0.0
        ),
        drift_error_ppm=abs(main.drift_ppm - true_drift),
        drift_bound_ppm=main.drift_bound_ppm,
        drift_stated_ppm=main.drift_error_ppm,
    )


def _error(piece: Piece, reference: TapClock, own: TapClock, t_ns: Array, t_ref_ns: Array) -> int:
    """Error of a piece's offset at `at_ns`, on the side of a step on which the packet of that time passed both taps.

    Where several packets have the reference's timestamp, that of the best.
    """
    shown = shown_ns(reference, t_ref_ns)
    away = np.abs(shown - shown % reference.tick_ns - piece.at_ns - piece.offset_ns)
    errors = []
    for row in np.flatnonzero(away == away.min()).tolist():
        own_step, reference_step = (
            clock.step_ns if at[row] >= clock.step_at_s * 1e9 else 0
            for clock, at in ((own, t_ns), (reference, t_ref_ns))
        )
        true_ns = round((piece.at_ns - EPOCH_NS - own.offset_ns - own_step) / (1 + own.drift_ppm * 1e-6))
        wanted = EPOCH_NS + reference.offset_ns + reference_step + true_ns
        wanted += round(true_ns * reference.drift_ppm * 1e-6) - piece.at_ns
        errors.append(abs(piece.offset_ns - wanted))
    return min(errors)


def _two_way(t_ns: Array, t_ref_ns: Array) -> int | None:
    delay = t_ns - t_ref_ns
    turns = np.flatnonzero(np.diff(np.sign(delay)))
    return int((np.abs(delay[turns]) + np.abs(delay[turns + 1])).min()) if len(turns) else None


def _ratio(piece: Piece, t_ns: Array, t_ref_ns: Array, ticks: tuple[int, int]) -> float:
    return (piece.bound_ns or 0) / ((_two_way(t_ns, t_ref_ns) or 0) + sum(ticks))


def _shared(a: _Rows, b: _Rows) -> tuple[Array, Array]:
    """Rows of two taps that are the same packet; the first of several."""
    found: dict[str, list[int]] = {}
    for row in np.flatnonzero(b.known).tolist():
        found.setdefault(b.key[row], []).append(row)
    rows_a, rows_b = [], []
    taken: set[int] = set()
    for row in np.flatnonzero(a.known).tolist():
        near = [k for k in found.get(a.key[row], ()) if abs(int(b.t_ns[k] - a.t_ns[row])) < _UNDER_WAY_NS]
        if near and near[0] not in taken:
            taken.add(near[0])
            rows_a.append(row)
            rows_b.append(near[0])
    return np.array(rows_a, np.intp), np.array(rows_b, np.intp)


def _links(index: PacketIndex, rows: Sequence[_Rows]) -> tuple[int, int, int]:
    """Packets captured at two taps, linked ones, and links of two different packets."""
    shared = linked = wrong = 0
    for (i, a), (j, b) in combinations(enumerate(rows), 2):
        rows_a, rows_b = _shared(a, b)
        shared += len(rows_a)
        linked += int((index.packet_of[i][rows_a] == index.packet_of[j][rows_b]).sum())
        both = index.rows[(index.rows[:, i] >= 0) & (index.rows[:, j] >= 0)]
        one, other = both[:, i], both[:, j]
        known = a.known[one] & b.known[other]
        same = (a.key[one] == b.key[other]) & (np.abs(a.t_ns[one] - b.t_ns[other]) < _UNDER_WAY_NS)
        wrong += int((known & ~same).sum())
    return shared, linked, wrong
