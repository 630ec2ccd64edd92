"""The journeys of a connection's packets as the page stores them: transfers on the bus, attempts on the air, stages."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wlanlens.plots._palette import RATES, STAGES
from wlanlens.plots._rows import of_flow
from wlanlens.report import encode
from wlanlens.tables import STAGES as STAGE_NAMES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from wlanlens.detection.finding import Finding
    from wlanlens.plots._rows import FlowKey
    from wlanlens.trace import Trace

MOST_JOURNEYS = 60_000
"""Packets of one connection with a journey in the page: of more every k-th."""

FATES = {
    "seen": "seen",
    "lost_after": "seen, and at no point behind it: lost after this",
    "lost_before": "not seen: lost before this",
    "not_captured": "not captured: it passed, and the tap missed it",
    "outside": "not capturing then",
    "unknown": "not seen: lost, or missed by the tap",
}
"""What a point says of a packet, in words."""

_NONE = -1


@dataclass(frozen=True)
class Layers:
    """The journeys of one connection."""

    rows: int
    """Packets with a journey in the page."""
    every: int
    """Of so many packets one."""
    packed: str
    """The columns, as `encode.columns` packs them."""
    records: NDArray[np.int64]
    """(capture, packet, journey) of every record of every journey, captures by their place in the trace."""

    worth: NDArray[np.int64]
    """What makes a journey worth opening: one that was lost before all others, then what lasted longest."""

    def holding(self, capture: int, packets: Sequence[int]) -> int | None:
        """Of the journeys of some packets the one most worth seeing; None where none has any."""
        ours = self.records[(self.records[:, 0] == capture) & np.isin(self.records[:, 1], packets), 2]
        if not len(ours):
            return None
        return int(ours[np.lexsort((ours, -self.worth[ours]))[0]])


def layers(trace: Trace, key: FlowKey) -> Layers | None:
    """Read and pack the journeys of one connection, both ways; None where no other capture saw its packets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not trace.has("journeys"):
        return None
    rows = trace.table("journeys")
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
    """Of how many packets the analysis handed over one, by what `flows` counts; what other taps missed is no matter."""
    import pyarrow.compute as pc

    counted = pc.sum(of_flow(trace.table("flows"), key).column("packets")).as_py() if trace.has("flows") else None
    return max(1, int((counted or 0) / held + 0.1))


def _records(trace: Trace, columns: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """The records of the journeys: where they were seen, and all attempts, which the first sniffer's numbers are of."""
    count = len(columns["t"])
    of_point = np.repeat(np.arange(count), len(trace.captures))
    seen = columns["point_packet"] > 0
    air = next((i for i, capture in enumerate(trace.captures) if capture.point == "air"), 0)
    usb = next((i for i, capture in enumerate(trace.captures) if capture.point == "usb"), 0)
    parts = [(columns["point_capture"][seen], columns["point_packet"][seen], of_point[seen])]
    for name, where, of in (
        ("attempt_packet", air, columns["attempt_of"]),
        ("ack_packet", air, np.arange(count)),
        ("submit_packet", usb, np.arange(count)),
        ("complete_packet", usb, np.arange(count)),
    ):
        there = columns[name] > 0
        parts.append((np.full(int(there.sum()), where), columns[name][there], of[there]))
    return np.concatenate([np.stack([np.asarray(v, np.int64) for v in part], axis=1) for part in parts])


def _worth(rows: pa.Table, columns: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """ns that each journey lasted; those that ended in a loss above all."""
    import pyarrow.compute as pc

    lasted = pc.subtract(rows.column("t_end_ns"), rows.column("t_start_ns")).fill_null(0).to_numpy()
    lost = columns["point_fate"] == list(FATES).index("lost_after")
    above = np.where(lost.reshape(len(lasted), -1).any(axis=1), np.iinfo(np.int64).max // 2, 0)
    return np.asarray(lasted + above, np.int64)


def opened_by(trace: Trace, made: Sequence[Layers | None], finding: Finding, view: int | None) -> list[int] | None:
    """(view, journey) of that packet of a finding's evidence which shows most; in its own view, if it has one."""
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
    """Columns of numbers; times of what belongs to a packet count from the packet's first instant."""
    import pyarrow as pa
    import pyarrow.compute as pc

    t_ns = rows.column("t_start_ns").to_numpy()
    names = pa.array([capture.name for capture in trace.captures])
    forth = pc.equal(rows.column("direction").cast(pa.string()), key.direction)
    points, of_point = _list(rows, "points")
    capture = pc.index_in(points.field("capture"), names).fill_null(0).to_numpy()
    number = points.field("packet").fill_null(0).to_numpy()
    packet = np.zeros(rows.num_rows, np.int64)
    own = (capture == [c.name for c in trace.captures].index(key.capture)) & (number > 0)
    packet[of_point[own]] = number[own]
    stages, of_stage = _list(rows, "stages")
    attempts, of_attempt = _list(rows, "attempts")
    begin, until = (stages.field(name).to_numpy() for name in ("t_start_ns", "t_end_ns"))
    heard, ended = (attempts.field(name).to_numpy() for name in ("t_start_ns", "t_end_ns"))
    kbps = np.nan_to_num(attempts.field("rate_mbps").to_numpy(zero_copy_only=False) * 1e3, nan=_NONE)
    return {
        "t": t_ns,
        "forth": np.asarray(forth, np.int64),
        "packet": packet,
        "size": rows.column("payload_bytes").fill_null(0).to_numpy(),
        "ack_packet": rows.column("mac_ack_packet").fill_null(0).to_numpy(),
        "ack_t": _since(rows.column("mac_ack_t_ns").combine_chunks(), t_ns),
        "submit_packet": rows.column("usb_submit_packet").fill_null(0).to_numpy(),
        "complete_packet": rows.column("usb_complete_packet").fill_null(0).to_numpy(),
        "point_capture": capture,
        "point_packet": number,
        "point_t": _since(points.field("t_ns"), t_ns[of_point]),
        "point_fate": pc.index_in(points.field("fate"), pa.array(FATES)).to_numpy(),
        "stage_of": of_stage,
        "stage_kind": pc.index_in(stages.field("stage"), pa.array(STAGE_NAMES)).to_numpy(),
        "stage_t": begin - t_ns[of_stage],
        "stage_ns": until - begin,
        "stage_bound": stages.field("bound_ns").fill_null(_NONE).to_numpy(),
        "attempt_of": of_attempt,
        "attempt_t": heard - t_ns[of_attempt],
        "attempt_ns": ended - heard,
        "attempt_kbps": np.rint(kbps).astype(np.int64),
        "attempt_packet": attempts.field("packet").to_numpy(),
        "attempt_damaged": np.asarray(attempts.field("damaged").to_numpy(zero_copy_only=False), np.int64),
    }


def _list(rows: pa.Table, name: str) -> tuple[pa.StructArray, NDArray[Any]]:
    """The items of a list column, and the row of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = rows.column(name).combine_chunks()
    lists = lists if isinstance(lists, pa.Array) else pa.concat_arrays(lists.chunks)
    return lists.flatten(), pc.list_parent_indices(lists).to_numpy()


def _since(times: pa.Array, start: NDArray[Any]) -> NDArray[Any]:
    """Times since their packets' first instant; -1 where there is none."""
    known = np.asarray(times.is_valid())
    return np.where(known, times.fill_null(0).to_numpy() - start, _NONE)


def page(
    trace: Trace, made: Sequence[Layers | None], files: Mapping[str, str | None], directory: str
) -> dict[str, Any] | None:
    """What the page's script needs besides the columns; None where no flow has journeys."""
    if not any(made):
        return None
    points = {capture.point for capture in trace.captures}
    bus, air = "usb" in points, "air" in points
    shown = ["host", *(["bus"] if bus else []), *(["air"] if air else [])]
    marks = ["a segment", *(["a transfer"] if bus else []), *(["an attempt"] if air else [])]
    return {
        "title": f"{_listed(shown).capitalize()} on one axis" if len(shown) > 1 else "Time and sequence",
        "click": _listed(marks, "or"),
        "flows": [one and {"file": files[f"journeys-{i}"]} for i, one in enumerate(made)],
        "stages": [
            {"name": name.replace("_", " "), "meaning": stage.meaning, "colours": [stage.light, stage.dark]}
            for name, stage in STAGES.items()
        ],
        "fates": [{"code": code, "words": words} for code, words in FATES.items()],
        "rates": [list(pair) for pair in RATES],
        "captures": [{"name": c.name, "point": c.point} for c in trace.captures],
        "command": [f"wlanlens show {shlex.quote(directory)} {shlex.quote(c.name + ':')}" for c in trace.captures],
        "bus": bus,
        "air": air,
    }


def _listed(words: Sequence[str], last: str = "and") -> str:
    """ "a, b and c"."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)
