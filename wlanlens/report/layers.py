"""The journeys of a connection's packets for the page: transfers on the bus, transmissions on the air, stages."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.plots._palette import RATES, STAGES
from wlanlens.plots._rows import of_flow
from wlanlens.report import encode
from wlanlens.tables import OUTCOMES
from wlanlens.tables import STAGES as STAGE_LABELS
from wlanlens.tables.columns import filled, known

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from wlanlens.detection.finding import Finding
    from wlanlens.plots._rows import FlowKey
    from wlanlens.trace import Trace

MOST_JOURNEYS = 60_000
"""Most packets of one connection with a journey in the page; of more, every k-th has one."""

_NONE = -1


@dataclass(frozen=True)
class Layers:
    """The journeys of one connection."""

    rows: int
    """Packets with a journey in the page."""
    every: int
    """One packet of this many has a journey."""
    packed: str
    """The columns, as `encode.columns` packs them."""
    records: NDArray[np.int64]
    """(capture, packet, journey) of every record of every journey; captures are indices in the trace."""

    worth: NDArray[np.int64]
    """Rank for the choice of a journey to open: lost packets first, then the longest journeys."""

    def holding(self, capture: int, packets: Sequence[int]) -> int | None:
        """The highest-ranked journey of some packets; None without any."""
        ours = self.records[(self.records[:, 0] == capture) & np.isin(self.records[:, 1], packets), 2]
        if not len(ours):
            return None
        return int(ours[np.lexsort((ours, -self.worth[ours]))[0]])


def layers(trace: Trace, key: FlowKey) -> Layers | None:
    """Read and pack the journeys of one connection, both directions; None where no other capture has its packets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not trace.has("links"):
        return None
    rows = trace.table("links")
    rows = rows.filter(pc.equal(rows.column("flow"), pa.scalar(key.flow, pa.uint32())))
    rows = rows.filter(rows.column("t_start_ns").is_valid()).sort_by("t_start_ns").combine_chunks()
    if not rows.num_rows:
        return None
    step = -(-rows.num_rows // MOST_JOURNEYS)
    every = step * _thinned(trace, key, rows.num_rows)
    rows = rows.take(pa.array(np.arange(0, rows.num_rows, step)))
    columns = _columns(trace, key, rows)
    return Layers(rows.num_rows, every, encode.columns(columns), _records(trace, columns), _worth(rows, columns))


def _thinned(trace: Trace, key: FlowKey, held: int) -> int:
    """The analysis kept one packet of this many, by the count in `flows`. Packets that other captures missed are ignored."""
    import pyarrow.compute as pc

    counted = pc.sum(of_flow(trace.table("flows"), key).column("packets")).as_py() if trace.has("flows") else None
    return max(1, int((counted or 0) / held + 0.1))


def _records(trace: Trace, columns: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """The records of the journeys: at each point, and all transmissions, whose numbers are those of the first sniffer."""
    count = len(columns["t"])
    of_point = np.repeat(np.arange(count), len(trace.captures))
    seen = columns["point_packet"] > 0
    air = next((i for i, capture in enumerate(trace.captures) if capture.point == "air"), 0)
    usb = next((i for i, capture in enumerate(trace.captures) if capture.point == "usb"), 0)
    parts = [(columns["point_capture"][seen], columns["point_packet"][seen], of_point[seen])]
    for name, where, of in (
        ("transmission_packet", air, columns["transmission_of"]),
        ("ack_packet", air, np.arange(count)),
        ("submit_packet", usb, np.arange(count)),
        ("complete_packet", usb, np.arange(count)),
    ):
        there = columns[name] > 0
        parts.append((np.full(int(there.sum()), where), columns[name][there], of[there]))
    return np.concatenate([np.stack([np.asarray(v, np.int64) for v in part], axis=1) for part in parts])


def _worth(rows: pa.Table, columns: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Duration of each journey in ns; those that ended in a loss rank above all others."""
    import pyarrow.compute as pc

    lasted = filled(pc.subtract(rows.column("t_end_ns"), rows.column("t_start_ns")))
    lost = columns["point_outcome"] == list(OUTCOMES).index("lost_after")
    above = np.where(lost.reshape(len(lasted), -1).any(axis=1), np.iinfo(np.int64).max // 2, 0)
    return np.asarray(lasted + above, np.int64)


def opened_by(trace: Trace, made: Sequence[Layers | None], finding: Finding, view: int | None) -> list[int] | None:
    """(view, journey) of the highest-ranked packet of a finding's evidence; in the finding's own view, if it has one."""
    place = {capture.name: i for i, capture in enumerate(trace.captures)}
    for _, capture, packets in finding.evidence:
        for number, one in enumerate(made):
            if one is None or capture not in place or view not in (None, number):
                continue
            journey = one.holding(place[capture], packets)
            if journey is not None:
                return [number, journey]
    return None


def _columns(trace: Trace, key: FlowKey, rows: pa.Table) -> dict[str, NDArray[Any]]:
    """Columns of numbers; times count from the packet's first time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    t_ns = filled(rows.column("t_start_ns"))
    names = pa.array([capture.name for capture in trace.captures])
    forth = pc.equal(rows.column("direction").cast(pa.string()), key.direction)
    points, of_point = _list(rows, "points")
    capture = filled(pc.index_in(points.field("capture"), names))
    number = filled(points.field("packet"))
    packet = np.zeros(rows.num_rows, np.int64)
    own = (capture == [c.name for c in trace.captures].index(key.capture)) & (number > 0)
    packet[of_point[own]] = number[own]
    stages, of_stage = _list(rows, "stages")
    heard, of_heard = _list(rows, "transmissions_heard")
    begin, until = (filled(stages.field(name)) for name in ("t_start_ns", "t_end_ns"))
    sent, ended = (filled(heard.field(name)) for name in ("t_start_ns", "t_end_ns"))
    rates = filled(heard.field("rate_mbps"), np.nan)
    kbps = np.nan_to_num(rates * 1e3, nan=_NONE)
    return {
        "t": t_ns,
        "forth": np.asarray(forth, np.int64),
        "packet": packet,
        "size": filled(rows.column("payload_bytes")),
        "ack_packet": filled(rows.column("mac_ack_packet")),
        "ack_t": _since(rows.column("mac_ack_t_ns").combine_chunks(), t_ns),
        "submit_packet": filled(rows.column("usb_submit_packet")),
        "complete_packet": filled(rows.column("usb_complete_packet")),
        "point_capture": capture,
        "point_packet": number,
        "point_t": _since(points.field("t_ns"), t_ns[of_point]),
        "point_outcome": pc.index_in(points.field("outcome"), pa.array(list(OUTCOMES))).to_numpy(),
        "stage_of": of_stage,
        "stage_kind": pc.index_in(stages.field("stage"), pa.array(list(STAGE_LABELS))).to_numpy(),
        "stage_t": begin - t_ns[of_stage],
        "stage_ns": until - begin,
        "stage_bound": filled(stages.field("bound_ns"), _NONE),
        "transmission_of": of_heard,
        "transmission_t": sent - t_ns[of_heard],
        "transmission_ns": ended - sent,
        "transmission_kbps": np.rint(kbps).astype(np.int64),
        "transmission_packet": filled(heard.field("packet")),
        "transmission_damaged": filled(heard.field("damaged"), False).astype(np.int64),
    }


def _list(rows: pa.Table, name: str) -> tuple[pa.StructArray, NDArray[Any]]:
    """The items of a list column, and the row of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = rows.column(name).combine_chunks()
    lists = lists if isinstance(lists, pa.Array) else pa.concat_arrays(lists.chunks)
    return lists.flatten(), pc.list_parent_indices(lists).to_numpy()


def _since(times: pa.Array, start: NDArray[Any]) -> NDArray[Any]:
    """Times since their packets' first time; -1 for null."""
    return np.where(known(times), filled(times) - start, _NONE)


def page(
    trace: Trace, made: Sequence[Layers | None], files: Mapping[str, str | None], directory: str
) -> dict[str, Any] | None:
    """Data for the page's script besides the columns; None where no flow has journeys."""
    if not any(made):
        return None
    points = {capture.point for capture in trace.captures}
    bus, air = "usb" in points, "air" in points
    shown = ["host", *(["bus"] if bus else []), *(["air"] if air else [])]
    marks = ["a segment", *(["a transfer"] if bus else []), *(["a transmission"] if air else [])]
    return {
        "title": f"{_listed(shown).capitalize()} on one axis" if len(shown) > 1 else "Time and sequence",
        "click": _listed(marks, "or"),
        "flows": [one and {"file": files[f"journeys-{i}"]} for i, one in enumerate(made)],
        "stages": [
            {"name": name.replace("_", " "), "meaning": STAGE_LABELS[name], "colours": [stage.light, stage.dark]}
            for name, stage in STAGES.items()
        ],
        "outcomes": [{"code": code, "words": words} for code, words in OUTCOMES.items()],
        "rates": [list(pair) for pair in RATES],
        "captures": [{"name": c.name, "point": c.point} for c in trace.captures],
        "command": [f"wlanlens show {shlex.quote(directory)} {shlex.quote(c.name + ':')}" for c in trace.captures],
        "bus": bus,
        "air": air,
    }


def _listed(words: Sequence[str], last: str = "and") -> str:
    """ "a, b and c"."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)
