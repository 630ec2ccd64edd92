from __future__ import annotations

from wlanlens.models.rto import Rto
from wlanlens.papers._idle_rto import linux22_timer
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

#: Table 2's rows that evaluate the formula: ACK, srtt, mdev (ms), cwnd, backoff, printed timeout (s).
_AFTER_ACKS = (
    ("ack 4", 400, 750, 2, 4, 95.2),
    ("ack 6", 350, 660, 3, 4, 71.8),
    ("ack 8", 310, 580, 4, 4, 57.9),
)


@experiment("idle_rto_table", study="bursty_errors", source="equation 1 and table 2")
def idle_rto_table(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """Why one lost burst makes Linux 2.2 wait for 57 s: the retransmission timer of table 2, row by row.

    Four expiries double the timer to 3.2 s. The ACK that ends them adds a round trip of 3 s to the estimate; backoff stays
    in force until nothing is outstanding, and each further ACK sets the timer again by the formula.
    """
    start = linux22_timer(30, 10, 8, 0)
    rows = [
        _exact("row 1: formula at the start, ms", "88", 88, 0.5, 1e3 * start.formula_s(), "(30 + 40)(1 + 1/4 + 2^-7)"),
        _exact("row 1: timer, ms", "200", 200, 0.5, 1e3 * start.timeout_s(), "the floor"),
    ]
    running, fired = start, 0.0
    for n, (timer_ms, at_s) in enumerate([(400, 0.2), (800, 0.6), (1600, 1.4), (3200, 3.0)], 1):
        fired += running.timeout_s()
        # The handler doubles the running timer; the formula is not used at an expiry.
        running = running.expired()
        doubled = start.timeout_s() * 2.0**n
        rows.append(
            _exact(f"row {n + 1}: expiry {n} of segment 1 at, s", f"{at_s}", at_s, 0.05, _fired(n), "200 ms, doubled")
        )
        rows.append(
            _exact(f"row {n + 1}: timer after it, ms", f"{timer_ms}", timer_ms, 0.5, 1e3 * doubled, "the running timer")
        )
    sample = linux22_timer(30, 10, 8, 0).sampled(3.0)
    again = sample.sampled(0.010)
    third = again.sampled(0.010)
    rows += [
        _exact("row 6: srtt after a sample of 3.0 s, ms", "400", 400, 5, 1e3 * (sample.srtt_s or 0), "30 + 2970/8"),
        _exact("row 6: mdev after it, ms", "750", 750, 5, 1e3 * sample.deviation_s, "10 + (2970 - 10)/4"),
        _exact(
            "row 7: srtt after one of 10 ms, ms", "350", 350, 5, 1e3 * (again.srtt_s or 0), "an eighth of the error"
        ),
        _exact(
            "row 7: mdev after it, ms", "660", 660, 5, 1e3 * again.deviation_s, "a quarter of the deviation's error"
        ),
        _exact("row 8: srtt after another, ms", "310", 310, 5, 1e3 * (third.srtt_s or 0), "the same"),
        _exact("row 8: mdev after it, ms", "580", 580, 5, 1e3 * third.deviation_s, "the same"),
    ]
    for n, (ack, srtt, mdev, cwnd, backoff, printed) in enumerate(_AFTER_ACKS, 6):
        timer = linux22_timer(srtt, mdev, cwnd, backoff)
        rows.append(
            _exact(f"row {n}: timer at {ack}, s", f"{printed}", printed, 0.05, timer.timeout_s(), "backoff 4 kept")
        )
    last = linux22_timer(310, 580, 4, 4)
    plain = Rto(flavour="rfc6298", srtt_s=0.31, deviation_s=0.58, backoff=4).timeout_s()
    resets = [
        linux22_timer(srtt, mdev, cwnd, backoff).reset().timeout_s() for _, srtt, mdev, cwnd, backoff, _ in _AFTER_ACKS
    ]
    rows += [
        _exact("row 8 without 5/4 and the window's term, s", "42.1", 42.1, 0.08, plain, "(310 + 4 x 580) 2^4"),
        *(
            _exact(f"row {n}: timer with backoff ended by new data, s", f"{want}", want, 0.005, got, "the study's remedy")
            for n, want, got in zip((6, 7, 8), (5.95, 4.49, 3.62), resets, strict=True)
        ),
        Row(
            "row 8: idle time observed, s", "57.4", "E", last.timeout_s(), (57.2, 57.9 + 0.05),
            because="the timer of row 8, given that its terms are printed to 10 ms",
        ),
        _exact("test 4: longest idle time, s", "120", 120, 0.5, linux22_timer(400, 750, 2, 8).timeout_s(), "the ceiling"),
    ]  # fmt: skip
    return Result(tuple(rows))


def _fired(n: int) -> float:
    """Time of the n-th expiry: sums of a doubled 200 ms."""
    timer = linux22_timer(30, 10, 8, 0).timeout_s()
    return sum(timer * 2.0**k for k in range(n))


def _exact(what: str, printed: str, value: float, half_unit: float, measured: float, because: str) -> Row:
    return Row(what, printed, "E", measured, (value - half_unit, value + half_unit), because=because)
