"""For each finding a small simulated world that has it, and its look-alike: the figures of docs/findings/."""

from __future__ import annotations

from typing import NamedTuple

from tests.firing import Small


class Case(NamedTuple):
    """A plot of two worlds, and what the second one has instead.

    `window_s` is how much of each is drawn; None means all of it.
    """

    plot: str
    shown: Small
    alike: Small
    instead: str
    window_s: float | None = None


CASES = {
    "ack_holding": Case(
        "time_sequence", Small("ack_holding", 4.0, ("sender",)), Small("silent_receiver", 4.0, ("sender",)),
        "the receiver sent no ACKs for a while. Their timestamps say that they were made late, not held.", 1.5,
    ),
    "ack_loss": Case(
        "time_sequence", Small("lost_acks", 4.0, seed=7), Small("ack_holding", 4.0, seed=7),
        "the ACKs were held and arrived later. None of them was lost.", 1.5,
    ),
    "acked_data_retransmission": Case(
        "time_sequence", Small("spurious_retransmissions", 1.0, ("sender",)), Small("genuine_timeout", 2.0, ("sender",)),
        "the data were lost, and no ACK covered them before they were retransmitted.", 1.0,
    ),
    "airtime_overhead": Case(
        "airtime_share", Small("crowded_channel", 4.0, ("air",)), Small("clean_link", 4.0, ("air",)),
        "a link of two stations alone on the channel: data and their ACKs take most of the air.",
    ),
    "ap_buffer_loss": Case(
        "time_sequence", Small("access_point_overflow", 2.0), Small("deaf_sniffer", 2.0),
        "packets were lost on the air, not at the access point. The sniffer missed one frame in five, "
        "and a missed frame looks like one that was not sent.", 1.5,
    ),
    "burst_loss": Case(
        "rate_over_time", Small("burst_loss", 4.0, ("air",)), Small("random_loss", 4.0, ("air",)),
        "frames failed one by one, each independent of the others, not in bursts.", 0.4,
    ),
    "data_ack_collision": Case(
        "rate_over_time", Small("data_ack_collision", 4.0, ("air",)), Small("clean_udp", 4.0, ("air",)),
        "one station sends, and nothing comes back that could collide with it.", 0.2,
    ),
    "delayed_ack_deadlock": Case(
        "time_sequence", Small("nagle_stall", 1.0, ("sender",)), Small("application_pause", 4.0, ("sender",)),
        "the application had nothing to send: no data waited for an ACK.",
    ),
    "idle_backoff": Case(
        "time_sequence", Small("genuine_timeout", 2.0, ("sender",)), Small("application_pause", 4.0, ("sender",)),
        "the application paused, so there was nothing to send. Nothing was lost, and no timer expired.",
    ),
    "missing_fast_retransmit": Case(
        "time_sequence", Small("spurious_retransmissions", 1.0, ("sender",)), Small("window_updates", 2.0, ("sender",)),
        "ACKs with the same number are window updates. They are no duplicate ACKs and must cause no retransmission.", 1.0,
    ),
    "no_answer": Case(
        "time_sequence", Small("blackout", 6.0, ("sender",)), Small("silent_receiver", 4.0, ("sender",)),
        "the receiver was silent for a while, and then it answered.",
    ),
    "overbuffering": Case(
        "rtt_flight", Small("deep_buffer", 20.0, ("sender",)), Small("long_path", 8.0, ("sender",)),
        "the round trip is long from the first packet on, and does not grow with the bytes in flight.",
    ),
    "packet_loss": Case(
        "time_sequence", Small("random_loss", 4.0, ("sender",)), Small("spurious_retransmissions", 1.0, ("sender",)),
        "the retransmitted data had arrived: nothing was lost.", 1.5,
    ),
    "periodic_loss": Case(
        "time_sequence", Small("periodic_access_point_drops", 16.0, ("sender",)), Small("random_loss", 8.0, ("sender",)),
        "losses come at random distances, not after the same number of packets.", 8.0,
    ),
    "rate_thrashing": Case(
        "rate_over_time", Small("rate_thrashing", 16.0, ("air",)), Small("healthy_rate_probing", 8.0, ("air",)),
        "the rate control tries another rate now and then, and returns at once.", 4.0,
    ),
    "repeated_fast_retransmit": Case(
        "time_sequence", Small("repeated_fast_retransmit", 60.0, ("sender",)), Small("separate_losses", 60.0, ("sender",)),
        "each loss has its own recovery: the window is halved once for each.", 20.0,
    ),
    "signal_fade": Case(
        "rate_over_time", Small("signal_fade", 4.0, ("air",)), Small("interference", 4.0, ("air",)),
        "frames fail in the same way, but the signal stays the same: something else was on the channel.", 0.6,
    ),
    "spurious_timeout": Case(
        "time_sequence", Small("ack_holding", 4.0, ("sender",)), Small("genuine_timeout", 2.0, ("sender",)),
        "the data were lost, so the timer was right.", 1.5,
    ),
    "startup_overflow": Case(
        "time_sequence", Small("startup_overflow", 40.0, ("sender",)), Small("early_random_loss", 40.0, ("sender",)),
        "packets were lost at random early in the connection, and the buffer never filled.", 30.0,
    ),
    "stuck_rate": Case(
        "rate_over_time", Small("stuck_rate", 4.0, ("air",)), Small("far_station", 4.0, ("air",)),
        "the signal is too weak for a higher rate.", 2.0,
    ),
    "tail_loss": Case(
        "time_sequence", Small("lost_tail", 1.0, ("sender",)), Small("tail_loss_probes", 2.0, ("sender",)),
        "a probe after two round trips is no timeout, and the data that it repeats had arrived.", 1.0,
    ),
    "usb_bottleneck": Case(
        "usb_bytes", Small("slow_bus", 2.0, ("usb",)), Small("slow_air_over_usb", 2.0, ("usb",)),
        "transfers are outstanding all the time, as on a slow bus, but the adapter refuses them (NAK) because the air is slow.", 0.5,
    ),
    "window_limited": Case(
        "time_sequence", Small("small_window", 1.0, ("sender",)), Small("congestion_window", 2.0, ("sender",)),
        "the sender's congestion window is the limit. The receiver's window is never reached.", 0.3,
    ),
}  # fmt: skip
