from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    TIMERS,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    TimeoutRuns,
    Undecided,
    count,
    duration,
    moment,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "no_answer"


def _phrase(finding: Finding) -> str:
    return str(finding.values["what"])


@detector(
    CODE,
    needs=("segments", "timeouts", "flows"),
    phrase=_phrase,
    explains=(*TIMERS, "loss_recovery"),
    remedy=Remedy(
        "Peer and path: check that the peer runs and listens on the port, that no firewall drops the packets "
        "without an answer (let it reject them), and that routes work both ways. Wireless peer: power saving "
        "off, and in range of its access point.",
        "capture at the peer: the packet arrives and is answered; if it does not arrive, capture one hop closer.",
    ),
)
def no_answer(trace: Trace, *, min_tries_count: int = 2, min_silence_s: float = 1.0) -> Iterator[Finding | Undecided]:
    """A SYN, data or a FIN was retransmitted repeatedly, and no answer came until the end of the connection.

    What it finds
    -------------
    Connections whose SYN was never answered, and connections that were open and whose peer fell silent: from then on to the
    end nothing came back, while the sender repeated what was outstanding. The cost is the time from the first packet without an
    answer to the last packet of the connection.

    Why it happens
    --------------
    The peer is down, asleep, out of range or roamed to another network; a firewall drops the packets without a word; or
    the path works in one direction only.

    How it decides
    --------------
    A SYN: from `flows`, without a packet of the other direction and without an ACK of this one. Later: a run of `timeouts`
    that no ACK ended, with no packet of the peer after it began.
    `min_tries_count`: a single packet may just be the last one of the capture; a sender that tries again had no answer within its
    timeout. `min_silence_s`: the first timeout of a SYN (RFC 6298 section 2): below it an answer may still be under way.

    What fools it
    -------------
    A capture of one direction shows no answers at all: where a host with a packet that nobody seems to answer sends ACKs that
    nobody seems to cause, the case is undecided. A connection that is refused is answered (RST).

    References
    ----------
    RFC 9293 sections 3.8.1 and 3.8.3 (R1, R2), RFC 6298 sections 2 and 5.7.
    """
    facts = Facts.of(trace)
    yield from _opening(facts, min_tries_count, int(min_silence_s * 1e9))
    yield from _silent(facts, min_tries_count, int(min_silence_s * 1e9))


def _opening(facts: Facts, min_tries_count: int, min_silence_ns: int) -> Iterator[Finding | Undecided]:
    columns = [
        "ip_src",
        "ip_dst",
        "packets",
        "syn_packets",
        "ack_packets",
        "rst_packets",
        "first_packet",
        "t_first_ns",
        "t_last_ns",
    ]
    rows = facts.rows("flows", columns, valid=["first_packet", "t_first_ns"])
    back = facts.flow_values("packets", rows.key ^ 1)
    # A sender that acknowledges was answered: the capture lacks the other direction.
    unheard = (back <= 0) & (rows["ack_packets"] > 0)
    hosts = {*zip(rows["ip_src"][unheard].tolist(), rows["ip_dst"][unheard].tolist(), strict=True)}
    # A SYN whose timer ran after a SYN+ACK shows that this came to nothing. A RST without them refuses the connection, which is an answer.
    half_open = (facts.flow_values("syn_packets", rows.key ^ 1) > 0) & (rows["rst_packets"] == 0)
    half_open &= rows["t_last_ns"] - facts.flow_values("t_first_ns", rows.key ^ 1) >= min_silence_ns
    alone = ((back <= 0) | half_open) & (rows["ack_packets"] == 0)
    alone &= rows["syn_packets"] >= min_tries_count
    rows = rows.take(alone & (rows["t_last_ns"] - rows["t_first_ns"] >= min_silence_ns))
    one_sided = np.array([pair in hosts for pair in zip(rows["ip_src"], rows["ip_dst"], strict=True)], bool)
    if one_sided.any():
        why = "A SYN has no answer in the capture, which lacks the other direction of other connections of these hosts."
        yield facts.undecided(CODE, rows.key[one_sided], why)
    rows = rows.take(~one_sided)
    start, end = rows["t_first_ns"], rows["t_last_ns"]
    syns = facts.rows("segments", ["packet"], where={"kind": ("syn",)}, keys=rows.key)

    def describe(i: int) -> Description:
        tries, silent_s = int(rows["syn_packets"][i]), int(end[i] - start[i]) / 1e9
        mine = syns["packet"][syns.key == rows.key[i]]
        return Description(
            f"the connection could not be opened: {count(tries, 'SYN')} in {duration(silent_s)} got no answer.",
            {"what": "the SYN got no answer", "tries_count": tries, "silent_s": silent_s},
            {"segments": mine if len(mine) else [rows["first_packet"][i]]},
            0.95,
        )

    cases = Cases(facts, CODE, rows.key, start, end, (end - start) / 1e9, rows["first_packet"])
    yield from cases.findings(describe, what="an unanswered SYN")


def _silent(facts: Facts, min_tries_count: int, min_silence_ns: int) -> Iterator[Finding]:
    runs = facts.cached(TimeoutRuns)
    if not len(runs):
        return
    start, end = runs.t_start_ns, runs.t_end_ns
    which = np.flatnonzero(~runs.answered & (runs.rows["rel_seq"][runs.first] > 0) & (end - start >= min_silence_ns))
    which = which[(runs.last - runs.first + 1)[which] >= min_tries_count]
    if not len(which):
        return
    heard = _last_packet_ns(facts, runs.key[which] ^ 1)
    # What the peer had sent before arrives at most one wait for the timer after the silence began.
    which = which[(heard >= 0) & (heard <= runs.rows["t_ns"][runs.first[which]])]
    rows = runs.rows

    def describe(i: int) -> Description:
        run = int(which[i])
        part, silent_s = runs.members(run), int(end[run] - start[run]) / 1e9
        tries = part.stop - part.start
        return Description(
            f"the peer fell silent: nothing came back after {moment(int(start[run]))}, for {duration(silent_s)} to the end, although "
            f"the timer repeated the outstanding data {count(tries, 'time')}.",
            {"what": "the peer fell silent", "tries_count": tries, "silent_s": silent_s},
            {"timeouts": rows["packet"][part], "segments": runs.packets(run)},
            0.9,
        )

    cost = (end - start)[which] / 1e9
    cases = Cases(
        facts, CODE, runs.key[which], start[which], end[which], cost, rows["packet"][runs.first[which]], "timeouts"
    )
    yield from cases.findings(describe, what="a silent peer")


def _last_packet_ns(facts: Facts, keys: Array) -> Array:
    """Time of the last packet of each key; -1 where it has none."""
    return np.asarray(facts.flow_values("t_last_ns", keys))
