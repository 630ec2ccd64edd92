from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.detectors._acks import Acks
from wlanlens.detectors._common import NULL, Array, Facts, at, time
from wlanlens.detectors._runs import Runs
from wlanlens.finding import Finding, Undecided
from wlanlens.registry import detector

if TYPE_CHECKING:
    from wlanlens.trace import Trace


@detector("tail_loss", needs=("timeouts", "segments", "flows"))
def tail_loss(trace: Trace, *, quiet_ms: float = 50.0) -> Iterator[Finding | Undecided]:
    """The end of a transfer was lost, and only a timer could find it.

    What it finds
    -------------
    Losses of the last segments that the application had to send: no later data made the receiver send duplicate ACKs,
    so the sender waited for its retransmission timer or for a tail loss probe. The cost is that wait.

    Why it happens
    --------------
    Fast retransmission needs three duplicate ACKs, hence three segments after the loss. Short transfers and the ends of
    long ones do not have them. The timer takes 200 ms at least, a probe two round trips.

    How it decides
    --------------
    A row of `timeouts` that is genuine and has `tail` set; or a retransmission whose trigger is a tail loss probe, that
    was needed, and after which no expiry followed before its ACK. `quiet_ms`: for a probe, no new data may follow its
    ACK within this time, for then the transfer was not at its end but blocked in its middle; 50 ms is above a sender's
    reaction and below most pauses of an application.

    What fools it
    -------------
    An application that pauses ends a transfer, too: the loss before its pause counts. A pause without a loss has no
    timer and stays silent. Where the kind of the expiry cannot be told, the case is left undecided.

    References
    ----------
    RFC 8985 section 7 (tail loss probe), RFC 6298, RFC 5681 section 3.2.
    """
    facts = Facts(trace)
    runs = Runs(facts)
    tail = runs.rows["tail"] == 1
    kinds = runs.rows["kind"]
    if len(runs):
        yield from _by_timer(facts, runs, np.flatnonzero(runs.any_of(tail & (kinds == "genuine"))))
    yield from _by_probe(facts, runs, int(quiet_ms * 1e6))
    open_ = tail & (kinds == "undecided")
    if open_.any():
        yield facts.undecided(
            "tail_loss",
            runs.rows.key[open_],
            "The timer repeated the end of a transfer, but whether it had been lost cannot be told from this capture.",
        )


def _by_timer(facts: Facts, runs: Runs, which: Array) -> Iterator[Finding]:
    rows, life = runs.rows, facts.life_s(runs.key)
    for run in which:
        part, key = runs.members(run), runs.key[run]
        wait_s = int(rows["t_ns"][part][-1] - runs.t_start_ns[run]) / 1e9
        n = part.stop - part.start
        yield facts.finding(
            "tail_loss",
            key,
            int(runs.t_start_ns[run]),
            int(runs.t_end_ns[run]),
            cost_s=wait_s,
            life_s=life[run],
            confidence=0.95,
            values={
                "found_by": "retransmission timer",
                "expiries_count": n,
                "wait_s": wait_s,
                "outstanding_bytes": int(rows["flight_bytes"][part][0]),
            },
            evidence={"timeouts": rows["packet"][part], "segments": runs.packets(run)},
            sentence=(
                f"{facts.subject(key)}: the end of a transfer was lost, and the retransmission timer found it "
                f"{time(wait_s)} after the last data, at {at(rows['t_ns'][part][-1])}."
            ),
        )


def _by_probe(facts: Facts, runs: Runs, quiet_ns: int) -> Iterator[Finding]:
    probes = facts.rows(
        "segments",
        ["packet", "t_ns", "rel_seq", "len", "since_previous_ns", "needless", "flight_bytes"],
        where={"trigger": ("tail_loss_probe",)},
    )
    probes = probes.take(probes["needless"] == 0)
    if not len(probes):
        return
    acks = Acks(facts, probes.key)
    # Selective ACKs leave the left edge where it is: the probe's end is acknowledged once everything before it is.
    reached = acks.first_reaching(probes.key, probes["rel_seq"] + np.maximum(probes["len"], 1))
    t, answered = probes["t_ns"], acks.t_ns(reached)
    life = facts.life_s(probes.key)
    follows = _expiry_between(runs, probes.key, t, answered)
    sends = facts.rows("segments", ["t_ns"], where={"kind": ("data",), "transmission": ("first",)}, keys=probes.key)
    for i in np.flatnonzero(~follows):
        key = probes.key[i]
        a, b = np.searchsorted(sends.key, [key, key + 1])
        end = int(answered[i]) if answered[i] != NULL else int(t[i])
        later = sends["t_ns"][a:b]
        if ((later > t[i]) & (later <= end + quiet_ns)).any():
            continue
        before = later[later <= t[i]]
        waited = int(t[i] - before[-1]) if len(before) else 0
        since = int(probes["since_previous_ns"][i])
        # The probe may repeat a FIN, which is sent after the last data.
        waited = min(waited, since) if since != NULL and waited else max(waited, since, 0)
        yield facts.finding(
            "tail_loss",
            key,
            int(t[i]) - waited,
            end,
            cost_s=waited / 1e9,
            life_s=life[i],
            confidence=0.9,
            values={
                "found_by": "tail loss probe",
                "expiries_count": 0,
                "wait_s": waited / 1e9,
                "outstanding_bytes": int(probes["flight_bytes"][i]),
            },
            evidence={"segments": [probes["packet"][i], *acks.packet(reached[i : i + 1])]},
            sentence=(
                f"{facts.subject(key)}: the end of a transfer was lost, and a tail loss probe found it "
                f"{time(waited / 1e9)} after the last data, at {at(t[i])}."
            ),
        )


def _expiry_between(runs: Runs, keys: Array, start: Array, end: Array) -> Array:
    """Whether the timer expired for a key between two times (end NULL: ever after)."""
    t, key = runs.rows["t_ns"], runs.rows.key
    out = np.zeros(len(keys), bool)
    for i in range(len(keys)):
        a, b = np.searchsorted(key, [keys[i], keys[i] + 1])
        later = t[a:b]
        out[i] = bool(((later > start[i]) & ((end[i] == NULL) | (later < end[i]))).any())
    return out
