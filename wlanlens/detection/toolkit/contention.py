"""Stations that contend for the channel with TCP data in one direction and TCP ACKs in the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wlanlens.detection.toolkit.air import Air
from wlanlens.detection.toolkit.air_vectors import TCP_ACK, TCP_DATA
from wlanlens.detection.toolkit.station_pairs import capture_of, receiver_of, reverse, transmitter_of
from wlanlens.tables.columns import Array


@dataclass
class ContendingStations:
    """Exchanges of data from one station to others and their ACKs back, or of others to one station."""

    station: int
    data: Array
    acks: Array
    all: Array


def contending_stations(air: Air, spans: dict[int, slice]) -> Iterator[ContendingStations]:
    """Stations that contend: all that one station sends or receives, because its frames share one queue."""
    e = air.exchanges
    pairs = [p for p, s in spans.items() if (e.tcp[s] == TCP_DATA).any()]
    senders = Counter((capture_of(p), transmitter_of(p)) for p in pairs)
    receivers = Counter((capture_of(p), receiver_of(p)) for p in pairs)
    groups: dict[tuple[str, Any], list[int]] = {}
    for p in pairs:
        sender, receiver = (capture_of(p), transmitter_of(p)), (capture_of(p), receiver_of(p))
        to_many = senders[sender] >= receivers[receiver]
        groups.setdefault(("ta", sender) if to_many else ("ra", receiver), []).append(p)
    for (_, (_, station)), members in groups.items():
        there = _rows([spans[p] for p in members])
        back = _rows([spans[reverse(p)] for p in members])
        yield ContendingStations(
            station=station,
            data=there[(e.tcp[there] == TCP_DATA) & e.lead[there]],
            acks=back[(e.tcp[back] == TCP_ACK) & e.lead[back]],
            all=np.concatenate((there, back)),
        )


def _rows(spans: Iterable[slice]) -> Array:
    return np.concatenate([np.arange(s.start, s.stop) for s in spans])
