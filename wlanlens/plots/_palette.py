"""Labels and colours shared by figures, the report and the terminal.

A colour has one meaning in a figure, and a family of colours one subject on a page: ink is data (segments, round-trip times,
bytes in flight), green ACKs, yellow the receive window, orange the retransmission timer, violet SACK, magenta fast recovery,
blue the path and the air, crimson 802.11 retries, teal the USB bus, brown a queue. Neighbours in the ledger also differ in
lightness, so that bars can be told apart by colour-blind readers and on paper. Text on or in a colour has a contrast of 4.5
or more, lines and dots of 3 (WCAG 2.2, 1.4.3 and 1.4.11).
"""

from __future__ import annotations

from typing import NamedTuple


class Category(NamedTuple):
    """Colours of a ledger category; its name is in `ledger.PLAIN`."""

    colour: str
    ink: str
    """Colour of text on it."""
    terminal: str
    """Colour on a terminal."""
    letter: str
    """The bar without colours."""


CATEGORIES: dict[str, Category] = {
    "handshake": Category("#c9ced6", "#111", "blue", "H"),
    "application": Category("#e4e6ea", "#111", "bright_black", "A"),
    "receiver_window": Category("#f0e442", "#111", "magenta", "W"),
    "delayed_ack": Category("#9cc68b", "#111", "bright_magenta", "D"),
    "rto_wait": Category("#b84a00", "#fff", "red", "T"),
    "rto_backoff": Category("#732400", "#fff", "bright_red", "B"),
    "spurious_recovery": Category("#eda98c", "#111", "yellow", "s"),
    "loss_recovery": Category("#e69f00", "#111", "bright_yellow", "L"),
    "fast_recovery": Category("#e79bc8", "#111", "cyan", "F"),
    "slow_start": Category("#cdb8ee", "#111", "bright_blue", "S"),
    "usb": Category("#006f78", "#fff", "bright_red", "U"),
    "air_useful": Category("#1763a6", "#fff", "bright_green", "a"),
    "air_retries": Category("#a80f45", "#fff", "red", "r"),
    "air_others": Category("#7d8bb0", "#111", "bright_yellow", "o"),
    "queue": Category("#7a5533", "#fff", "bright_cyan", "Q"),
    "path": Category("#a5c9ea", "#111", "green", "#"),
    "unknown": Category("#ffffff", "#111", "white", "?"),
}


class Trigger(NamedTuple):
    """Label and colours of a retransmission's trigger, on light and on dark paper."""

    title: str
    light: str
    dark: str


TRIGGERS: dict[str, Trigger] = {
    "rto": Trigger("timeout (RTO)", "#b84a00", "#ff8a4d"),
    "go_back_n": Trigger("go-back-N", "#8a5f00", "#ffc04d"),
    "fast": Trigger("fast retransmit", "#a3297a", "#f28ac9"),
    "partial_ack": Trigger("partial ACK", "#6b1450", "#c46aa0"),
    "sack": Trigger("SACK", "#7b4fc9", "#b79bf5"),
    "tail_loss_probe": Trigger("tail loss probe", "#006f78", "#4cc9d3"),
    "undecided": Trigger("cause undecided", "#4f5561", "#b9c0ca"),
}


class Use(NamedTuple):
    """Label and colours of a use of the air; `ink` is the colour of text on it."""

    title: str
    colour: str
    ink: str


USES: dict[str, Use] = {
    "data": Use("data", "#1763a6", "#fff"),
    "retries": Use("retries", "#a80f45", "#fff"),
    "control": Use("control frames", "#9fd3d6", "#111"),
    "management": Use("management", "#c9bd6a", "#111"),
    "other": Use("damaged or unknown", "#9aa3ad", "#111"),
}
"""Groups of purposes of airtime, in the order in which figures stack them."""

STATIONS = (
    ("#7b4fc9", "#b79bf5"),
    ("#8a5a00", "#e0a94a"),
    ("#00707a", "#35a5b0"),
    ("#c2459a", "#f59ad2"),
    ("#33226b", "#7d6ff0"),
    ("#6b6b1e", "#e6e39a"),
    ("#6b3a2a", "#c98f7d"),
    ("#5c6470", "#b9c0ca"),
)
"""Colours of transmitters as (on light, on dark), the busiest first; the last is for all others."""


class Stage(NamedTuple):
    """Colours of a stage of a packet's path, on light and on dark paper."""

    light: str
    dark: str


STAGES: dict[str, Stage] = {
    "queue": Stage("#7a5533", "#c99b6f"),
    "bus": Stage("#006f78", "#4cc9d3"),
    "air_wait": Stage("#66749c", "#9aa9d4"),
    "air": Stage("#1763a6", "#62b0f2"),
    "wire": Stage("#4f5661", "#c4cad2"),
    "unseparated": Stage("#7d8792", "#87919c"),
}

RATES = (
    ("#06203f", "#e6f1fb"),
    ("#0f3a6b", "#b9d9f5"),
    ("#174f8c", "#8fc2ee"),
    ("#2064ad", "#68a9e2"),
    ("#357ec4", "#4a8dca"),
    ("#4a90d0", "#3a74ad"),
)
"""Colours of data rates as (on light, on dark), the slowest first: one ramp, because rates have an order."""

LINES = {
    "retry": ("#a80f45", "#ff7d9c"),
    "data": ("#26323f", "#cfd8e3"),
    "ack": ("#177a3e", "#4fd08a"),
    "window": ("#7a7000", "#e3d14a"),
    "sack": ("#7b4fc9", "#b79bf5"),
    "rtt": ("#26323f", "#cfd8e3"),
    "rto": ("#b84a00", "#ff8a4d"),
    "flight": ("#26323f", "#cfd8e3"),
    "other_copy": ("#6e7681", "#8f9aa6"),
}
"""Line colours as (on light, on dark)."""
