"""The figures of docs/studies/: a plot of wlanlens from a simulated world for each figure of a study."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import wlanlens as wl
from tests import firing
from tests.firing import Small
from wlanlens.simulation import parameter_sweep


class Sweep(NamedTuple):
    """Runs over the values of parameters, with `seeds` seeds each."""

    scenario: str
    swept: Mapping[str, tuple[Any, ...]]
    fixed: Mapping[str, Any]
    seeds: int


class StudyFigure(NamedTuple):
    """A plot, what it draws, and what the study shows so.

    `world` is a simulated world or a sweep; `mark`: whether findings are shaded.
    """

    plot: str
    world: Small | Sweep
    of: str
    says: str
    options: Mapping[str, Any] = {}
    mark: bool = True
    height: int = 460
    window_s: tuple[float, float] | None = None


HELD = Small("ack_holding_over_usb", 3.0)
SLOW = {"file_bytes": 40_960, "duration_s": 200.0}

FIGURES: dict[str, tuple[StudyFigure, ...]] = {
    "usb_adapter": (
        StudyFigure(
            "time_sequence_points", HELD, "figure 2",
            "The ACKs are on the air in time, and reach the sender hundreds of milliseconds later: the adapter held them.", height=420,
        ),
        StudyFigure(
            "tcp_view", Small("spurious_retransmissions", 1.0, ("sender",)), "figures 3 and 4",
            "TCP sent the segments in orange as the ACKs arrived; they waited in the device queue and passed tcpdump after the "
            "ACK of their bytes.", mark=False, height=620,
        ),
        StudyFigure(
            "retransmission_pairs", Small("data_ack_collision", 4.0, ("air",)), "figure 5(a)",
            "Retries of TCP data and of TCP ACKs come in pairs: both stations drew the same slot.", mark=False,
        ),
        StudyFigure(
            "rate_over_time", Small("rate_thrashing", 8.0, ("air",)), "figure 6(b)",
            "The rate goes up after a few successes, fails, and steps down again until the frame is dropped.", mark=False,
            window_s=(5.0, 5.6),
        ),
        StudyFigure(
            "usb_occupancy", Small("slow_bus", 2.0, ("usb",)), "figure 7(a) and table 2",
            "Breadth first without bandwidth reclamation, each 1 ms frame carries one packet of 64 bytes; it has room for 19.",
        ),
    ),
    "bursty_errors": (
        StudyFigure(
            "snr_distribution", Small("moving_station", 60.0, ("air",)), "figure 1",
            "The moving station's frames are spread over 30 dB, and its retries lie where its signal is weak. The other station is next to "
            "the sniffer: its retries failed at the far end.",
        ),
        StudyFigure(
            "rto_backoff", Small("kept_backoff", 200.0, ("sender",), parameters={"file_bytes": 4_194_304}), "table 2 and figure 2",
            "The link is down for a second or two at a time, and each expiry doubles the next wait: the timer outlasts the fault.",
            mark=False, height=520,
        ),
        StudyFigure(
            "burst_lengths", Small("bursty_errors", 60.0, ("air",), parameters={"file_bytes": 4_194_304}), "table 1, columns EFB and LPB",
            "Bursts of failed transmissions are far longer than independent errors make, so packets are lost in spite of retries.",
        ),
    ),
    "window_size": (
        StudyFigure(
            "throughput_sweep",
            Sweep("small_window_loss", {"window_segments": (2, 3, 7, 15, 32, 43), "loss_rate": (0.0, 0.01, 0.04)}, {"duration_s": 10.0}, 3),
            "effect of window size variation",
            "With losses, windows below four segments collapse: three duplicate ACKs are impossible, and every loss costs a timeout.",
            {"x": "window_segments", "by": "loss_rate"},
        ),
        StudyFigure(
            "inter_loss", Small("periodic_access_point_drops", 60.0, ("sender",)), "dependence between inter-loss time and packets",
            "The cluster at two seconds is the access point, which drops a packet each time it polls.",
        ),
    ),
    "seawind": (
        StudyFigure(
            "throughput_sweep", Sweep("slow_line", {"buffer_packets": (3, 5, 7, 10, 15, 20), "loss_rate": (0.0, 0.02, 0.1)}, SLOW, 3),
            "figure 7 and the tables of random errors",
            "Without losses a buffer of 5 packets is best, and larger ones cost a little; random losses cost far more.",
            {"x": "buffer_packets", "by": "loss_rate"},
        ),
    ),
    "dcf_tcp": (
        StudyFigure(
            "throughput_sweep",
            Sweep("clean_rts_link", {"window_segments": (2, 3, 4, 5, 8, 12, 20), "delayed_ack_segments": (1, 2, 3)}, {"duration_s": 5.0}, 1),
            "figures 3 to 5",
            "Fewer ACKs leave more of the channel to data; beyond a few segments the window no longer matters.",
            {"x": "window_segments", "by": "delayed_ack_segments"},
        ),
    ),
}  # fmt: skip


def file_name(study: str, figure: StudyFigure) -> str:
    """The picture's name in docs/studies/."""
    return f"{study}-{figure.plot}.png"


def drawn(figure: StudyFigure, width: int) -> Any:
    """The plot, ready for a picture."""
    if isinstance(figure.world, Sweep):
        runs, findings = run_sweep(figure.world), []
    else:
        runs = firing.trace(figure.world)
        findings = list(wl.detect(runs)) if figure.mark else []
    options = dict(figure.options)
    made = getattr(wl.plots, figure.plot)(runs, findings, **options)
    made.update_layout(
        width=width, height=figure.height, title={"font": {"size": 15}}, margin={"t": 66, "b": 96, "l": 70, "r": 18}
    )
    if figure.window_s is not None:
        made.update_xaxes(range=figure.window_s)
    return made


def run_sweep(sweep: Sweep) -> Any:
    """`runs.parquet` of a sweep."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        jobs = parameter_sweep.plan(
            sweep.scenario, Path(folder), dict(sweep.swept), list(range(1, sweep.seeds + 1)), dict(sweep.fixed), ()
        )
        parameter_sweep.run_all(jobs, workers=1)
        return pq.read_table(Path(folder) / parameter_sweep.TABLE)


def command(world: Small | Sweep) -> str:
    """The command that simulates a world."""
    words = ["wlanlens simulate", f"-s {world.scenario}"]
    if isinstance(world, Sweep):
        words += [f"--set {name}={value:g}" for name, value in world.fixed.items()]
        words += [f"--sweep {name}={','.join(f'{v:g}' for v in values)}" for name, values in world.swept.items()]
        return " ".join([*words, f"--seeds 1..{world.seeds}", "--tap none"])
    words += [f"--seed {world.seed}", f"--set duration_s={world.duration_s:g}"]
    return " ".join([*words, *(f"--set {name}={value}" for name, value in world.parameters.items())])
