"""Measurements of the Seawind study: a transfer over the slow link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wlanlens.papers._air import Packets, answers, fates, packets, payload
from wlanlens.tables.columns import Array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wlanlens.simulation.simulate import Run


#: The link's payload rate: 256 of 304 bytes at 9600 bit/s.
LINE_BYTES_PER_S = 1002.0


@dataclass(frozen=True)
class Data:
    """Data segments of a transfer, in order of sending: bytes, times in s, copies; `fate` as in `truth_packets`."""

    start: Array
    end: Array
    made_s: Array
    ended_s: Array
    copy: Array
    fate: Array
    flow: Array


def data_of(run: Run) -> Data:
    """What the client sent."""
    p = payload(run)
    start = np.asarray(p["rel_seq"]).astype(np.int64)
    return Data(
        start=start,
        end=start + np.asarray(p["len_bytes"]).astype(np.int64),
        made_s=np.asarray(p["t_made_ns"]) / 1e9,
        ended_s=np.asarray(p["t_end_ns"]) / 1e9,
        copy=np.asarray(p["copy"]).astype(np.int64),
        fate=fates(p),
        flow=np.asarray(p["flow"]),
    )


def _complete_s(d: Data, wanted: Array) -> tuple[int, float]:
    """Of the data wanted: the end of the last byte that arrived, and when the last segment came, each counted once; 0 and NaN if none."""
    order = np.flatnonzero(wanted)[np.argsort(d.ended_s[wanted], kind="stable")]
    ends, first = np.unique(d.end[order], return_index=True)
    return (int(ends[-1]), float(d.ended_s[order][first].max())) if len(ends) else (0, float("nan"))


def finish_s(run: Run, flow: int = 0) -> float:
    """Time from the SYN until the receiver has the whole file; NaN if never."""
    d = data_of(run)
    end, t_s = _complete_s(d, (d.fate == "delivered") & (d.flow == flow))
    return t_s if end == run.scenario.file_bytes + 1 else float("nan")  # type: ignore[attr-defined]


#: What the study takes for a transaction: the first 15 kilobytes.
TRANSACTION_BYTES = 15 << 10


def transaction_s(run: Run) -> float:
    """Time from the SYN until the receiver has the first 15 KB; NaN if never."""
    d = data_of(run)
    end, t_s = _complete_s(d, (d.fate == "delivered") & (d.start <= TRANSACTION_BYTES))
    return t_s if end > TRANSACTION_BYTES else float("nan")


def bytes_per_s(run: Run) -> float:
    """The file over that time: the study's throughput."""
    return float(run.scenario.file_bytes / finish_s(run))  # type: ignore[attr-defined]


def aggregate_bytes_per_s(run: Run) -> tuple[float, float]:
    """All files of a run over the time of the slowest, and Jain's index of fairness of the flows' throughput."""
    times = [finish_s(run, flow) for flow in range(len(run.facts.world.flows))]
    size = run.scenario.file_bytes  # type: ignore[attr-defined]
    rates = np.array([size / t for t in times])
    return float(size * len(times) / max(times)), float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


def mean(values: Iterable[float]) -> float:
    """Of the transfers that were finished."""
    return float(np.nanmean(list(values)))


@dataclass(frozen=True)
class Start:
    """The start-up of a transfer: losses before the first retransmission, their begin and repair, and its packets."""

    losses: int
    first_s: float
    recovered_s: float
    window: int
    #: Lost (True) or not: the segments from the first loss to the first retransmission.
    pattern: tuple[bool, ...]
    shown: Packets


def startup(run: Run) -> Start:
    """From the ground truth, not from a capture."""
    d = data_of(run)
    again = np.flatnonzero(d.copy > 0)
    reaction = d.made_s[again[0]] if len(again) else np.inf
    early = np.flatnonzero((d.made_s < reaction) & (d.copy == 0))
    lost = early[d.fate[early] != "delivered"]
    if not len(lost):
        return Start(0, np.nan, np.nan, 0, (), packets(run, 0.0, 30.0))
    point = int(d.end[lost].max())
    acks = answers(run)
    reach = np.asarray(acks["rel_ack"]) >= point
    recovered = float((np.asarray(acks["t_end_ns"])[reach] / 1e9).min())
    window = early[early >= lost[0]]
    return Start(
        len(lost),
        float(d.made_s[lost[0]]),
        recovered,
        len(window),
        tuple((d.fate[window] != "delivered").tolist()),
        packets(run, 0.0, recovered + 5.0),
    )
