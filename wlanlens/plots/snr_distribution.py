"""Distribution of the signal-to-noise ratio of 802.11 frames by transmitter; of the signal where no noise was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.plots._air_rows import DATA, NO_SIGNAL, air_rows
from wlanlens.plots._chart import Chart, Panel, Series, drawn, need, nothing
from wlanlens.plots._palette import LINES, STATIONS
from wlanlens.plots.rate_over_time import transmitters
from wlanlens.registry import plot

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

    from wlanlens.detection.finding import Finding
    from wlanlens.plots._air_rows import AirRows
    from wlanlens.trace import Trace

_NAME = "snr_distribution"


@plot(_NAME, needs=("frames",))
def snr_distribution(
    trace: Trace,
    findings: Sequence[Finding] = (),  # noqa: ARG001  every plot takes them
    *,
    flow: int | None = None,  # noqa: ARG001  stations belong to no flow
    direction: str | None = None,  # noqa: ARG001
    most_stations: int = 4,
) -> Figure:
    """Share of the frames per decibel of signal-to-noise ratio at the sniffer, by transmitter; retries of all together.

    The `most_stations` busiest transmitters are drawn (4: more lines cannot be told apart). Frames are undamaged data
    frames, or management frames where there are none. Without noise levels in the capture it shows the signal in dBm. The
    sniffer's place decides what it measures: the receiver of a frame may hear it better or worse.
    """
    return drawn(chart(trace, most_stations=most_stations))


def chart(
    trace: Trace,
    findings: Sequence[Finding] = (),  # noqa: ARG001
    *,
    flow: int | None = None,  # noqa: ARG001
    direction: str | None = None,  # noqa: ARG001
    most_stations: int = 4,
    rows: AirRows | None = None,
) -> Chart:
    """The figure as data; `rows`: the frames of the trace, if they were read already.

    Raises
    ------
    NothingToDraw
        No frame has a signal level.
    """
    need(trace, _NAME, "frames")
    if rows is None:
        rows = air_rows(trace)
    if (rows.kind == DATA).any():
        rows = rows.take(np.flatnonzero(rows.kind == DATA))
    heard = rows.signal_dbm != NO_SIGNAL
    if not heard.any():
        raise nothing(
            trace,
            "no frame of this capture has a signal level",
            "capture with radiotap headers: tcpdump -i mon0 -y IEEE802_11_RADIO -w air.pcap",
        )
    noisy = heard & (rows.noise_dbm != NO_SIGNAL)
    ratio = bool(2 * noisy.sum() >= heard.sum())
    rows = rows.take(np.flatnonzero(noisy if ratio else heard))
    level = rows.signal_dbm - rows.noise_dbm if ratio else rows.signal_dbm
    names = transmitters(rows)
    number = {name: i for i, name in enumerate(names)}
    who = np.array([number.get(pair[0], -1) for pair in rows.pairs], np.int64)[rows.pair]
    unit = "dB" if ratio else "dBm"
    series, words = [], []
    for i, name in enumerate(names[:most_stations]):
        mine = level[(who == i) & ~rows.retry]
        if len(mine):
            series.append(_distribution(f"{name} ({len(mine)})", mine, STATIONS[i]))
            words.append(f"{name} {np.median(mine):.3g} {unit}")
    again = level[rows.retry]
    if len(again):
        series.append(_distribution(f"retries of all stations ({len(again)})", again, LINES["retry"]))
    what = "signal-to-noise ratio (dB)" if ratio else "signal (dBm)"
    return Chart(
        f"Distribution of the {'signal-to-noise ratio' if ratio else 'signal'} at the sniffer",
        f"Median of first transmissions: {', '.join(words)}. Each line is the share of a station's frames at each decibel"
        f"{'' if ratio else '; the capture has no noise levels, so this is the signal alone'}. Retries further left than the "
        "other lines mean that weak frames are the ones that fail.",
        (
            Panel(
                what,
                "frames per dB (%)",
                x_range=(float(level.min()) - 2, float(level.max()) + 2),
                y_range=(0, 1.08 * max(float(s.y.max()) for s in series)),
            ),
        ),
        tuple(series),
    )


def _distribution(name: str, level: NDArray[Any], colours: tuple[str, str]) -> Series:
    """Percent of the values at each decibel, as a line of steps that begins and ends at zero."""
    low, high = int(level.min()), int(level.max())
    share = 100 * np.bincount(level - low, minlength=high - low + 1) / len(level)
    x = np.arange(low - 1, high + 2) - 0.5
    return Series(name, x, np.concatenate(([0.0], share, [0.0])), colours, kind="steps")
