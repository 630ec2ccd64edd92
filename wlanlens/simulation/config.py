"""The description of a simulated world: nodes, a wireless cell, wires, flows, taps. Frozen data with units in names.

Defaults are those of the studies' setup: 802.11b at 11 Mb/s with long preambles, Linux TCP with SACK and timestamps.
The fields are the simulator's (rust/sim/src/config.rs), which checks them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wlanlens.simulation.applications import bulk
from wlanlens.simulation.queue_discipline import tail_drop
from wlanlens.simulation.rate_control import fixed


@dataclass(frozen=True)
class Holds:
    """An adapter holds received packets at random: exponential gaps, hold times uniform between shortest and longest.

    `run_probability`: the probability that any hold happens in a run.
    """

    mean_gap_s: float = 3.0
    shortest_s: float = 0.3
    longest_s: float = 0.6
    run_probability: float = 1.0


@dataclass(frozen=True)
class Node:
    """A host, an access point or a router.

    `holds_s`: (start, length) of times in which its adapter holds received packets; `holds`: random ones. `drops_s`: (start, period
    or 0, packets): it drops the next data packets that it should forward.
    """

    name: str
    queue_packets: int = 100
    discipline: Mapping[str, Any] = field(default_factory=tail_drop)
    holds_s: tuple[tuple[float, float], ...] = ()
    drops_s: tuple[tuple[float, float, int], ...] = ()
    holds: Holds | None = None


@dataclass(frozen=True)
class Usb:
    """A USB adapter and its UHCI bus; the defaults are Linux 2.4's (rust/sim/src/usb_host.rs).

    `reclamation`: full-speed bandwidth reclamation (FSBR). `urbs_out` 1: queueless. `buffer_frames` and
    `receive_buffer_frames`: the adapter's buffers towards the air and towards the host. `descriptor_s`: time for which it refuses
    a transfer's second transaction. `driver_s`: time from tcpdump to the submission of a packet, and from a completion to tcpdump.
    """

    depth_first: bool = False
    reclamation: bool = True
    urbs_out: int = 1
    urbs_in: int = 1
    buffer_frames: int = 8
    receive_buffer_frames: int = 64
    descriptor_s: float = 100e-6
    interrupt_s: float = 20e-6
    driver_s: float = 5e-6


@dataclass(frozen=True)
class Station:
    """A node's station in the cell. `stalls_s`: (start, length, period or 0) of times in which it sends nothing.

    `signal_dbm` is the signal at the sniffer if the cell has no `path_loss`; else the positions determine it. `fades_s`: (start, length,
    depth in dB, period or 0): everything it sends and receives fades, at the sniffer too. `usb`: its USB adapter.
    """

    node: int
    access_point: bool = False
    cw_min: int = 31
    cw_max: int = 1023
    short_retry_limit: int = 7
    long_retry_limit: int = 4
    rts_threshold_bytes: int = 3000
    short_preamble: bool = False
    control_rate_mbps: float = 2.0
    queue_frames: int = 50
    post_backoff: bool = True
    rate_control: Mapping[str, Any] = field(default_factory=lambda: fixed(11.0))
    stalls_s: tuple[tuple[float, float, float], ...] = ()
    signal_dbm: float = -45.0
    at_m: tuple[float, float] = (0.0, 0.0)
    walks_m_per_s: tuple[float, float] = (0.0, 0.0)
    fades_s: tuple[tuple[float, float, float, float], ...] = ()
    usb: Usb | None = None


@dataclass(frozen=True)
class Bursts:
    """Errors in bursts: mean lengths in frames (clock "frames") or seconds (clock "time"); a share of them is long."""

    mean_gap: float
    mean_short: float
    mean_long: float = 1.0
    long_share: float = 0.0
    error_rate: float = 1.0
    clock: str = "frames"

    @classmethod
    def gilbert(cls, frame_error_rate: float, mean_burst: float) -> Bursts:
        """Gilbert's two-state channel with this frame error rate and mean burst length in frames."""
        return cls(mean_gap=mean_burst * (1 - frame_error_rate) / frame_error_rate, mean_short=mean_burst)


@dataclass(frozen=True)
class RadioPath:
    """Errors on the path from one station to another, by their positions in `Cell.stations`."""

    start: int
    end: int
    snr_db: float | None = None
    frame_error_rate: float = 0.0
    bursts: int | None = None
    fades_s: tuple[tuple[float, float, float, float], ...] = ()
    lose_frames: tuple[int, ...] = ()
    blackouts_s: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class PathLoss:
    """Path loss: `first_metre_db` over the first metre, then 10 `exponent` dB for each factor of ten in distance."""

    sent_dbm: float = 15.0
    first_metre_db: float = 40.0
    exponent: float = 3.5


@dataclass(frozen=True)
class Cell:
    """Stations that share a channel.

    `multipath`: Rice fading, as (Doppler frequency in Hz, K factor: power of the direct wave over that of the others);
    K = 0 is Rayleigh fading.
    """

    stations: tuple[Station, ...]
    ad_hoc: bool = False
    beacons: bool = True
    channel_mhz: int = 2412
    bursts: tuple[Bursts, ...] = ()
    paths: tuple[RadioPath, ...] = ()
    path_loss: PathLoss | None = None
    multipath: tuple[float, float] | None = None
    noise_dbm: float = -95.0
    sniffer_m: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Wire:
    """A wired link between two nodes.

    `back_loss_rate`: the loss rate from b to a, if different. `lose_data`: numbers of the data packets lost from a to b;
    `lose_acks`: numbers of the packets without data lost from b to a. `bursts_s`: (start, length, probability, period or 0)
    of losses in both directions. `jitter_share`: share of the packets that take up to `jitter_s` longer: later ones overtake them.
    """

    a: int
    b: int
    rate_bps: float = 100e6
    delay_s: float = 0.0005
    header_bytes: int = 18
    queue_packets: int = 1000
    discipline: Mapping[str, Any] = field(default_factory=tail_drop)
    loss_rate: float = 0.0
    back_loss_rate: float | None = None
    bursts_s: tuple[tuple[float, float, float, float], ...] = ()
    lose_data: tuple[int, ...] = ()
    blackouts_s: tuple[tuple[float, float], ...] = ()
    holds_s: tuple[tuple[float, float], ...] = ()
    lose_acks: tuple[int, ...] = ()
    ack_blackouts_s: tuple[tuple[float, float], ...] = ()
    jitter_share: float = 0.0
    jitter_s: float = 0.0


@dataclass(frozen=True)
class Reader:
    """The server's application reads at most `bytes` every `every_s` seconds, except in pauses (start, length)."""

    bytes: int
    every_s: float
    pauses_s: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class SendBuffer:
    """The client's send buffer, as Linux's: it holds data until it is acknowledged, and blocks writes when full.

    `grows_by_bytes`: bytes for each segment of twice the congestion window by which the size follows it (0: constant);
    `overhead_bytes`: memory that a segment takes beyond its data; `write_bytes`: size of one write.
    """

    size_bytes: int
    grows_by_bytes: int = 0
    overhead_bytes: int = 832
    write_bytes: int = 65_536
    wakeup_s: float = 20e-6
    first_write_s: float = 400e-6


@dataclass(frozen=True)
class Tcp:
    """Both ends of a connection. `TcpConfig` in rust/sim/src/tcp/config.rs documents each field.

    `lost_retransmissions`, `linux24_scoreboard` and `burst_segments` are Linux 2.4's.
    `delayed_ack_steps`: (n, d): up to segment number n an ACK for every d segments.
    """

    mss_bytes: int = 1448
    initial_window_segments: int = 2
    receive_window_bytes: int = 32_768
    sack: bool = True
    dsack: bool = True
    fack: bool = False
    timestamps: bool = True
    recovery: str = "newreno"
    prr: bool = True
    rate_halving: bool = False
    lost_retransmissions: bool = False
    linux24_scoreboard: bool = False
    burst_segments: int = 0
    limited_transmit: bool = True
    dupack_threshold: int = 3
    repairs_all_first: bool = False
    nagle: bool = True
    delayed_ack_segments: int = 2
    delayed_ack_steps: tuple[tuple[int, int], ...] = ()
    delayed_ack_timer_s: float = 0.04
    quick_acks: int = 16
    rto: str = "linux"
    rto_min_s: float = 0.2
    rto_tick_s: float = 0.0
    timer_phase_s: float = 0.0
    eifel: bool = True
    eifel_first_stamp_defect: bool = False
    frto: bool = True
    tail_loss_probe: bool = False
    counts_segments: bool = True
    cwnd_validation: bool = True
    minshall: bool = True
    silly_window_avoidance: bool = True
    stale_dupacks: bool = False
    keep_alive_s: float = 0.0
    ack_pushed: bool = False
    receive_window_first_bytes: int = 0
    receive_window_steps: tuple[tuple[int, int], ...] = ()
    receive_window_script: tuple[int, ...] = ()
    send_buffer: SendBuffer | None = None


@dataclass(frozen=True)
class Flow:
    """Traffic from a client to a server; `tcp` None for UDP.

    `after`: it begins when the transfer of that earlier flow ends, after a thinking time with mean `think_s`.
    """

    client: int
    server: int
    application: Mapping[str, Any] = field(default_factory=bulk)
    start_s: float = 0.0
    tcp: Tcp | None = field(default_factory=Tcp)
    after: int | None = None
    think_s: float = 0.0
    reader: Reader | None = None


@dataclass(frozen=True)
class TapClock:
    """A tap's clock error and its losses. `step_ns`: the clock is set by this amount once, at the true time `step_at_s`."""

    offset_ns: int = 0
    drift_ppm: float = 0.0
    step_at_s: float = 0.0
    step_ns: int = 0
    tick_ns: int = 1000
    missed_share: float = 0.0
    snaplen_bytes: int = 262_144


@dataclass(frozen=True)
class World:
    """The whole world. `sender` and `receiver` are the nodes whose hosts run tcpdump."""

    nodes: tuple[Node, ...]
    flows: tuple[Flow, ...]
    cell: Cell | None = None
    wires: tuple[Wire, ...] = ()
    sender: int = 0
    receiver: int = 1
    clocks: Mapping[str, TapClock] = field(default_factory=dict)

    def description(
        self, *, seed: int, duration_s: float, epoch_ns: int, captures: Mapping[str, Path | Any], ledger: bool = False
    ) -> str:
        """The world as JSON for the simulator. `captures`: the file of each tap; `ledger`: make the true ledger too."""
        cell = asdict(self.cell) if self.cell is not None else None
        if cell is not None:
            cell["paths"] = [{"from": p.pop("start"), "to": p.pop("end"), **p} for p in cell["paths"]]
        nodes = {"sender": self.sender, "receiver": self.receiver, "usb": self.usb_node}
        taps = {
            name: {
                "path": str(path),
                "node": nodes.get(name, 0),
                "clock": asdict(self.clocks.get(name, TapClock())),
            }
            for name, path in captures.items()
        }
        whole = {
            "seed": seed,
            "duration_s": duration_s,
            "epoch_ns": epoch_ns,
            "nodes": [asdict(n) for n in self.nodes],
            "cell": cell,
            "wires": [asdict(w) for w in self.wires],
            "flows": [asdict(f) for f in self.flows],
            "taps": taps,
            "ledger": ledger,
        }
        return json.dumps(whole)

    @property
    def taps(self) -> tuple[str, ...]:
        """The capture points of this world."""
        usb = ("usb",) if self.usb_node is not None else ()
        air = ("air",) if self.cell is not None else ()
        return ("sender", *usb, *air, "receiver")

    @property
    def usb_node(self) -> int | None:
        """The node whose bus is captured: the sender if it has a USB adapter, else the first node with one."""
        stations = self.cell.stations if self.cell is not None else ()
        nodes = [s.node for s in stations if s.usb is not None]
        return self.sender if self.sender in nodes else min(nodes, default=None)
