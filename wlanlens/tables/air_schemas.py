"""Schemas of the sums over the air: airtime and stations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wlanlens.tables.fields import capture_field, enum, field
from wlanlens.tables.vocabulary import PURPOSES

if TYPE_CHECKING:
    import pyarrow as pa


def airtime() -> pa.Schema:
    """The table `airtime`."""
    import pyarrow as pa

    i64, u64 = pa.int64(), pa.uint64()
    return pa.schema(
        [
            capture_field(),
            field("t_start_ns", i64, "Start of the slice, since the trace's start.", unit="ns"),
            field("t_end_ns", i64, "Its end.", unit="ns"),
            field("purpose", enum(), "What the frames were for.", values=" ".join(PURPOSES)),
            field("frames", u64, "Frames that began in the slice and whose time on the air is known."),
            field("airtime_ns", i64, "Their time on the air.", unit="ns"),
        ],
        metadata={
            "table": "airtime",
            "doc": "One row a slice of time and purpose: how long frames were on the air. Slices are equal and at most "
            "1024; a frame counts whole where it begins.",
        },
    )


def stations() -> pa.Schema:
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
            field("station", text, "Transmitter address; null for frames that name none.", null=True),
            field(
                "role",
                enum(),
                "What it is; unnamed: ACK, CTS and others without a transmitter, and damaged frames; rest: the quietest of too many stations.",
                values="access_point station unnamed rest",
            ),
            field("bssid", text, "The network in which it last sent data; an access point's own.", null=True),
            field("frames", u64, "Frames sent."),
            field("bytes", u64, "Length of these frames, headers and FCS included.", unit="bytes"),
            field("data_frames", u64, counts + "with data."),
            field("retry_frames", u64, counts + "with the Retry bit."),
            field("no_airtime_frames", u64, counts + "without a known time on the air."),
            field("exchanges", u64, "MSDUs and management frames that it sent."),
            field("attempts", u64, "Attempts that they took, seen and inferred."),
            field("delivered", u64, "Exchanges that were acknowledged."),
            field("dropped", u64, "Exchanges that were given up."),
            field("unknown", u64, "Exchanges whose outcome the capture does not tell."),
            field("signal_median_dbm", dbm, "Median signal at the sniffer.", unit="dBm", null=True),
            field("signal_least_dbm", dbm, "Least signal.", unit="dBm", null=True),
            field("signal_most_dbm", dbm, "Greatest signal.", unit="dBm", null=True),
            field("rates_mbps", pa.list_(pa.float64()), "Data rates used, most frames first.", unit="Mbit/s"),
            field("rate_frames", pa.list_(u64), "Frames at each of these rates."),
            field("airtime_ns", i64, "Time on the air of its frames.", unit="ns"),
            *(field(f"{name}_ns", i64, doc, unit="ns") for name, doc in groups.items()),
        ],
        metadata={"table": "stations", "doc": "One row a transmitter of 802.11 frames."},
    )
