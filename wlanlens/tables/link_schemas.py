"""Schema of `links`, the table that joins several captures."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from wlanlens.tables.fields import enum, field
from wlanlens.tables.vocabulary import ARRIVALS, LOSS_LOCATIONS, OUTCOMES, POINT_LABELS, POINTS, STAGES

if TYPE_CHECKING:
    import pyarrow as pa

_STAGE_DOCS = {
    "queue": "From the host's tap to the USB bus or back: the driver and its queue.",
    "bus": "To the adapter: from submission to completion of the URB. From the adapter: from the end of the last transmission "
    "on the air to completion, in the adapter and on the bus.",
    "air_wait": "From the nearest capture point before the air to the start of the first transmission heard: all queues "
    "between, and waiting for the air. Negative: the adapter sent the packet before the host saw its URB complete.",
    "air": "From the start of the first transmission heard to the end of the last, with the time between them.",
    "wire": "From the end of the last transmission to the points after the air, and between an access point and a host.",
    "unseparated": "Between two capture points, where no capture separates the stages.",
}


def links() -> pa.Schema:
    """The table `links`."""
    import pyarrow as pa

    i64, u64 = pa.int64(), pa.uint64()
    return pa.schema(
        [
            field("flow", pa.uint32(), "Number of the TCP connection in the trace.", null=True),
            field("direction", enum(), "Direction of the packet: a2b or b2a.", null=True, values="a2b b2a"),
            field("protocol", pa.uint8(), "IP protocol number."),
            field("payload_bytes", pa.uint32(), "Transport payload.", unit="bytes", null=True),
            field("tcp_seq", pa.uint32(), "Sequence number as on the wire.", null=True),
            field("tcp_ack", pa.uint32(), "Acknowledgment number as on the wire; null without ACK.", null=True),
            field("tcp_flags", pa.uint16(), "TCP flags, as in `packets`.", null=True),
            field("t_start_ns", i64, "First time at which a capture point saw it.", unit="ns", null=True),
            field("t_end_ns", i64, "Last time.", unit="ns", null=True),
            *(column for point in POINTS for column in _at_point(point)),
            *_records(),
            *_arrival(),
            *_on_air(),
            field("usb_submit_packet", u64, "Record of the submission of its URB to the adapter.", null=True),
            field("usb_submit_t_ns", i64, "Time of that record.", unit="ns", null=True),
            field("usb_complete_packet", u64, "Record of the completion of its URB.", null=True),
            field("usb_complete_t_ns", i64, "Time of that record.", unit="ns", null=True),
            *_delays(),
        ],
        metadata={
            "table": "links",
            "doc": "One row an IP packet; each copy of a retransmission is a packet of its own. Its row and what became of it at "
            "every capture point, its transmissions on the air, and the delay of each stage of its path. A stage shorter than "
            "its bound may have taken no time.",
        },
    )


@cache
def links_for_detectors() -> pa.Schema:
    """The columns of `links` that an analysis holds in memory for detectors: no lists, delays and link-layer records."""
    import pyarrow as pa

    whole = links()
    left_out = {"t_start_ns", "t_end_ns", *(f"{point}_outcome" for point in POINTS)}
    left_out |= {f"{name}_{what}" for name in STAGES for what in ("ns", "bound_ns")}
    records = ("usb_submit_", "usb_complete_", "mac_ack_")
    kept = [
        f for f in whole if f.name not in left_out and not f.name.startswith(records) and not pa.types.is_list(f.type)
    ]
    return pa.schema(kept, metadata=whole.metadata)


def _at_point(point: str) -> list[pa.Field]:
    """Number, time and outcome at one capture point."""
    import pyarrow as pa

    return [
        field(f"{point}_packet", pa.uint64(), f"Its number in the capture at the {POINT_LABELS[point]}.", null=True),
        field(
            f"{point}_t_ns", pa.int64(), "Time at which it passed there, since the trace's start.", unit="ns", null=True
        ),
        field(
            f"{point}_outcome",
            enum(),
            "What became of it there. seen; lost_after: seen there and at no later point; lost_before: seen at an earlier "
            "point, not there nor later; missed: passed there and was not recorded; not_capturing: the capture had not begun or "
            "had ended; unknown: lost or missed. Null without a capture there.",
            null=True,
            values=" ".join(OUTCOMES),
        ),
    ]


def _records() -> list[pa.Field]:
    """Its records in all captures."""
    import pyarrow as pa

    i64, u64, text = pa.int64(), pa.uint64(), pa.string()
    point = pa.struct([("capture", text), ("packet", u64), ("t_ns", i64), ("outcome", text)])
    return [
        field(
            "rows",
            pa.list_(pa.struct([("capture", text), ("packet", u64), ("t_ns", i64)])),
            "Its row in the `packets` of every capture that has it, in order of time.",
        ),
        field(
            "points",
            pa.list_(point),
            "Every capture in the order of its path, with its record and time there, if any, and the outcome.",
        ),
        field("captures_seen", pa.uint8(), "Number of captures that have it."),
        field(
            "row_count",
            pa.uint32(),
            "Number of rows of `packets` that are this packet: its 802.11 transmissions, hops and duplicates included.",
        ),
        field("whole", pa.bool_(), "False: some capture has it as part of a super-segment or in fragments."),
        field(
            "copy_safe",
            pa.bool_(),
            "True: its bytes or its IP id distinguish it from every other copy; false: only the order of packets does.",
        ),
        field(
            "inferred",
            pa.bool_(),
            "True: its number at the sniffer or on the bus was inferred from length, direction and order, because its bytes "
            "are not readable there. `rows`, `points`, `captures_seen` and `arrival` ignore such a number.",
        ),
    ]


def _arrival() -> list[pa.Field]:
    """Whether it arrived, and where it was lost."""
    import pyarrow as pa

    return [
        field("one_way_ns", pa.int64(), "From the first to the last capture that has it.", unit="ns", null=True),
        field(
            "arrival",
            enum(),
            "arrived: the last capture on its path has it; not_seen: that capture does not have it, and was capturing; "
            "not_capturing: it was not capturing then; unknown: it is not known which capture is the last.",
            values=" ".join(ARRIVALS),
        ),
        field(
            "loss_location",
            enum(),
            "Where a packet with arrival not_seen was lost: between the last capture that has it and the next on its path. "
            "before_usb; before_air: in the host or access point before the air, or on the wire to it; on_air: transmitted and "
            "never acknowledged; after_air: acknowledged on the air; on_path: no capture of the air separates the cases; unknown: "
            "the next capture may have missed it, or it may still be under way.",
            null=True,
            values=" ".join(LOSS_LOCATIONS),
        ),
    ]


def _on_air() -> list[pa.Field]:
    """Its transmissions."""
    import pyarrow as pa

    i64, u64, mbps = pa.int64(), pa.uint64(), pa.float64()
    heard = pa.struct(
        [("packet", u64), ("t_start_ns", i64), ("t_end_ns", i64), ("rate_mbps", mbps), ("damaged", pa.bool_())]
    )
    return [
        field("transmissions", pa.uint16(), "802.11 transmissions, heard and inferred.", null=True),
        field(
            "transmissions_heard",
            pa.list_(heard),
            "The 802.11 transmissions that the sniffer heard, damaged ones included, with their records.",
        ),
        field("air_last_ns", i64, "Time of the last transmission heard.", unit="ns", null=True),
        field("rate_mbps", mbps, "Rate of the last transmission.", unit="Mbit/s", null=True),
        field("acked", pa.bool_(), "Whether its MAC acknowledgment was heard.", null=True),
        field("mac_ack_packet", u64, "Record of the MAC acknowledgment of the last exchange.", null=True),
        field("mac_ack_t_ns", i64, "Time of that record.", unit="ns", null=True),
    ]


def _delays() -> list[pa.Field]:
    """The stages of its path."""
    import pyarrow as pa

    i64 = pa.int64()
    stage = pa.struct([("stage", pa.string()), ("t_start_ns", i64), ("t_end_ns", i64), ("bound_ns", i64)])
    bound = "The error of that time is at most this; null: no clock bound, packets were seen in one direction only."
    return [
        *(
            column
            for name in STAGES
            for column in (
                field(f"{name}_ns", i64, _STAGE_DOCS[name], unit="ns", null=True),
                field(f"{name}_bound_ns", i64, bound, unit="ns", null=True),
            )
        ),
        field("stages", pa.list_(stage), "The stages in the order of its path, with start, end and bound."),
    ]
