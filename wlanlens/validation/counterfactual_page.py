"""The scores of `validate --counterfactual` as text, as docs/counterfactual.md and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from wlanlens.validation.counterfactual import JUDGED_SHARE, RIGHT_SHARE, Line, PairScore, lines

#: Wrong estimates that are listed.
WORST = 12

_HEAD = (
    "cause",
    "findings",
    "worlds",
    "undecided",
    "silent",
    "undefined",
    "small",
    "judged",
    "within 20 %",
    "within 20 % of the duration",
)

_INTRO = f"""# Savings against the simulator

Made by `wlanlens validate --counterfactual N --seed S -o docs/counterfactual.md`.

Each world is a transfer of a file with a planted cause: a random line or cell, a random TCP, random times and lengths of the events.
The same world with the same seed is simulated again without the cause. The true change of the duration is compared with the sum of
`saved_s` of the findings of that cause. What depends on chance elsewhere is off, so that the difference is the cause's.

`undecided`: the change is at least {JUDGED_SHARE:.0%} of the duration, and the detector said that the capture cannot decide;
`silent`: neither a finding nor that. `undefined`: findings without `saved_s`.
`small`: the true change and the estimate are below that share, which no verdict names. `judged`: all others;
`within 20 %`: the estimate is within {RIGHT_SHARE:.0%} of the true change.
"""


#: Why findings have no `saved_s`.
NOT_DEFINED = {
    "acked_data_retransmission": "its copies follow from a spurious timeout, whose `saved_s` holds their time: counted again, it would "
    "be saved twice",
    "data_ack_collision": "a contention window that avoids ties makes each packet wait longer: which is more depends on the remedy, "
    "and ties by design have none",
    "no_answer": "the transfer has no end without the answer, so there is no duration to compare",
    "overbuffering": "a queue that never runs empty delivers the same bytes at the same rate: it costs delay, to this flow's losses "
    "and to other flows, and no duration",
}


def plain(scores: Sequence[PairScore]) -> str:
    """The table for a terminal."""
    rows = [_HEAD, *(_cells(line) for line in lines(scores))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    text = [
        "  ".join(
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*text, "", *_wrong(scores)]).rstrip() + "\n"


def markdown(scores: Sequence[PairScore]) -> str:
    """The page."""
    table = [f"| {' | '.join(_HEAD)} |", "|---|---" + "|---:" * (len(_HEAD) - 2) + "|"]
    table += [f"| {' | '.join(_cells(line))} |" for line in lines(scores)]
    numbers = [score.number for score in scores]
    drawn = f"Worlds {min(numbers)} to {max(numbers)}." if numbers else ""
    wrong = ["", "Wrong estimates, the largest error first:", "", *(f"* {text}" for text in _wrong(scores))]
    none = ["", "Findings without `saved_s`:", "", "| finding | why it is not defined |", "|---|---|"]
    none += [f"| {code} | {why} |" for code, why in NOT_DEFINED.items()]
    return "\n".join([_INTRO, drawn, "", *table, "", _right(scores), *none, *(wrong if _wrong(scores) else [])]) + "\n"


def _right(scores: Sequence[PairScore]) -> str:
    """The floor's figure, and how it is if worlds without a finding are wrong ones."""
    line = lines(scores)[-1]
    of_all = line.judged + line.silent + line.undecided + line.undefined
    if not line.judged:
        return "No world was judged."
    return (
        f"Within {RIGHT_SHARE:.0%}: {line.right} of {line.judged} judged worlds ({line.right / line.judged:.1%}); of the {of_all} worlds "
        f"with a change of that size, found or not, {line.right / of_all:.1%}."
    )


def to_dict(scores: Sequence[PairScore]) -> dict[str, Any]:
    """The scores as JSON: a line for each cause, and every world."""
    worlds = [{**asdict(s), "judged": s.judged, "right": s.right} for s in sorted(scores, key=lambda s: s.number)]
    return {"lines": [asdict(line) for line in lines(scores)], "worlds": worlds}


def _cells(line: Line) -> tuple[str, ...]:
    return (
        line.cause,
        line.code,
        *(
            str(n)
            for n in (
                line.worlds,
                line.undecided,
                line.silent,
                line.undefined,
                line.small,
                line.judged,
                line.right,
                line.near,
            )
        ),
    )


def _wrong(scores: Sequence[PairScore]) -> list[str]:
    wrong = sorted((s for s in scores if s.judged and not s.right), key=lambda s: -s.error_share)
    return [
        f"world {s.number}, {s.cause}: {s.before_s:.2f} s, without the cause {s.after_s:.2f} s; saved_s {s.saved_s:.2f} s, "
        f"true {s.true_s:.2f} s"
        for s in wrong[:WORST]
    ]
