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
    # The application would have paused all the same: an estimate that takes its pauses for the rate of the transfer is none.
    if left_s < verdict.categories_ns.get("application", 0) / 1e9:
        return verdict
    speed = payload_bytes * 8 / left_s if payload_bytes else None
    return replace(
        verdict,
        without_s=round(left_s, 9),
        without_bps=speed,
        without_assumption=top.assumption,
    )


def said(verdict: Verdict) -> str:
    """ "Without this (ack holding): 8.5 s, 9.41 Mbit/s (estimate)."; "" without an estimate."""
    if verdict.without_s is None:
        return ""
    rate = f", {bit_rate(verdict.without_bps)}" if verdict.without_bps is not None else ""
    cause = verdict.story[0].code.replace("_", " ")
    return f"Without this ({cause}): {seconds(round(verdict.without_s * 1e9))}{rate} (estimate)."
