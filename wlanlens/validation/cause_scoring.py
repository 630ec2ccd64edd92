"""Scores of aligned captures: findings, holders of ACKs, loss locations, and spurious retransmissions and timeouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wlanlens.detection.finding import Finding
from wlanlens.detection.runner import detect
from wlanlens.simulation.ground_truth import Truth
from wlanlens.simulation.simulate import EPOCH_NS, Run
from wlanlens.trace import Trace
from wlanlens.validation.scoring import Score, score, value_pairs

#: Accepted values of `kept_by` for the truth's adapter or queue: without the bus an adapter is not separable from its driver,
#: and the truth does not separate a queue from the transmissions ahead of it. "path", without the air, leaves it open.
KEPT_BY = {"adapter": ("adapter", "adapter_or_driver"), "queue": ("queue", "air")}


@dataclass(frozen=True)
class Answers:
    """Answers of one kind, compared with the truth.

    Attributes
    ----------
    right, wrong, open : int
        Right answers, wrong answers, and questions left open.
    """

    right: int = 0
    wrong: int = 0
    open: int = 0

    def __add__(self, other: Answers) -> Answers:
        return Answers(self.right + other.right, self.wrong + other.wrong, self.open + other.open)

    @property
    def share(self) -> float | None:
        """Share of right answers; None without answers."""
        answers = self.right + self.wrong
        return self.right / answers if answers else None


@dataclass(frozen=True)
class Causes:
    """Scores of one aligned analysis.

    Attributes
    ----------
    scores : dict
        Findings against the truth, by code.
    kept_by : Answers
        What held ACKs, in the true findings `ack_holding`.
    lost : Answers
        Where data of the sending host was lost.
    spurious : Answers
        Whether its retransmissions were spurious.
    timeouts : Answers
        Whether its timeouts were: spurious or ack_lost against genuine.
    """

    scores: dict[str, Score] = field(default_factory=dict)
    kept_by: Answers = Answers()
    lost: Answers = Answers()
    spurious: Answers = Answers()
    timeouts: Answers = Answers()


def score_causes(
    run: Run, trace: Trace, codes: Iterable[str] | None = None, *, to_run_ns: Callable[[int], int] | None = None
) -> Causes:
    """Score captures of one run on one axis.

    Parameters
    ----------
    to_run_ns : callable or None
        Maps times of the axis to times of the run; by default the first capture's clock is exact.
    """
    facts = run.facts
    shift = trace.start_ns - EPOCH_NS
    on_run = to_run_ns if to_run_ns is not None else lambda t: t + shift
    found = [replace(f, t_start_ns=on_run(f.t_start_ns), t_end_ns=on_run(f.t_end_ns)) for f in detect(trace, codes)]
    wanted = {f.code for f in found} | set(codes or ())
    truth = [f for f in run.truth if codes is None or f.code in wanted]
    packets = _packets(run, trace)
    return Causes(
        scores=score(found, truth),
        kept_by=_kept_by(found, truth),
        lost=_lost(facts, packets),
        spurious=_of(packets, "spurious", lambda row: row["arrived"] if row["retransmission"] else None),
        timeouts=_of(packets, "timeout", lambda row: row["arrived"] if row["timeout"] is not _NO_TIMEOUT else None),
    )


def _kept_by(found: Sequence[Finding], truth: Sequence[Finding]) -> Answers:
    held = ([f for f in found if f.code == "ack_holding"], [t for t in truth if t.code == "ack_holding"])
    out = Counter(
        "open" if said in (None, "path") else "right" if said in KEPT_BY.get(str(true), (true,)) else "wrong"
        for said, true in value_pairs(*held, "kept_by")
    )
    return Answers(**out)


#: Marks segments without a timeout.
_NO_TIMEOUT = object()


def _packets(run: Run, trace: Trace) -> list[dict[str, Any]]:
    """The data in the sending host's capture, each packet with its true fate and the analysis of it."""
    leading = trace.leading()
    names = ["capture", "flow", "direction", "packet", "rel_seq", "len", "transmission", "spurious"]
    sender = next((c.name for c in trace.captures if c.point == "sender"), None)
    rows = [
        row
        for row in leading.table("segments").select(names).to_pylist()
        if row["len"] and row["capture"] == sender and row["transmission"] in ("first", "retransmission", "reordered")
    ]
    timeouts = {row["packet"]: row for row in leading.table("timeouts").to_pylist() if row["capture"] == sender}
    links = trace.table("links").select(["sender_packet", "arrival", "loss_location"]).to_pylist()
    linked = {row["sender_packet"]: row for row in links if row["sender_packet"] is not None}
    true = _true_copies(run.facts)
    counted = Counter((trace.subject(row["flow"], row["direction"]), int(row["rel_seq"])) for row in rows)
    # If the capture missed a copy, or segments differ, copies cannot be identified.
    ambiguous = {who for who, count in counted.items() if count != len(true.get(who, ()))}
    seen: Counter[tuple[str, int]] = Counter()
    out = []
    for row in sorted(rows, key=lambda row: row["packet"]):
        who = trace.subject(row["flow"], row["direction"]), int(row["rel_seq"])
        copies = true.get(who, [])
        nth = seen[who]
        seen[who] += 1
        if who in ambiguous:
            continue
        fate, sender_node = copies[nth]
        expiry = timeouts.get(row["packet"])
        link = linked.get(row["packet"], {})
        out.append(
            {
                "fate": fate,
                "node": sender_node,
                "retransmission": row["transmission"] == "retransmission",
                "arrived": any(earlier == "delivered" for earlier, _ in copies[:nth]),
                "spurious": row["spurious"],
                "timeout": _NO_TIMEOUT if expiry is None else _KINDS[expiry["kind"]],
                "lost": link.get("loss_location"),
            }
        )
    return out


_KINDS = {"genuine": False, "spurious": True, "ack_lost": True, "undecided": None}


def _true_copies(facts: Truth) -> dict[tuple[str, int], list[tuple[str, int]]]:
    """For each segment, by subject and first byte: fate and sending node of each copy that passed the tap, in order."""
    names = ["id", "flow", "direction", "rel_seq", "len_bytes", "t_tap_ns", "fate"]
    rows = [r for r in facts.packets.select(names).to_pylist() if r["len_bytes"] and r["t_tap_ns"] is not None]
    out: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for row in sorted(rows, key=lambda r: (r["t_tap_ns"], r["id"])):
        flow = facts.world.flows[row["flow"]]
        node = flow.client if row["direction"] == "a2b" else flow.server
        who = facts.subject(row["flow"], row["direction"]), int(row["rel_seq"])
        out.setdefault(who, []).append((row["fate"], node))
    return out


def _lost(facts: Truth, packets: Sequence[Mapping[str, Any]]) -> Answers:
    cell = facts.world.cell
    stations = {station.node for station in cell.stations} if cell is not None else set()
    out: Counter[str] = Counter()
    for row in packets:
        if row["lost"] is None:
            continue
        if row["lost"] == "unknown" or row["fate"] == "under_way":
            out["open"] += 1
        else:
            out[
                "right" if row["lost"] == _place(row["fate"], bool(stations), row["node"] in stations) else "wrong"
            ] += 1
    return Answers(**out)


def _place(fate: str, cell: bool, from_cell: bool) -> str | None:
    """Loss location of a packet of this fate; `from_cell`: its sender is a station of the cell."""
    if fate == "delivered":
        return None
    if not cell:
        return "on_path"
    if fate == "air":
        return "on_air"
    own = fate in ("device_queue", "mac_queue", "early_drop")
    return "before_air" if (from_cell and own) or (not from_cell and fate != "adapter_queue") else "after_air"


def _of(packets: Sequence[Mapping[str, Any]], name: str, true: Callable[[Mapping[str, Any]], bool | None]) -> Answers:
    out: Counter[str] = Counter()
    for row in packets:
        wanted = true(row)
        if wanted is not None:
            out["open" if row[name] is None else "right" if bool(row[name]) is wanted else "wrong"] += 1
    return Answers(**out)


__all__ = ["Answers", "Causes", "score_causes"]
