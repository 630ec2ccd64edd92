from __future__ import annotations

import itertools

from wlanlens.models.dcf_tcp import DcfTcp
from wlanlens.papers._dcf import aggregate_mbps, curves, mean, within
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

#: Segments per ACK.
EVERY = (1, 2, 3, 4, 5)


@experiment("dcf_delayed_acks", study="dcf_tcp", source="figures 3 to 5, equations 12 to 14")
def dcf_delayed_acks(lab: Lab) -> Result:
    """Throughput of one flow with an ACK every d segments: simulation and equations 13 and 14.

    A window of 20 segments (both ends contend) and one of d segments (stop and wait, no contention).
    """
    model = DcfTcp()
    wide_case = [("clean_rts_link", {"delayed_ack_segments": d, "duration_s": 60.0}) for d in EVERY]
    narrow_case = [
        ("clean_rts_link", {"delayed_ack_segments": d, "window_segments": d, "duration_s": 60.0}) for d in EVERY
    ]
    kept = [("delayed_ack_stall", {"delayed_ack_segments": d, "duration_s": 60.0}) for d in (1, 2, 3)]
    off = [
        (
            "clean_rts_link",
            {"delayed_ack_segments": 1, "window_segments": 1, "post_backoff": False, "duration_s": 60.0},
        ),
        *(
            ("clean_rts_link", {"delayed_ack_segments": d, "rts_threshold_bytes": 3000, "duration_s": 60.0})
            for d in (2, 1)
        ),
    ]
    ten = [("many_downloads", {"downloads": 9, "delayed_ack_segments": d, "duration_s": 60.0}) for d in EVERY]
    cases = [*wide_case, *narrow_case, *kept, *off, *ten]
    got = [mean(runs) for runs in lab.measure_all(aggregate_mbps, cases, seeds=5)]
    wide, narrow, stalled, (unkept, unreserved, each), many = got[:5], got[5:10], got[10:13], got[13:16], got[16:]
    eq13 = [model.wide_window_mbps(d) for d in EVERY]
    eq14 = [model.narrow_window_mbps(d) for d in EVERY]
    rows = [
        within(
            f"W >> 1, d={d}, Mb/s",
            f"{m:.3f} (eq. 13)",
            m,
            0.02,
            g,
            "frozen counters, post-backoff, RTS-only collisions",
        )
        for d, m, g in zip(EVERY, eq13, wide, strict=True)
    ]
    rows += [
        within(
            f"W = d = {d}, Mb/s",
            f"{m:.3f} (eq. 14)",
            m,
            0.03,
            g,
            "stop and wait: post-backoff runs while the peer sends",
        )
        for d, m, g in zip(EVERY, eq14, narrow, strict=True)
    ]
    gains = [w / n - 1 for w, n in zip(wide, narrow, strict=True)]
    told = "/".join(f"{100 * g:.1f}" for g in gains)
    rows += [
        Row(
            "throughput rises with d",
            "rises",
            "S",
            "/".join(f"{g:.2f}" for g in wide),
            holds=all(a < b for a, b in itertools.pairwise(wide)),
            because="fewer ACKs, each of which costs 60 % of a segment's airtime",
        ),
        Row(
            "gain of a wide window decreases with d, %",
            "5.1/3.1/2.2/1.7/1.4",
            "S",
            told,
            holds=all(a > b for a, b in itertools.pairwise(gains)),
            because="a contended ACK comes every d segments",
        ),
        Row(
            "below the ceiling without ACKs (eq. 12), Mb/s",
            f"{model.ceiling_mbps():.3f}",
            "S",
            max(wide + many),
            holds=max(wide + many) < model.ceiling_mbps(),
            because="d = 5 still has ACKs, with two nodes and with ten",
        ),
    ]
    for d, g in zip((2, 3), stalled[1:], strict=True):
        rows.append(
            within(
                f"W = 1, d={d}: one segment for each timer interval, Mb/s",
                "0.08 (8000 bits in 100 ms)",
                0.08 * 0.1 / (0.1 + model.data_s() + model.ack_s() + 2 * model.backoff_s()),
                0.02,
                g,
                "the receiver waits for a second segment that the window does not allow",
            )
        )
    rows.append(
        Row(
            "W = 1, d=1 does not stall, Mb/s",
            "",
            "S",
            stalled[0],
            holds=stalled[0] > 10 * stalled[1],
            because="without delayed ACKs the stall is gone",
        )
    )
    rows += [
        Row(
            "W = d = 1 without post-backoff is closer to eq. 14, Mb/s",
            f"{eq14[0]:.3f} (eq. 14)",
            "S",
            unkept,
            holds=abs(unkept - eq14[0]) < 0.5 * abs(narrow[0] - eq14[0]),
            because="equation 14 has no post-backoff: the difference is the counter that runs while the peer sends",
        ),
        Row(
            "d=2 without RTS and CTS is faster, Mb/s",
            "ns-3: 4.13",
            "S",
            unreserved,
            holds=unreserved > 1.2 * wide[1],
            because="two control frames of 270 us with their spaces",
        ),
        Row("d=1 without RTS and CTS, Mb/s", "ns-3: 3.50", "N", each, because="of another simulator"),
    ]
    x = [float(d) for d in EVERY]
    figures = (
        (
            "Figure 3: throughput against d, two and ten nodes, below the ceiling without ACKs.",
            curves(
                "ACK every d segments",
                "Mb/s",
                [("equation 12", x, [model.ceiling_mbps()] * 5)],
                [("simulation, n = 2", x, wide), ("simulation, n = 10", x, many)],
            ),
        ),
        (
            "Figure 4: the same, n = 2, and the model.",
            curves("ACK every d segments", "Mb/s", [("equation 13", x, eq13)], [("simulation", x, wide)]),
        ),
        (
            "Figure 5: the effect of the window.",
            curves(
                "ACK every d segments",
                "Mb/s",
                [("equation 13, W >> 1", x, eq13), ("equation 14, W = d", x, eq14)],
                [("simulation, W = 20", x, wide), ("simulation, W = d", x, narrow)],
            ),
        ),
    )
    return Result(tuple(rows), figures)
