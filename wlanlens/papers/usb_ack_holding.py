from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run


class Held(NamedTuple):
    """Results of a run with held ACKs."""

    shortest_hold_s: float
    longest_hold_s: float
    shortest_rto_s: float
    lost: int
    timeouts: int
    first_undone: bool
    later_undone: int
    later: int
    retransmissions_after_first: int
    retransmissions_after_later: int
    thirds: int
    fast: int
    after_the_ack: int


def held(run: Run) -> Held:
    """Holds, timeouts, undone timeouts, and retransmissions that passed the sender's tap after the ACK that covers them."""
    events = run.facts.events.to_pylist()
    packets = run.facts.packets.select(
        ["direction", "rel_seq", "rel_ack", "len_bytes", "copy", "t_made_ns", "t_tap_ns", "t_end_ns", "fate"]
    ).to_pylist()
    holds = [e["rto_ns"] / 1e9 for e in events if e["what"] == "hold_ended"]
    timeouts = [e for e in events if e["what"] == "timeout" and e["direction"] == "a2b"]
    undone = [e["t_ns"] for e in events if e["what"] == "timeout_undone"]
    resent = [p for p in packets if p["direction"] == "a2b" and p["copy"] and p["len_bytes"]]
    until = [e["t_ns"] for e in timeouts[1:]] + [1 << 62]
    after = [sum(e["t_ns"] <= p["t_made_ns"] < end for p in resent) for e, end in zip(timeouts, until, strict=True)]
    was_undone = [any(e["t_ns"] < t < end for t in undone) for e, end in zip(timeouts, until, strict=True)]
    return Held(
        shortest_hold_s=min(holds, default=0.0),
        longest_hold_s=max(holds, default=0.0),
        shortest_rto_s=min((e["rto_ns"] / 1e9 for e in timeouts), default=0.0),
        lost=sum(p["fate"] not in ("delivered", "under_way") for p in packets),
        timeouts=len(timeouts),
        first_undone=bool(was_undone) and was_undone[0],
        later_undone=sum(was_undone[1:]),
        later=len(was_undone[1:]),
        retransmissions_after_first=after[0] if after else 0,
        retransmissions_after_later=max(after[1:], default=0),
        thirds=sum(e["what"] == "third_duplicate" for e in events),
        fast=sum(e["what"] == "recovery_began" for e in events),
        after_the_ack=_after_the_ack(packets),
    )


def _after_the_ack(packets: list[dict[str, object]]) -> int:
    acks = sorted(
        (int(str(p["t_end_ns"])), int(str(p["rel_ack"])))
        for p in packets
        if p["direction"] == "b2a" and p["fate"] == "delivered"
    )
    late, best, at = 0, 0, 0
    seen = sorted(
        (int(str(p["t_tap_ns"])), int(str(p["rel_seq"])) + int(str(p["len_bytes"])))
        for p in packets
        if p["direction"] == "a2b" and p["copy"] and p["len_bytes"] and p["t_tap_ns"] is not None
    )
    for t, end in seen:
        while at < len(acks) and acks[at][0] < t:
            best, at = max(best, acks[at][1]), at + 1
        late += end <= best
    return late


@experiment("usb_ack_holding", study="usb_adapter", source="section 4.2, figures 3 and 4")
def usb_ack_holding(lab: Lab) -> Result:
    """ACKs held by the adapter: Linux 2.4's reaction to its first spurious timeout, and to later ones.

    The timestamp of the first retransmission is that of the SYN until the first recovery ends, so the first spurious timeout
    is not detected. The burst of ACKs then makes the sender retransmit data that had arrived, faster than the adapter sends it.
    """
    seeds = 5
    defect = lab.measure("held_acks_timestamp_defect", held, seeds=seeds)
    mended = lab.measure("held_acks_timestamp_defect", held, seeds=seeds, stamp_defect=False)
    direct = lab.measure("held_acks_timestamp_defect", held, seeds=seeds, device_frames=100)
    dsack = lab.measure("held_acks_timestamp_defect", held, seeds=seeds, stamp_defect=True, dsack=True)
    return Result(
        (
            Row(
                "shortest hold, s", "hundreds of ms", "Q", min(h.shortest_hold_s for h in defect),
                (max(0.2, min(h.shortest_rto_s for h in defect)), 1.0), because="longer than the timeout that it causes",
            ),
            Row("packets lost in all", "none", "E", _sum(defect, "lost"), (0, 0), because="nothing is lost: ACKs are held"),
            Row("share of runs with a hold", "25 %, under 5 %", "N", 1.0, because="a parameter of each run"),
            Row(
                "first spurious timeouts undone", "not undone", "S", sum(h.first_undone for h in defect),
                holds=all(not h.first_undone and h.timeouts > 1 for h in defect), because="the stamp of the SYN",
            ),
            Row(
                "later spurious timeouts undone", "all", "S", f"{_sum(defect, 'later_undone')} of {_sum(defect, 'later')}",
                holds=all(h.later_undone == h.later > 0 for h in defect), because="the timestamp is set to 0 when recovery ends",
            ),
            Row(
                "the same without the defect: first ones undone", "not run", "S", sum(h.first_undone for h in mended),
                holds=all(h.first_undone for h in mended), because="without the defect the effect is gone",
            ),
            Row(
                "segments retransmitted after the first timeout", "slow start", "S", min(h.retransmissions_after_first for h in defect),
                holds=all(h.retransmissions_after_first > 3 * max(1, h.retransmissions_after_later) for h in defect),
                because="a whole recovery after the first, one segment after later ones",
            ),
            Row(
                "three duplicate ACKs without a fast retransmit", "seen", "S", _sum(defect, "thirds"),
                holds=all(h.thirds > 0 and h.fast == 0 for h in defect), because="no SACK blocks: the receiver lacks DSACK",
            ),
            Row(
                "the same with DSACK: fast retransmissions", "not run", "S", _sum(dsack, "fast"),
                holds=all(h.fast == 0 for h in dsack), because="a DSACK does not show a hole either",
            ),
            Row(
                "retransmissions that pass the tap after the ACK that covers them", "seen", "S", _sum(defect, "after_the_ack"),
                holds=all(h.after_the_ack > 3 for h in defect), because="a device queue of 100 packets before the tap",
            ),
            Row(
                "the same with a device that takes packets at once", "not run", "S", _sum(direct, "after_the_ack"),
                holds=_sum(direct, "after_the_ack") < _sum(defect, "after_the_ack") / 3, because="goes with the queue",
            ),
        )
    )  # fmt: skip


def _sum(runs: Sequence[Held], field: str) -> int:
    return sum(getattr(run, field) for run in runs)
