"""Score: how well findings match the truth of a simulation in number, time and cost. Scores of runs can be added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from wlanlens.detection.finding import MAY_BE_MISSED, Finding, Undecided, Value

#: A finding is true, and an event found, if at least this share of its time overlaps with the other: more than chance, and
#: small enough that a recovery or a first sign beside the event does not matter.
SHARED = 0.5

_Span = tuple[int, int]


@dataclass(frozen=True)
class Score:
    """How well findings of one code match the truth.

    Attributes
    ----------
    code : str
        The detector's code.
    truth, found : int
        Number of true events and of findings.
    recalled, right : int
        Number of events found, and of true findings.
    time_errors_s : tuple of float
        For each match: the larger difference of start and end.
    cost_found_s, cost_true_s, cost_off_s : float
        Over all matches: cost of the findings, true cost, and the sum of absolute differences.
    open : int
        Events that the detector reported as undecided: not in `truth`, neither found nor missed.
    """

    code: str
    truth: int = 0
    found: int = 0
    recalled: int = 0
    right: int = 0
    time_errors_s: tuple[float, ...] = ()
    cost_found_s: float = 0.0
    cost_true_s: float = 0.0
    cost_off_s: float = 0.0
    open: int = 0

    def __add__(self, other: Score) -> Score:
        if self.code != other.code:
            raise ValueError(f"scores of {self.code} and {other.code} do not add up")
        mine, theirs = vars(self), vars(other)
        return Score(self.code, **{name: mine[name] + theirs[name] for name in mine if name != "code"})

    @property
    def precision(self) -> float | None:
        """Share of findings that are true; None without findings."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """Share of true events that were found; None without events."""
        return self.recalled / self.truth if self.truth else None

    @property
    def time_error_s(self) -> float | None:
        """Median of the time errors; None without a match."""
        return median(self.time_errors_s) if self.time_errors_s else None

    @property
    def cost_error(self) -> float | None:
        """Difference of found and true cost as a share of the true cost; None without cost."""
        return self.cost_off_s / self.cost_true_s if self.cost_true_s > 0 else None

    def within(self, error_s: float) -> float | None:
        """Share of the matches whose time error is no more than this; None without a match."""
        right = sum(e <= error_s for e in self.time_errors_s)
        return right / len(self.time_errors_s) if self.time_errors_s else None


def score(findings: Iterable[Finding], truth: Iterable[Finding], *, tolerance_ms: float = 5.0) -> dict[str, Score]:
    """Compare findings with truth of the same code, by time and subject.

    A finding is right if at least half of its time is that of true events; an event is found if at least half of
    its time is that of right findings. So one finding may cover several events in a row, and several findings one event.
    A finding that covers much more than the events is wrong and finds nothing. Subjects are compared only if both have one.
    A finding that sums up cases of several flows (`cases_count`, `flows_count`) counts as so many, which find events in its time.
    An event whose confidence is at most `MAY_BE_MISSED` counts only if it is found.

    Parameters
    ----------
    findings, truth : iterable of Finding
        What was found, and `Run.truth`.
    tolerance_ms : float
        Spans are widened by this on both sides before the comparison, so that instants can match.

    Returns
    -------
    dict of str to Score
        By code.
    """
    groups: dict[str, tuple[list[Finding], list[Finding]]] = {}
    for place, items in enumerate((findings, truth)):
        for f in items:
            groups.setdefault(f.code, ([], []))[place].append(f)
    slack_ns = int(tolerance_ms * 1e6)
    return {code: _of_code(code, found, true, slack_ns) for code, (found, true) in sorted(groups.items())}


def true_findings(findings: Sequence[Finding], truth: Sequence[Finding], *, tolerance_ms: float = 5.0) -> list[bool]:
    """Whether each finding of one code is right; one that sums up cases if at least half of them are."""
    slack_ns = int(tolerance_ms * 1e6)
    right = [_covered(f, truth, slack_ns) for f in findings]
    single = [f for f, is_right in zip(findings, right, strict=True) if is_right and not _cases(f)]
    for i in [i for i, f in enumerate(findings) if _cases(f)]:
        rest = _inside(findings[i], [t for t in truth if not _covered(t, single, slack_ns)], slack_ns)
        right[i] = len(rest) >= SHARED * _cases(findings[i])
    return right


def in_sight(
    findings: Sequence[Finding], truth: Sequence[Finding], near: Callable[[Finding], bool]
) -> tuple[list[Finding], list[Finding]]:
    """Findings and true events of one code for which `near` holds. A finding that sums up cases keeps the number of those whose senders
    are near."""
    mine: list[Finding] = []
    for f in filter(near, findings):
        if not _cases(f):
            mine.append(f)
        elif left := sum(number for host, number in _senders(f) if near(replace(f, subject=f"{host}:", flow=0))):
            mine.append(replace(f, values={**f.values, "cases_count": left}))
    return mine, list(filter(near, truth))


def _senders(finding: Finding) -> list[tuple[str, int]]:
    """The hosts whose cases a finding sums up, and the number of each."""
    rows = [row.rpartition(": ") for row in str(finding.values["cases_by_sender"]).split(", ")]
    return [(host, int(number)) for host, _, number in rows]


def value_pairs(
    findings: Sequence[Finding], truth: Sequence[Finding], name: str, *, tolerance_ms: float = 5.0
) -> list[tuple[Value | None, Value]]:
    """Pairs (value of the findings, true value) of one named value, for each group of findings and events that match;
    None if the findings have no such value."""
    slack_ns = int(tolerance_ms * 1e6)
    right = [f for f in findings if _covered(f, truth, slack_ns)]
    recalled = [t for t in truth if _covered(t, right, slack_ns)]
    out: list[tuple[Value | None, Value]] = []
    for ours, theirs in _matches(right, recalled, slack_ns):
        said, true = ({f.values.get(name) for f in group} for group in (ours, theirs))
        if len(said) == len(true) == 1 and None not in true:
            out += [(s, t) for s in said for t in true if t is not None]
    return out


def decidable(
    truth: Iterable[Finding],
    findings: Sequence[Finding],
    cases: Iterable[Undecided],
    *,
    until_ns: int,
    tolerance_ms: float = 5.0,
) -> tuple[list[Finding], int]:
    """True events of one code without the times that its detector reported as undecided, and the number of events left out.

    An event that begins or ends in such a time is cut there; an event inside such times that is not found is left out.
    Time that a finding claims is decided, whatever was undecided in it. An event with too little evidence (`MAY_BE_MISSED`)
    is not counted as left out. Events still running at the end of the capture, `until_ns`, end there.
    """
    slack_ns = int(tolerance_ms * 1e6)
    spans = [span for case in cases for span in case.spans]
    kept, left_out = [], 0
    for whole in truth:
        going_on = whole.t_start_ns <= until_ns < whole.t_end_ns
        event = replace(whole, t_end_ns=until_ns) if going_on else whole
        start, end = event.t_start_ns, event.t_end_ns
        mine = sorted((a, b) for who, a, b in spans if not (who and event.subject) or who == event.subject)
        for a, b in mine:
            if a - slack_ns <= start <= b:
                start = min(b, end)
        for a, b in reversed(mine):
            if a <= end <= b + slack_ns and a > start:
                end = a
        claimed = [
            (max(f.t_start_ns, event.t_start_ns), min(f.t_end_ns, event.t_end_ns)) for f in findings if _same(f, event)
        ]
        claimed = [(a, b) for a, b in claimed if a <= b]
        if claimed:
            # What a finding claims is decided.
            begin, last = min(a for a, _ in claimed), max(b for _, b in claimed)
            empty = end - start <= slack_ns and (start, end) != (event.t_start_ns, event.t_end_ns)
            start, end = (begin, last) if empty else (min(start, begin), max(end, last))
        # An instant cannot be cut.
        within = any(a - slack_ns <= event.t_start_ns and event.t_end_ns <= b + slack_ns for a, b in mine)
        whole_left = (start, end) == (event.t_start_ns, event.t_end_ns) and not within
        if end - start > slack_ns or claimed or whole_left:
            kept.append(replace(event, t_start_ns=start, t_end_ns=end))
        else:
            left_out += event.confidence > MAY_BE_MISSED
    return kept, left_out


def _of_code(code: str, found: list[Finding], truth: list[Finding], slack_ns: int) -> Score:
    sums, found = [f for f in found if _cases(f)], [f for f in found if not _cases(f)]
    right = [f for f in found if _covered(f, truth, slack_ns)]
    recalled = [t for t in truth if _covered(t, right, slack_ns)]
    # What a finding that sums up cases stands for: events in its time that no other finding found, those that must be found first.
    summed, cases = 0, sum(_cases(f) for f in sums)
    for f in sums:
        rest = _inside(f, [t for t in truth if t not in recalled], slack_ns)
        rest = sorted(rest, key=lambda t: -t.confidence)[: _cases(f)]
        summed += len(rest)
        truth = [t for t in truth if t not in rest]
    truth = [t for t in truth if t.confidence > MAY_BE_MISSED or t in recalled]
    errors, cost_off = [], 0.0
    cost_found = cost_true = 0.0
    for ours, theirs in _matches(right, recalled, slack_ns):
        (a, b), (c, d) = _hull(ours), _hull(theirs)
        errors.append(max(abs(a - c), abs(b - d)) / 1e9)
        reported, true = sum(f.cost_s for f in ours), sum(t.cost_s for t in theirs)
        cost_found, cost_true, cost_off = cost_found + reported, cost_true + true, cost_off + abs(reported - true)
    return Score(
        code,
        len(truth) + summed,
        len(found) + cases,
        len(recalled) + summed,
        len(right) + summed,
        tuple(errors),
        cost_found,
        cost_true,
        cost_off,
    )


def _cases(finding: Finding) -> int:
    """How many cases of several flows a finding sums up; 0 for one that is a case itself."""
    value = finding.values.get("cases_count", 0) if "flows_count" in finding.values else 0
    return value if isinstance(value, int) else 0


def _inside(whole: Finding, events: Iterable[Finding], slack_ns: int) -> list[Finding]:
    start, end = whole.t_start_ns - slack_ns, whole.t_end_ns + slack_ns
    return [t for t in events if t.t_start_ns >= start and t.t_end_ns <= end]


def _same(a: Finding, b: Finding) -> bool:
    return not (a.subject and b.subject) or a.subject == b.subject


def _covered(one: Finding, others: Iterable[Finding], slack_ns: int) -> bool:
    """Whether at least half of a span overlaps with others, which are widened."""
    begin, end = one.t_start_ns, one.t_end_ns
    spans = sorted(
        (max(begin, o.t_start_ns - slack_ns), min(end, o.t_end_ns + slack_ns))
        for o in others
        if o.t_start_ns - slack_ns <= end and o.t_end_ns + slack_ns >= begin and _same(one, o)
    )
    return bool(spans) and _length(spans) >= SHARED * (end - begin)


def _length(spans: Iterable[_Span]) -> int:
    """The union of sorted spans."""
    total, reach = 0, -(1 << 62)
    for begin, end in spans:
        total += max(0, end - max(begin, reach))
        reach = max(reach, end)
    return total


def _matches(found: list[Finding], truth: list[Finding], slack_ns: int) -> list[tuple[list[Finding], list[Finding]]]:
    """Groups of findings and events: joined if half of the shorter lies in the other."""
    category = list(range(len(found) + len(truth)))

    def root(i: int) -> int:
        while category[i] != i:
            category[i] = category[category[i]]
            i = category[i]
        return i

    order = sorted(range(len(truth)), key=lambda i: truth[i].t_start_ns)
    for i, f in enumerate(found):
        for k in order:
            t = truth[k]
            if t.t_start_ns - slack_ns > f.t_end_ns:
                break
            shared = min(f.t_end_ns, t.t_end_ns) - max(f.t_start_ns, t.t_start_ns) + slack_ns
            shorter = min(f.t_end_ns - f.t_start_ns, t.t_end_ns - t.t_start_ns)
            if shared >= SHARED * shorter and shared >= 0 and _same(f, t):
                category[root(len(found) + k)] = root(i)
    groups: dict[int, tuple[list[Finding], list[Finding]]] = {}
    for i, f in enumerate([*found, *truth]):
        groups.setdefault(root(i), ([], []))[i >= len(found)].append(f)
    return [(ours, theirs) for ours, theirs in groups.values() if ours and theirs]


def _hull(spans: Iterable[Finding]) -> _Span:
    listed = list(spans)
    return min(f.t_start_ns for f in listed), max(f.t_end_ns for f in listed)
