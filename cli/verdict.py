"""The verdict on a terminal: sentence, ledger bar, findings, other checks, notes and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wlanlens.airtime import words
from wlanlens.detection import capture_needs
from wlanlens.detection.finding import Group, grouped
from wlanlens.formatting import count, hundredths, printable, share
from wlanlens.ledger.ledger import HEALTHY, PLAIN
from wlanlens.plots._palette import CATEGORIES

from .console import results

if TYPE_CHECKING:
    from rich.console import Console

    import wlanlens as wl

#: Findings of one code listed by number; the report and findings.json have all.
SHOWN = 12
#: Characters of a text that is printed whole, unless somebody made it to flood the terminal.
WHOLE = 5000

_SEVERITY = {"serious": "bold red", "warning": "yellow", "info": "blue"}


def _clocks(console: Console, analysis: wl.Analysis) -> None:
    """How well the clocks of several captures agree, the clock of the axis first."""
    if len(analysis.trace.clocks) < 2:
        return
    console.print()
    for clock_map in sorted(analysis.trace.clocks, key=lambda made: bool(made.pieces)):
        _line(console, "Clock", clock_map.words())


def show(analysis: wl.Analysis) -> None:
    """Print the verdict of an analysis."""
    with results() as console:
        _show(console, analysis)


def _show(console: Console, analysis: wl.Analysis) -> None:
    console.print(Text(printable(analysis.verdict.sentence, WHOLE), style="bold"))
    _air(console, analysis)
    _story(console, analysis)
    _ledger(console, analysis)
    _findings(console, analysis)
    _checks(console, analysis)
    _clocks(console, analysis)
    _notes(console, analysis)
    console.print()
    if analysis.report:
        _line(console, "Report", str(analysis.report))
    _line(console, "Tables", str(analysis.out / "tables"))
    changed = analysis.description.get("thresholds", {})
    values = [f"{code}.{name}={value}" for code, names in changed.items() for name, value in names.items()]
    if values:
        _line(console, "Changed", f"thresholds {', '.join(values)}")


def _air(console: Console, analysis: wl.Analysis) -> None:
    """Use of the air and its retransmissions; the verdict of a capture without TCP already has the use."""
    if not analysis.air.frames:
        return
    sentences = [words.retransmissions(analysis.air), *words.caveats(analysis.air)]
    if analysis.verdict.flow is not None:
        sentences.insert(0, words.use(analysis.air))
    for sentence in sentences:
        if sentence and sentence not in analysis.verdict.sentence:
            console.print(Text(sentence))


def _story(console: Console, analysis: wl.Analysis) -> None:
    """What followed from the costliest cause, what to do about it, and what the estimate without it assumes."""
    verdict = analysis.verdict
    if not verdict.story or verdict.story[0].finding > len(analysis.findings):
        return
    root = analysis.findings[verdict.story[0].finding - 1]
    if root.severity == "info":
        return
    console.print()
    if len(verdict.story) > 1:
        _line(console, "Story", " -> ".join(step.text for step in verdict.story))
    if root.remedy:
        _line(console, "Remedy", root.remedy)
    if verdict.without_assumption:
        _line(console, "Estimate", verdict.without_assumption)


def _line(console: Console, head: str, text: str, style: str = "") -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=9)
    grid.add_column(overflow="fold")
    grid.add_row(Text(head, style="bold"), Text(printable(text, WHOLE), style=style))
    console.print(grid)


def _ledger(console: Console, analysis: wl.Analysis) -> None:
    categories = analysis.verdict.categories_ns
    life = sum(categories.values())
    if not life:
        return
    width = min(console.width, 100) - 4
    console.print()
    console.print(Text(f"Where {share(life, 0)} went", style="bold"))
    letters = console.options.ascii_only or console.no_color or not console.is_terminal
    bar = Text("  ")
    for name, cells in _cells(categories, width).items():
        bar.append((CATEGORIES[name].letter if letters else "\u2588") * cells, style=CATEGORIES[name].terminal)
    console.print(bar, no_wrap=True, overflow="crop")
    grid = Table.grid(padding=(0, 2))
    for _ in range(3):
        grid.add_column()
    for name, ns in sorted(categories.items(), key=lambda item: -item[1]):
        style = "" if name in HEALTHY else "bold"
        mark = Text(CATEGORIES[name].letter if letters else "\u2588", style=CATEGORIES[name].terminal)
        grid.add_row(mark, Text(share(ns, life), style=style), Text(PLAIN[name], style=style))
    console.print(Padding(grid, (0, 0, 0, 2)))


def _cells(categories: dict[str, int], width: int) -> dict[str, int]:
    """How many of `width` cells each category gets: at least one each, by largest remainder."""
    total = sum(categories.values())
    cells = {name: max(1, ns * width // total) for name, ns in categories.items()}
    by_remainder = sorted(categories, key=lambda name: -(categories[name] * width % total))
    while sum(cells.values()) < width:
        for name in by_remainder[: width - sum(cells.values())]:
            cells[name] += 1
    while sum(cells.values()) > width and max(cells.values()) > 1:
        cells[max(cells, key=lambda name: cells[name])] -= 1
    return cells


def _findings(console: Console, analysis: wl.Analysis) -> None:
    """One block per code: the total cost, the sentence of the costliest finding, the numbers of the others."""
    left_out = analysis.description["findings"]["left_out"]
    total = len(analysis.findings) + sum(left_out.values())
    if not total:
        return
    console.print()
    title = Text(count(total, "finding"), style="bold")
    title.append(", by seconds lost (costs overlap; only the ledger sums)", style="")
    console.print(title)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column()
    for group in grouped(analysis.findings):
        number, worst = group.members[0]
        words = Text(group.code, style=_SEVERITY[group.severity])
        # The verdict names its subject already.
        sentence = worst.sentence.removeprefix(f"{analysis.verdict.subject}: ")
        words.append(f" {printable(sentence)}", style="default")
        words.append(f" [{number}]", style="dim")
        words.append(_others(group, left_out.get(group.code, 0)), style="dim")
        times = len(group.members) + left_out.get(group.code, 0)
        grid.add_row(hundredths(group.cost_s), f"{times} x" if times > 1 else "", words)
    console.print(Padding(grid, (0, 0, 0, 2)))


def _others(group: Group, left_out: int) -> str:
    """The numbers of the other findings of a group, and how many were not kept."""
    others = [(number, f.cost_s) for number, f in group.members[1:]]
    if not others:
        return f" {left_out} more not kept" if left_out else ""
    least, most = others[-1][1], others[0][1]
    low, high = hundredths(least), hundredths(most)
    each = high if low == high else f"{low} to {high}"
    spread = f", {each}{' each' if len(others) > 1 else ''}" if most >= 0.005 else ""
    numbers = ", ".join(str(number) for number, _ in others[:SHOWN]) + (", ..." if len(others) > SHOWN else "")
    kept = f"; {left_out} more not kept" if left_out else ""
    return f"\nand {len(others)} more{spread}: [{numbers}]{kept}"


def _checks(console: Console, analysis: wl.Analysis) -> None:
    states = analysis.findings.states
    console.print()
    for state, head in (("fine", "Fine"), ("undecided", "Undecided"), ("not_run", "Not run"), ("failed", "Failed")):
        these = [s for s in states if s.state == state]
        if not these:
            continue
        by_reason: dict[str, list[str]] = {}
        for s in these:
            by_reason.setdefault(capture_needs.plain(s.reason), []).append(s.code)
        for place, (reason, codes) in enumerate(by_reason.items()):
            text = ", ".join(codes) + (f": {reason}" if reason else "")
            _line(console, "" if place else head, text, "bold red" if state == "failed" else "")


def _notes(console: Console, analysis: wl.Analysis) -> None:
    for note in analysis.trace.notes:
        if note.severity != "info":
            at = f", byte {note.first_offset}" if note.first_offset else ""
            where = f", first at packet {note.first_packet}{at}" if note.first_packet else ""
            text = f"{note.sentence} ({note.name}, {count(note.count, 'time')}{where})"
            _line(console, note.severity.capitalize(), text, "yellow")
