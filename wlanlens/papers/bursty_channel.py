from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.papers._bursts import FILE_PACKETS, Transfer, transfer
from wlanlens.reproduction.experiment import Lab, Result, Row, experiment

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Table 1: error rate, mean and longest burst of bad frames, lost packets (%), mean and longest burst of these, resent.
PRINTED = {
    1: (0.135, 1.8, 29, 1.20, 1.73, 7, 89),
    2: (0.157, 2.4, 40, 2.30, 2.27, 10, 178),
    3: (0.058, 1.1, 4, 0.03, 1.00, 1, 2),
    4: (0.097, 2.2, 50, 1.50, 2.54, 12, 112),
    5: (0.004, 1.4, 4, 0.04, 1.00, 1, 3),
}
#: A transfer of test 5 has twenty bursts: the mean of its lost packets is known within 0.2 from 100 seeds.
_SEEDS = 100


@experiment("bursty_channel", study="bursty_errors", source="table 1, columns FER to TCP Rtx; its definitions")
def bursty_channel(lab: Lab) -> Result:
    """Bursts of frame errors, some of them long: their effect on frames and IP packets.

    Error rate and burst lengths are fitted; lost packets, their bursts and TCP's retransmissions follow from them, from four
    transmissions per frame and from the interleaving of both directions. A two-state channel has the same error rate and mean,
    but its bursts are too short. Means of 100 seeds.
    """
    cases: list[tuple[str, dict[str, Any]]] = [("bursty_errors", {"test": test}) for test in PRINTED]
    cases += [("bursty_errors", {"test": test, "two_states": True}) for test in (1, 2, 4)]
    runs = lab.measure_all(transfer, cases, seeds=_SEEDS)
    rows = [row for test, measured in zip(PRINTED, runs, strict=False) for row in _rows(test, measured)]
    for test, two, three in zip((1, 2, 4), runs[5:], (runs[0], runs[1], runs[3]), strict=True):
        longest, lost = _mean(two, "longest_burst"), _mean(two, "mean_lost_burst")
        rows.append(
            Row(f"test {test}: longest burst on a two-state channel", str(PRINTED[test][2]), "S", longest,
                holds=longest < 0.5 * PRINTED[test][2] and lost < 1.3 < _mean(three, "mean_lost_burst"),
                because="geometric bursts of that mean are never so long; lost packets are single then")
        )  # fmt: skip
    return Result(rows=tuple(rows), figures=(("Lengths of bursts of bad frames, test 2", _figure(runs[1], runs[6])),))


def _mean(runs: list[Transfer], name: str) -> float:
    return float(np.mean([getattr(r, name) for r in runs]))


def _rows(test: int, runs: list[Transfer]) -> list[Row]:
    fer, mean, longest, loss, lost_mean, longest_lost, resent = PRINTED[test]
    few = f"{loss / 100 * FILE_PACKETS:.0f} packets in all"
    ratio = sum(r.resent for r in runs) / max(1, sum(r.lost for r in runs))
    apart = float(np.median([r.longest_lost_burst - r.longest_burst // 4 for r in runs]))
    rows = [
        Row(f"test {test}: frame error rate", f"{fer}", "Q", _mean(runs, "frame_error_rate"), (0.9 * fer, 1.1 * fer),
            because="fitted"),
        Row(f"test {test}: mean burst of bad frames", f"{mean}", "Q", _mean(runs, "mean_burst"), (0.9 * mean, 1.1 * mean),
            because="fitted"),
        Row(f"test {test}: longest burst of bad frames", f"{longest}", "Q", _mean(runs, "longest_burst"),
            (longest / 2, 2.0 * longest), because="fitted: the long bursts"),
    ]  # fmt: skip
    if test in (3, 5):
        rows.append(
            Row(f"test {test}: lost packets", few, "Q", _mean(runs, "lost"), (1.0, 6.0),
                because="four bad transmissions in a row are rare")
        )  # fmt: skip
    else:
        rows += [
            Row(f"test {test}: lost packets (%)", f"{loss}", "Q", _mean(runs, "loss_percent"), (0.7 * loss, 1.3 * loss),
                because="a burst longer than four transmissions"),
            Row(f"test {test}: longest burst of lost packets minus a quarter of the longest of bad frames", "0", "Q", apart,
                (-1.0, 1.0), because="four attempts a packet"),
        ]  # fmt: skip
    rows += [
        Row(f"test {test}: mean burst of lost packets", f"{lost_mean:.2f}", "N", _mean(runs, "mean_lost_burst"),
            because="few long bursts decide it"),
        Row(f"test {test}: longest burst of lost packets", str(longest_lost), "N", _mean(runs, "longest_lost_burst"),
            because="a quarter of the longest burst of bad frames"),
    ]  # fmt: skip
    rows.append(
        Row(f"test {test}: retransmitted segments over lost packets", f"{resent / (loss / 100 * FILE_PACKETS):.2f}", "Q",
            ratio, (0.9, 1.1), because="SACK retransmits lost data and nothing else")
    )  # fmt: skip
    return rows


def _figure(three: list[Transfer], two: list[Transfer]) -> Figure:
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, runs in (("three states", three), ("two states", two)):
        lengths, number = np.unique(np.concatenate([r.lengths for r in runs]), return_counts=True)
        figure.add_trace(go.Scatter(x=lengths, y=number / len(runs), mode="markers", name=name))
    figure.update_layout(
        xaxis_title="bad frames in a row", yaxis_title="bursts a transfer", yaxis_type="log", template="simple_white"
    )
    return figure
