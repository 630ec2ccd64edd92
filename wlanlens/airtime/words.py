"""Sentences about what the air was used for."""

from __future__ import annotations

from wlanlens.airtime.purposes import GROUPS
from wlanlens.airtime.summary import Summary
from wlanlens.capture.decryption_keys import needed_keys
from wlanlens.formatting import count, listed, percent, seconds

#: Name of each group in a sentence, and the purposes that may be named with it.
_NAMES = {
    "data": ("data", ()),
    "retries": ("retries", ()),
    "control": ("control frames", (("acknowledgement", "ACKs"), ("reservation", "RTS and CTS"))),
    "management": ("management", (("beacon", "beacons"), ("probe", "probes"))),
    "other": ("damaged frames", ()),
}
#: Shares below this are not named: they round to 0 %.
_LEAST_SHARE = 0.0005
#: A purpose is named with its group from this share of the group on.
_PART_SHARE = 0.25
#: Frames of unknown airtime get a sentence from this share on.
_UNTIMED_SHARE = 0.005
#: From this many data frames on, a capture without ACKs is incomplete.
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
    return listed(said) or "almost nothing"


def caveats(air: Summary) -> list[str]:
    """What is missing from the sums, one sentence each."""
    out = []
    if air.frames and not air.airtime_ns:
        out.append("The capture does not record data rates, so the airtime of its frames is unknown.")
    elif air.no_airtime > _UNTIMED_SHARE * air.frames:
        some = f"{count(air.no_airtime, 'frame')} ({percent(air.no_airtime, air.frames)})"
        out.append(f"The airtime of {some} is missing: the capture does not record their data rate.")
    if air.airtime_ns > air.duration_ns > 0:
        out.append("The airtime exceeds the capture's duration: frames of several channels, or frames recorded twice.")
    if len(air.channels_mhz) > 1:
        some = ", ".join(str(mhz) for mhz in air.channels_mhz[:4]) + (" ..." if len(air.channels_mhz) > 4 else "")
        out.append(
            f"The sniffer heard {len(air.channels_mhz)} channels ({some} MHz): percentages refer to the whole capture."
        )
    if air.data_frames >= _DATA_WITHOUT_ACKS and not air.purpose_frames.get("acknowledgement"):
        out.append(
            "The capture holds no ACKs: their airtime is missing, and for most data frames it is unknown whether they arrived."
        )
    if air.encrypted:
        out.append(encrypted(air))
    return out


def encrypted(air: Summary) -> str:
    """How many frames could not be decrypted, and what to do."""
    share = percent(air.encrypted, air.data_frames)
    return f"{count(air.encrypted, 'data frame')} ({share}) could not be decrypted: {needed_keys(air.security)}."


def unread(air: Summary, packets: int, connections: int) -> str:
    """Why there is no TCP flow to judge."""
    if connections:
        return f"{count(connections, 'TCP connection')} without data transfer."
    if air.encrypted:
        return f"No readable TCP connection; {encrypted(air)}"
    if not air.data_frames:
        return "No data frames, so no TCP connection."
    return f"No TCP connection among {count(packets, 'IP packet')}." if packets else "No IP packets."


def flow(air: Summary, number: int, direction: str) -> str:
    """ "Its frames used 500 ms of airtime, 100 ms (20 %) of it on failed attempts; 3 of 412 dropped."."""
    for row in air.flows:
        if (row[0], row[1]) == (number, direction):
            _, _, ns, wasted_ns, exchanges, attempts, dropped = row
            if not ns:
                return ""
            failed = f", {seconds(wasted_ns)} ({percent(wasted_ns, ns)}) of it on failed attempts" if wasted_ns else ""
            mean = f"{attempts / exchanges:.3g} transmissions per frame" if exchanges and attempts > exchanges else ""
            lost = f"{dropped} of {exchanges} dropped" if dropped else ""
            more = "; " + listed([part for part in (mean, lost) if part]) if mean or lost else ""
            return f"Its frames used {seconds(ns)} of airtime{failed}{more}."
    return ""


def dropped(air: Summary, number: int, direction: str) -> int:
    """How many frames of one direction of a connection were dropped."""
    return sum(int(row[6]) for row in air.flows if (row[0], row[1]) == (number, direction))


def retransmissions(air: Summary) -> str:
    """How many segments TCP retransmitted, by the outcome of the earlier copy; empty when there were none."""
    total = sum(air.tcp.values())
    if not total:
        return ""
    outcomes = {
        "dropped": ("was", "were", "lost on the air"),
        "delivered": ("was", "were", "delivered on the air"),
        "unknown": ("has", "have", "an unknown outcome"),
        "unseen": ("was", "were", "missed by the sniffer"),
    }
    found = [
        (air.tcp[name], f"{one if air.tcp[name] == 1 else many} {outcome}")
        for name, (one, many, outcome) in outcomes.items()
        if air.tcp.get(name)
    ]
    head = f"TCP retransmitted {count(total, 'segment')}"
    if len(found) == 1:
        return f"{head}; {'the earlier copy' if total == 1 else 'all earlier copies'} {found[0][1]}."
    return f"{head}; of the earlier copies {listed([f'{number} {text}' for number, text in found])}."
