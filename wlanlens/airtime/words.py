"""What the air was used for, in sentences."""

from __future__ import annotations

from wlanlens.airtime.purposes import GROUPS
from wlanlens.airtime.summary import Summary
from wlanlens.formatting import count, seconds

#: Groups in a sentence, and the part of each that is worth a word of its own.
_NAMES = {
    "data": ("data", ()),
    "retries": ("retries", ()),
    "control": ("control frames", (("acknowledgement", "ACKs"), ("reservation", "RTS and CTS"))),
    "management": ("management", (("beacon", "beacons"), ("probe", "probes"))),
    "other": ("damaged frames", ()),
}
#: Shares below this are not named: they round to nothing.
_LEAST_SHARE = 0.0005
#: A part is named with its group from this share of the group on.
_PART_SHARE = 0.25
#: Frames of unknown length are worth a sentence from this share on.
_UNTIMED_SHARE = 0.005
#: Data frames from which it is odd that no ACK was captured.
_DATA_WITHOUT_ACKS = 20


def use(air: Summary) -> str:
    """ "The channel was busy 38 % of 42 s: 12 % data, 9 % management (beacons 7 %) and 5 % retries."."""
    if not air.frames:
        return "No 802.11 frames."
    if not air.airtime_ns or not air.duration_ns:
        parts = _parts({g: air.group_frames(g) for g in GROUPS}, air.purpose_frames, air.frames)
        return f"Of {count(air.frames, '802.11 frame')}, {parts}."
    parts = _parts({g: air.group_ns(g) for g in GROUPS}, air.purpose_ns, air.duration_ns)
    busy = percent(air.airtime_ns, air.duration_ns)
    return f"The channel was busy {busy} of {seconds(air.duration_ns)}: {parts}."


def _parts(groups: dict[str, int], purposes: dict[str, int], whole: int) -> str:
    said = []
    for group in sorted(groups, key=lambda g: -groups[g]):
        name, within = _NAMES[group]
        if group == "other" and purposes.get("unknown", 0) > purposes.get("damaged", 0):
            name = "frames of unknown type"
        if groups[group] < _LEAST_SHARE * whole:
            continue
        parts = [
            f"{word} {percent(purposes[purpose], whole)}"
            for purpose, word in within
            if purposes.get(purpose, 0) >= _PART_SHARE * groups[group]
        ]
        said.append(f"{percent(groups[group], whole)} {name}" + (f" ({', '.join(parts)})" if parts else ""))
    return listed(said) or "next to nothing"


def caveats(air: Summary) -> list[str]:
    """What the sums do not hold, a sentence each."""
    out = []
    if air.frames and not air.airtime_ns:
        out.append("The capture does not tell how fast frames were sent, so their time on the air is not known.")
    elif air.no_airtime > _UNTIMED_SHARE * air.frames:
        some = f"{count(air.no_airtime, 'frame')} ({percent(air.no_airtime, air.frames)})"
        out.append(f"The time of {some} is missing: the capture does not tell how fast they were sent.")
    if air.airtime_ns > air.duration_ns > 0:
        out.append("More than the whole time: frames of several channels, or frames that the sniffer recorded twice.")
    if len(air.channels_mhz) > 1:
        some = ", ".join(str(mhz) for mhz in air.channels_mhz[:4]) + (" ..." if len(air.channels_mhz) > 4 else "")
        out.append(f"The sniffer heard {len(air.channels_mhz)} channels ({some} MHz): shares are of all its time.")
    if air.data_frames >= _DATA_WITHOUT_ACKS and not air.purpose_frames.get("acknowledgement"):
        out.append("The capture holds no ACKs: their time is missing, and whether data arrived is mostly not known.")
    if air.encrypted:
        out.append(encrypted(air))
    return out


def encrypted(air: Summary) -> str:
    """Why frames could not be read and what to do."""
    share = percent(air.encrypted, air.data_frames)
    return f"{count(air.encrypted, 'data frame')} ({share}) could not be decrypted: give the network's key with --key-file."


def unread(air: Summary, packets: int, connections: int) -> str:
    """Why there is no TCP flow to tell of."""
    if connections:
        return f"{count(connections, 'TCP connection')} without a data transfer to account for."
    if air.encrypted:
        return f"No TCP connection that can be read; {encrypted(air)}"
    if not air.data_frames:
        return "No data frame and so no TCP connection."
    return f"No TCP connection among {count(packets, 'IP packet')}." if packets else "No IP packet."


def flow(air: Summary, number: int, direction: str) -> str:
    """ "Its frames were on the air for 0.5 s, 0.1 s (20 %) of it in vain; 3 of 412 were given up."."""
    for row in air.flows:
        if (row[0], row[1]) == (number, direction):
            _, _, ns, wasted_ns, exchanges, attempts, dropped = row
            if not ns:
                return ""
            vain = f", {seconds(wasted_ns)} ({percent(wasted_ns, ns)}) of it in vain" if wasted_ns else ""
            tries = f"{attempts / exchanges:.3g} attempts each" if exchanges and attempts > exchanges else ""
            lost = f"{dropped} of {exchanges} given up" if dropped else ""
            more = "; " + listed([part for part in (tries, lost) if part]) if tries or lost else ""
            return f"Its frames were on the air for {seconds(ns)}{vain}{more}."
    return ""


def retransmissions(air: Summary) -> str:
    """What the air had done with the copy before each TCP retransmission; empty when there was none."""
    total = sum(air.tcp.values())
    if not total:
        return ""
    kinds = {
        "dropped": "after the air had lost the copy before",
        "delivered": "although the air had delivered the copy before",
        "unknown": "after a copy whose fate on the air was not seen",
        "unseen": "without a copy before that the sniffer heard",
    }
    found = [(air.tcp[name], text) for name, text in kinds.items() if air.tcp.get(name)]
    if len(found) == 1:
        return f"TCP sent {count(total, 'segment')} again, {'all ' if total > 1 else ''}{found[0][1]}."
    return f"TCP sent {count(total, 'segment')} again: {listed([f'{number} {text}' for number, text in found])}."


def listed(parts: list[str]) -> str:
    """ "a, b and c"."""
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def percent(part: int, whole: int) -> str:
    """A share; what is not nothing never reads as 0 %."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.0f} %" if value >= 9.95 or not part else f"{value:.1f} %" if value >= 0.05 else "<0.1 %"
