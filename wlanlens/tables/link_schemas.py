"""Schemas of the tables that join several captures: links and journeys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wlanlens.tables.fields import enum, field
from wlanlens.tables.vocabulary import ARRIVALS, LOST, PLACES, POINTS, STAGE_MEANINGS, STAGES

if TYPE_CHECKING:
    import pyarrow as pa


def links() -> pa.Schema:
    """The table `links`."""
    import pyarrow as pa

    i64, u64 = pa.int64(), pa.uint64()
    seen = [
        column
        for point in POINTS
        for column in (
            field(f"{point}_packet", u64, f"Its number in the capture at the {PLACES[point]}.", null=True),
            field(f"{point}_t_ns", i64, "When it passed there, since the trace's start.", unit="ns", null=True),
        )
    ]
    return pa.schema(
        [
            field("flow", pa.uint32(), "Number of the TCP connection in the trace.", null=True),
            field("direction", enum(), "Which way.", null=True, values="a2b b2a"),
            field("protocol", pa.uint8(), "IP protocol number."),
            field("payload_bytes", pa.uint32(), "Transport payload.", unit="bytes", null=True),
            field("tcp_seq", pa.uint32(), "Sequence number as on the wire.", null=True),
            field("tcp_ack", pa.uint32(), "Acknowledgment number as on the wire; null without ACK.", null=True),
            field("tcp_flags", pa.uint16(), "As in `packets`.", null=True),
            *seen,
            field(
                "rows",
                pa.list_(pa.struct([("capture", pa.string()), ("packet", u64), ("t_ns", i64)])),
                "Its row in the `packets` of every capture that has it, in the order of time.",
            ),
            field("seen", pa.uint8(), "Captures that saw it."),
            field("sightings", pa.uint32(), "Rows of `packets` that are this packet: attempts, hops and copies too."),
            field("whole", pa.bool_(), "False: at some point it was part of a super-segment or in fragments."),
            field(
                "copy_safe",
                pa.bool_(),
                "Its bytes or its IP id tell it from every other copy; false: by its order alone.",
            ),
            field(
                "inferred",
                pa.bool_(),
                "Its number at the sniffer or on the bus is known by length, direction and order alone, for its bytes "
                "cannot be read there; `rows`, `seen` and `fate` do not count it.",
            ),
            field("one_way_ns", i64, "From the first to the last capture that saw it.", unit="ns", null=True),
            field("attempts", pa.uint16(), "Attempts on the air, seen and inferred.", null=True),
            field("air_last_ns", i64, "When the last attempt that was heard came.", unit="ns", null=True),
            field("rate_mbps", pa.float64(), "Rate of the last of them.", unit="Mbit/s", null=True),
            field("acked", pa.bool_(), "Whether its MAC acknowledgment was heard.", null=True),
            field(
                "fate",
                enum(),
                "arrived: the last capture on its way has it; not_seen: that has not, though it was capturing; outside: "
                "it was not capturing then; unknown: which is the last is not known.",
                values=" ".join(ARRIVALS),
            ),
            field(
                "lost",
                enum(),
                "Of a packet with fate not_seen, where it was lost: between the last capture that has it and the next on its way, "
                "by the fate there in `journeys`; before_air: in the host or the access point before it, or on the wire to that; "
                "on_air: never acknowledged there; after_air: it was; on_way: no capture of the air tells; unknown: that "
                "capture may have missed it, or it may be under way.",
                null=True,
                values=" ".join(LOST),
            ),
        ],
        metadata={"table": "links", "doc": "One row an IP packet's journey: its row at every point that saw it."},
    )


def journeys() -> pa.Schema:
    """The table `journeys`."""
    import pyarrow as pa

    i64, u64, text = pa.int64(), pa.uint64(), pa.string()
    stage = pa.struct([("stage", text), ("t_start_ns", i64), ("t_end_ns", i64), ("bound_ns", i64)])
    attempt = pa.struct(
        [("packet", u64), ("t_start_ns", i64), ("t_end_ns", i64), ("rate_mbps", pa.float64()), ("damaged", pa.bool_())]
    )
    point = pa.struct([("capture", text), ("packet", u64), ("t_ns", i64), ("fate", text)])
    fates = "seen lost_after lost_before not_captured outside unknown"
    return pa.schema(
        [
            field("journey", u64, "Its row in `links`, from 0."),
            field("flow", pa.uint32(), "Number of the TCP connection in the trace.", null=True),
            field("direction", enum(), "Which way.", null=True, values="a2b b2a"),
            field("protocol", pa.uint8(), "IP protocol number."),
            field("payload_bytes", pa.uint32(), "Transport payload.", unit="bytes", null=True),
            field("t_start_ns", i64, "First instant at which a point saw it.", unit="ns", null=True),
            field("t_end_ns", i64, "Last instant.", unit="ns", null=True),
            *(
                field(
                    f"{name}_fate",
                    enum(),
                    f"At the {PLACES[name]}: seen; lost_after: seen, and at no point behind it; lost_before: not seen, nor "
                    "at any point behind it, though before it; not_captured: passed, and the tap missed it; outside: it "
                    "was not capturing then; unknown: lost or missed. Null without a capture there.",
                    null=True,
                    values=fates,
                )
                for name in POINTS
            ),
            *(
                column
                for name in STAGES
                for column in (
                    field(f"{name}_ns", i64, STAGE_MEANINGS[name], unit="ns", null=True),
                    field(
                        f"{name}_bound_ns",
                        i64,
                        "That time is right within this; null: packets passed one way only, so that no clock says.",
                        unit="ns",
                        null=True,
                    ),
                )
            ),
            field(
                "stages",
                pa.list_(stage),
                "These stages in the order of its way, from instant to instant, with their bounds.",
            ),
            field(
                "attempts",
                pa.list_(attempt),
                "The attempts heard on the air, with their records there, damaged ones too.",
            ),
            field("mac_ack_packet", u64, "Record of the MAC acknowledgment that settled the last exchange.", null=True),
            field("mac_ack_t_ns", i64, "When it came.", unit="ns", null=True),
            field("usb_submit_packet", u64, "Record of the submission of its URB to the adapter.", null=True),
            field("usb_submit_t_ns", i64, "When that was.", unit="ns", null=True),
            field("usb_complete_packet", u64, "Record of the completion of its URB.", null=True),
            field("usb_complete_t_ns", i64, "When that was.", unit="ns", null=True),
            field(
                "points",
                pa.list_(point),
                "Every capture in the order of its way, with its record and time there, if any, and its fate.",
            ),
        ],
        metadata={
            "table": "journeys",
            "doc": "One row an IP packet, each copy of a retransmission its own, as in `links`: the stages of its way, each "
            "with the bound that the clocks set, and what became of it at each point. A stage shorter than its bound may "
            "have been nothing.",
        },
    )
