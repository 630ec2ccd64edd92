"""A comparison in words: what changed, by which categories of the ledger, by which findings, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from wlanlens.formatting import bit_rate, count, duration, listed, printable, size
from wlanlens.ledger.ledger import PLAIN
from wlanlens.pipeline.compare.comparison import Comparison, Difference, FindingCosts, Measure, Side
from wlanlens.pipeline.compare.run_figures import RunFigures
from wlanlens.pipeline.compare.significance import ALPHA, least_p, runs_needed

#: A change of speed below this share is called none: two captures of one transfer differ by as much.
NO_CHANGE = 0.01
#: A category or finding is named if it explains this share of the change, and at most so many.
NAMED_SHARE, MOST_NAMED = 0.1, 3
#: With this share of a side's time the remark says so.
APPLICATION_SHARE, UNKNOWN_SHARE = 0.5, 0.2


def with_words(found: Comparison) -> Comparison:
    """The comparison with its sentences and remarks."""
    sentences = [_sentence(found, side) for side in found.sides[1:]]
    return replace(found, sentences=tuple(sentences), remarks=tuple(_remarks(found)))


def _sentence(found: Comparison, side: Side) -> str:
    """One side against the first."""
    first, name = found.sides[0], printable(side.name, limit=60)
    if not side.runs:
        return f"{name} has no data transfer to compare."
    speed, time = found.goodput.difference(side.name), found.duration.difference(side.name)
    parts = [f"{name} {_headline(found, first, side)}{_chance(speed, first, side)}"]
    before = found.goodput.median(first.name)
    if abs(speed.change) >= NO_CHANGE * before and speed.sure is not False:
        parts[0] += _by_category(found, first, side, time.change)
    sentences = [f"{parts[0]}."]
    if abs(speed.change) >= NO_CHANGE * before:
        sentences += _by_finding(found, first, side, time.change)
    return " ".join(sentences)


def _headline(found: Comparison, first: Side, side: Side) -> str:
    """ "took 3.1 s less than A (15.7 -> 12.6 s) for the same 10 MB"."""
    against = printable(first.name, limit=60)
    speed, before = found.goodput.difference(side.name), found.goodput.median(first.name)
    rates = f"{bit_rate(before)} -> {bit_rate(found.goodput.median(side.name))}"
    several = len(first.runs) > 1 or len(side.runs) > 1
    typical = "in the median " if several else ""
    if abs(speed.change) < NO_CHANGE * before:
        return f"was {typical}as fast as {against} ({rates})"
    if found.per_megabyte:
        word = "faster" if speed.change > 0 else "slower"
        time = _times(found.duration, first, side)
        return f"was {typical}{_share(abs(speed.change), before)} {word} than {against} ({rates}; {time})"
    change = found.duration.difference(side.name).change
    word = "less" if change < 0 else "more"
    carried = size(round(median(run.payload_bytes for run in side.runs)))
    return f"took {typical}{duration(abs(change))} {word} than {against} ({_times(found.duration, first, side)}) for the same {carried}"


def _times(measure: Measure, first: Side, side: Side) -> str:
    return _pair(measure.median(first.name), measure.median(side.name), per_megabyte=measure.unit == "s/MB")


def _pair(before: float, after: float, *, per_megabyte: bool) -> str:
    """ "15.7 s -> 12.6 s"."""
    return f"{_time(before)} -> {_time(after)}" + (" per MB" if per_megabyte else "")


def _time(value_s: float) -> str:
    return duration(value_s) if value_s else "0 s"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.3g} %" if whole else "much"


def _chance(speed: Difference, first: Side, side: Side) -> str:
    """Whether the change of the goodput is more than chance; empty with one run a side."""
    if speed.p_value is None:
        return ""
    runs = f"{len(first.runs)} and {len(side.runs)} runs"
    if speed.sure is None:
        needed = f"; {runs_needed(1)} a side could" if least_p(len(first.runs), len(side.runs)) >= ALPHA else ""
        return f" ({runs} cannot tell whether this is more than chance{needed})"
    return f" ({'more than chance' if speed.sure else 'no more than chance'}, p = {speed.p_value:.2g}, {runs})"


def _by_category(found: Comparison, first: Side, side: Side, change: float) -> str:
    """ ": RTO wait 2.4 s less (3.0 s -> 0.6 s); but fast recovery 0.3 s more": what explains the change by the ledger."""
    several = found.goodput.difference(side.name).p_value is not None
    listed_: list[tuple[float, str]] = []
    unsure = False
    for measure in found.ledger:
        this = measure.difference(side.name)
        if abs(this.change) < NAMED_SHARE * abs(change):
            continue
        if several and this.sure is not True:
            unsure = True
            continue
        word = "less" if this.change < 0 else "more"
        times = _pair(measure.median(first.name), measure.median(side.name), per_megabyte=found.per_megabyte)
        listed_.append((this.change, f"{PLAIN[measure.name]} {duration(abs(this.change))} {word} ({times})"))
    same = sorted((item for item in listed_ if item[0] * change > 0), key=lambda item: -abs(item[0]))[:MOST_NAMED]
    other = sorted((item for item in listed_ if item[0] * change < 0), key=lambda item: -abs(item[0]))[:MOST_NAMED]
    said = ": " + ", ".join(text for _, text in same) if same else ""
    if other:
        said += ("; but " if same else ", although ") + ", ".join(text for _, text in other)
    if unsure and not same:
        said += "; so few runs cannot tell which category of the ledger it is"
    return said


def _by_finding(found: Comparison, first: Side, side: Side, change: float) -> list[str]:
    """What the findings say about the change, causes before what follows from them."""
    named: list[FindingCosts] = []
    for one in found.findings:
        this = one.change(first.name, side.name)
        if this * change > 0 and abs(this) >= NAMED_SHARE * abs(change):
            named.append(one)
    codes = [one.code for one in named]
    causes = [one.caused_by for one in named if one.caused_by]
    named.sort(key=lambda one: (one.code not in causes, bool(one.caused_by in codes)))
    texts = [_finding(one, first, side, per_megabyte=found.per_megabyte) for one in named[:MOST_NAMED]]
    return [f"By the findings: {', '.join(texts)}."] if texts else []


def _finding(one: FindingCosts, first: Side, side: Side, *, per_megabyte: bool) -> str:
    words = one.code.replace("_", " ")
    before, after = median(one.costs[first.name]), median(one.costs[side.name])
    cause = f", caused by {one.caused_by.replace('_', ' ')}" if one.caused_by else ""
    times = _pair(before, after, per_megabyte=per_megabyte)
    if not one.found_in[first.name]:
        return f"{words} is new ({duration(after)}{' per MB' if per_megabyte else ''}{cause})"
    if not one.found_in[side.name]:
        return f"{words} is gone ({duration(before)}{' per MB' if per_megabyte else ''}{cause})"
    return f"{words} cost {duration(abs(after - before))} {'less' if after < before else 'more'} ({times}{cause})"


def _remarks(found: Comparison) -> list[str]:
    """Which connections are compared, and what limits the comparison."""
    full = [side for side in found.sides if side.runs]
    runs = [run for side in full for run in side.runs]
    out = [_compared(found)]
    if found.per_megabyte:
        sizes = [f"{printable(side.name, limit=60)} {_sizes(side)}" for side in full]
        out.append(f"The transfers are of different sizes ({', '.join(sizes)}): seconds are per MB (10^6 bytes).")
    if len({run.points for run in runs}) > 1:
        where = ", ".join(
            f"{printable(side.name, limit=60)}: {' or '.join(sorted({'+'.join(run.points) for run in side.runs}))}"
            for side in full
        )
        out.append(
            f"The captures were taken at different points ({where}): what a ledger can attribute differs between them. "
            "Compare goodput and duration only."
        )
    for side in full:
        name = printable(side.name, limit=60)
        idle = median(run.share("application") for run in side.runs)
        if idle >= APPLICATION_SHARE:
            out.append(
                f"{name} was application-limited for {100 * idle:.0f} % of the time: its goodput is not the network's."
            )
        unknown = median(run.share("unknown") for run in side.runs)
        if unknown >= UNKNOWN_SHARE:
            out.append(f"{name}: {100 * unknown:.0f} % of the time has an unknown cause at its capture point.")
    for side in found.sides:
        if side.empty:
            out.append(
                f"{printable(side.name, limit=60)}: {count(len(side.empty), 'run')} without a data transfer, left out."
            )
    out += _different_thresholds(full)
    if len({run.version for run in runs}) > 1:
        out.append(
            "The runs were analysed by different versions of wlanlens: analyse them again to compare like with like."
        )
    return out


def _different_thresholds(full: Sequence[Side]) -> list[str]:
    """The thresholds that differ between runs, with their values at each side."""
    runs = [run for side in full for run in side.runs]
    changed = sorted({(code, name) for run in runs for code, of in run.thresholds.items() for name in of})
    named = []
    for code, name in changed:
        values = {side.name: sorted({_threshold(run, code, name) for run in side.runs}) for side in full}
        if len({value for some in values.values() for value in some}) > 1:
            where = ", ".join(f"{printable(side, limit=60)} {' or '.join(some)}" for side, some in values.items())
            named.append(f"{printable(f'{code}.{name}', limit=100)} ({where})")
    if not named:
        return []
    more = f" and {count(len(named) - MOST_NAMED, 'other')}" if len(named) > MOST_NAMED else ""
    return [
        f"The runs were analysed with different thresholds of detectors: {', '.join(named[:MOST_NAMED])}{more}. Findings may differ "
        "for this reason alone: analyse them again with the same --config."
    ]


def _threshold(run: RunFigures, code: str, name: str) -> str:
    of = run.thresholds.get(code, {})
    return printable(str(of[name]), limit=40) if name in of else "default"


def _compared(found: Comparison) -> str:
    """Which connections are compared."""
    full = [side for side in found.sides if side.runs]
    said = []
    for side in full:
        all_of_it = [run.transfers + run.others for run in side.runs]
        left = f" of {_range(all_of_it)}" if any(run.others for run in side.runs) else ""
        said.append(f"{printable(side.name, limit=60)} {_range([run.transfers for run in side.runs])}{left}")
    sums = (
        " Seconds of the ledger are sums over them."
        if any(run.transfers > 1 for side in full for run in side.runs)
        else ""
    )
    return f"Transfers compared (data directions with at least a tenth of the bytes of the run's largest one): {listed(said)}.{sums}"


def _range(values: Sequence[int]) -> str:
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


def _sizes(side: Side) -> str:
    sizes = [run.payload_bytes for run in side.runs]
    least, most = size(min(sizes)), size(max(sizes))
    return least if least == most else f"{least} to {most}"
