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

_DATA = ("data", "data_cf_ack", "data_cf_poll", "data_cf_ack_cf_poll")
#: Purpose by subtype; data may still become a retry or unproven.
BY_SUBTYPE = {
    **dict.fromkeys((*_DATA, *(f"qos_{name}" for name in _DATA)), "delivered"),
    **dict.fromkeys(("ack", "block_ack", "block_ack_request"), "acknowledgement"),
    **dict.fromkeys(("rts", "cts"), "reservation"),
    **dict.fromkeys(("beacon", "dmg_beacon", "s1g_beacon"), "beacon"),
    **dict.fromkeys(("probe_request", "probe_response"), "probe"),
}
#: Purpose by type for all other subtypes; data frames without data signal power save.
BY_TYPE = {"management": "management", "control": "control", "data": "control"}
#: Purposes of frames that are acknowledged, so that their exchange shows whether they failed.
ANSWERED = ("delivered", "probe", "management", "control")
