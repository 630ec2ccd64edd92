from __future__ import annotations

from wlanlens.papers.window_size import TABLE
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.scenarios._download import MSS

#: Mean flight of each window: throughput times round trip, kB.
_FLIGHTS = {"128k": 18.1, "64k": 17.8, "32k": 13.3, "16k": 4.0, "8k": 0.9, "4k": 0.4}


@experiment("window_printed_numbers", study="window_size", source="tables of window sizes and of places: arithmetic")
def window_printed_numbers(lab: Lab) -> Result:  # noqa: ARG001  arithmetic, no simulation
    """What the slides' numbers say about each other: flights, the time for each loss, and the unit of their losses."""
    _, _, _, loss, mbps, _, _ = TABLE[-1]
    apart = 1 / loss
    rows = [
        Row(f"window {name}: throughput times round trip (kB)", "not printed", "E", mbps * rtt / 8,
            (_FLIGHTS[name] - 0.051, _FLIGHTS[name] + 0.051), because="far below the window: the sender waits most of the time")
        for name, _, _, _, mbps, _, rtt in TABLE
    ]  # fmt: skip
    rows += [
        Row("window 4k: packets for each loss, if its column is a fraction", "0.045", "E", apart, (21.5, 22.5), because="1 / 0.045"),
        Row("window 4k: time for each loss (ms)", "1.2 Mb/s", "E", apart * MSS * 8 / mbps / 1e3, (212.0, 218.0),
            because="28 ms on the air and a timeout of 190 to 200 ms: losses are fractions"),
        Row("losses of 100 000 packets in sight, as a fraction", "2.5e-5", "E", 2.5e-5 * 1e5, (2.49, 2.51), because="two or three packets"),
        Row("the same as percent", "2.5e-5", "E", 2.5e-7 * 1e5, (0.0249, 0.0251), because="less than a packet: the column is no percentage"),
        Row("slot, SIFS and DIFS", "20, 10 and 50 ms", "N", "20, 10 and 50 us", because="a typing error in the slides", origin="by hand"),
        Row("overhead of a packet (bytes)", "90", "N", "28 + 8 + 20 + 32", because="802.11, LLC, IP and TCP with timestamps: 88", origin="by hand"),
    ]  # fmt: skip
    return Result(tuple(rows))
