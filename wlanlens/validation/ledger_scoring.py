"""Scores of a ledger and a verdict: seconds of each category against the true ledger of a simulation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wlanlens.simulation.ground_truth import address
from wlanlens.simulation.simulate import EPOCH_NS
from wlanlens.tables.columns import coded, integers

if TYPE_CHECKING:
    from wlanlens.simulation.ground_truth import Truth
    from wlanlens.trace import Trace

#: Categories that need captures of the air or the bus: without them this time is on the path.
BELOW_TCP = ("usb", "air_useful", "air_retries", "air_others")

_NEVER = np.iinfo(np.int64).max

#: A timer without any answer to the end is a timer: the analyser may name it by its outcome.
_AS = {"no_answer": "rto_backoff"}

#: What a verdict is about: causes, and the categories of each.
CAUSES = {
    "application": ("application",),
    "receiver_window": ("receiver_window",),
    "delayed_ack": ("delayed_ack",),
    "timeouts": ("rto_wait", "rto_backoff", "spurious_recovery", "loss_recovery"),
    "fast_recovery": ("fast_recovery",),
    "usb": ("usb",),
    "air_retries": ("air_retries",),
    "air_others": ("air_others",),
    "queue": ("queue",),
}

#: A verdict is judged where the first cause takes this share of the life and is this many times the second.
CLEAR_SHARE, CLEAR_FACTOR = 0.10, 1.5

#: Words of a verdict, and the causes that they name. A root cause stands for every cause that follows from it.
_WORDS = (
    (r"application.limited|application had nothing|application (?:sent|wrote|paused)", {"application"}),
    (r"receiver's window|window_limited|zero window|closed window", {"receiver_window"}),
    (r"delayed.ACK", {"delayed_ack"}),
    (r"no answer|never answered|unanswered|SYN", {"timeouts"}),
    (r"timeout|RTO|retransmission timer|backoff|ACKs were held|held ACKs", {"timeouts"}),
    (r"recovery although nothing was lost", {"timeouts"}),
    (r"fast recovery", {"fast_recovery"}),
    (r"lost packets|packet loss|losses|\blost \d|overflowed|overshot|lost ACKs", {"timeouts", "fast_recovery", "air_retries"}),
    (r"USB", {"usb"}),
    (r"802\.11 retries|thrashing|collisions|signal fad|errors in bursts|stuck", {"air_retries", "timeouts", "fast_recovery"}),
    (r"other stations|airtime", {"air_others"}),
    (r"queue?ing delay|overbuffer", {"queue"}),
    (r"nothing .{0,30}slowed|is the limit|path", {"none"}),
)  # fmt: skip


@dataclass(frozen=True)
class LedgerScore:
    """One direction at one capture point, or at several together.

    Attributes
    ----------
    world : int
        Number of the world.
    taps : tuple of str
    place : str
        Where that is, for this direction: "sender" or "receiver" of its data, "usb", "air", "together", or "elsewhere".
    subject : str
        "10.0.0.1:40000 > 10.0.0.2:5001".
    truth, said : dict
        Nanoseconds by category; `said` is empty where the ledger has no such direction.
    """

    world: int
    taps: tuple[str, ...]
    place: str
    subject: str
    truth: dict[str, int]
    said: dict[str, int]

    @property
    def life_ns(self) -> int:
        """The true life."""
        return sum(self.truth.values())

    @property
    def variation(self) -> float:
        """Total variation: the share of the life that is in a wrong category, or in no category."""
        names, length = {*self.truth, *self.said}, sum(self.said.values())
        off = sum(abs(self.truth.get(c, 0) - self.said.get(c, 0)) for c in names) + abs(self.life_ns - length)
        return off / 2 / max(self.life_ns, length, 1)

    @property
    def known_ns(self) -> int:
        """Time that the ledger gave to a category, not to `unknown`."""
        return sum(self.said.values()) - self.said.get("unknown", 0)

    @property
    def right_ns(self) -> int:
        """Of that, the time that the truth has in the same categories."""
        return sum(min(ns, self.truth.get(c, 0)) for c, ns in self.said.items() if c != "unknown")

    @property
    def worst(self) -> tuple[str, str]:
        """The category that has most too much and the one that lacks most."""
        off = {c: self.said.get(c, 0) - self.truth.get(c, 0) for c in {*self.truth, *self.said}}
        return max(off, key=lambda c: off[c], default=""), min(off, key=lambda c: off[c], default="")


@dataclass(frozen=True)
class VerdictScore:
    """The first cause in a verdict against the true one.

    Attributes
    ----------
    world : int
    taps : tuple of str
    cause : str
        The true first cause, over all connections.
    share : float
        Its share of the life of the connection that it cost most.
    clear : bool
        Whether it is judged: large enough, and far before the second.
    named : tuple of str
        Causes that the sentence names first; "none" for no cause.
    sentence : str
        The verdict.
    """

    world: int
    taps: tuple[str, ...]
    cause: str
    share: float
    clear: bool
    named: tuple[str, ...]
    sentence: str = field(repr=False)

    @property
    def right(self) -> bool:
        """Whether the sentence names the true first cause first."""
        return self.cause in self.named


def by_subject(
    subjects: Iterable[str],
    ledger: pa.Table,
    begins: Mapping[str, int] | None = None,
    ends: Mapping[str, int] | None = None,
) -> dict[str, dict[str, int]]:
    """Nanoseconds of each category by direction; `subjects`: that of each row; `begins`, `ends`: time before and after does not count."""
    start, end = (integers(ledger.column(name)).tolist() for name in ("t_start_ns", "t_end_ns"))
    names = ledger.column("category").cast("string").to_pylist()
    out: dict[str, Counter[str]] = {}
    for subject, category, a, b in zip(subjects, names, start, end, strict=True):
        ns = min(b, (ends or {}).get(subject, b)) - max(a, (begins or {}).get(subject, a))
        if ns > 0:
            out.setdefault(subject, Counter())[_AS.get(category, category)] += ns
    return {subject: dict(found) for subject, found in out.items()}


def true_ledger(
    facts: Truth, taps: tuple[str, ...] = (), last: Mapping[str, int] | None = None
) -> dict[str, dict[str, int]]:
    """The true ledger by direction; of taps, from when the first packet was sent that they see: none shows what was before. `last`: up
    to then.
    """
    return by_subject(_subjects(facts.ledger, facts.subject), facts.ledger, _first_packets_ns(facts, taps), last)


def last_packets_ns(trace: Trace) -> dict[str, int]:
    """When the last packet of each direction's connection passed a tap, ns of the run."""
    packets = trace.table("packets").select(["flow", "t_ns"])
    last = packets.group_by("flow", use_threads=False).aggregate([("t_ns", "max")])
    shift = trace.start_ns - EPOCH_NS
    out: dict[str, int] = {}
    for row in last.to_pylist():
        if row["flow"] is not None and row["t_ns_max"] is not None:
            for direction in ("a2b", "b2a"):
                subject = trace.subject(row["flow"], direction)
                out[subject] = max(out.get(subject, 0), row["t_ns_max"] + shift)
    return out


def _first_packets_ns(facts: Truth, taps: tuple[str, ...]) -> dict[str, int]:
    """When the first packet passed of those of each direction's connection that pass the tap at a host, for the tap of its sender; for others,
    and for several taps, when that packet was sent.

    What a sender waited for shows at another tap a path's delay later: of the time before the packet passes, that tap shows it all. None
    shows how long the first packet waited in the queue of its host, above where a tap is: it counts as sent when it left that.
    """
    if not taps:
        return {}
    t_end = integers(facts.packets.column("t_end_ns"))
    arrived = coded(facts.packets.column("fate"), ("delivered",)) == 0
    tapped = integers(facts.packets.column("t_tap_ns"), -1)
    left = np.where(tapped >= 0, tapped, integers(facts.packets.column("t_made_ns")))
    back = coded(facts.packets.column("direction"), ("a2b", "b2a")) == 1
    flow = integers(facts.packets.column("flow"))
    out: dict[str, int] = {}
    both = {"sender", "receiver"} <= set(taps)
    # A packet passes the tap of its sender, and that of the host where it arrives.
    for at_server in (False, True):
        seen = np.where(back == at_server, np.where(tapped >= 0, tapped, _NEVER), np.where(arrived, t_end, _NEVER))
        order = np.argsort(seen, kind="stable")
        numbers, first = np.unique(flow[order], return_index=True)
        for number, at in zip(numbers.tolist(), order[first].tolist(), strict=True):
            for direction in ("a2b", "b2a"):
                subject, mine = facts.subject(number, direction), (direction == "b2a") == at_server
                where = place(facts, taps, subject)
                seen_here = (
                    where in ("sender", "together") if mine else where == "receiver" or (both and where == "together")
                )
                if seen[at] < _NEVER and seen_here:
                    out[subject] = min(int(seen[at] if where == "sender" else left[at]), out.get(subject, _NEVER))
    return out


def scores(world: int, facts: Truth, trace: Trace, taps: tuple[str, ...]) -> list[LedgerScore]:
    """Each direction of the true ledger against the trace's, up to the last packet of its connection that passes a tap: what waits in its
    host's queue after that shows nowhere. One that has no data at the taps is left out.
    """
    visible = seen_data(facts)
    ledger = trace.table("ledger")
    said = by_subject(_subjects(ledger, trace.subject), ledger)
    divided = len(taps) > 1
    out = []
    for subject, categories in sorted(true_ledger(facts, taps, last_packets_ns(trace)).items()):
        truth = categories if divided else above(categories)
        where, mine = place(facts, taps, subject), said.get(subject, {})
        if mine or subject in visible.get(where, ()):
            out.append(LedgerScore(world, taps, where, subject, truth, mine))
    return out


def seen_data(facts: Truth) -> dict[str, set[str]]:
    """Directions with data that passed their sender's tap, that was on the air, and that arrived."""
    packets = facts.packets
    data = integers(packets.column("len_bytes")) > 0
    which = {
        "sender": packets.column("t_tap_ns").is_valid(),
        "air": pc.greater(packets.column("attempts"), 0),
        "receiver": pc.equal(packets.column("fate"), "delivered"),
    }
    out: dict[str, set[str]] = {}
    for where, seen in which.items():
        rows = packets.select(["flow", "direction"]).filter(pc.and_(pa.array(data), seen.combine_chunks()))
        keys = rows.group_by(["flow", "direction"], use_threads=False).aggregate([]).to_pylist()
        out[where] = {facts.subject(key["flow"], key["direction"]) for key in keys}
    return {**out, "together": out["sender"]}


def place(facts: Truth, taps: tuple[str, ...], subject: str) -> str:
    """Where the taps are for a direction: at the host that sends its data, at the one that receives it, or between."""
    world = facts.world
    hosts = {"sender": address(world.sender), "receiver": address(world.receiver)}
    ends = [end.rpartition(":")[0] for end in subject.split(" > ")]
    if len(taps) > 1:
        return "together" if ends[0] in hosts.values() else "elsewhere"
    if taps[0] not in hosts:
        return taps[0]
    host = hosts[taps[0]]
    return "sender" if host == ends[0] else "receiver" if host == ends[1] else "elsewhere"


def above(categories: Mapping[str, int]) -> dict[str, int]:
    """The ledger as a capture without the links below shows it."""
    out: Counter[str] = Counter()
    for category, ns in categories.items():
        out["path" if category in BELOW_TCP else category] += ns
    return dict(out)


def verdict_score(
    world: int, facts: Truth, sentence: str, taps: tuple[str, ...], last: Mapping[str, int] | None = None
) -> VerdictScore:
    """The first cause of a verdict against that of the truth: the one that cost most seconds in one direction.

    Connections of which no packet passes the taps do not count, nor does the time after the last packet that passes a tap (`last`,
    see `last_packets_ns`): what was lost on its way there and was never repeated does not show.
    """
    divided = len(taps) > 1
    spent: list[tuple[int, str, int]] = []
    for subject, categories in true_ledger(facts, taps, last).items():
        if place(facts, taps, subject) == "elsewhere" and "air" not in taps:
            continue
        seen = categories if divided else above(categories)
        life = sum(seen.values())
        spent += [(sum(seen.get(c, 0) for c in group), name, life) for name, group in CAUSES.items()]
    spent.sort(reverse=True)
    # What the application left idle is no loss: it leads only where nothing else cost much.
    lost = [row for row in spent if row[1] != "application"]
    if not any(ns > CLEAR_SHARE * life for ns, _, life in lost):
        lost = spent
    (ns, cause, life) = lost[0] if lost else (0, "none", 1)
    second = max((row[0] for row in lost if row[1] != cause), default=0)
    clear = ns > CLEAR_SHARE * life and ns >= CLEAR_FACTOR * second
    if cause == "application":
        # Of several connections another one may be the healthy transfer that the verdict is about.
        clear &= len(spent) == len(CAUSES)
    return VerdictScore(world, taps, cause, ns / life, clear, tuple(sorted(named(sentence))), sentence)


def named(sentence: str) -> set[str]:
    """The causes that a verdict names first."""
    found = [(m.start(), causes) for words, causes in _WORDS if (m := re.search(words, sentence, re.IGNORECASE))]
    if not found:
        return {"none"}
    first = min(start for start, _ in found)
    # Words of one clause belong together: "5 retransmission timeouts because ACKs were held".
    end = min((at for at in (sentence.find(mark, first) for mark in (";", ". ")) if at >= 0), default=len(sentence))
    return set[str]().union(*(causes for start, causes in found if start < end))


def share_right(found: Iterable[LedgerScore]) -> float | None:
    """Share of the time in known categories that is right; None without such time."""
    rows = list(found)
    known = sum(s.known_ns for s in rows)
    return sum(s.right_ns for s in rows) / known if known else None


def spread(found: Iterable[LedgerScore]) -> tuple[float, float] | None:
    """Median and 95th percentile of the total variation; None without a direction."""
    values = [s.variation for s in found]
    return (float(np.median(values)), float(np.percentile(values, 95))) if values else None


def spread_of_worlds(found: Iterable[LedgerScore]) -> tuple[float, float] | None:
    """The same of the mean of each world: a world with sixty connections counts once."""
    worlds: dict[int, list[float]] = {}
    for score in found:
        worlds.setdefault(score.world, []).append(score.variation)
    values = [float(np.mean(of)) for of in worlds.values()]
    return (float(np.median(values)), float(np.percentile(values, 95))) if values else None


def _subjects(ledger: pa.Table, subject: Callable[[int, str], str]) -> list[str]:
    known: dict[tuple[int, str], str] = {}
    out = []
    for key in zip(ledger.column("flow").to_pylist(), ledger.column("direction").to_pylist(), strict=True):
        if key not in known:
            known[key] = subject(*key)
        out.append(known[key])
    return out
