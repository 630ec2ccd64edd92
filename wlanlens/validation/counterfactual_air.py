"""Causes on the air, at the access point and on a USB bus that a pair of worlds can be with and without."""

from __future__ import annotations

from dataclasses import replace

from wlanlens.simulation.applications import file
from wlanlens.simulation.config import Bursts, Cell, Flow, Node, RadioPath, Station, Usb, Wire, World
from wlanlens.simulation.rate_control import automatic, fixed, multiplicative
from wlanlens.validation.counterfactual_draws import (
    DEEP_PACKETS,
    LONGEST_S,
    SHORTEST_S,
    Draw,
    Made,
    air_size,
    cell,
    spaced,
)


def bus(draw: Draw) -> Made:
    """The host controller's mode limits the adapter; without the cause it uses each frame to its end."""
    tcp = draw.tcp()
    usb = Usb(depth_first=draw.chance(0.5), reclamation=False, urbs_out=draw.among((1, 4)))
    better = replace(usb, reclamation=True, urbs_out=4)

    def world(adapter: Usb) -> World:
        station = Station(node=0, rate_control=fixed(rate), usb=adapter)
        return World(
            nodes=(Node("laptop", queue_packets=DEEP_PACKETS), Node("server"), Node("access point")),
            cell=Cell((station, Station(node=2, access_point=True, rate_control=fixed(rate)))),
            wires=(Wire(2, 1),),
            flows=(Flow(0, 1, file(size), tcp=tcp),),
        )

    rate = draw.among((11.0, 54.0))
    size = round(2.5e6 / 8 * draw.between(SHORTEST_S, LONGEST_S))
    return Made(("usb_bottleneck",), ("sender", "usb", "air"), world(usb), world(better))


def slow_rate(draw: Draw) -> Made:
    """The sender's driver never leaves a low rate."""
    tcp = draw.tcp()
    low = draw.among((1.0, 2.0, 5.5))
    # Rate control moves within two seconds: below that no rate is stuck.
    size = air_size(draw, 4e6)
    other = {"rate_control": automatic("arf")}
    before = cell(tcp, {"rate_control": fixed(low)}, other, size, snr_db=40.0)
    after = cell(tcp, {"rate_control": fixed(11.0)}, other, size, snr_db=40.0)
    return Made(("stuck_rate",), ("sender", "air"), before, after)


def thrashing(draw: Draw) -> Made:
    """Rate control climbs to rates that do not work; without the cause it keeps the one that does."""
    tcp = draw.tcp()
    size = air_size(draw, 6e5)
    ladder = ((11.0, draw.among((2, 3, 4))), (5.5, 100), (1.0, 1))
    climbs = {"rate_control": multiplicative(ladder, 1.0, draw.among((8, 10, 16))), "short_retry_limit": 10}
    steady = {"rate_control": fixed(1.0), "short_retry_limit": 10}
    more = {"control_rate_mbps": 1.0, "signal_dbm": -92.0}
    sides = [cell(tcp, {**s, **more}, {**s, **more}, size, snr_db=2.6) for s in (climbs, steady)]
    return Made(("rate_thrashing",), ("sender", "air"), sides[0], sides[1])


def fades(draw: Draw) -> Made:
    """The signal fades for some times."""
    tcp = draw.tcp()
    size = air_size(draw, 5e6)
    length = draw.log(0.3, 1.5)
    gone = tuple((start, length, 40.0, 0.0) for start, length in spaced(draw, LONGEST_S, length))
    plain = {"signal_dbm": -65.0}
    before = cell(tcp, {**plain, "fades_s": gone}, plain, size, snr_db=30.0)
    after = cell(tcp, plain, plain, size, snr_db=30.0)
    return Made(("signal_fade",), ("sender", "air"), before, after)


def short_queue(draw: Draw) -> Made:
    """The access point's queue is shorter than the window; without the cause it is deep."""
    tcp = draw.tcp(receive_window_bytes=draw.among((32, 48, 64, 90)) * 1448)
    short = draw.among((10, 15, 20, 30))
    size = air_size(draw, 5e6)
    delay_s = draw.log(0.001, 0.02)

    def world(queue: int) -> World:
        return World(
            nodes=(Node("server"), Node("client"), Node("access point", queue_packets=queue)),
            cell=Cell((Station(node=2, access_point=True, queue_frames=2), Station(node=1))),
            wires=(Wire(0, 2, delay_s=delay_s),),
            flows=(Flow(0, 1, file(size), tcp=tcp),),
        )

    taps = draw.among((("sender", "air", "receiver"), ("sender", "air")))
    return Made(("ap_buffer_loss", "startup_overflow"), taps, world(short), world(DEEP_PACKETS))


def beacons(draw: Draw) -> Made:
    """Many access points send beacons at a low rate on the channel of an upload."""
    tcp = draw.tcp()
    many = range(2, 2 + draw.among((25, 30, 40)))
    size = air_size(draw, 4e6)

    def world(others: range) -> World:
        return World(
            nodes=(Node("sender", queue_packets=DEEP_PACKETS), Node("receiver"), *(Node(f"other {n}") for n in others)),
            cell=Cell(
                (
                    Station(node=0),
                    Station(node=1, access_point=True),
                    *(Station(node=n, access_point=True, rate_control=fixed(1.0)) for n in others),
                )
            ),
            flows=(Flow(0, 1, file(size), tcp=tcp),),
        )

    return Made(("airtime_overhead",), ("sender", "air"), world(many), world(range(0)), most_s=60.0)


def bursts(draw: Draw) -> Made:
    """Frames fail in bursts, so that retries fail too."""
    tcp = draw.tcp()
    size = air_size(draw, 5e6)
    rate, mean = draw.among((0.05, 0.1, 0.2)), draw.log(2.0, 10.0)
    unit = draw.among((("frames", 1.0), ("time", 1e-3)))
    gap = mean * (1 - rate) / rate
    plain = cell(tcp, {}, {}, size)
    assert plain.cell is not None
    paths = (RadioPath(0, 1, bursts=0), RadioPath(1, 0, bursts=0))
    model = Bursts(gap * unit[1], mean * unit[1], clock=unit[0])
    return Made(
        ("burst_loss",),
        ("sender", "air"),
        replace(plain, cell=replace(plain.cell, bursts=(model,), paths=paths)),
        plain,
    )
