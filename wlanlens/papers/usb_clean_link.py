from __future__ import annotations

import numpy as np

from wlanlens.papers._air import throughput_mbps
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

_S = 60.0


@experiment("usb_clean_link", study="usb_adapter", source="table 1; section 3.3")
def usb_clean_link(lab: Lab) -> Result:
    """TCP throughput of a clean 802.11b link: limited by preambles, ACKs and backoff.

    1448 bytes of payload, an ACK for every second segment, long preambles, control frames at 2 Mb/s, no RTS; five seeds
    of 60 s. UDP, an ACK for each segment and short preambles are additional references.
    """
    link = "clean_link", {"duration_s": _S}
    cases = [
        link,
        ("clean_link", {"duration_s": _S, "receive_window_bytes": 17_520}),
        ("clean_link", {"duration_s": _S, "rate_mbps": 2.0}),
        ("clean_link", {"duration_s": _S, "rate_mbps": 1.0}),
        ("clean_link", {"duration_s": _S, "delayed_ack_segments": 1}),
        ("clean_udp", {"duration_s": _S}),
        ("clean_link", {"duration_s": _S, "short_preamble": True}),
    ]
    measured = [float(np.mean(runs)) for runs in lab.measure_all(throughput_mbps, cases)]
    fast, windows, slow, slowest, each, udp, short = measured
    overhead = "a preamble of 192 us for each frame, the MAC ACK, 32 slots of backoff, one TCP ACK for two segments"
    return Result(
        rows=(
            Row("TCP at 11 Mb/s, Linux (Mb/s)", "5.16", "Q", fast, (5.0, 5.3), because=overhead),
            Row("TCP at 11 Mb/s, a window of 17 520 bytes, Windows 2000 (Mb/s)", "5.09 to 5.14", "Q", windows, (5.0, 5.3),
                because="the channel limits, not the host"),
            Row("TCP, all frames at 2 Mb/s by the driver's defect (Mb/s)", "1.51 to 1.54", "Q", slow, (1.47, 1.58),
                because="the rate field alone"),
            Row("TCP at 1 Mb/s (Mb/s)", "not printed; ns-3 0.816", "Q", slowest, (0.80, 0.86), because="the rate"),
            Row("TCP with an ACK for each segment (Mb/s)", "not printed; ns-2 4.41", "Q", each, (4.3, 4.5),
                because="twice as many ACKs, each with its preamble"),
            Row("UDP of 1472 bytes (Mb/s)", "slightly above TCP", "S", udp, holds=udp > fast,
                because="the only return frames are MAC ACKs"),
            Row("TCP with short preambles (Mb/s)", "5.16 shows long preambles", "S", short, holds=short > 5.5 > fast,
                because="96 us less for each frame"),
        )
    )  # fmt: skip
