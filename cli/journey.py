"""A packet's journey as lines of text: where it was seen, under which frame number, and how long each stage took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from wlanlens.trace import Trace

#: Characters of the bars: of the line what the words leave, but a bar of a few tells nothing.
_MOST_BAR, _LEAST_BAR = 40, 10

#: Journeys of one record that are printed: of a super-segment or an A-MSDU there are several.
MOST = 8

_FATES = {
    "seen": "seen",
    "lost_after": "seen, and at no point behind it: lost after this",
    "lost_before": "not seen: lost before this",
    "not_captured": "not captured: it passed, and the tap missed it",
    "outside": "not capturing then",
    "unknown": "not seen: lost, or missed by the tap",
}

_STAGES = {
    "queue": "host's tap and USB driver",
    "bus": "USB bus",
    "air_wait": "waiting for the air",
    "air": "on the air",
    "wire": "behind the air",
    "unseparated": "all of the way",
}


def blocks(trace: Trace, capture: str, packet: int, width: int) -> list[list[str]]:
    """The journeys of a record, each as lines of at most so many characters, where that is possible."""
    table = trace.table("journeys")
    found = _rows(trace, table, capture, packet)
    return [list(_lines(trace, table.slice(row, 1).to_pylist()[0], width)) for row in found[:MOST]] + (
        [[f"... and {len(found) - MOST} more packets in this record"]] if len(found) > MOST else []
    )


def _rows(trace: Trace, table: pa.Table, capture: str, packet: int) -> list[int]:
    """The rows of `journeys` that a record is of: its packet, an attempt, its transfer or its acknowledgment."""
    import pyarrow as pa
    import pyarrow.compute as pc

    point = next(c.point for c in trace.captures if c.name == capture)
    points = table.column("points").combine_chunks()
    flat = points.flatten()
    at = pc.and_(
        pc.equal(flat.field("capture"), capture), pc.equal(flat.field("packet"), pa.scalar(packet, pa.uint64()))
    )
    found = set(pc.list_parent_indices(points).filter(at.fill_null(False)).to_pylist())
    wanted = pa.scalar(packet, pa.uint64())
    if point == "air":
        attempts = table.column("attempts").combine_chunks()
        here = pc.equal(attempts.flatten().field("packet"), wanted)
        found |= set(pc.list_parent_indices(attempts).filter(here).to_pylist())
    columns = {"air": ("mac_ack_packet",), "usb": ("usb_submit_packet", "usb_complete_packet")}.get(point, ())
    for name in columns:
        here = pc.equal(table.column(name), wanted).fill_null(False)
        found |= set(pc.indices_nonzero(here).to_pylist())
    return sorted(found)


def _lines(trace: Trace, row: dict[str, Any], width: int) -> Iterator[str]:
    """One journey."""
    from wlanlens.formatting import printable

    segment, copies = _segment(trace, row)
    yield printable(_who(trace, row, segment))
    if len(copies) > 1:
        mine = {(p["capture"], p["packet"]) for p in row["points"]}
        said = ", ".join(
            f"{capture} {packet}{' (this)' if (capture, packet) in mine else ''}" for capture, packet in copies
        )
        yield printable(f"sent {len(copies)} times: {said}", limit=2000)
    yield ""
    yield from _aligned(_points(trace, row), right=(2,))
    if row["stages"]:
        yield ""
        words = list(_stages(trace, row, 0))
        room = min(_MOST_BAR, width - 4 - max(len(line) for line in _aligned(words)))
        yield from _aligned(list(_stages(trace, row, room)) if room >= _LEAST_BAR else words, right=(2, 3))
        if any(_open(s) for s in row["stages"]):
            yield "  * shorter than the clocks can tell: it may have been nothing"
        if row["attempts"] and not row["mac_ack_packet"]:
            yield "  no MAC acknowledgment was heard"
    filters = _filters(trace, row)
    if filters:
        yield ""
        yield "In Wireshark"
        yield from _aligned(list(filters.items()))


def _segment(trace: Trace, row: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """Its row in `segments`, and the records of all copies of its first byte."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = trace.table("segments")
    if row["flow"] is None or not table.num_rows:
        return {}, []
    ours = table.filter(
        pc.and_(
            pc.equal(table.column("flow"), pa.scalar(row["flow"], pa.uint32())),
            pc.equal(table.column("direction").cast(pa.string()), row["direction"]),
        )
    )
    numbers = {(p["capture"], p["packet"]) for p in row["points"]}
    known = [capture for capture, packet in numbers if packet is not None]
    mine = ours.filter(pc.is_in(ours.column("capture").cast(pa.string()), pa.array(known)))
    mine = mine.filter(pc.is_in(mine.column("packet"), pa.array([p for _, p in numbers if p is not None], pa.uint64())))
    segment = next((s for s in mine.to_pylist() if (s["capture"], s["packet"]) in numbers), None)
    if segment is None or not segment["len"] or segment["rel_seq"] is None:
        return segment or {}, []
    same = ours.filter(
        pc.and_(pc.equal(ours.column("rel_seq"), segment["rel_seq"]), pc.greater(ours.column("len"), 0))
    ).to_pylist()
    copies = [s for s in same if s["transmission"] in ("first", "retransmission", "reordered")]
    return segment, [(s["capture"], s["packet"]) for s in copies]


def _who(trace: Trace, row: dict[str, Any], segment: dict[str, Any]) -> str:
    """What the packet is."""
    from wlanlens.formatting import count

    parts = []
    if row["flow"] is not None:
        parts.append(trace.subject(row["flow"], row["direction"]))
    else:
        parts.append(f"IP protocol {row['protocol']}")
    if segment:
        begin, size, what = segment["rel_seq"], segment["len"], str(segment["kind"]).replace("_", " ")
        parts.append(
            f"{what} {begin} to {begin + size} ({count(size, 'byte')})" if size and begin is not None else what
        )
        if not size and segment["rel_ack"] is not None:
            parts[-1] += f" of {segment['rel_ack']}"
        if segment["transmission"] == "retransmission":
            need = {True: ", spuriously", False: ", needed", None: ""}[segment["spurious"]]
            why = str(segment["trigger"] or "undecided").replace("_", " ")
            parts.append(f"sent again ({why}){need}")
    else:
        parts.append(count(row["payload_bytes"] or 0, "byte"))
    if row["t_start_ns"] is not None:
        parts.append(f"t = {row['t_start_ns'] / 1e9:.6f} s")
    return ", ".join(parts)


def _points(trace: Trace, row: dict[str, Any]) -> list[Sequence[str]]:
    """A line a capture."""
    point_of = {capture.name: capture.point for capture in trace.captures}
    out: list[Sequence[str]] = [("point", "capture", "frame", "t (s)", "")]
    for point in row["points"]:
        out.append(
            (
                point_of[point["capture"]],
                point["capture"],
                "-" if point["packet"] is None else str(point["packet"]),
                "" if point["t_ns"] is None else f"{point['t_ns'] / 1e9:.9f}",
                _FATES[point["fate"]],
            )
        )
    return out


def _stages(trace: Trace, row: dict[str, Any], room: int) -> Iterator[Sequence[str]]:
    """A line a stage, under that on the air a line an attempt, with bars of `room` characters on one axis."""
    made = trace.table("links").column("attempts")[row["journey"]].as_py()
    end_ns = max([row["t_end_ns"], *(a["t_end_ns"] for a in row["attempts"])])
    start_ns, span_ns = row["t_start_ns"], max(1, end_ns - row["t_start_ns"])

    def bar(begin_ns: int, until_ns: int) -> str:
        if not room:
            return ""
        left = min(room - 1, max(0, room * (begin_ns - start_ns) // span_ns))
        right = max(left + 1, -(-room * (until_ns - start_ns) // span_ns))
        return f"|{' ' * left}{'#' * (right - left)}{' ' * (room - right)}|"

    yield ("stage", "", "lasted", "known within", "")
    for stage in row["stages"]:
        took, bound = stage["t_end_ns"] - stage["t_start_ns"], stage["bound_ns"]
        low, high = sorted((stage["t_start_ns"], stage["t_end_ns"]))
        about = _STAGES[stage["stage"]]
        if stage["stage"] == "bus" and row["usb_submit_packet"] is None:
            about = f"adapter and {about}"
        if stage["stage"] == "air":
            about += f", {_heard(len(row['attempts']), made)}"
        yield (
            stage["stage"],
            about,
            f"{took / 1e6:.3f} ms{'*' if _open(stage) else ' '}",
            "not known" if bound is None else f"{bound / 1e6:.3f} ms",
            bar(low, high),
        )
        if stage["stage"] == "air":
            for number, attempt in enumerate(row["attempts"], 1):
                yield _attempt(number, attempt, stage["t_end_ns"], bar)
            if row["mac_ack_packet"]:
                yield ("", f"  MAC ACK: frame {row['mac_ack_packet']}", "", "", "")
    yield ("", "in all", f"{(row['t_end_ns'] - start_ns) / 1e6:.3f} ms ", "", "")


def _heard(heard: int, made: int | None) -> str:
    """How many attempts: those heard, and those that there must have been."""
    from wlanlens.formatting import count

    return f"{heard} of {made} attempts heard" if made is not None and made > heard else count(heard, "attempt")


def _attempt(number: int, attempt: dict[str, Any], until_ns: int, bar: Any) -> Sequence[str]:
    """The line of an attempt."""
    words = [f"  attempt {number}: frame {attempt['packet']}"]
    if attempt["rate_mbps"] is not None:
        words.append(f"{attempt['rate_mbps']:g} Mbit/s")
    if attempt["damaged"]:
        words.append("heard damaged")
    if attempt["t_end_ns"] > until_ns:
        words.append("after it had arrived")
    lasted = f"{(attempt['t_end_ns'] - attempt['t_start_ns']) / 1e6:.3f} ms "
    return ("", ", ".join(words), lasted, "", bar(attempt["t_start_ns"], attempt["t_end_ns"]))


def _open(stage: dict[str, Any]) -> bool:
    """Whether the clocks leave open that the stage took any time."""
    bound = stage["bound_ns"]
    return bound is None or abs(stage["t_end_ns"] - stage["t_start_ns"]) <= bound


def _filters(trace: Trace, row: dict[str, Any]) -> dict[str, str]:
    """A display filter for each capture that has it."""
    from wlanlens.detection.finding import frame_filter

    point_of = {capture.name: capture.point for capture in trace.captures}
    out = {}
    for point in row["points"]:
        numbers = {point["packet"]}
        if point_of[point["capture"]] == "air":
            numbers |= {row["mac_ack_packet"], *(a["packet"] for a in row["attempts"])}
        if point_of[point["capture"]] == "usb":
            numbers |= {row["usb_submit_packet"], row["usb_complete_packet"]}
        known = sorted(number for number in numbers if number is not None)
        if point["packet"] is not None:
            out[point["capture"]] = frame_filter(known)
    return out


def _aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Iterator[str]:
    """Rows as lines, each column as wide as its longest cell."""
    from wlanlens.formatting import printable

    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    for row in cells:
        line = [cell.rjust(widths[k]) if k in right else cell.ljust(widths[k]) for k, cell in enumerate(row)]
        yield ("  " + "  ".join(line)).rstrip()
