"""Shared by the experiments of the feedback-traffic study: measurements of a run, and bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wlanlens.reproduction.experiment import Row

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from wlanlens.simulation.simulate import Run

#: Omitted at the beginning: slow start, and the first waits for a delayed-ACK timer.
WARM_UP_S = 2.0


def goodput_mbps(run: Run) -> list[float]:
    """Data delivered past the warm-up, each byte once, of each flow, Mb/s."""
    import numpy as np

    flows = run.facts.world.flows
    packets = run.facts.packets

    def coded(column: str, word: str) -> Any:
        values = packets[column].combine_chunks()
        return np.asarray(values.indices) == values.dictionary.to_pylist().index(word)

    length = packets["len_bytes"].to_numpy()
    ours = coded("direction", "a2b") & coded("fate", "delivered") & (length > 0)
    flow, length = packets["flow"].to_numpy()[ours], length[ours]
    warm_s = min(WARM_UP_S, run.scenario.duration_s / 4)
    late = packets["t_end_ns"].to_numpy()[ours] >= 1e9 * warm_s
    # TCP: progress of the stream; datagrams: all that arrived.
    reach = packets["rel_seq"].to_numpy()[ours].astype(np.int64) + length
    begin, end = np.ones(len(flows), np.int64), np.ones(len(flows), np.int64)
    np.maximum.at(begin, flow[~late], reach[~late])
    np.maximum.at(end, flow, reach)
    udp = np.array([f.tcp is None for f in flows])
    datagrams = np.bincount(flow[late], length[late], len(flows))
    sent = np.where(udp, datagrams, end - begin)
    return [float(b) for b in sent * 8 / (run.scenario.duration_s - warm_s) / 1e6]


def aggregate_mbps(run: Run) -> float:
    """The same for all flows together."""
    return float(sum(goodput_mbps(run)))


def delays_s(run: Run) -> list[float]:
    """Time from the SYN to the ACK of the last byte, for finished transfers, s."""
    import pyarrow.compute as pc

    events = run.facts.events
    times = {}
    for what in ("transfer_began", "transfer_ended"):
        rows = events.filter(pc.equal(events["what"], what))
        times[what] = dict(zip(rows["flow"].to_pylist(), rows["t_ns"].to_pylist(), strict=True))
    return [(t - times["transfer_began"][flow]) / 1e9 for flow, t in times["transfer_ended"].items()]


def rts_collision_share(run: Run) -> float:
    """Share of RTS that collided."""
    import pyarrow.compute as pc

    frames = run.facts.frames
    rts = frames.filter(pc.equal(frames["kind"], "rts"))
    collided: int = pc.sum(pc.equal(rts["fate"], "collision")).as_py()
    return float(collided / rts.num_rows)


def dropped_share(run: Run) -> float:
    """Share of packets that a station gave up at a retry limit."""
    import pyarrow.compute as pc

    fates = run.facts.packets["fate"]
    dropped, arrived = (pc.sum(pc.equal(fates, fate)).as_py() for fate in ("air", "delivered"))
    return float(dropped / (dropped + arrived))


def mean_delay_s(run: Run) -> float:
    """Mean session delay; ValueError unless all transfers ended."""
    delays = delays_s(run)
    if len(delays) < len(run.facts.world.flows):
        raise ValueError(f"{len(delays)} of {len(run.facts.world.flows)} transfers ended: duration_s is too short")
    return sum(delays) / len(delays)


def mean(values: list[float]) -> float:
    """Of the seeds."""
    return sum(values) / len(values)


def within(what: str, published: str, target: float, share: float, measured: float, because: str) -> Row:
    """A Q row whose band is relative to a target."""
    return Row(what, published, "Q", measured, (target * (1 - share), target * (1 + share)), because=because)


def curves(
    x_title: str,
    y_title: str,
    model: list[tuple[str, list[float], list[float]]],
    points: list[tuple[str, list[float], list[float]]],
) -> Figure:
    """Lines of a model and marks of a simulation in one figure."""
    import plotly.graph_objects as go

    figure = go.Figure(layout={"xaxis": {"title": {"text": x_title}}, "yaxis": {"title": {"text": y_title}}})
    for name, x, y in model:
        figure.add_scatter(x=x, y=y, mode="lines", name=name)
    for name, x, y in points:
        figure.add_scatter(x=x, y=y, mode="markers", name=name, marker={"size": 8})
    if all(value == int(value) and value <= 20 for _, x, _ in (*model, *points) for value in x):
        figure.update_xaxes(dtick=1)
    return figure
