"""The setup of the feedback-traffic study (INRIA RR-4908): RTS and CTS before every frame, segments of 1000 bytes."""

from __future__ import annotations

from wlanlens.simulation.config import Cell, Flow, Node, Station, Tcp, World

#: Bytes of data in a segment.
SEGMENT = 1000


def tcp(*, every: int, window: int, timer_s: float, steps: tuple[tuple[int, int], ...] = (), initial: int = 2) -> Tcp:
    """TCP as in ns-2: no options, an ACK every `every` segments, a window of `window` segments."""
    return Tcp(
        mss_bytes=SEGMENT,
        initial_window_segments=initial,
        receive_window_bytes=window * SEGMENT,
        sack=False,
        dsack=False,
        timestamps=False,
        prr=False,
        eifel=False,
        frto=False,
        quick_acks=0,
        delayed_ack_segments=every,
        delayed_ack_steps=steps,
        delayed_ack_timer_s=timer_s,
        rto="rfc6298",
    )


def cell(
    stations: int, *, rts_threshold_bytes: int = 0, queue_packets: int = 400, post_backoff: bool = True
) -> tuple[tuple[Node, ...], Cell]:
    """An access point (the first node, which is also the server) and the stations; no beacons, as in ns-2."""
    nodes = (Node("access point", queue_packets), *(Node(f"station {n}") for n in range(1, stations + 1)))
    places = tuple(
        Station(node=n, access_point=n == 0, rts_threshold_bytes=rts_threshold_bytes, post_backoff=post_backoff)
        for n in range(stations + 1)
    )
    return nodes, Cell(places, beacons=False)


def world(nodes: tuple[Node, ...], cell: Cell, flows: tuple[Flow, ...]) -> World:
    """The world; the host taps are at the ends of the first flow."""
    return World(nodes=nodes, cell=cell, flows=flows, sender=flows[0].client, receiver=flows[0].server)
