"""Labels and colours shared by figures, the report and the terminal.

Time that moved data has quiet colours (blues, greys), lost time has loud ones. Neighbours in the list also differ in
lightness, so that bars can be told apart by colour-blind readers and on paper.
"""

from __future__ import annotations

from typing import NamedTuple


class Category(NamedTuple):
    """Label and colours of a ledger category; the sentence for it is `ledger.PLAIN`."""

    title: str
    colour: str
    ink: str
    """Colour of text on it."""
    terminal: str
    """Colour on a terminal."""
    letter: str
    """The bar without colours."""


CATEGORIES: dict[str, Category] = {
    "handshake": Category("handshake", "#c9ced6", "#111", "blue", "H"),
    "application": Category("application", "#e4e6ea", "#111", "bright_black", "A"),
    "receiver_window": Category("receiver window", "#f0e442", "#111", "magenta", "W"),
    "delayed_ack": Category("delayed ACK", "#b5a642", "#111", "bright_magenta", "D"),
    "rto_wait": Category("RTO wait", "#d55e00", "#fff", "red", "T"),
    "rto_backoff": Category("RTO backoff", "#8a2d00", "#fff", "bright_red", "B"),
    "spurious_recovery": Category("spurious recovery", "#cc79a7", "#111", "yellow", "s"),
    "loss_recovery": Category("loss recovery", "#e69f00", "#111", "bright_yellow", "L"),
    "fast_recovery": Category("fast recovery", "#f5c97a", "#111", "cyan", "F"),
    "slow_start": Category("slow start", "#9ad0c2", "#111", "bright_blue", "S"),
    "usb": Category("USB", "#7a5195", "#fff", "bright_red", "U"),
    "air_useful": Category("air: useful", "#009e73", "#fff", "bright_green", "a"),
    "air_retries": Category("air: retries", "#005f45", "#fff", "red", "r"),
    "air_others": Category("air: others", "#7fb8a4", "#111", "bright_yellow", "o"),
    "queue": Category("queueing delay", "#0072b2", "#fff", "bright_cyan", "Q"),
    "path": Category("path", "#8fbbdc", "#111", "green", "#"),
    "unknown": Category("unknown", "#ffffff", "#111", "white", "?"),
}


class Trigger(NamedTuple):
    """Label and colours of a retransmission's trigger, on light and on dark paper."""

    title: str
    light: str
    dark: str


TRIGGERS: dict[str, Trigger] = {
    "rto": Trigger("timeout (RTO)", "#c22f00", "#ff7a4d"),
    "go_back_n": Trigger("go-back-N", "#b87700", "#ffb733"),
    "fast": Trigger("fast retransmit", "#a3297a", "#f28ac9"),
    "partial_ack": Trigger("partial ACK", "#6b3fa0", "#bd9bf0"),
    "sack": Trigger("SACK", "#0060a8", "#62b5f7"),
    "tail_loss_probe": Trigger("tail loss probe", "#007a58", "#3ed3a6"),
    "undecided": Trigger("cause undecided", "#5c6470", "#b9c0ca"),
}


class Use(NamedTuple):
    """Label and colours of a use of the air; `ink` is the colour of text on it."""

    title: str
    colour: str
    ink: str


USES: dict[str, Use] = {
    "data": Use("data", "#009e73", "#fff"),
    "retries": Use("retries", "#d55e00", "#fff"),
    "control": Use("control", "#56b4e9", "#111"),
    "management": Use("management", "#b5a642", "#111"),
    "other": Use("damaged or unknown", "#9aa3ad", "#111"),
}
"""Groups of purposes of airtime, in the order in which figures stack them."""

STATIONS = (
    ("#0060a8", "#62b5f7"),
    ("#1b8a4b", "#4fd08a"),
    ("#7b4fc9", "#b79bf5"),
    ("#b87700", "#ffb733"),
    ("#a3297a", "#f28ac9"),
    ("#007a78", "#3ed3cf"),
    ("#6b5b00", "#d8c75a"),
    ("#5c6470", "#b9c0ca"),
)
"""Colours of transmitters as (on light, on dark), the busiest first; the last is for all others."""


class Stage(NamedTuple):
    """Colours of a stage of a packet's path, on light and on dark paper."""

    light: str
    dark: str


STAGES: dict[str, Stage] = {
    "queue": Stage("#0072b2", "#5cb8ec"),
    "bus": Stage("#7a5195", "#b98fd6"),
    "air_wait": Stage("#b87700", "#ffb733"),
    "air": Stage("#009e73", "#3ed3a6"),
    "wire": Stage("#5c6470", "#b9c0ca"),
    "unseparated": Stage("#8a94a0", "#8a94a0"),
}

RATES = (
    ("#b2182b", "#ff6b6b"),
    ("#d9731a", "#ffa552"),
    ("#b39b00", "#e8d24a"),
    ("#3a8f3f", "#6fd07a"),
    ("#1f78b4", "#5cb8ec"),
    ("#5e3c99", "#b79bf5"),
)
"""Colours of data rates as (on light, on dark), the slowest first."""

LINES = {
    "retry": ("#c22f00", "#ff7a4d"),
    "data": ("#26323f", "#cfd8e3"),
    "ack": ("#1b8a4b", "#4fd08a"),
    "window": ("#b8860b", "#e3b84a"),
    "sack": ("#7b4fc9", "#b79bf5"),
    "rtt": ("#26323f", "#cfd8e3"),
    "rto": ("#c22f00", "#ff7a4d"),
    "flight": ("#0060a8", "#62b5f7"),
    "other_copy": ("#8a94a0", "#7d8894"),
}
"""Line colours as (on light, on dark)."""
