"""Which capture a detector needs that was not run, and how to take it."""

from __future__ import annotations

from typing import NamedTuple


class Needed(NamedTuple):
    """A capture that is missing."""

    what: str
    how: str
    """Commands that take it, on Linux."""


_HOST = Needed(
    "a capture of TCP in both directions, on the sender or the receiver",
    "sudo tcpdump -i eth0 -s 128 -w sender.pcap tcp",
)
_AIR = Needed(
    "a capture of the channel in monitor mode",
    "sudo iw dev wlan0 interface add mon0 type monitor && sudo ip link set mon0 up && sudo iw dev mon0 set channel 6"
    " && sudo tcpdump -i mon0 -w air.pcap",
)
_USB = Needed(
    "a usbmon capture on the host of the USB adapter",
    "sudo modprobe usbmon && sudo tcpdump -i usbmon1 -s 0 -w usb.pcap  # bus 1, as lsusb shows it",
)
_SEVERAL = Needed(
    "captures of the same transfer at two points or more, analysed together",
    "wlanlens analyze sender.pcap air.pcap  # or receiver.pcap; start both tcpdumps before the transfer",
)

_BY_TABLE = {"links": _SEVERAL, "urbs": _USB, **dict.fromkeys(("frames", "exchanges", "airtime", "stations"), _AIR)}

_PREFIX = "needs "


def reason(tables: tuple[str, ...]) -> str:
    """The reason of a detector's state whose tables are missing."""
    return _PREFIX + ", ".join(tables)


def needed(reason: str) -> tuple[Needed, ...]:
    """The captures that a reason asks for; empty if it names no tables."""
    if not reason.startswith(_PREFIX):
        return ()
    return tuple(dict.fromkeys(_BY_TABLE.get(table, _HOST) for table in reason.removeprefix(_PREFIX).split(", ")))


def plain(reason: str) -> str:
    """A reason for people: captures instead of tables."""
    captures = needed(reason)
    return _PREFIX + "; and ".join(one.what for one in captures) if captures else reason
