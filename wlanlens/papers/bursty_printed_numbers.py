from __future__ import annotations

from wlanlens.papers._bursts import FILE_MBIT
from wlanlens.papers.bursty_channel import PRINTED
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

#: Throughput (Mb/s) and mean round trip (ms) of the tests without long idle times.
_ROUND_TRIPS = {3: (4.49, 50.05), 5: (4.59, 47.43)}
#: Gilbert's channel with each test's error rate and mean burst: probabilities to enter and to leave a burst.
_GILBERT = {1: (0.087, 0.556), 2: (0.078, 0.417), 3: (0.056, 0.909), 4: (0.049, 0.455), 5: (0.003, 0.714)}


@experiment("bursty_printed_numbers", study="bursty_errors", source="table 1: arithmetic on its columns")
def bursty_printed_numbers(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """What the columns of table 1 say about each other, and the two-state channel that they give.

    Four transmissions for each packet explain its bursts of lost packets, a receive window of 32 KB its round trips.
    """
    rows = [
        Row(f"test {test}: longest burst of lost packets, from that of bad frames", str(longest_lost), "E", longest // 4,
            (longest_lost, longest_lost), because="four bad frames in a row for each lost packet")
        for test, (_, _, longest, _, _, longest_lost, _) in PRINTED.items()
    ] + [
        Row(f"test {test}: printed round trip times throughput (kB)", "26 to 31", "E", ms * mbps / 8, (26.0, 31.0),
            because="a receive window of 32 KB")
        for test, (mbps, ms) in _ROUND_TRIPS.items()
    ]  # fmt: skip
    for test, (fer, mean, *_) in PRINTED.items():
        enter, leave = _GILBERT[test]
        rows += [
            Row(f"test {test}: chance to enter a burst, two states", "not printed", "E", fer / (mean * (1 - fer)),
                (enter - 0.0006, enter + 0.0006), because="FER / (L (1 - FER))"),
            Row(f"test {test}: chance to leave it", "not printed", "E", 1 / mean, (leave - 0.0006, leave + 0.0006), because="1 / L"),
        ]  # fmt: skip
    rows += [
        Row("test 2: late sample of table 2 (s)", "3.0", "E", 0.2 + 0.4 + 0.8 + 1.6, (2.99, 3.01), because="four timers, doubled"),
        Row("file over the throughput of test 2 (s)", "not printed", "E", FILE_MBIT / 0.71, (117.0, 119.0), because="102 s of it idle"),
    ]  # fmt: skip
    return Result(tuple(rows))
