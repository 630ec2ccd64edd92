"""The sums of one capture, as stored in analysis.json."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wlanlens.airtime.purposes import GROUPS
from wlanlens.tables import PURPOSES

#: Values after flow and direction in `Summary.flows`.
_FLOW_SUMS = 5


@dataclass
class Summary:
    """What the air was used for.

    Attributes
    ----------
    frames, no_airtime, damaged, encrypted, data_frames, stations : int
        Frames; of these without a known airtime, damaged, encrypted, with data; stations told apart.
    duration_ns, airtime_ns : int
        Length of the capture; airtime of all frames.
    purpose_ns, purpose_frames : dict
        Airtime and frames of each purpose that occurs.
    channels_mhz : list of int
        Channels on which frames were heard, the most used first.
    tcp : dict
        TCP retransmissions by the outcome of their earlier copy on the air: dropped, delivered, unknown, unseen.
    flows : list
        [flow, direction, airtime in ns, airtime of failed transmissions in ns, exchanges, transmissions, dropped], most
        airtime first.
    security : list of str
        Protections of networks whose frames could not be decrypted, so far as they are known.
    """

    frames: int = 0
    no_airtime: int = 0
    damaged: int = 0
    encrypted: int = 0
    data_frames: int = 0
    stations: int = 0
    duration_ns: int = 0
    airtime_ns: int = 0
    purpose_ns: dict[str, int] = field(default_factory=dict)
    purpose_frames: dict[str, int] = field(default_factory=dict)
    channels_mhz: list[int] = field(default_factory=list)
    tcp: dict[str, int] = field(default_factory=dict)
    flows: list[list[Any]] = field(default_factory=list)
    security: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        counts = (self.frames, self.no_airtime, self.damaged, self.encrypted, self.data_frames, self.stations)
        sums = [*self.purpose_ns.values(), *self.purpose_frames.values(), *self.tcp.values()]
        of_flows = [value for row in self.flows for value in (row[0], *row[2:])]
        whole = (*counts, self.duration_ns, self.airtime_ns, *self.channels_mhz, *sums, *of_flows)
        if not all(isinstance(value, int) for value in whole):
            raise TypeError("airtime sums must be whole numbers")
        if not {*self.purpose_ns, *self.purpose_frames} <= set(PURPOSES):
            raise ValueError("unknown purpose of airtime")
        if any(len(row) != 2 + _FLOW_SUMS or row[1] not in ("a2b", "b2a") for row in self.flows):
            raise ValueError("airtime sums of a flow are malformed")

    def ns(self, *purposes: str) -> int:
        """Airtime of some purposes."""
        return sum(self.purpose_ns.get(name, 0) for name in purposes)

    def group_ns(self, group: str) -> int:
        """Airtime of a group of purposes."""
        return self.ns(*GROUPS[group])

    def group_frames(self, group: str) -> int:
        """Frames of a group of purposes."""
        return sum(self.purpose_frames.get(name, 0) for name in GROUPS[group])
