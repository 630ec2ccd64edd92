"""Values for the templates. Text is not escaped here: the environment's `finalize` and autoescape do that."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wlanlens import formatting
from wlanlens.detection import capture_needs
from wlanlens.detection.finding import SEVERITIES, Group
from wlanlens.detection.findings import STATES
from wlanlens.ledger.ledger import HEALTHY, PLAIN
from wlanlens.plots._palette import CATEGORIES, LINES, TRIGGERS
from wlanlens.plots._rows import COPIES, KINDS, NEEDS, FlowKey, mark_name
from wlanlens.report.balance import Account
from wlanlens.report.stories import Story, stories

if TYPE_CHECKING:
    from wlanlens.detection.finding import Finding
    from wlanlens.detection.findings import DetectorState
    from wlanlens.report.air_view import AirView
    from wlanlens.report.bus import BusView
    from wlanlens.report.more_figures import MoreFigure
    from wlanlens.report.views import View

MOST_FINDINGS = 50
"""Findings on the page besides the costliest of each code; all are in findings.json."""

MOST_BARS = 20
"""Flows with a ledger bar."""

MOST_RINGS = 500
"""Packets of a finding's evidence that the figure marks."""

_ICONS = {
    "found": "!",
    "fine": "\N{CHECK MARK}",
    "not_run": "\N{EN DASH}",
    "undecided": "?",
    "failed": "\N{MULTIPLICATION SIGN}",
}
_LABELS = {
    "found": "found",
    "fine": "fine (checked, nothing found)",
    "not_run": "not run",
    "undecided": "undecided",
    "failed": "failed",
}


#: Text up to the first semicolon outside parentheses.
_CLAUSE = re.compile(r"(?:[^;()]|\([^()]*\))*")

#: Tables whose rows each figure shows.
_SHOWS = {"air": {"frames", "exchanges"}, "bus": {"urbs"}}


@dataclass(frozen=True)
class FindingRow:
    """One finding on the page."""

    number: int
    """Its number in findings.json and for `wlanlens evidence`, counted from 1."""
    finding: Finding
    view: int | None
    """The flow whose figure shows it; None if it belongs to no single flow."""
    has_figure: bool
    on: str
    """Which figure shows its evidence: of a flow, of the air or of the bus."""
    command: str

    @property
    def title(self) -> str:
        """The code of the detector as words."""
        return sentence_case(self.finding.code.replace("_", " "))

    @property
    def sentence(self) -> str:
        """Its sentence without the subject, which the page prints separately."""
        text = self.finding.sentence
        start = f"{self.finding.subject}: "
        return text[len(start) :][:1].upper() + text[len(start) + 1 :] if text.startswith(start) else text


@dataclass(frozen=True)
class Kind:
    """The findings of one code in one story: the costliest is open, the others are folded."""

    group: Group
    rows: tuple[FindingRow, ...]
    """The findings on the page."""

    @property
    def title(self) -> str:
        """The code as words."""
        return self.rows[0].title

    @property
    def others(self) -> str:
        """How many findings are folded, and their costs."""
        costs = [row.finding.cost_s for row in self.rows[1:]]
        most, least = formatting.page_seconds(max(costs)), formatting.page_seconds(min(costs))
        return f"{formatting.page_count(len(costs))} more, {most if most == least else f'{least} to {most}'}"

    @property
    def left(self) -> str:
        """How many findings the page leaves out; empty if none."""
        left = len(self.group.members) - len(self.rows)
        return f"{formatting.page_count(left)} more in findings.json." if left else ""


@dataclass(frozen=True)
class Told:
    """A story on the page."""

    story: Story
    kinds: tuple[Kind, ...]

    @property
    def head(self) -> FindingRow:
        """The costliest finding of the root cause."""
        return self.kinds[0].rows[0]

    @property
    def chain(self) -> list[tuple[int, str]]:
        """(number of the costliest finding, step in words) of each code, the root cause first."""
        return [
            (
                kind.rows[0].number,
                kind.title + (f" ({formatting.page_count(n)}\N{MULTIPLICATION SIGN})" if n > 1 else ""),
            )
            for kind in self.kinds
            for n in (len(kind.group.members),)
        ]

    @property
    def severity(self) -> str:
        """The highest of its findings."""
        return max((kind.group.severity for kind in self.kinds), key=SEVERITIES.index)

    @property
    def remedy(self) -> tuple[str, str]:
        """What to do, in one sentence: its first clause and the others; empty if that is not known."""
        sentence = _first_sentence(self.head.finding.remedy)
        clause = _CLAUSE.match(sentence)
        end = clause.end() if clause else len(sentence)
        return sentence[:end], sentence[end:]

    @property
    def happened(self) -> str:
        """What happened, in one sentence."""
        return _first_sentence(self.head.sentence)

    def share(self, life: tuple[FlowKey, int] | None) -> str:
        """Share of the lifetime of the connection of the verdict, if the story is about it alone."""
        return formatting.page_share(self.story.cost_s, life[1] / 1e9) if life and self._only(life[0]) else ""

    def without(self, life: tuple[FlowKey, int] | None) -> str:
        """The time that the transfer would have taken, or how much sooner it would have ended; empty if not known."""
        saved_s = self.story.saved_s
        if not saved_s:
            return ""
        if life and self._only(life[0]) and saved_s * 1e9 < life[1]:
            took_s = life[1] / 1e9
            return f"{formatting.page_seconds(took_s - saved_s)} instead of {formatting.page_seconds(took_s)}"
        return f"{formatting.page_seconds(saved_s)} less"

    def _only(self, key: FlowKey) -> bool:
        return all(
            (f.capture, f.flow, f.direction) == (key.capture, key.flow, key.direction) for _, f in self.story.roots
        )


def sentence_case(text: str) -> str:
    """A capital first letter, and capitals for abbreviations."""
    words = [w.upper() if w in ("ack", "rto", "usb", "ap", "tcp") else w for w in text.split(" ")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def told_stories(
    findings: Sequence[Finding], views: Sequence[View], directory: str, *, on: Sequence[str] = ()
) -> list[Told]:
    """The findings by story and code, costliest story first; `on`: the figures besides those of flows."""
    at = {view.key: i for i, view in enumerate(views)}
    made = stories(findings)
    others = sorted(
        (m for story in made for code in story.codes for m in story.of(code)[1:]), key=lambda member: -member[1].cost_s
    )
    shown = {number for number, _ in others[:MOST_FINDINGS]}
    out = []
    for story in made:
        kinds = []
        for code in story.codes:
            members = story.of(code)
            severity = max((f.severity for _, f in members), key=SEVERITIES.index)
            group = Group(code, severity, sum(f.cost_s for _, f in members), tuple(members))
            rows = [(n, f) for i, (n, f) in enumerate(members) if i == 0 or n in shown]
            kinds.append(Kind(group, tuple(_row(n, f, at, directory, on) for n, f in rows)))
        out.append(Told(story, tuple(kinds)))
    return out


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.])\s+(?=[A-Z])", text, maxsplit=1)[0]


def lead(verdict: str) -> tuple[str, str]:
    """A verdict's first sentence and the others."""
    first = _first_sentence(verdict)
    return first, verdict[len(first) :].strip()


def _row(number: int, f: Finding, at: Mapping[FlowKey, int], directory: str, on: Sequence[str]) -> FindingRow:
    key = FlowKey(f.capture, f.flow, f.direction) if f.flow is not None and f.direction is not None else None
    view = at.get(key) if key else None
    command = f"wlanlens evidence {shlex.quote(directory)} {number}"
    tables = {table for table, _, _ in f.evidence}
    place = next((name for name in on if view is None and tables & _SHOWS[name]), "flow")
    shown = place != "flow" or (bool(at) and (key is None or view is not None))
    return FindingRow(number, f, view, shown, place, command)


def bar_rows(accounts: Sequence[Account], subjects: dict[FlowKey, str]) -> list[dict[str, Any]]:
    """The bars of the ledger: parts with seconds and shares, and the sum."""
    return [
        {
            "subject": subjects[account.key],
            "total": formatting.page_summand(account.total_ns, account.total_ns),
            "lost": formatting.page_seconds(account.lost_ns / 1e9),
            "parts": [
                {
                    "category": category,
                    "title": PLAIN[category],
                    "ns": ns,
                    "seconds": formatting.page_summand(ns, account.total_ns),
                    "share": formatting.page_share(ns, account.total_ns),
                    "healthy": category in HEALTHY,
                }
                for category, ns in account.categories
            ],
        }
        for account in accounts
    ]


def strip(accounts: Sequence[Account]) -> list[tuple[str, str]]:
    """(category, its name) of all that the top bar of the figures can show."""
    used = {category for account in accounts for category, ns in account.categories if ns}
    return [(name, PLAIN[name]) for name in CATEGORIES if name in used]


def state_groups(states: Sequence[DetectorState]) -> list[dict[str, Any]]:
    """The detectors by state; all five states, also empty ones."""
    return [
        {
            "state": state,
            "icon": _ICONS[state],
            "words": _LABELS[state],
            "items": _by_reason([s for s in states if s.state == state and not capture_needs.needed(s.reason)]),
            "wants": _wants([s for s in states if s.state == state]),
            "count": sum(s.state == state for s in states),
        }
        for state in STATES
    ]


def _by_reason(states: Sequence[DetectorState]) -> list[list[DetectorState]]:
    """The detectors that share all that is said of them, in order of their first; one with findings stands alone."""
    out: dict[object, list[DetectorState]] = {}
    for state in states:
        said = state.code if state.findings else (state.undecided, state.reason)
        out.setdefault(said, []).append(state)
    return list(out.values())


def _wants(states: Sequence[DetectorState]) -> list[dict[str, Any]]:
    """The captures that detectors lack, each with the detectors that it would let run; how to take one is said once."""
    by_captures: dict[tuple[capture_needs.Needed, ...], list[DetectorState]] = {}
    for state in states:
        if captures := capture_needs.needed(state.reason):
            by_captures.setdefault(captures, []).append(state)
    ordered = sorted(by_captures.items(), key=lambda item: (len(item[0]), -len(item[1])))
    out: list[dict[str, Any]] = []
    explained: set[capture_needs.Needed] = set()
    for captures, items in ordered:
        out.append({"captures": captures, "items": items, "explain": [c for c in captures if c not in explained]})
        explained.update(captures)
    return out


def page_data(
    views: Sequence[View],
    rows: Sequence[FindingRow],
    files: Mapping[str, str | None],
    frames: AirView | None = None,
    transfers: BusView | None = None,
    journeys: dict[str, Any] | None = None,
    more: Sequence[MoreFigure] = (),
) -> dict[str, Any]:
    """Data for the page's script besides the columns."""
    return {
        "kinds": list(KINDS),
        "copies": list(COPIES),
        "needs": list(NEEDS),
        "triggers": [{"title": t.title, "colours": [t.light, t.dark]} for t in TRIGGERS.values()],
        "lines": {name: list(pair) for name, pair in LINES.items()},
        "categories": [
            {"title": PLAIN[name], "colour": o.colour, "lost": name not in HEALTHY, "hatched": name == "unknown"}
            for name, o in CATEGORIES.items()
        ],
        "flows": [
            {"subject": v.subject, "rows": v.rows, "file": file}
            for i, v in enumerate(views)
            for file in (files[f"flow-{i}"],)
        ],
        "air": frames.page(files["frames"]) if frames else None,
        "bus": transfers.page(files["transfers"]) if transfers else None,
        "journeys": journeys,
        "charts": [{"name": one.name, "file": files[one.id]} for one in more],
        "findings": [
            {
                "n": row.number,
                "from": row.finding.t_start_ns / 1e9,
                "to": row.finding.t_end_ns / 1e9,
                "view": row.view,
                "on": row.on,
                "words": f"{row.title}, {formatting.page_seconds(row.finding.cost_s)}",
                "packets": sorted({p for _, c, ps in row.finding.evidence for p in ps if c == row.finding.capture})[
                    :MOST_RINGS
                ],
            }
            for row in rows
            if row.has_figure
        ],
    }


def legend(view: View) -> list[dict[str, Any]]:
    """Retransmissions of one flow by trigger and need, with counts."""
    out: dict[str, dict[str, Any]] = {}
    for mark, number in view.marks.items():
        name, need = mark_name(mark)
        entry = out.setdefault(name, {"name": name, "title": TRIGGERS[name].title, "count": 0, "needs": {}})
        entry["count"] += number
        entry["needs"][need] = number
    order = list(TRIGGERS)
    return sorted(out.values(), key=lambda entry: order.index(entry["name"]))
