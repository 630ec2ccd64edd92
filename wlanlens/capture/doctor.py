"""`doctor`: what a better capture would need, and the command that takes it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wlanlens.capture.capture import Capture
from wlanlens.capture.capture import open as open_capture
from wlanlens.capture.capture_facts import CaptureFacts
from wlanlens.capture.decryption_keys import needed_keys
from wlanlens.formatting import count, listed, percent, printable, seconds

if TYPE_CHECKING:
    from wlanlens.capture.decryption_keys import Keys

#: What is looked at, in the order of the output.
TOPICS = (
    "snaplen",
    "timestamps",
    "dropped packets",
    "missed frames",
    "encryption",
    "offload",
    "start",
    "directions",
    "other points",
)
#: Timestamps from which a common step is the clock's resolution and no chance: of ten whole milliseconds one in 10^30 is.
_LEAST_TIMES = 10
#: A clock this coarse hides delays on a wireless LAN: a frame of 1500 bytes at 11 Mbit/s takes 1.4 ms.
_COARSE_NS = 1_000_000
#: Below this share of frames missed or damaged a sniffer cannot be expected to do better: stations far apart collide.
_MISSED_SHARE = 0.01
#: Bytes to capture of a packet: Ethernet with two VLAN tags (22), IPv6 (40), TCP with all options (60).
HOST_SNAPLEN = 128
#: The same with a radiotap header (up to about 60 bytes), an 802.11 header with QoS and cipher (44) and LLC (8).
AIR_SNAPLEN = 256


@dataclass(frozen=True)
class Advice:
    """One property of a capture, and what would make it better.

    Attributes
    ----------
    capture : str
        Name of the capture; "" where it is about all of them.
    topic : str
        One of `TOPICS`.
    state : str
        good; better (the next capture should be taken another way); unknown (the file does not say).
    sentence : str
        What was found, and what it hides.
    command : str
        The command that takes the better capture; "" where nothing is to be done.
    """

    capture: str
    topic: str
    state: str
    sentence: str
    command: str = ""


def doctor(
    captures: str | bytes | os.PathLike[Any] | Capture | Sequence[str | bytes | os.PathLike[Any] | Capture],
    *,
    keys: Keys | Iterable[str] | None = None,
) -> list[Advice]:
    """Say what a better capture would need: snaplen, timestamps, dropped packets, missed frames, another capture point.

    Parameters
    ----------
    captures : path, Capture, or sequence of them
        The captures of one trace; each is read once, in flat memory.
    keys : Keys or iterable of str, optional
        Keys of encrypted 802.11 networks, as in `open`.

    Returns
    -------
    list of Advice
        Capture by capture in the order of `TOPICS`; what is about all of them comes last.

    Raises
    ------
    WlanlensError
        A capture cannot be read.
    """
    given = [captures] if isinstance(captures, str | bytes | os.PathLike | Capture) else list(captures)
    facts = [CaptureFacts.of(c if isinstance(c, Capture) else open_capture(c, keys=keys)) for c in given]
    found = [advice for one in facts for advice in _of_one(one)]
    return [*found, *_other_points(facts)]


def command(point: str, transfer: tuple[str, int, str, int] | None = None, *, whole: bool = False) -> str:
    """The command that captures at a point.

    Parameters
    ----------
    point : str
        sender, receiver, ap, air or usb.
    transfer : tuple, optional
        Addresses and ports of the connection: only its packets are captured, where the point lets them be told apart.
    whole : bool
        Whether whole frames are needed, as for decryption.
    """
    if point == "usb":
        return "modprobe usbmon; tcpdump -i usbmon1 -s 0 -w usb.pcap   # the number of the adapter's bus: lsusb"
    if point == "air":
        take = f"tcpdump -i mon0 -s {0 if whole else AIR_SNAPLEN} -w air.pcap"
        return f"iw dev wlan0 interface add mon0 type monitor; ip link set mon0 up; iw dev mon0 set channel N; {take}"
    where = ""
    if transfer is not None:
        port = min(transfer[1], transfer[3])  # the server's: clients take theirs from the ephemeral range above
        where = f" host {transfer[0]} and host {transfer[2]} and port {port}"
    device = "eth0" if point == "ap" else "wlan0"
    name = point if point in ("sender", "receiver", "ap") else "host"
    return f"tcpdump -i {device} -s {HOST_SNAPLEN} -B 16384 -w {name}.pcap{where}"


def _of_one(facts: CaptureFacts) -> Iterator[Advice]:
    """The advice about one capture."""
    name = facts.capture.name
    for topic, check in _CHECKS.items():
        found = check(facts)
        if found is not None:
            state, sentence, then = found
            yield Advice(name, topic, state, sentence, then)


def _again(facts: CaptureFacts) -> str:
    """The command that takes this capture again."""
    return command(facts.point, facts.transfer, whole=bool(facts.encrypted))


Found = tuple[str, str, str] | None


def _snaplen(facts: CaptureFacts) -> Found:
    cut = sum(note.count for note in facts.notes("snaplen_cut", "usb_header_cut", "no_sequence"))
    if not cut:
        return "good", "All headers were captured whole.", ""
    lacks = "USB headers" if facts.point == "usb" else "TCP options" if not facts.frames else "headers inside frames"
    return "better", f"The snap length cut headers of {count(cut, 'record')}: {lacks} are missing.", _again(facts)


def _timestamps(facts: CaptureFacts) -> Found:
    stepped = sum(note.count for note in facts.notes("time_backwards"))
    absent = sum(note.count for note in facts.notes("no_time", "time_not_representable"))
    precise = _again(facts).replace("tcpdump ", "tcpdump --time-stamp-precision=nano ", 1)
    if absent:
        return (
            "better",
            f"{count(absent, 'record')} without a usable timestamp: nothing about them can be timed.",
            precise,
        )
    if facts.times >= _LEAST_TIMES and facts.tick_ns % _COARSE_NS == 0:
        said = f"Timestamps are multiples of {seconds(facts.tick_ns)}: shorter delays cannot be seen."
        return "better", said, precise
    if stepped and facts.point not in ("air", "usb"):
        said = f"The clock ran backwards {count(stepped, 'time')}: keep NTP from stepping it during the capture (slew instead)."
        return "better", said, precise
    return ("good", "Timestamps are fine enough.", "") if facts.times >= _LEAST_TIMES else None


def _dropped(facts: CaptureFacts) -> Found:
    unseen = sum(note.count for note in facts.notes("acked_unseen"))
    if facts.tap_drops:
        said = f"The capturing system dropped {count(facts.tap_drops, 'packet')}: a larger buffer (-B), a filter and a fast disk help."
        return "better", said, _again(facts)
    if unseen and not facts.frames:
        said = f"{count(unseen, 'ACK')} of data that is not in the capture: the tap missed packets; a larger buffer (-B) helps."
        return "better", said, _again(facts)
    if facts.tap_drops is None and not facts.frames:
        said = "The file does not say whether packets were dropped, and no ACK points to a missing one; tcpdump prints their number when it ends."
        return "unknown", said, ""
    return ("good", "No packet was dropped.", "") if not facts.frames else None


def _missed(facts: CaptureFacts) -> Found:
    if not facts.frames:
        return None
    missed = sum(note.count for note in facts.notes("missing_sequence"))
    damaged = sum(note.count for note in facts.notes("bad_fcs"))
    share = (missed + damaged) / (facts.frames + missed)
    if share < _MISSED_SHARE:
        return "good", "The sniffer missed less than 1 % of the frames.", ""
    said = (
        f"The sniffer missed {count(missed, 'frame')} and received {count(damaged, 'damaged frame')} "
        f"({percent(missed + damaged, facts.frames + missed)} of all): put it next to the station or the access point, on "
        "their channel, with an adapter of at least their streams and width."
    )
    return "better", said, _again(facts)


def _encryption(facts: CaptureFacts) -> Found:
    if not facts.encrypted:
        return None
    said = f"{count(facts.encrypted, 'data frame')} could not be decrypted, so the TCP inside cannot be seen"
    return "better", f"{said}: {needed_keys(facts.security)}. Capture whole frames.", command("air", whole=True)


def _good_of_tcp(facts: CaptureFacts, said: str) -> Found:
    """What is good about connections; nothing where there are none."""
    return ("good", said, "") if facts.connections else None


def _offload(facts: CaptureFacts) -> Found:
    if not facts.merged:
        return _good_of_tcp(facts, "No segment is larger than the agreed maximum (MSS).")
    said = (
        f"Segments of {count(facts.merged, 'direction')} are larger than the agreed maximum: the host hands several packets to the "
        "adapter at once (TSO, GRO), so the capture does not show each packet."
    )
    return "better", said, f"ethtool -K wlan0 tso off gso off gro off; {_again(facts)}"


def _start(facts: CaptureFacts) -> Found:
    if not facts.without_syn:
        return _good_of_tcp(facts, "Every connection with data was captured from its SYN.")
    said = (
        f"{count(facts.without_syn, 'direction')} with data without a SYN: window scale and options are unknown. Start the capture "
        "before the connection."
    )
    return "better", said, _again(facts)


def _directions(facts: CaptureFacts) -> Found:
    if not facts.one_sided:
        return _good_of_tcp(facts, "Connections with data were captured in both directions.")
    said = f"{count(facts.one_sided, 'connection')} with data in one direction only: what limited it cannot be told."
    return "better", said, command("sender", facts.transfer)


_CHECKS = dict(
    zip(TOPICS, (_snaplen, _timestamps, _dropped, _missed, _encryption, _offload, _start, _directions), strict=False)
)

#: What each further capture point would show.
_SHOWS = {
    "sender": "what TCP had sent and received when its timers expired",
    "air": "MAC retransmissions, rates and losses on the air",
    "receiver": "which packets arrived, so that a loss has its place and a retransmission its reason",
    "usb": "whether a USB adapter or its bus holds packets",
}


def _other_points(facts: Sequence[CaptureFacts]) -> Iterator[Advice]:
    """The capture points that would add something, each with its command."""
    there = {one.point for one in facts}
    transfer = next((one.transfer for one in facts if one.transfer is not None), None)
    names = listed([printable(one.capture.name) for one in facts])
    for point, shows in _SHOWS.items():
        if point not in there:
            said = f"With {names} alone, a capture at the point `{point}` taken at the same time would show {shows}."
            yield Advice("", "other points", "better", said, command(point, transfer))
