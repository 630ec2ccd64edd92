"""The tables of `validate --random` as text, as a section of docs/validation.md, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from wlanlens.formatting import cut
from wlanlens.tables import CATEGORIES
from wlanlens.validation import page
from wlanlens.validation.ledger_scoring import LedgerScore, VerdictScore, share_right, spread, spread_of_worlds
from wlanlens.validation.random_validation import WorldScore
from wlanlens.validation.summary import PRECISION, RECALL, Line, lines
from wlanlens.validation.validate import chosen

#: Title of the section in docs/validation.md; what stands before it is the validation of the scenarios.
TITLE = "## Random worlds"

#: Places in the order of the tables, and those at which the sender's state can be seen.
PLACES = ("sender", "together", "usb", "air", "receiver", "elsewhere")
AT_SENDER = ("sender", "together")

#: Floors: true events from which a detector is judged, undecided cases, total variation (median, 95th percentile), right
#: seconds at other taps, verdicts.
LEAST_EVENTS, UNDECIDED, MEDIAN, TAIL, RIGHT, VERDICTS = 20, 0.10, 0.02, 0.10, 0.95, 0.95

#: Worlds listed as the worst.
WORST = 10


@dataclass(frozen=True)
class RandomValidation:
    """All worlds of a run.

    Attributes
    ----------
    worlds : tuple of WorldScore
        In order of their numbers.
    first, count : int
        Number of the first world, and how many were wanted.
    lines : tuple of Line
        One for each detector.
    """

    worlds: tuple[WorldScore, ...]
    first: int
    count: int
    lines: tuple[Line, ...]

    @property
    def ledgers(self) -> list[LedgerScore]:
        """Every direction at every tap."""
        return [score for world in self.worlds for score in world.ledgers]

    @property
    def verdicts(self) -> list[VerdictScore]:
        """Every verdict that is judged: the true first cause is clear."""
        return [score for world in self.worlds for score in world.verdicts if score.clear]

    @property
    def crashes(self) -> list[WorldScore]:
        """Worlds that could not be judged."""
        return [world for world in self.worlds if world.crash]

    @property
    def refused(self) -> int:
        """Number of sets of captures that were refused."""
        return sum(len(world.refused) for world in self.worlds)

    def at(self, place: str) -> list[LedgerScore]:
        """Every direction at one place."""
        return [score for score in self.ledgers if score.place == place]

    def faults(self) -> list[str]:
        """Every missed floor, in words."""
        out = [f"world {world.number}: {world.crash}" for world in self.crashes]
        for line in self.lines:
            s = line.score
            if s.truth < LEAST_EVENTS:
                continue
            for what, value, least in (("precision", s.precision, PRECISION), ("recall", s.recall, RECALL)):
                if value is not None and value < least:
                    out.append(f"{line.code}: {what} {value:.3f} is below {least:g}")
            if s.open > UNDECIDED * (s.truth + s.open):
                out.append(
                    f"{line.code}: {s.open} of {s.truth + s.open} events are undecided, more than {UNDECIDED:.0%}"
                )
        for place in PLACES:
            found = self.at(place)
            limits = spread(found)
            if place in AT_SENDER and limits is not None:
                for what, value, most in (("median", limits[0], MEDIAN), ("95th percentile", limits[1], TAIL)):
                    if value > most:
                        out.append(f"ledger, {place}: {what} of the variation {value:.1%} is above {most:.0%}")
            right = share_right(found)
            if place not in AT_SENDER and right is not None and right < RIGHT:
                out.append(f"ledger, {place}: {right:.1%} of the known seconds are right, fewer than {RIGHT:.0%}")
        right = sum(v.right for v in self.verdicts)
        if right < VERDICTS * len(self.verdicts):
            out.append(f"verdict: the first cause is right in {right} of {len(self.verdicts)}, below {VERDICTS:.0%}")
        return out


def summary(worlds: Iterable[WorldScore], first: int, count: int, detectors: Iterable[str] = ()) -> RandomValidation:
    """The tables of all worlds."""
    ordered = sorted(worlds, key=lambda world: world.number)
    made = lines([world.judged for world in ordered], chosen("detectors", detectors))
    return RandomValidation(tuple(ordered), first, count, tuple(made))


_LEDGER = ("place", "directions", "s", "variation p50", "p95", "worlds p50", "p95", "unknown", "right of known")
_SECONDS = ("category", *(f"{place}: {what}" for place in AT_SENDER for what in ("true s", "ledger s", "shared s")))
_VERDICT = ("captures", "judged", "right", "share")
_WORST = ("variation", "at", "direction", "life s", "too much", "too little", "repeat")


def _tables(result: RandomValidation) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, head and rows of each table."""
    findings = [row for line, row in zip(result.lines, map(page.row, result.lines), strict=True) if _spoke(line)]
    return [
        ("Findings", page.HEAD, findings),
        ("Ledger", _LEDGER, [_place(place, result.at(place)) for place in PLACES if result.at(place)]),
        ("Seconds by category", _SECONDS, _seconds(result)),
        ("Verdict", _VERDICT, _verdicts(result)),
        ("Worst worlds", _WORST, [_worst(score) for score in worst(result)]),
        ("Verdicts that name another cause", ("true cause", "share", "at", "verdict", "repeat"), _wrong(result)),
    ]


def _spoke(line: Line) -> bool:
    return bool(line.score.truth or line.score.found or line.undecided)


def _place(name: str, found: list[LedgerScore]) -> tuple[str, ...]:
    limits, worlds = spread(found) or (0.0, 0.0), spread_of_worlds(found) or (0.0, 0.0)
    said = sum(sum(score.said.values()) for score in found)
    unknown = sum(score.said.get("unknown", 0) for score in found)
    life_s = sum(score.life_ns for score in found) / 1e9
    right = share_right(found)
    return (
        name,
        str(len(found)),
        f"{life_s:.0f}",
        f"{limits[0]:.1%}",
        f"{limits[1]:.1%}",
        f"{worlds[0]:.1%}",
        f"{worlds[1]:.1%}",
        f"{unknown / max(1, said):.1%}",
        "-" if right is None else f"{right:.1%}",
    )


def _seconds(result: RandomValidation) -> list[tuple[str, ...]]:
    cells: dict[str, list[str]] = {}
    for place in AT_SENDER:
        true, said, shared = Counter[str](), Counter[str](), Counter[str]()
        for score in result.at(place):
            true.update(score.truth)
            said.update(score.said)
            shared.update({c: min(ns, score.truth.get(c, 0)) for c, ns in score.said.items()})
        for category in CATEGORIES:
            cells.setdefault(category, []).extend(f"{sums[category] / 1e9:.1f}" for sums in (true, said, shared))
    return [(category, *row) for category, row in cells.items() if set(row) != {"0.0"}]


def _verdicts(result: RandomValidation) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    judged = result.verdicts
    for name in ("together", "sender", "usb", "air", "receiver"):
        mine = [
            v for v in judged if (name == "together") == (len(v.taps) > 1) and (len(v.taps) > 1 or v.taps[0] == name)
        ]
        if mine:
            right = sum(v.right for v in mine)
            out.append((name, str(len(mine)), str(right), f"{right / len(mine):.1%}"))
    return out


def worst(result: RandomValidation) -> list[LedgerScore]:
    """The directions with the most time in wrong categories where the sender's state can be seen; one of each world."""
    best: dict[int, LedgerScore] = {}
    for score in result.ledgers:
        if score.place in AT_SENDER and score.variation > (best[score.world].variation if score.world in best else 0.0):
            best[score.world] = score
    return sorted(best.values(), key=lambda score: -score.variation)[:WORST]


def _worst(score: LedgerScore) -> tuple[str, ...]:
    much, little = ("", "") if not score.said else score.worst
    off = {c: (score.said.get(c, 0) - score.truth.get(c, 0)) / 1e9 for c in (much, little)}
    return (
        f"{score.variation:.1%}",
        score.place,
        score.subject,
        f"{score.life_ns / 1e9:.2f}",
        f"{much} {off[much]:+.2f} s" if score.said else "not in the ledger",
        f"{little} {off[little]:+.2f} s" if score.said else "",
        repeat(score.world),
    )


def _wrong(result: RandomValidation) -> list[tuple[str, ...]]:
    wrong = sorted((v for v in result.verdicts if not v.right), key=lambda v: -v.share)
    seen = {v.world: v for v in reversed(wrong)}
    return [
        (v.cause, f"{v.share:.0%}", "+".join(v.taps), cut(v.sentence, 160).replace("|", "/"), repeat(v.world))
        for v in sorted(seen.values(), key=lambda v: -v.share)[:WORST]
    ]


def repeat(number: int) -> str:
    """The command that judges one world again."""
    return f"wlanlens validate --random 1 --seed {number}"


def plain(result: RandomValidation) -> str:
    """The tables for a terminal."""
    out: list[str] = []
    for title, head, rows in _tables(result):
        if rows:
            out += [title, *page.aligned(head, rows), ""]
    return "\n".join([*out, _closing(result)]) + "\n"


def _closing(result: RandomValidation) -> str:
    faults = len(result.faults())
    return (
        f"{len(result.worlds)} random worlds from {result.first} on, {len(result.crashes)} crashed, {result.refused} sets of captures refused: "
        + (f"{faults} floors missed" if faults else "all floors reached")
        + "."
    )


def markdown(result: RandomValidation) -> str:
    """The section of docs/validation.md."""
    out = [
        TITLE,
        "",
        f"Made by `wlanlens validate --random {result.count} --seed {result.first}` on {page.day()}: {len(result.worlds)} worlds,",
        f"{len(result.crashes)} of them crashed; {result.refused} sets of captures were refused with an error for the user.",
        "",
        "Scenario, parameters, TCP, further connections, queues, errors on the air and snap lengths are drawn at random. Each capture is",
        "analysed alone, and all of a world together. Variation is the total variation of a direction's ledger against the true",
        "one: the share of its life in a wrong category. `right of known`: of the seconds in any category but unknown, those that",
        "the truth has there too. `shared s`: for each direction the lesser of both, summed. A verdict is judged where the true",
        "first cause takes over a tenth of the life and is half as large again as the second, at a single tap in the time from when",
        "the connection's first packet was sent that passes it, to its last there. Floors: precision and recall 0.95",
        "for detectors with 20 or more true events, undecided at most 10 %; variation 2 % in the median and 10 % in the 95th",
        "percentile at the sender's tap and with all captures; 95 % of the known seconds right at the other taps; 95 % of the",
        "verdicts.",
        "",
    ]
    for title, head, rows in _tables(result):
        if rows:
            out += [f"### {title}", "", *page.markdown_table(head, rows), ""]
    if faults := result.faults():
        out += ["### What fails", "", *(f"- {fault}" for fault in faults), ""]
    return "\n".join(out)


def merged(old: str, new: str) -> str:
    """docs/validation.md with one of its two parts replaced."""
    first, _, second = old.partition(TITLE)
    if new.startswith(TITLE):
        return f"{first.rstrip()}\n\n{new}" if first.strip() else new
    return f"{new.rstrip()}\n\n{TITLE}{second}" if second else new


def to_dict(result: RandomValidation) -> dict[str, Any]:
    """As JSON."""
    return {
        "worlds": len(result.worlds),
        "first": result.first,
        "faults": result.faults(),
        "crashes": [{"world": w.number, "drawn": w.drawn, "why": w.crash} for w in result.crashes],
        "refused": [{"world": w.number, "why": why} for w in result.worlds for why in w.refused],
        "detectors": page.detectors(result.lines),
        "ledger": [
            {
                "world": s.world, "place": s.place, "taps": s.taps, "subject": s.subject, "variation": s.variation,
                "truth_ns": s.truth, "ledger_ns": s.said,
            }
            for s in result.ledgers
        ],
        "verdicts": [{**asdict(v), "right": v.right} for world in result.worlds for v in world.verdicts],
    }  # fmt: skip
