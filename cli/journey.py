"""A packet's journey as lines of text: its record at each capture point, and the delay of each stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wlanlens.tables import OUTCOMES, STAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wlanlens.trace import Trace

#: Length of the bars in characters: what the text leaves of the line; a shorter bar is left out.
_MOST_BAR, _LEAST_BAR = 40, 10

#: Packets of one record that are printed: a super-segment or an A-MSDU has several.
MOST = 8


def blocks(trace: Trace, capture: str, packet: int, width: int) -> list[list[str]]:
    """The journeys of the packets of a record, each as lines of at most `width` characters, where that is possible."""
    found = rows(trace, capture, packet)
    return [list(_lines(trace, row, width)) for row in found[:MOST]] + (
        [[f"... and {len(found) - MOST} more packets in this record"]] if len(found) > MOST else []
    )


def rows(trace: Trace, capture: str, packet: int) -> list[dict[str, Any]]:
    """The rows of `links` of the packets of a record."""
    table = trace.table("links")
    return [table.slice(row, 1).to_pylist()[0] for row in places(trace, capture, packet)]


def places(trace: Trace, capture: str, packet: int) -> list[int]:
    """The places in `links` to which a record belongs: as the packet, a transmission, a transfer or an acknowledgment."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = trace.table("links")
    point = next(c.point for c in trace.captures if c.name == capture)
    points = table.column("points").combine_chunks()
    flat = points.flatten()
    at = pc.and_(
        pc.equal(flat.field("capture"), capture), pc.equal(flat.field("packet"), pa.scalar(packet, pa.uint64()))
    )
    found = set(pc.list_parent_indices(points).filter(at.fill_null(False)).to_pylist())
    wanted = pa.scalar(packet, pa.uint64())
    if point == "air":
        heard = table.column("transmissions_heard").combine_chunks()
        here = pc.equal(heard.flatten().field("packet"), wanted)
        found |= set(pc.list_parent_indices(heard).filter(here).to_pylist())
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
        listed = ", ".join(
            f"{capture} {packet}{' (this)' if (capture, packet) in mine else ''}" for capture, packet in copies
        )
        yield printable(f"{len(copies)} copies of this segment: {listed}", limit=2000)
    yield ""
    yield from _aligned(_points(trace, row), right=(2,))
    if row["stages"] and row["t_start_ns"] is not None and row["t_end_ns"] is not None:
        yield ""
        words = list(_stages(row, 0))
        room = min(_MOST_BAR, width - 4 - max(len(line) for line in _aligned(words)))
        yield from _aligned(list(_stages(row, room)) if room >= _LEAST_BAR else words, right=(2, 3))
        if any(_open(s) for s in row["stages"]):
            yield "  * shorter than the clock error: it may have taken no time"
        if row["transmissions_heard"] and not row["mac_ack_packet"]:
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
    """The packet as text."""
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
            need = {True: ", spurious", False: ", necessary", None: ""}[segment["spurious"]]
            why = str(segment["trigger"] or "undecided").replace("_", " ")
            parts.append(f"retransmission ({why}){need}")
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
                OUTCOMES[point["outcome"]],
            )
        )
    return out


def _stages(row: dict[str, Any], room: int) -> Iterator[Sequence[str]]:
    """A line a stage, and a line a transmission after the stage on the air, with bars of `room` characters on one axis."""
    heard = row["transmissions_heard"]
    end_ns = max([row["t_end_ns"], *(t["t_end_ns"] for t in heard)])
    start_ns, span_ns = row["t_start_ns"], max(1, end_ns - row["t_start_ns"])

    def bar(begin_ns: int, until_ns: int) -> str:
        if not room:
            return ""
        left = min(room - 1, max(0, room * (begin_ns - start_ns) // span_ns))
        right = max(left + 1, -(-room * (until_ns - start_ns) // span_ns))
        return f"|{' ' * left}{'#' * (right - left)}{' ' * (room - right)}|"

    yield ("stage", "", "time", "error at most", "")
    for stage in row["stages"]:
        took, bound = stage["t_end_ns"] - stage["t_start_ns"], stage["bound_ns"]
        low, high = sorted((stage["t_start_ns"], stage["t_end_ns"]))
        about = STAGES[stage["stage"]]
        if stage["stage"] == "bus" and row["usb_submit_packet"] is None:
            about = f"adapter and {about}"
        if stage["stage"] == "air":
            about += f", {_heard(len(heard), row['transmissions'])}"
        yield (
            stage["stage"],
            about,
            f"{took / 1e6:.3f} ms{'*' if _open(stage) else ' '}",
            "unknown" if bound is None else f"{bound / 1e6:.3f} ms",
            bar(low, high),
        )
        if stage["stage"] == "air":
            for number, one in enumerate(heard, 1):
                yield _transmission(number, one, stage["t_end_ns"], bar)
            if row["mac_ack_packet"]:
                yield ("", f"  MAC ACK: frame {row['mac_ack_packet']}", "", "", "")
    yield ("", "total", f"{(row['t_end_ns'] - start_ns) / 1e6:.3f} ms ", "", "")


def _heard(heard: int, made: int | None) -> str:
    """Number of transmissions: those heard, and those inferred."""
    from wlanlens.formatting import count

    if made is not None and made > heard:
        return f"{heard} of {made} transmissions heard"
    return count(heard, "transmission")


def _transmission(number: int, heard: dict[str, Any], until_ns: int, bar: Any) -> Sequence[str]:
    """The line of a transmission."""
    words = [f"  transmission {number}: frame {heard['packet']}"]
    if heard["rate_mbps"] is not None:
        words.append(f"{heard['rate_mbps']:g} Mbit/s")
    if heard["damaged"]:
        words.append("damaged")
    if heard["t_end_ns"] > until_ns:
        words.append("after the packet had arrived")
    took = f"{(heard['t_end_ns'] - heard['t_start_ns']) / 1e6:.3f} ms "
    return ("", ", ".join(words), took, "", bar(heard["t_start_ns"], heard["t_end_ns"]))


def _open(stage: dict[str, Any]) -> bool:
    """Whether the stage is shorter than its error bound."""
    bound = stage["bound_ns"]
    return bound is None or abs(stage["t_end_ns"] - stage["t_start_ns"]) <= bound


def _filters(trace: Trace, row: dict[str, Any]) -> dict[str, str]:
    """A display filter for each capture that has the packet."""
    from wlanlens.detection.finding import frame_filter

    point_of = {capture.name: capture.point for capture in trace.captures}
    out = {}
    for point in row["points"]:
        numbers = {point["packet"]}
        if point_of[point["capture"]] == "air":
            numbers |= {row["mac_ack_packet"], *(t["packet"] for t in row["transmissions_heard"])}
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
