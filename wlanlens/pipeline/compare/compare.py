"""`compare`: the figures of several sides next to each other, and what differs by more than chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median

from wlanlens.errors import WlanlensError, WrongUse, file_errors
from wlanlens.formatting import printable
from wlanlens.pipeline.compare.comparison import Comparison, Difference, FindingCosts, Measure, Side
from wlanlens.pipeline.compare.run_figures import RunFigures
from wlanlens.pipeline.compare.sentences import with_words
from wlanlens.pipeline.compare.sides import AnySide, named, side_of
from wlanlens.pipeline.compare.significance import ALPHA, holm, least_p, rank_test, rank_tests
from wlanlens.tables import CATEGORIES

#: Transfers whose sizes differ by less than this share are of one size: the last segments may be missing from a capture.
SAME_SIZE = 0.01
#: Categories with a smaller mean share of the lives are not compared: they explain nothing, and each test more makes the
#: others weaker. The mean is over all runs, so that the choice does not depend on the sides.
LEAST_SHARE = 0.005


@file_errors()
def compare(*given: AnySide, port: int | None = None) -> Comparison:
    """Compare analysed directories.

    Compared are the transfers of each run: the directions of connections that carried at least a tenth of the bytes of the
    run's largest one.

    Parameters
    ----------
    *given : path, Analysis, or mapping of names to one or several of them
        The sides. A folder of analysed directories stands for all runs in it.
    port : int, optional
        Compare only connections with this port at one of their ends.

    Returns
    -------
    Comparison

    Raises
    ------
    WlanlensError
        A directory cannot be read, there are fewer than two sides, or the first side has no data transfer.

    Examples
    --------
    >>> wl.compare("before.wlanlens", "after.wlanlens").sentences
    >>> wl.compare({"old driver": ["old/1", "old/2"], "new driver": ["new/1", "new/2"]}).goodput
    """
    sides = [side_of(name, runs, port) for name, runs in named(given)]
    if len(sides) < 2:
        raise WrongUse("there is only one side", next="give two analysed directories, or two names with runs")
    if not sides[0].runs:
        raise WlanlensError("the first side has no data transfer to compare with", path=printable(sides[0].name))
    return _compared(sides)


def _compared(sides: Sequence[Side]) -> Comparison:
    full = [side for side in sides if side.runs]
    every = [run for side in full for run in side.runs]
    sizes = [run.payload_bytes for run in every]
    per_megabyte = max(sizes) - min(sizes) > SAME_SIZE * median(sizes)

    def seconds(name: str) -> Callable[[RunFigures], float]:
        def value(run: RunFigures) -> float:
            found = run.duration_s if name == "duration_s" else run.ledger_s.get(name, 0.0)
            return found / (run.payload_bytes / 1e6) if per_megabyte else found

        return value

    unit = "s/MB" if per_megabyte else "s"
    goodput = _speed(full, "goodput_bps", "bit/s", lambda run: run.goodput_bps)
    duration = _speed(full, "duration_s", unit, seconds("duration_s"))
    names = [c for c in CATEGORIES if fmean(run.share(c) for run in every) >= LEAST_SHARE]
    ledger = _ledger(full, names, unit, seconds)
    found = Comparison(tuple(sides), per_megabyte, goodput, duration, tuple(ledger), _findings(full, per_megabyte))
    return with_words(found)


def _speed(sides: Sequence[Side], name: str, unit: str, value: Callable[[RunFigures], float]) -> Measure:
    """A measure of the whole; its p-values are corrected for the number of sides."""
    values = {side.name: tuple(map(value, side.runs)) for side in sides}
    first = sides[0].name
    tested = [side.name for side in sides[1:] if _many(sides[0], side)]
    p_values = dict(zip(tested, holm([rank_test(values[first], values[other]) for other in tested]), strict=True))
    differences = [
        _difference(values, sides[0], side, p_values.get(side.name), tests=len(tested)) for side in sides[1:]
    ]
    return Measure(name, unit, values, tuple(differences))


def _ledger(
    sides: Sequence[Side], names: Sequence[str], unit: str, value: Callable[[str], Callable[[RunFigures], float]]
) -> list[Measure]:
    """The categories; the p-values of one side are corrected for their number."""
    values = {name: {side.name: tuple(map(value(name), side.runs)) for side in sides} for name in names}
    first = sides[0].name
    differences: dict[str, list[Difference]] = {name: [] for name in names}
    for side in sides[1:]:
        mine, others = ([values[name][one] for name in names] for one in (first, side.name))
        tested = _many(sides[0], side)
        p_values: Sequence[float | None] = rank_tests(mine, others) if tested else [None] * len(names)
        varying = sum(len({*a, *b}) > 1 for a, b in zip(mine, others, strict=True))
        for name, p in zip(names, p_values, strict=True):
            differences[name].append(_difference(values[name], sides[0], side, p, tests=varying))
    return [Measure(name, unit, values[name], tuple(differences[name])) for name in names]


def _many(a: Side, b: Side) -> bool:
    """Whether both sides have several runs."""
    return len(a.runs) > 1 and len(b.runs) > 1


def _difference(
    values: Mapping[str, Sequence[float]], first: Side, side: Side, p: float | None, *, tests: int
) -> Difference:
    """One side against the first. `sure` is None where even the clearest difference in so many tests could be chance."""
    change = median(values[side.name]) - median(values[first.name])
    hopeless = p is not None and p >= ALPHA and least_p(len(first.runs), len(side.runs)) * tests >= ALPHA
    return Difference(side.name, change, p, None if p is None or hopeless else p < ALPHA)


def _findings(sides: Sequence[Side], per_megabyte: bool) -> tuple[FindingCosts, ...]:
    codes = sorted({code for side in sides for run in side.runs for code in run.counts})
    out = []
    for code in codes:
        costs = {
            side.name: tuple(
                run.costs_s.get(code, 0.0) / (run.payload_bytes / 1e6 if per_megabyte else 1) for run in side.runs
            )
            for side in sides
        }
        cause = next((run.causes[code] for side in sides for run in side.runs if code in run.causes), "")
        found_in = {side.name: sum(code in run.counts for run in side.runs) for side in sides}
        out.append(FindingCosts(code, costs, found_in, cause))
    first = sides[0].name
    return tuple(sorted(out, key=lambda f: -max(abs(f.change(first, side.name)) for side in sides)))
