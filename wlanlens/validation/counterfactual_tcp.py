"""Causes in hosts and on lines that a pair of worlds can be with and without."""

from __future__ import annotations

from dataclasses import replace

from wlanlens.simulation.config import Node, Reader, SendBuffer
from wlanlens.validation.counterfactual_draws import LONGEST_S, Draw, Made, air_size, cell, hosts, line, spaced

#: More duplicate ACKs than come.
NEVER = 1_000_000

#: Linux 2.2, whose timer has two variants: they differ where a retransmission gives a sample of the round trip.
LINUX22 = {
    "sack": False,
    "dsack": False,
    "timestamps": True,
    "eifel": False,
    "frto": False,
    "tail_loss_probe": False,
    "rto": "linux22",
    "recovery": "newreno",
}


def holds(draw: Draw) -> Made:
    """The sender's adapter holds received ACKs, on a line or on the air."""
    tcp = draw.tcp(timestamps=True)
    length = draw.log(0.08, 1.2)
    if draw.chance(0.5):
        at = line(draw, tcp)
        held = Node("sender", holds_s=spaced(draw, LONGEST_S, length))
        return Made(("ack_holding",), ("sender",), at.world(tcp, sender=held), at.world(tcp))
    world = cell(tcp, {}, {}, air_size(draw, 5e6))
    held = replace(world.nodes[0], holds_s=spaced(draw, LONGEST_S, length))
    return Made(("ack_holding",), ("sender",), replace(world, nodes=(held, world.nodes[1])), world)


def window(draw: Draw) -> Made:
    """The receiver's buffer is smaller than what the path holds; without the cause it is eight times that."""
    at = line(draw)
    at = replace(at, delay_s=max(at.delay_s, 0.01, 12 * 1448 * 8 / at.rate_bps))
    least = max(5 * 1448, round(at.path_bytes * draw.between(0.15, 0.8)))
    small = draw.tcp(receive_window_bytes=least)
    large = replace(small, receive_window_bytes=round(8 * max(at.path_bytes, least)))
    return Made(("window_limited",), ("sender",), at.world(small), at.world(large))


def reader_pauses(draw: Draw) -> Made:
    """The receiving application stops reading for a time."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    # A window that limits the transfer as well would remain without the pauses.
    tcp = replace(tcp, receive_window_bytes=max(tcp.receive_window_bytes, round(2 * at.path_bytes)))
    pauses = spaced(draw, LONGEST_S, draw.log(0.5, 4.0))
    reader = Reader(1 << 20, 0.001, pauses)
    before, after = at.world(tcp, reader=reader), at.world(tcp, reader=replace(reader, pauses_s=()))
    return Made(("window_limited",), ("sender",), before, after)


def outages(draw: Draw) -> Made:
    """The line loses everything for some times."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    gone = spaced(draw, LONGEST_S, draw.log(0.05, 1.5))
    return Made(("packet_loss", "idle_backoff"), hosts(draw), at.world(tcp, blackouts_s=gone), at.world(tcp))


def single_losses(draw: Draw) -> Made:
    """Some packets of data are lost, one by one or a few in a row."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    packets = at.size_bytes // tcp.mss_bytes
    lost: set[int] = set()
    for _ in range(1 + int(draw.between(0, 6))):
        first = int(draw.between(5, max(6, packets - 5)))
        lost |= set(range(first, first + draw.among((1, 1, 2, 4))))
    return Made(("packet_loss",), hosts(draw), at.world(tcp, lose_data=tuple(sorted(lost))), at.world(tcp))


def tail(draw: Draw) -> Made:
    """The last packets of the transfer are lost."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    at = replace(at, size_bytes=max(20_000, at.size_bytes // 8))
    packets = -(-at.size_bytes // tcp.mss_bytes)
    count = draw.among((1, 2, 3))
    lost = tuple(range(packets - count, packets))
    return Made(("tail_loss",), hosts(draw), at.world(tcp, lose_data=lost), at.world(tcp))


def lost_acks(draw: Draw) -> Made:
    """All ACKs are lost for some times."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    gone = spaced(draw, LONGEST_S, draw.log(0.1, 1.0))
    return Made(("ack_loss",), ("sender", "receiver"), at.world(tcp, ack_blackouts_s=gone), at.world(tcp))


def delayed_acks(draw: Draw) -> Made:
    """The send buffer holds one segment at a time, so that each waits for the delayed-ACK timer."""
    tcp = draw.tcp(quick_acks=0, send_buffer=SendBuffer(1448, write_bytes=1448))
    at = line(draw)
    at = replace(at, size_bytes=round(1448 * draw.between(30, 90)))
    return Made(("delayed_ack_deadlock",), ("sender",), at.world(tcp), at.world(replace(tcp, delayed_ack_segments=1)))


def startup(draw: Draw) -> Made:
    """A short queue overflows in slow start; without the cause it is deep."""
    tcp = draw.tcp(receive_window_bytes=262_144)
    if draw.chance(0.6):
        tcp = replace(tcp, sack=False, dsack=False, tail_loss_probe=False)
    at = line(draw)
    # After the start the halved window still fills the path: what is lost is lost in slow start.
    short = max(7, round(draw.between(1.0, 2.0) * at.path_bytes / 1448))
    # Where the loss is found, but not that slow start made it, its estimate is the one that is shown.
    return Made(("startup_overflow", "packet_loss"), hosts(draw), at.world(tcp, queue_packets=short), at.world(tcp))


def spurious(draw: Draw) -> Made:
    """ACKs are held beyond the timer; the remedy is a sender that notices (Eifel, F-RTO)."""
    tcp = draw.tcp(timestamps=True, sack=True, dsack=True, eifel=False, frto=False, tail_loss_probe=False, rto="linux")
    at = line(draw, tcp)
    held = Node("sender", holds_s=spaced(draw, LONGEST_S, draw.log(0.4, 1.5)))
    able = replace(tcp, eifel=True, frto=True)
    return Made(("spurious_timeout",), ("sender",), at.world(tcp, sender=held), at.world(able, sender=held))


def backoff_kept(draw: Draw) -> Made:
    """The timer keeps its backoff although new data was acknowledged; the remedy is a timer that resets it."""
    segments = draw.among((4, 6, 8))
    tcp = draw.tcp(**LINUX22, receive_window_bytes=segments * 1448)
    at = line(draw, tcp)
    first = round(draw.between(0.2, 0.8) * at.size_bytes / 1448)
    # A whole flight is lost and then the first repairs; the next one arrives, and one or two after it are lost again.
    repairs = draw.among((2, 3, 4))
    again = first + segments + repairs
    lost = (*range(first, again), *range(again + 1, again + 1 + draw.among((1, 2))))
    kept, reset = (at.world(replace(tcp, rto=rto), lose_data=lost) for rto in ("linux22", "linux22_reset"))
    # The run of expiries before costs the same in both; what a reset saves is the estimate of the long timer alone.
    return Made(("idle_backoff",), hosts(draw), kept, reset, only=("expiries_count", 1))


def no_fast_retransmit(draw: Draw) -> Made:
    """The sender answers no duplicate ACKs, so that its timer repairs each loss."""
    sack = draw.chance(0.5)
    tcp = draw.tcp(sack=sack, dsack=sack, recovery="newreno", tail_loss_probe=False)
    at = line(draw, tcp)
    tcp = replace(tcp, receive_window_bytes=max(tcp.receive_window_bytes, 12 * 1448))
    packets = at.size_bytes // tcp.mss_bytes
    lost = {int(draw.between(0.2, 0.8) * packets) for _ in range(draw.among((1, 2, 3)))}
    deaf = replace(tcp, dupack_threshold=NEVER)
    before, after = (at.world(sender, lose_data=tuple(sorted(lost))) for sender in (deaf, tcp))
    return Made(("missing_fast_retransmit",), hosts(draw), before, after)


def reduces_again(draw: Draw) -> Made:
    """A sender without SACK reduces its window for each loss of a flight (Reno); the remedy reduces it once (NewReno)."""
    tcp = draw.tcp(sack=False, dsack=False, tail_loss_probe=False, receive_window_bytes=32 * 1448)
    at = line(draw, tcp)
    first = round(draw.between(0.3, 0.6) * at.size_bytes / 1448)
    apart = draw.among((2, 3, 5))
    lost = tuple(first + apart * i for i in range(draw.among((2, 3, 4))))
    before, after = (at.world(replace(tcp, recovery=kind), lose_data=lost) for kind in ("reno", "newreno"))
    return Made(("repeated_fast_retransmit",), hosts(draw), before, after)


def clock(draw: Draw) -> Made:
    """The router drops a packet or two at fixed intervals of seconds, as the access points of the window-size study do."""
    tcp = draw.tcp()
    at = line(draw, tcp)
    period_s = draw.between(1.0, 2.5)
    drops = ((draw.between(0.5, 1.0), period_s, draw.among((1, 1, 2))),)
    # Long enough for a clock to show.
    at = replace(at, size_bytes=round(at.size_bytes * draw.between(8, 12) * period_s / LONGEST_S))
    plain = at.world(tcp)
    sender, receiver, router = plain.nodes
    before = replace(plain, nodes=(sender, receiver, replace(router, drops_s=drops)))
    return Made(("periodic_loss", "packet_loss"), hosts(draw), before, plain)
