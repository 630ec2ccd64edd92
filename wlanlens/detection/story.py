"""Stories: findings that follow from each other as one chain, the root cause first, with its cost once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One step of a story.

    Attributes
    ----------
    code : str
        Code of its findings.
    text : str
        The step in a few words: "ACKs were held by the adapter (12 times)".
    finding : int
        Number of its costliest finding, counted from 1, as in `wlanlens evidence`.
    """

    code: str
    text: str
    finding: int
