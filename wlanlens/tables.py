"""Tables by name: their schemas (Rust's, and those that Python makes), checks, and docs/tables.md.

Every column has a type, a nullability, one sentence (`doc`) and, where it has one, a `unit` in its field metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from wlanlens.errors import MissingTable, WlanlensError

if TYPE_CHECKING:
    import pyarrow as pa

#: Who a second of a flow's life belongs to, in the order in which the ledger shows them.
OWNERS = (
    "handshake",
    "application",
    "receiver_window",
    "delayed_ack",
    "rto_idle",
    "backoff_idle",
    "spurious_recovery",
    "loss_recovery",
    "fast_recovery",
    "slow_start",
    "usb",
    "air_useful",
    "air_retries",
    "air_others",
    "queue",
    "transfer",
    "unknown",
)

#: Columns of wide tables that are shown unless all are asked for: less than a screenful.
_BRIEF = {
    "frames": (
        "packet",
        "t_ns",
        "subtype",
        "ta",
        "ra",
        "seq",
        "retry",
        "rate_mbps",
        "signal_dbm",
        "airtime_us",
        "carries",
        "stop",
    ),
    "exchanges": (
        "ta",
        "ra",
        "seq",
        "first_packet",
        "last_packet",
        "attempts",
        "rates_mbps",
        "outcome",
        "airtime_us",
        "wasted_us",
        "carries",
        "flow",
    ),
    "stations": (
        "station",
        "role",
        "frames",
        "data_frames",
        "retry_frames",
        "dropped",
        "signal_median_dbm",
        "rates_mbps",
        "airtime_ns",
    ),
}

#: What a frame's time on the air was for.
PURPOSES = (
    "delivered",
    "unproven",
    "group",
    "retry",
    "acknowledgement",
    "reservation",
    "control",
    "beacon",
    "probe",
    "management",
    "damaged",
    "unknown",
)

#: The points of a trace, in the order in which the sender's data passes them, and where they are.
POINTS = ("sender", "usb", "air", "ap", "receiver")
PLACES = {
    "sender": "sending host",
    "usb": "USB bus",
    "air": "802.11 sniffer",
    "ap": "access point or a router",
    "receiver": "receiving host",
}

#: Stages of a packet's way, and what each lies between.
STAGES = ("queue", "bus", "air_wait", "air", "wire", "unseparated")
_STAGES = {
    "queue": "Between the host's tap and the bus: driver and its queue.",
    "bus": "Towards the adapter from the URB's submission to its completion; from the adapter from the end of the last "
    "attempt on the air to the completion, adapter and bus together.",
    "air_wait": "From the point before the air, the nearest that was captured, to the begin of the first attempt heard: "
    "waiting for the air, and in all queues since that point. Less than 0: the adapter sent it before it told the host "
    "that it had it.",
    "air": "From the begin of the first attempt heard to the end of the last, the time between them with it.",
    "wire": "From the end of the last attempt to the points behind the air, and between an access point and a host.",
    "unseparated": "Between two points of which no capture tells what lies between them.",
}

_CAPTURE = "Name of the capture that the row was read from; with `packet` it identifies a row for ever."


#: Whether the last capture on a packet's way has it.
ARRIVALS = ("arrived", "not_seen", "outside", "unknown")

#: Where a packet was lost.
LOST = ("before_usb", "before_air", "on_air", "after_air", "on_way", "unknown")

#: Tables of a link: every capture has them, without a row where it is of another kind.
LINK = ("frames", "exchanges", "urbs")


class SchemaError(WlanlensError):
    """A table that is not what its name promises."""


def _field(name: str, kind: pa.DataType, doc: str, *, unit: str = "", null: bool = False, values: str = "") -> pa.Field:
    import pyarrow as pa

    metadata = {"doc": doc, **({"unit": unit} if unit else {}), **({"values": values} if values else {})}
    return pa.field(name, kind, nullable=null, metadata=metadata)


def _enum() -> pa.DataType:
    import pyarrow as pa

    return pa.dictionary(pa.int8(), pa.string())


def capture_field() -> pa.Field:
    """The column `capture`, first of every table of a trace."""
    import pyarrow as pa

    return _field("capture", pa.dictionary(pa.int32(), pa.string()), _CAPTURE)


def _made_here() -> dict[str, pa.Schema]:
    """The tables that Python makes."""
    import pyarrow as pa

    def table(name: str, doc: str, fields: Iterable[pa.Field]) -> pa.Schema:
        return pa.schema(list(fields), metadata={"table": name, "doc": doc})

    i64, u64, f64, text = pa.int64(), pa.uint64(), pa.float64(), pa.string()
    directions, severities = "a2b b2a", "info warning serious"
    ledger = table(
        "ledger",
        "The life of each data direction, from its SYN to its last ACK, cut into intervals that each have exactly one "
        "owner; they follow each other without gap or overlap and sum to the life to the nanosecond.",
        [
            capture_field(),
            _field("flow", pa.uint32(), "Number of the TCP connection in its capture, from 0."),
            _field("direction", _enum(), "The direction of the data.", values=directions),
            _field("owner", _enum(), "What the time went to.", values=" ".join(OWNERS)),
            _field("t_start_ns", i64, "Start, since the trace's start.", unit="ns"),
            _field("t_end_ns", i64, "End, the next interval's start.", unit="ns"),
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
            _field("code", text, "The detector's code."),
            _field("t_start_ns", i64, "Start, since the trace's start.", unit="ns"),
            _field("t_end_ns", i64, "End.", unit="ns"),
            _field("capture", text, "Name of the capture whose rows prove it."),
            _field("subject", text, "Who: a flow's direction, a station pair, a USB endpoint."),
            _field("severity", _enum(), "How much it matters.", values=severities),
            _field("confidence", f64, "0..1: how sure it is that the cause is this one."),
            _field("cost_s", f64, "Seconds lost; costs of findings may overlap, only the ledger sums.", unit="s"),
            _field(
                "values",
                pa.list_(value),
                "Measured values, each a whole number, a number or a text; the unit is in the name.",
            ),
            _field("evidence", pa.list_(evidence), "Tables, captures and packet numbers of the rows that prove it."),
            _field("sentence", text, "One plain sentence."),
            _field("display_filter", text, "A Wireshark display filter that shows the evidence."),
            _field("flow", pa.uint32(), "The connection, where there is one.", null=True),
            _field("direction", _enum(), "The direction of the data.", null=True, values=directions),
        ],
    )
    quality = table(
        "quality",
        "One row a capture: how far it can be trusted. What the capture cannot tell is null.",
        [
            capture_field(),
            _field("format", text, "Container format."),
            _field("vantage", text, "Where the tap sits."),
            _field("records", u64, "Records in the file."),
            _field("other_records", u64, "Records without an IP packet (ARP, beacons ...)."),
            _field("tcp_segments", u64, "TCP segments followed."),
            _field(
                "tap_drops",
                u64,
                "Packets that the tap dropped, by the file's own statistics; null when it has none.",
                null=True,
            ),
            _field("lost_before_tap", u64, "Retransmissions whose first copy never passed this tap."),
            _field("capture_duplicates", u64, "Packets that the tap recorded twice."),
            _field("network_duplicates", u64, "Packets that the network delivered twice."),
            _field("mac_copies", u64, "The same 802.11 frame heard again by the sniffer."),
            _field("reordered", u64, "Segments that arrived out of order."),
            _field("unseen_data_acks", u64, "ACKs of data that the capture does not hold."),
            _field(
                "unseen_mpdus",
                u64,
                "802.11 sequence numbers that were used and never captured, by their counters and Block Acks.",
            ),
            _field("not_captured_ns", i64, "Time of flows' lives for which the capture misses packets.", unit="ns"),
            _field("time_steps", u64, "Time stamps that run backwards."),
            _field("info_notes", u64, "Oddities without loss, counted in the capture's notes."),
            _field(
                "loss_notes", u64, "Records or parts of them that could not be read, counted in the capture's notes."
            ),
            _field("error_notes", u64, "Contradictions, counted in the capture's notes."),
        ],
    )
    return {
        "links": _links(),
        "journeys": _journeys(),
        "airtime": _airtime(),
        "stations": _stations(),
        "quality": quality,
        "ledger": ledger,
        "findings": findings,
    }


def _links() -> pa.Schema:
    """The table `links`."""
    import pyarrow as pa

    i64, u64 = pa.int64(), pa.uint64()
    seen = [
        field
        for vantage in POINTS
        for field in (
            _field(f"{vantage}_packet", u64, f"Its number in the capture at the {PLACES[vantage]}.", null=True),
            _field(f"{vantage}_t_ns", i64, "When it passed there, since the trace's start.", unit="ns", null=True),
        )
    ]
    return pa.schema(
        [
            _field("flow", pa.uint32(), "Number of the TCP connection in the trace.", null=True),
            _field("direction", _enum(), "Which way.", null=True, values="a2b b2a"),
            _field("protocol", pa.uint8(), "IP protocol number."),
            _field("payload_bytes", pa.uint32(), "Transport payload.", unit="bytes", null=True),
            _field("tcp_seq", pa.uint32(), "Sequence number as on the wire.", null=True),
            _field("tcp_ack", pa.uint32(), "Acknowledgment number as on the wire; null without ACK.", null=True),
            _field("tcp_flags", pa.uint16(), "As in `packets`.", null=True),
            *seen,
            _field(
                "rows",
                pa.list_(pa.struct([("capture", pa.string()), ("packet", u64), ("t_ns", i64)])),
                "Its row in the `packets` of every capture that has it, in the order of time.",
            ),
            _field("seen", pa.uint8(), "Captures that saw it."),
            _field("sightings", pa.uint32(), "Rows of `packets` that are this packet: attempts, hops and copies too."),
            _field("whole", pa.bool_(), "False: at some point it was part of a super-segment or in fragments."),
            _field(
                "copy_safe",
                pa.bool_(),
                "Its bytes or its IP id tell it from every other copy; false: by its order alone.",
            ),
            _field(
                "inferred",
                pa.bool_(),
                "Its number at the sniffer or on the bus is known by length, direction and order alone, for its bytes "
                "cannot be read there; `rows`, `seen` and `fate` do not count it.",
            ),
            _field("one_way_ns", i64, "From the first to the last capture that saw it.", unit="ns", null=True),
            _field("attempts", pa.uint16(), "Attempts on the air, seen and inferred.", null=True),
            _field("air_last_ns", i64, "When the last attempt that was heard came.", unit="ns", null=True),
            _field("rate_mbps", pa.float64(), "Rate of the last of them.", unit="Mbit/s", null=True),
            _field("acked", pa.bool_(), "Whether its MAC acknowledgment was heard.", null=True),
            _field(
                "fate",
                _enum(),
                "arrived: the last capture on its way has it; not_seen: that has not, though it was capturing; outside: "
                "it was not capturing then; unknown: which is the last is not known.",
                values=" ".join(ARRIVALS),
            ),
            _field(
                "lost",
                _enum(),
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


def _journeys() -> pa.Schema:
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
            _field("journey", u64, "Its row in `links`, from 0."),
            _field("flow", pa.uint32(), "Number of the TCP connection in the trace.", null=True),
            _field("direction", _enum(), "Which way.", null=True, values="a2b b2a"),
            _field("protocol", pa.uint8(), "IP protocol number."),
            _field("payload_bytes", pa.uint32(), "Transport payload.", unit="bytes", null=True),
            _field("t_start_ns", i64, "First instant at which a point saw it.", unit="ns", null=True),
            _field("t_end_ns", i64, "Last instant.", unit="ns", null=True),
            *(
                _field(
                    f"{name}_fate",
                    _enum(),
                    f"At the {PLACES[name]}: seen; lost_after: seen, and at no point behind it; lost_before: not seen, nor "
                    "at any point behind it, though before it; not_captured: passed, and the tap missed it; outside: it "
                    "was not capturing then; unknown: lost or missed. Null without a capture there.",
                    null=True,
                    values=fates,
                )
                for name in POINTS
            ),
            *(
                field
                for name in STAGES
                for field in (
                    _field(f"{name}_ns", i64, _STAGES[name], unit="ns", null=True),
                    _field(
                        f"{name}_bound_ns",
                        i64,
                        "That time is right within this; null: packets passed one way only, so that no clock says.",
                        unit="ns",
                        null=True,
                    ),
                )
            ),
            _field(
                "stages",
                pa.list_(stage),
                "These stages in the order of its way, from instant to instant, with their bounds.",
            ),
            _field(
                "attempts",
                pa.list_(attempt),
                "The attempts heard on the air, with their records there, damaged ones too.",
            ),
            _field(
                "mac_ack_packet", u64, "Record of the MAC acknowledgment that settled the last exchange.", null=True
            ),
            _field("mac_ack_t_ns", i64, "When it came.", unit="ns", null=True),
            _field("usb_submit_packet", u64, "Record of the submission of its URB to the adapter.", null=True),
            _field("usb_submit_t_ns", i64, "When that was.", unit="ns", null=True),
            _field("usb_complete_packet", u64, "Record of the completion of its URB.", null=True),
            _field("usb_complete_t_ns", i64, "When that was.", unit="ns", null=True),
            _field(
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


def _airtime() -> pa.Schema:
    """The table `airtime`."""
    import pyarrow as pa

    i64, u64 = pa.int64(), pa.uint64()
    return pa.schema(
        [
            capture_field(),
            _field("t_start_ns", i64, "Start of the slice, since the trace's start.", unit="ns"),
            _field("t_end_ns", i64, "Its end.", unit="ns"),
            _field("purpose", _enum(), "What the frames were for.", values=" ".join(PURPOSES)),
            _field("frames", u64, "Frames that began in the slice and whose time on the air is known."),
            _field("airtime_ns", i64, "Their time on the air.", unit="ns"),
        ],
        metadata={
            "table": "airtime",
            "doc": "One row a slice of time and purpose: how long frames were on the air. Slices are equal and at most "
            "1024; a frame counts whole where it begins.",
        },
    )


def _stations() -> pa.Schema:
    """The table `stations`."""
    import pyarrow as pa

    i64, u64, text = pa.int64(), pa.uint64(), pa.dictionary(pa.int32(), pa.string())
    dbm, counts = pa.int16(), "Of these: "
    groups = {
        "data": "Of this: data that arrived, or may have.",
        "retries": "Of this: attempts that failed.",
        "control": "Of this: control frames and power save.",
        "management": "Of this: beacons and other management.",
        "other": "Of this: damaged frames and unknown types.",
    }
    return pa.schema(
        [
            capture_field(),
            _field("station", text, "Transmitter address; null for frames that name none.", null=True),
            _field(
                "role",
                _enum(),
                "What it is; unnamed: ACK, CTS and others without a transmitter, and damaged frames; rest: the quietest of too many stations.",
                values="access_point station unnamed rest",
            ),
            _field("bssid", text, "The network in which it last sent data; an access point's own.", null=True),
            _field("frames", u64, "Frames sent."),
            _field("bytes", u64, "Length of these frames, headers and FCS included.", unit="bytes"),
            _field("data_frames", u64, counts + "with data."),
            _field("retry_frames", u64, counts + "with the Retry bit."),
            _field("no_airtime_frames", u64, counts + "without a known time on the air."),
            _field("exchanges", u64, "MSDUs and management frames that it sent."),
            _field("attempts", u64, "Attempts that they took, seen and inferred."),
            _field("delivered", u64, "Exchanges that were acknowledged."),
            _field("dropped", u64, "Exchanges that were given up."),
            _field("unknown", u64, "Exchanges whose outcome the capture does not tell."),
            _field("signal_median_dbm", dbm, "Median signal at the sniffer.", unit="dBm", null=True),
            _field("signal_least_dbm", dbm, "Least signal.", unit="dBm", null=True),
            _field("signal_most_dbm", dbm, "Greatest signal.", unit="dBm", null=True),
            _field("rates_mbps", pa.list_(pa.float64()), "Data rates used, most frames first.", unit="Mbit/s"),
            _field("rate_frames", pa.list_(u64), "Frames at each of these rates."),
            _field("airtime_ns", i64, "Time on the air of its frames.", unit="ns"),
            *(_field(f"{name}_ns", i64, doc, unit="ns") for name, doc in groups.items()),
        ],
        metadata={"table": "stations", "doc": "One row a transmitter of 802.11 frames."},
    )


@cache
def schemas() -> dict[str, pa.Schema]:
    """Every table's schema by name, the column `capture` included."""
    from wlanlens import _core

    out = {name: with_capture(core) for name, core in _core.schemas().items()}
    return {**out, **_made_here()}


def axis_columns(name: str) -> tuple[str, ...]:
    """The columns of a table that are times on the axis, ns since the trace's start."""
    also = ("silent_from_ns", "progress_ns")
    return tuple(c for c in schema(name).names if (c.startswith("t_") and c.endswith("_ns")) or c in also)


@cache
def core_schemas() -> dict[str, pa.Schema]:
    """The schemas of the batches that Rust hands out: without the column `capture`."""
    from wlanlens import _core

    return dict(_core.schemas())


def with_capture(core: pa.Schema) -> pa.Schema:
    """A table's schema with the column `capture` in front."""
    return core.insert(0, capture_field())


def names() -> tuple[str, ...]:
    """Every table's name, in the order in which they are documented."""
    return tuple(schemas())


def schema(name: str) -> pa.Schema:
    """The schema of a table."""
    found = schemas().get(name)
    if found is None:
        raise MissingTable(f"there is no table {name!r}", next="tables are " + ", ".join(names()))
    return found


def enum_values(name: str, column: str) -> tuple[str, ...]:
    """The values of an enum column, in order; empty when it is none."""
    metadata = schema(name).field(column).metadata or {}
    return tuple(metadata.get(b"values", b"").decode().split())


def brief_columns(name: str) -> tuple[str, ...]:
    """The columns of a wide table that are shown unless all are asked for; empty for tables that fit a screen."""
    return _BRIEF.get(name, ())


def empty(name: str) -> pa.Table:
    """A table with no rows."""
    return schema(name).empty_table()


def _kind(kind: pa.DataType) -> pa.DataType:
    """A type without what Parquet does not keep: the width of dictionary keys, names of list items."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_kind(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _kind(f.type)) for f in kind])
    return kind


def validate(table: pa.Table | pa.Schema, name: str) -> None:
    """Check that a table (or its schema) has the columns and types that its name promises; raise `SchemaError`."""
    import pyarrow as pa

    got = table if isinstance(table, pa.Schema) else table.schema
    want = schema(name)
    lacking = [n for n in want.names if n not in got.names]
    if lacking:
        raise SchemaError(f"table {name}: columns are missing: {', '.join(lacking)}")
    for field in want:
        have = got.field(field.name)
        if _kind(have.type) != _kind(field.type):
            raise SchemaError(f"table {name}: column {field.name} is {have.type}, not {field.type}")
    if isinstance(table, pa.Table):
        for field in want:
            if not field.nullable and table.column(field.name).null_count:
                raise SchemaError(f"table {name}: column {field.name} has nulls")


def _type_name(field: pa.Field) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(field.type):
        return "enum" if (field.metadata or {}).get(b"values") else "string (dictionary)"
    return str(field.type).replace(" not null", "")


def markdown() -> str:
    """docs/tables.md: every table, every column."""
    lines = [
        "# Tables",
        "",
        "Made by `make docs` from the schemas; a test fails when it is stale. Times `t_ns` count nanoseconds since the",
        "trace's start. What was not captured is null, never 0.",
    ]
    for name, table in schemas().items():
        lines += ["", f"## {name}", "", (table.metadata or {}).get(b"doc", b"").decode(), ""]
        lines += ["| column | type | unit | null | what |", "|---|---|---|---|---|"]
        for field in table:
            meta = {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
            values = f" One of: {', '.join(meta['values'].split())}." if "values" in meta else ""
            null = "yes" if field.nullable else ""
            lines.append(
                f"| `{field.name}` | {_type_name(field)} | {meta.get('unit', '')} | {null} | {meta['doc']}{values} |"
            )
    return "\n".join(lines) + "\n"
