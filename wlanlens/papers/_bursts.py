"""Measurements of the idle-time study: bursts of bad frames and of lost packets, retransmissions, idle time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.papers._air import Packets, data_frames, packets, payload, round_trips_s, timeouts

if TYPE_CHECKING:
    from wlanlens.simulation.simulate import Run

#: Shortest silence of the sender that counts as idle, s: the smallest retransmission timeout.
IDLE_S = 0.2
#: Payload of the study's file, Mbit.
FILE_MBIT = 8 * 10 * 2**20 / 1e6
#: Data packets of the file.
FILE_PACKETS = 7242
#: Time shown before and after the longest idle time, s.
_AROUND_S = 3.0


@dataclass(frozen=True)
class Transfer:
    """One run. Bursts are those of the data frames at their receiver; `lengths` are all of them."""

    mbps: float
    frame_error_rate: float
    mean_burst: float
    longest_burst: int
    loss_percent: float
    mean_lost_burst: float
    longest_lost_burst: int
    resent: int
    lost: int
    timeouts: int
    longest_idle_s: float
    total_idle_s: float
    rtt_bytes: float
    lengths: tuple[int, ...]
    sequence: Packets


def transfer(run: Run) -> Transfer:
    """Measure a run of one file."""
    frames = data_frames(run)
    fate = np.asarray(frames["fate"].cast("string"))
    mine = (np.asarray(frames["station"]) == 0) & (fate != "collision")
    lengths = _runs(fate[mine] == "damaged")
    data = payload(run)
    sent, came = (np.asarray(data[name]) / 1e9 for name in ("t_made_ns", "t_end_ns"))
    ended = np.asarray(data["fate"].cast("string"))
    lost = ended == "air"
    losses = _runs(lost)
    done = float(came[ended == "delivered"].max(initial=1e-9))
    silent = np.diff(np.sort(sent))
    longest = int(silent.argmax()) if len(silent) else 0
    at = float(np.sort(sent)[longest]) if len(silent) else 0.0
    idle = float(silent[longest]) if len(silent) else 0.0
    return Transfer(
        mbps=FILE_MBIT / done,
        frame_error_rate=float((fate[mine] == "damaged").mean()),
        mean_burst=float(lengths.mean()) if len(lengths) else 0.0,
        longest_burst=int(lengths.max(initial=0)),
        loss_percent=100 * float(lost.mean()),
        mean_lost_burst=float(losses.mean()) if len(losses) else 0.0,
        longest_lost_burst=int(losses.max(initial=0)),
        resent=int((np.asarray(data["copy"]) > 0).sum()),
        lost=int(lost.sum()),
        timeouts=timeouts(run),
        longest_idle_s=idle,
        total_idle_s=float(silent[silent > IDLE_S].sum()),
        rtt_bytes=float(round_trips_s(run).mean()) * FILE_MBIT / done * 1e6 / 8,
        lengths=tuple(int(n) for n in lengths),
        sequence=packets(run, max(0.0, at - _AROUND_S), at + idle + _AROUND_S),
    )


def _runs(mask: Any) -> Any:
    """Lengths of the runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return edges[1::2] - edges[::2]
