"""The columns that the figures of the report draw from."""

from __future__ import annotations

#: The columns of `segments` that figures draw from.
DRAWN = (
    "capture",
    "packet",
    "t_ns",
    "flow",
    "direction",
    "kind",
    "rel_seq",
    "rel_ack",
    "len",
    "transmission",
    "trigger",
    "spurious",
    "rtt_ns",
    "flight_bytes",
    "peer_window_bytes",
    "srtt_ns",
    "rto_ns",
    "tsval",
    "copy",
    "since_first_ns",
    "since_previous_ns",
)
#: The columns of `exchanges` that figures draw from.
DRAWN_EXCHANGES = (
    "capture",
    "ta",
    "ra",
    "first_packet",
    "last_packet",
    "t_first_ns",
    "t_last_ns",
    "attempts",
    "outcome",
    "tcp_kind",
    "flow",
    "direction",
)
#: The columns of `frames` that figures draw from.
DRAWN_FRAMES = (
    "capture",
    "packet",
    "t_ns",
    "subtype",
    "ta",
    "ra",
    "retry",
    "rate_mbps",
    "signal_dbm",
    "noise_dbm",
    "mpdu_bytes",
)
