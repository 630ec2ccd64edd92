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
        "The life of each data direction, from its SYN to its last ACK, cut into intervals that each have exactly one "
        "category; they follow each other without gap or overlap and sum to the life to the nanosecond.",
        [
            capture_field(),
            field("flow", pa.uint32(), "Number of the TCP connection in its capture, from 0."),
            field("direction", enum(), "The direction of the data.", values=directions),
            field("category", enum(), "What the time went to.", values=" ".join(CATEGORIES)),
            field("t_start_ns", i64, "Start, since the trace's start.", unit="ns"),
            field("t_end_ns", i64, "End, the next interval's start.", unit="ns"),
        ],
    )
    value = pa.struct(
        [pa.field("name", text), pa.field("integer", i64), pa.field("number", f64), pa.field("text", text)]
    )
    evidence = pa.struct([pa.field("table", text), pa.field("capture", text), pa.field("rows", pa.list_(u64))])
    findings = table(
        "findings",
        "One row a judgement: what was found, when, how sure, what it cost, and the rows that prove it.",
        [
            field("code", text, "The detector's code."),
            field("t_start_ns", i64, "Start, since the trace's start.", unit="ns"),
            field("t_end_ns", i64, "End.", unit="ns"),
            field("capture", text, "Name of the capture whose rows prove it."),
            field("subject", text, "Who: a flow's direction, a station pair, a USB endpoint."),
            field("severity", enum(), "How much it matters.", values=severities),
            field("confidence", f64, "0..1: how sure it is that the cause is this one."),
            field("cost_s", f64, "Seconds lost; costs of findings may overlap, only the ledger sums.", unit="s"),
            field(
                "values",
                pa.list_(value),
                "Measured values, each a whole number, a number or a text; the unit is in the name.",
            ),
            field("evidence", pa.list_(evidence), "Tables, captures and packet numbers of the rows that prove it."),
            field("sentence", text, "One plain sentence."),
            field("display_filter", text, "A Wireshark display filter that shows the evidence."),
            field("flow", pa.uint32(), "The connection, where there is one.", null=True),
            field("direction", enum(), "The direction of the data.", null=True, values=directions),
        ],
    )
    quality = table(
        "quality",
        "One row a capture: how far it can be trusted. What the capture cannot tell is null.",
        [
            capture_field(),
            field("format", text, "Container format."),
            field("point", text, "Where the tap sits."),
            field("records", u64, "Records in the file."),
            field("other_records", u64, "Records without an IP packet (ARP, beacons ...)."),
            field("tcp_segments", u64, "TCP segments followed."),
            field(
                "tap_drops",
                u64,
                "Packets that the tap dropped, by the file's own statistics; null when it has none.",
                null=True,
            ),
            field("lost_before_tap", u64, "Retransmissions whose first copy never passed this tap."),
            field("capture_duplicates", u64, "Packets that the tap recorded twice."),
            field("network_duplicates", u64, "Packets that the network delivered twice."),
            field("mac_copies", u64, "The same 802.11 frame heard again by the sniffer."),
            field("reordered", u64, "Segments that arrived out of order."),
            field("unseen_data_acks", u64, "ACKs of data that the capture does not hold."),
            field(
                "unseen_mpdus",
                u64,
                "802.11 sequence numbers that were used and never captured, by their counters and Block Acks.",
            ),
            field("not_captured_ns", i64, "Time of flows' lives for which the capture misses packets.", unit="ns"),
            field("time_steps", u64, "Time stamps that run backwards."),
            field("info_notes", u64, "Oddities without loss, counted in the capture's notes."),
            field(
                "loss_notes", u64, "Records or parts of them that could not be read, counted in the capture's notes."
            ),
            field("error_notes", u64, "Contradictions, counted in the capture's notes."),
        ],
    )
    return {"quality": quality, "ledger": ledger, "findings": findings}
