"""Schemas of the tables that hold judgements: ledger, findings, quality."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from wlanlens.tables.fields import capture_field, enum, field
from wlanlens.tables.vocabulary import CATEGORIES

if TYPE_CHECKING:
    import pyarrow as pa


def judgements() -> dict[str, pa.Schema]:
    """`quality`, `ledger` and `findings`."""
    import pyarrow as pa

    def table(name: str, doc: str, fields: Iterable[pa.Field]) -> pa.Schema:
        return pa.schema(list(fields), metadata={"table": name, "doc": doc})

    i64, u64, f64, text = pa.int64(), pa.uint64(), pa.float64(), pa.string()
    directions, severities = "a2b b2a", "info warning serious"
    ledger = table(
        "ledger",
        "The life of each data flow from its SYN to its last ACK, cut into intervals with exactly one category each. They "
        "have no gap and no overlap and sum to the life of the flow to the nanosecond.",
        [
            capture_field(),
            field("flow", pa.uint32(), "Number of the TCP connection in its capture, counted from 0."),
            field("direction", enum(), "Direction of the data: a2b or b2a.", values=directions),
            field("category", enum(), "What the sender waited for or did in this time.", values=" ".join(CATEGORIES)),
            field("t_start_ns", i64, "Start of the interval, counted from the start of the trace.", unit="ns"),
            field("t_end_ns", i64, "End of the interval and start of the next one.", unit="ns"),
        ],
    )
    value = pa.struct(
        [pa.field("name", text), pa.field("integer", i64), pa.field("number", f64), pa.field("text", text)]
    )
    evidence = pa.struct([pa.field("table", text), pa.field("capture", text), pa.field("rows", pa.list_(u64))])
    findings = table(
        "findings",
        "One row per finding: what was found, when, with what confidence and cost, and the rows that prove it.",
        [
            field("code", text, "Code of the detector."),
            field("t_start_ns", i64, "Start of the finding, counted from the start of the trace.", unit="ns"),
            field("t_end_ns", i64, "End of the finding.", unit="ns"),
            field("capture", text, "Name of the capture with the rows that prove it."),
            field(
                "subject",
                text,
                "What the finding is about: a flow and direction, a pair of stations, or a USB endpoint.",
            ),
            field("severity", enum(), "How much the finding matters.", values=severities),
            field("confidence", f64, "Confidence that this is the cause, from 0 to 1."),
            field("cost_s", f64, "Seconds lost. Costs of findings may overlap; only the ledger sums.", unit="s"),
            field(
                "values",
                pa.list_(value),
                "Measured values: whole numbers, numbers or texts; the name of each holds its unit.",
            ),
            field("evidence", pa.list_(evidence), "Tables, captures and packet numbers of the rows that prove it."),
            field("sentence", text, "The finding in one sentence."),
            field("display_filter", text, "A Wireshark display filter that shows the evidence."),
            field("flow", pa.uint32(), "Number of the TCP connection, where there is one.", null=True),
            field("direction", enum(), "Direction of the data: a2b or b2a.", null=True, values=directions),
            field("caused_by", text, "Code of the finding that caused it; empty where none is known."),
            field("remedy", text, "What to change and where, and how a second capture shows that it helped."),
            field(
                "saved_s",
                f64,
                "Estimate of how much sooner the transfer would have ended without this cause.",
                unit="s",
                null=True,
            ),
            field("saved_assumption", text, "What the estimate assumes; empty where there is none."),
        ],
    )
    quality = table(
        "quality",
        "One row per capture: how complete and consistent it is. What the capture cannot show is null.",
        [
            capture_field(),
            field("format", text, "Container format."),
            field("point", text, "Capture point: where the tap is."),
            field("records", u64, "Records in the file."),
            field("other_records", u64, "Records without an IP packet (ARP, beacons ...)."),
            field("tcp_segments", u64, "TCP segments assigned to connections."),
            field(
                "tap_drops",
                u64,
                "Packets that the tap dropped, from statistics in the file; null when it has none.",
                null=True,
            ),
            field("lost_before_tap", u64, "Retransmissions whose original was lost before this tap."),
            field("capture_duplicates", u64, "Packets that the tap recorded twice."),
            field("network_duplicates", u64, "Packets that the network delivered twice."),
            field("mac_copies", u64, "Copies of an 802.11 frame that the sniffer heard again."),
            field("reordered", u64, "Segments that arrived out of order."),
            field("unseen_data_acks", u64, "ACKs of data that is missing from the capture."),
            field(
                "unseen_mpdus",
                u64,
                "802.11 sequence numbers that were used but not captured, from gaps in the counters and from Block Acks.",
            ),
            field(
                "not_captured_ns",
                i64,
                "Time in the life of flows during which packets are missing from the capture.",
                unit="ns",
            ),
            field("time_steps", u64, "Timestamps earlier than the one before."),
            field("info_notes", u64, "Notes of severity info: odd records, nothing lost."),
            field("loss_notes", u64, "Notes of severity loss: records or parts that could not be read."),
            field("error_notes", u64, "Notes of severity error: contradictions."),
        ],
    )
    return {"quality": quality, "ledger": ledger, "findings": findings}
