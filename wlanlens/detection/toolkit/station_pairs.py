"""Station pairs: transmitter and receiver as one number, and findings about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.detection.finding import Finding, Undecided, Value
from wlanlens.detection.toolkit.facts import Facts
from wlanlens.detection.toolkit.findings import MAX_EVIDENCE_ROWS, costliest, make_finding
from wlanlens.formatting import count, duration
from wlanlens.tables.columns import Array, encoded, looked_up

if TYPE_CHECKING:
    import pyarrow as pa

#: Bits of an address's number within a pair's.
_ADDRESS_BITS = 24


def pair_number(capture: Any, ta: Any, ra: Any) -> Any:
    """One number for capture, transmitter and receiver; of whole numbers or arrays."""
    return (capture << 2 * _ADDRESS_BITS) + (ta << _ADDRESS_BITS) + ra


def capture_of(pair: Any) -> Any:
    """Number of a pair's capture."""
    return pair >> 2 * _ADDRESS_BITS


def transmitter_of(pair: Any) -> Any:
    """Number of a pair's transmitter."""
    return (pair >> _ADDRESS_BITS) & ((1 << _ADDRESS_BITS) - 1)


def receiver_of(pair: Any) -> Any:
    """Number of a pair's receiver."""
    return pair & ((1 << _ADDRESS_BITS) - 1)


def reverse(pair: Any) -> Any:
    """The pair of the other direction; of a whole number or an array."""
    return pair_number(capture_of(pair), receiver_of(pair), transmitter_of(pair))


class StationPairs:
    """Numbers for the captures and addresses of a trace's 802.11 tables, and findings about pairs of stations."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._address_numbers: dict[str, int] = {}
        self._capture_numbers: dict[str, int] = {}

    def number_addresses(self, column: pa.ChunkedArray) -> Array:
        """A number for each address; -1 for null."""
        return _number(column, self._address_numbers)

    def number_captures(self, column: pa.ChunkedArray) -> Array:
        """A number for each capture; -1 for null."""
        return _number(column, self._capture_numbers)

    def group_addresses(self) -> Array:
        """For each number of an address, whether it is a group address; the last entry, for -1, is False."""
        return np.array([int(name[1], 16) % 2 == 1 for name in self._address_numbers] + [False], bool)

    def address(self, number: int) -> str:
        """The address of a number."""
        return list(self._address_numbers)[number]

    def subject(self, pair: int) -> str:
        """ "station 02:.. > 02:.."."""
        return f"station {self.address(transmitter_of(pair))} > {self.address(receiver_of(pair))}"

    def capture(self, pair: int) -> str:
        """The name of a pair's capture."""
        number: int = capture_of(pair)
        return list(self._capture_numbers)[number]

    def finding(
        self,
        code: str,
        pair: int,
        t_start_ns: int,
        t_end_ns: int,
        *,
        cost_s: float,
        confidence: float,
        values: Mapping[str, Value],
        evidence: Iterable[int],
        sentence: str,
        frames_filter: str = "",
        segments: Iterable[int] = (),
    ) -> Finding:
        """A finding about a station pair.

        Parameters
        ----------
        code : str
            The detector's code.
        pair : int
            The pair.
        t_start_ns, t_end_ns : int
            Its interval; the end is cut at the end of the trace.
        cost_s, confidence, values, sentence
            As in `Finding`.
        evidence, segments : iterable of int
            Packet numbers of frames, and of segments.
        frames_filter : str
            Display filter of the frames to show over the span of the evidence; those of the pair by default.
        """
        numbers = sorted({int(p) for p in evidence})
        ta, ra = self.address(transmitter_of(pair)), self.address(receiver_of(pair))
        frames = frames_filter or f"wlan.ta == {ta} && wlan.ra == {ra}"
        duration_ns = self._facts.trace.duration_ns
        end_ns = min(int(t_end_ns), duration_ns) if duration_ns else int(t_end_ns)
        return make_finding(
            code=code,
            t_start_ns=int(t_start_ns),
            t_end_ns=max(int(t_start_ns), end_ns),
            capture=self.capture(pair),
            subject=self.subject(pair),
            cost_s=min(cost_s, duration_ns / 1e9) if duration_ns else cost_s,
            lifetime_s=(end_ns - int(t_start_ns)) / 1e9,
            confidence=confidence,
            values=values,
            evidence={"frames": numbers, "segments": segments},
            sentence=sentence,
            display_filter=f"{frames} && frame.number >= {numbers[0]} && frame.number <= {numbers[-1]}",
        )

    def costliest(self, code: str, found: Sequence[Finding]) -> Iterator[Finding]:
        """The costliest findings, and one that sums up those beyond `MAX_FINDINGS`."""
        listed, others = costliest(np.array([f.cost_s for f in found]))
        yield from (found[i] for i in listed.tolist())
        if not len(others):
            return
        more = [found[i] for i in others.tolist()]
        cost_s = sum(f.cost_s for f in more)
        shown = [row for f in more[:MAX_EVIDENCE_ROWS] for row in f.rows("frames")[:1]]
        pairs = len({f.subject for f in more})
        yield make_finding(
            code=code,
            t_start_ns=min(f.t_start_ns for f in more),
            t_end_ns=max(f.t_end_ns for f in more),
            capture=more[0].capture,
            subject=count(pairs, "more station pair"),
            cost_s=min(cost_s, self._facts.trace.duration_ns / 1e9),
            lifetime_s=self._facts.trace.duration_ns / 1e9,
            confidence=0.9,
            values={"cases_count": len(more), "pairs_count": pairs},
            evidence={"frames": shown},
            sentence=(
                f"{count(len(more), 'more case')} of {count(pairs, 'station pair')}, each cheaper than those listed, cost "
                f"{duration(cost_s)} in total."
            ),
        )

    def undecided(self, code: str, pairs: Sequence[int], sentence: str) -> Undecided:
        """Pairs for which this capture cannot decide."""
        return Undecided(code, sentence, count=len(pairs), subject=self.subject(pairs[0]) if len(pairs) == 1 else "")


def _number(column: pa.ChunkedArray, numbers: dict[str, int]) -> Array:
    """Numbers for a text column, -1 for null; new words are added to `numbers`."""
    texts = encoded(column)
    return looked_up(texts, [numbers.setdefault(word, len(numbers)) for word in texts.dictionary.to_pylist()], -1)
