from __future__ import annotations

import numpy as np

from wlanlens.papers._air import Packets, packets, sequence_figure
from wlanlens.papers._seawind import bytes_per_s, data_of
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment
from wlanlens.simulation.simulate import Run


def _measure(run: Run) -> tuple[float, float, Packets]:
    """Time from the loss of the first of the last segments to its retransmission, s; throughput; the end of the transfer."""
    d = data_of(run)
    lost = np.flatnonzero((d.fate != "delivered") & (d.copy == 0))
    if not len(lost):
        return 0.0, bytes_per_s(run), packets(run, 60.0, 110.0)
    again = np.flatnonzero((d.start == d.start[lost[0]]) & (d.copy == 1))[0]
    return float(d.made_s[again] - d.ended_s[lost[0]]), bytes_per_s(run), packets(run, 60.0, 220.0)


@experiment("seawind_overbuffering", study="seawind", source="section 6, figure 6(b)")
def seawind_overbuffering(lab: Lab) -> Result:
    """The last three segments and one retransmission are lost on an overbuffered link.

    The timer follows round trips of 32 s, and only the timer can detect the loss.
    """
    (small,), (large,), (unharmed,) = lab.measure_all(
        _measure,
        [
            ("overbuffered_tail_loss", {"buffer_packets": 7}),
            ("overbuffered_tail_loss", {}),
            ("overbuffered_tail_loss", {"tail_losses": 0}),
        ],
        seeds=1,
    )
    rows = (
        Row("time from the loss to its retransmission, unlimited buffer (s)", "40", "Q", large[0], (33.0, 75.0),
            because="the timeout is the round trip of 32 s and its variation"),
        Row("the same, buffer of 7 (s)", "", "S", small[0], holds=small[0] < 10.0, because="a round trip of 2 s"),
        Row("throughput, with and without the loss (B/s)", "", "S", f"{large[1]:.0f}, {unharmed[1]:.0f}",
            holds=large[1] < 0.6 * unharmed[1] and unharmed[0] == 0.0, because="four packets of 400 cost half of the time"),
    )  # fmt: skip
    return Result(rows, (("The end of the transfer, unlimited buffer (figure 6b)", sequence_figure(large[2], "")),))
