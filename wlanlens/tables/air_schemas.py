"""Schemas of the tables about use of the air: airtime and stations."""

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
            field("t_start_ns", i64, "Start of the slice, counted from the start of the trace.", unit="ns"),
            field("t_end_ns", i64, "End of the slice.", unit="ns"),
            field("purpose", enum(), "Purpose of the frames.", values=" ".join(PURPOSES)),
            field("frames", u64, "Frames that start in the slice and have a known airtime."),
            field("airtime_ns", i64, "Airtime within the slice.", unit="ns"),
        ],
        metadata={
            "table": "airtime",
            "doc": "One row per slice of time and purpose: the airtime of frames. There are at most 1024 slices, all of equal "
            "length. A frame counts in the slice in which it starts; its airtime is divided among the slices it spans.",
        },
    )


def stations() -> pa.Schema:
    """The table `stations`."""
    import pyarrow as pa

    i64, u64, text = pa.int64(), pa.uint64(), pa.dictionary(pa.int32(), pa.string())
    dbm, counts = pa.int16(), "Of these frames: "
    groups = {
        "data": "Of this airtime: data that arrived or may have arrived.",
        "retries": "Of this airtime: transmissions that failed.",
        "control": "Of this airtime: control frames and power save.",
        "management": "Of this airtime: beacons and other management frames.",
        "other": "Of this airtime: damaged frames and frames of unknown type.",
    }
    return pa.schema(
        [
            capture_field(),
            field(
                "station",
                text,
                "Transmitter address (IEEE 802.11-2020 clause 9.2.4.3); null for frames without one.",
                null=True,
            ),
            field(
                "role",
                enum(),
                "Role of the transmitter; unnamed: ACK, CTS and other frames without a transmitter address, and damaged frames; "
                "rest: stations with few frames, merged beyond 2048 stations.",
                values="access_point station unnamed rest",
            ),
            field(
                "bssid", text, "BSSID of the network in which it last sent data; of an access point its own.", null=True
            ),
            field("frames", u64, "Frames that it sent."),
            field("bytes", u64, "Length of these frames with headers and FCS.", unit="bytes"),
            field("data_frames", u64, counts + "with data."),
            field("retry_frames", u64, counts + "with the Retry bit."),
            field("no_airtime_frames", u64, counts + "without a known airtime."),
            field("exchanges", u64, "Exchanges of MSDUs and management frames that it sent."),
            field("attempts", u64, "Transmissions of these exchanges, captured and inferred."),
            field("delivered", u64, "Exchanges that were acknowledged."),
            field("dropped", u64, "Exchanges that ended without an acknowledgment."),
            field("unknown", u64, "Exchanges whose outcome the capture does not show."),
            field("signal_median_dbm", dbm, "Median signal of its frames at the sniffer.", unit="dBm", null=True),
            field("signal_least_dbm", dbm, "Minimum signal.", unit="dBm", null=True),
            field("signal_most_dbm", dbm, "Maximum signal.", unit="dBm", null=True),
            field("rates_mbps", pa.list_(pa.float64()), "Data rates used, the most frequent first.", unit="Mbit/s"),
            field("rate_frames", pa.list_(u64), "Frames at each of these rates."),
            field("airtime_ns", i64, "Airtime of its frames.", unit="ns"),
            *(field(f"{name}_ns", i64, doc, unit="ns") for name, doc in groups.items()),
        ],
        metadata={"table": "stations", "doc": "One row per transmitter of 802.11 frames."},
    )
