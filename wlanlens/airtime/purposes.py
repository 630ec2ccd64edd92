"""Purposes of a frame's airtime, their groups and their labels."""

from __future__ import annotations

from wlanlens.tables import PURPOSES

#: Groups of purposes: each has a label in the report and a colour in figures.
GROUPS: dict[str, tuple[str, ...]] = {
    "data": ("delivered", "unproven", "group"),
    "retries": ("retry",),
    "control": ("acknowledgement", "reservation", "control"),
    "management": ("beacon", "probe", "management"),
    "other": ("damaged", "unknown"),
}

#: Labels of the purposes.
PLAIN = {
    "delivered": "data that arrived",
    "unproven": "data whose arrival was not seen",
    "group": "broadcast and multicast data",
    "retry": "transmissions that failed",
    "acknowledgement": "ACKs and Block Acks",
    "reservation": "RTS and CTS",
    "control": "power save and other control",
    "beacon": "beacons",
    "probe": "probe requests and responses",
    "management": "other management",
    "damaged": "frames received damaged",
    "unknown": "frames of unknown type",
}

#: Position of each purpose.
CODE = {name: i for i, name in enumerate(PURPOSES)}
