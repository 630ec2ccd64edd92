"""The verdict's "without this": how long the transfer would have taken without its costliest cause, and what followed from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wlanlens.detection.finding import Finding
from wlanlens.detection.story import stories
from wlanlens.detection.verdict_reasons import SHARE
from wlanlens.formatting import bit_rate, seconds

if TYPE_CHECKING:
    from wlanlens.detection.verdict import Verdict


def with_counterfactual(verdict: Verdict, findings: Sequence[Finding], payload_bytes: int, *, alone: bool) -> Verdict:
    """The verdict with the story of its costliest cause, and the duration and goodput without that cause.

    Parameters
    ----------
    verdict : Verdict
        About one direction of a connection; another is returned as it is.
    findings : sequence of Finding
        In the order of their numbers.
    payload_bytes : int
        Payload of that direction without retransmissions; 0 where unknown.
    alone : bool
        Whether the capture holds no other connection, so that findings about stations and buses are about this one.
    """
    if verdict.flow is None or verdict.duration_s <= 0:
        return verdict
    about = [(verdict.flow, verdict.direction), *([(None, None)] if alone else [])]
    least_s = SHARE * verdict.duration_s
    mine = [story for story in stories(findings, about) if max(story.cost_s, story.saved_s or 0.0) >= least_s]
    if not mine:
        return verdict
    top = max(mine, key=lambda story: (saves if (saves := story.saved_s or 0.0) >= least_s else 0.0, story.cost_s))
    verdict = replace(verdict, story=top.steps)
    if top.saved_s is None or not least_s <= top.saved_s < verdict.duration_s or verdict.lost_s <= 0:
        return verdict
    left_s = verdict.duration_s - top.saved_s
    speed = payload_bytes * 8 / left_s if payload_bytes else None
    rate = f", {bit_rate(speed)}" if speed is not None else ""
    sentence = f"{verdict.sentence} Without this ({top.root.replace('_', ' ')}): {seconds(round(left_s * 1e9))}{rate} (estimate)."
    return replace(
        verdict,
        sentence=sentence,
        without_s=round(left_s, 9),
        without_bps=speed,
        without_assumption=top.assumption,
    )
