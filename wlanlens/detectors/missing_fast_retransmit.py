from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detection.remedy import Remedy
from wlanlens.detection.toolkit import (
    AFTER_LOSS,
    MAX_FINDINGS,
    NO_FAST_RETRANSMIT,
    NULL,
    ON_THE_PATH,
    Acks,
    Array,
    Cases,
    Description,
    Facts,
    Finding,
    Rows,
    Undecided,
    dupack_answers,
    duration,
    key_groups,
    latest_before,
    may_be_unseen,
    moment,
    reasons_without,
    sent_before,
    third_dupacks,
    times,
)
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace

CODE = "missing_fast_retransmit"
_NEVER = np.iinfo(np.int64).max
_UNDECIDED = (
    "Away from the sender a retransmission comes later or is lost before the tap, and the duplicate ACKs may not have reached "
    "the sender: only a capture at the sender shows what it did not send.",
    "The capture ends while the segment is still missing: its retransmission may be in the sender's own queue.",
    "The tap misses packets of the sender, or they wait in a queue before it: it may not show a retransmission.",
)


@detector(
    CODE,
    needs=("segments", "timeouts", "recoveries", "flows"),
    explains=(*AFTER_LOSS, *ON_THE_PATH),
    saving="fast",
    remedy=Remedy(
        "Sender: SACK and DSACK on, and a current stack (RACK-TLP), which repairs without three duplicate "
        "ACKs. If ACKs pass the tap and do not reach TCP: a firewall or driver on the sender drops duplicate "
        'ACKs (Linux: `nstat -az TcpExtTCPRcvQDrop`, conntrack "invalid").',
        "capture at the sender again: the segment that three duplicate ACKs request follows within a round trip.",
        by_value="verdict",
        changes={
            "right": "Nothing to change here: after a timeout the sender must not retransmit for these duplicate ACKs; "
            "remove the cause of that timeout.",
        },
    ),
)
def missing_fast_retransmit(
    trace: Trace, *, min_wait_ms: float = 20.0, wait_rtts: float = 1.0, cause_s: float = 1.0
) -> Iterator[Finding | Undecided]:
    """Three duplicate ACKs arrived, and the sender did not retransmit the missing segment.

    What it finds
    -------------
    Runs of three duplicate ACKs without a retransmission of the segment that they request, and whether that was right or
    wrong. A wrong one costs the time from the third duplicate ACK to the retransmission or the ACK of new data, less that of a fast
    retransmit. A right one costs nothing: one finding for each direction, with all reasons.

    Why it happens
    --------------
    Right: after a timeout a NewReno sender ignores duplicate ACKs up to its recovery point, as its own retransmissions
    of arrived data cause them; a Linux sender counts SACKed segments, and a receiver without DSACK reports
    none. Wrong: a middlebox or the host loses duplicate ACKs between the tap and TCP.

    How it decides
    --------------
    The fast retransmit of a third duplicate ACK is a retransmission of the requested byte, sent before and still in flight, or after
    it: nothing else causes it, and a long queue before the tap may delay it until after the ACK of new data. The timer's
    retransmissions after the duplicate ACKs answer none, and after a timeout only the timer
    retransmits the left edge so late; it is not wrong to leave the byte to a timer that expires no later. A fast
    recovery sends a byte once: a retransmission since its start is the answer.
    `wait_rtts` and `min_wait_ms`: what a fast retransmit may take; a round trip covers RACK's reordering window (RFC 8985),
    20 ms a busy host's scheduling. Without an answer the reason is the first of these:
    `after_timeout`: the ACK is not above what had been sent at an earlier expiry;
    `recovery_point`: the ACK is not above the recovery point of an earlier fast recovery;
    `spurious_retransmissions`: at least three retransmissions below that ACK in the last `cause_s` seconds (longer than any round
    trip with its queue) were spurious; with SACK, fewer than three duplicate ACKs had another cause;
    `data_between`: without SACK, the other side sent data between duplicate ACKs. Linux takes an ACK with a new sequence number as a
    window update (`tcp_may_update_window`; RFC 5681 would count it), and fewer than three others are left;
    `no_sack_blocks`: SACK was agreed, and that direction sent no block;
    `filled_without_retransmission`: new data was acknowledged without a retransmission;
    `few_above`: with SACK, fewer than three segments were above the missing one (RFC 6675 section 4);
    `reordering`: the one before was spurious, or answered a later duplicate ACK than the third (Linux waits for more).
    Without a reason it was wrong.

    What fools it
    -------------
    A retransmission that may be under way, sent after the segment that the first ACK answers, is the answer, also if lost: that
    shows later. Window updates and keep-alives repeat an ACK number and are no duplicate ACKs. A tap that misses packets may miss the
    retransmission: a wrong case is undecided there; so is one without a timeout where the capture ends before the segment arrives. Copies of a SYN
    are answered with ACKs of byte 1, which ask for nothing. Away from the sender the retransmission comes later or never, and the
    duplicate ACKs may not have reached the sender: all is undecided.

    References
    ----------
    RFC 5681 section 3.2, RFC 6582 sections 3.2 and 6, RFC 6675, RFC 8985; the study of 802.11b adapters on USB,
    section 4.2.3.
    """
    facts = Facts.of(trace)
    yield from facts.undecided_without_acks(CODE)
    third = third_dupacks(facts)
    # Answers to copies of a SYN (RFC 9293 section 3.10.7.4).
    third = third.take((third["rel_ack"] > 1) | (facts.flow_values("syn_packets", third.key) <= 1))
    copies = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "spurious", "trigger"],
        where={"transmission": ("retransmission",)},
        valid=("rel_seq", "t_ns"),
        keys=np.unique(third.key),
    )
    rtt = np.maximum(np.maximum(third["srtt_ns"], facts.flow_values("handshake_rtt_ns", third.key)), 0)
    wait = np.maximum((rtt * wait_rtts).astype(np.int64), int(min_wait_ms * 1e6))
    acks = facts.cached(Acks)
    began = acks.t_ns(acks.first_covering(third.key, third["rel_ack"]))
    since = sent_before(third, copies, np.where(began == NULL, third["t_ns"], np.minimum(began, third["t_ns"])))
    recoveries = facts.rows("recoveries", ["t_start_ns", "recover_rel_seq", "spurious", "dupacks"]).sorted_by(
        "t_start_ns"
    )
    entered = latest_before(recoveries, "t_start_ns", recoveries["t_start_ns"], third)
    since = np.where((third["phase"] == "recovery") & (entered != NULL), np.minimum(since, entered), since)
    sent, by_timer = dupack_answers(third, copies, since)
    new_data = acks.first_covering(third.key, third["rel_ack"] + 1)
    acked = acks.t_ns(new_data)
    late = sent > third["t_ns"] + wait
    # After a timeout only the timer retransmits it so late, before new data is acknowledged.
    by_timer |= late & (third["phase"] == "loss") & ((acked == NULL) | (sent <= acked))
    missing = (sent == NULL) | (by_timer & (sent > third["t_ns"]))
    away = missing & facts.tap_away_from_sender(third.key)
    missing &= ~away
    filled = (acked != NULL) & ((sent == NULL) | (acked < sent))
    reason = reasons_without(facts, third, copies, missing, filled, recoveries, cause_s)
    until = np.minimum(np.where(sent == NULL, _NEVER, sent), np.where(acked == NULL, _NEVER, acked))
    until = np.where(until == _NEVER, np.maximum(facts.last_packet_ns(third.key), third["t_ns"]), until)
    cost_s = np.maximum(until - third["t_ns"] - wait, 0) / 1e9
    # After a timeout the sender waits for the timer; otherwise it may still retransmit.
    cut = missing & (sent == NULL) & (acked == NULL) & np.isin(reason, ("", "recovery_point"))
    # An answer may leave a queue as late as the latest did.
    answered = np.where(by_timer | (sent == NULL), 0, sent - third["t_ns"])
    names, flow = np.unique(third.key, return_inverse=True)
    latest = np.zeros(len(names), np.int64)
    np.maximum.at(latest, flow, answered)
    cut |= missing & (sent == NULL) & (facts.last_packet_ns(third.key) - third["t_ns"] < latest[flow])
    missing &= ~cut
    unseen = missing & (reason == "") & (facts.flow_values("lost_before_tap", third.key) > 0)
    at, ids = third["t_ns"][missing], reason[missing] != "after_timeout"
    unseen[missing] |= may_be_unseen(facts, third.key[missing], at, until[missing], ids)
    missing &= ~unseen
    wrong = missing & (reason == "") & ((sent == NULL) | late)
    for which, why in zip((away, cut, unseen), _UNDECIDED, strict=True):
        if which.any():
            t, end = third["t_ns"][which], until[which]
            yield facts.undecided(CODE, third.key[which], why, t_start_ns=t, t_end_ns=end)
    yield from _wrong(facts, third, np.flatnonzero(wrong), until, cost_s, acks.packet(new_data))
    yield from _right(facts, third, np.flatnonzero(missing & (reason != "")), reason)


def _wrong(
    facts: Facts, third: Rows, which: Array, until: Array, cost_s: Array, ack_packet: Array
) -> Iterator[Finding]:
    key, t, packet, cost_s = third.key[which], third["t_ns"][which], third["packet"][which], cost_s[which]

    def describe(i: int) -> Description:
        byte = int(third["rel_ack"][which[i]])
        return Description(
            f"three duplicate ACKs requested byte {byte} at {moment(t[i])}, but the sender did not retransmit it in time and "
            f"lost {duration(float(cases.charged_s[i]))}; nothing in the capture justifies that.",
            values={"verdict": "wrong", "reason": "none found", "missing_byte": byte},
            evidence={"segments": [packet[i], ack_packet[which[i]]]},
            confidence=0.7,
        )

    cases = Cases(facts, CODE, key, t, until[which], cost_s, packet)
    yield from cases.findings(describe, what="a missing fast retransmit")


def _right(facts: Facts, third: Rows, which: Array, reason: Array) -> Iterator[Finding]:
    which = which[np.argsort(third.key[which], kind="stable")]
    first, length = key_groups(third.key[which])
    for begin, count in list(zip(first.tolist(), length.tolist(), strict=True))[:MAX_FINDINGS]:
        rows = which[begin : begin + count]
        key, t = int(third.key[rows[0]]), third["t_ns"][rows]
        times_of = Counter(reason[rows].tolist()).most_common()
        each = [NO_FAST_RETRANSMIT[why] + (f" ({times(n)})" if len(times_of) > 1 else "") for why, n in times_of]
        runs = f"{count} runs of " if count > 1 else ""
        yield facts.finding(
            CODE,
            key,
            int(t.min()),
            int(t.max()),
            cost_s=0.0,
            lifetime_s=float(facts.lifetime_s(np.array([key]))[0]),
            confidence=0.9,
            values={"verdict": "right", "reason": ", ".join(why for why, _ in times_of), "runs_count": count},
            evidence={"segments": third["packet"][rows]},
            sentence=(
                f"{facts.subject(key)}: no fast retransmit after {runs}three duplicate ACKs, first at {moment(t.min())}, "
                f"{'; '.join(each)}."
            ),
        )
