"""What tcptrace prints, column by column, against the columns of `flows` that hold the same."""

from __future__ import annotations

import csv
import ipaddress
import math
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""One row of `flows`, or a dict of tcptrace's printed values of one direction."""


def printed_rows(path: Path) -> list[dict[str, Any]]:
    """One dict a direction, a2b before b2a, by tcptrace's column names without the direction."""
    command = ["tcptrace", "-l", "-r", "-W", "-n", "--csv", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    rows = []
    for record in csv.DictReader(lines, skipinitialspace=True):
        ends = [
            (_address(record["host_a"]), int(record["port_a"])),
            (_address(record["host_b"]), int(record["port_b"])),
        ]
        seconds = _seconds(record["last_packet"]) - _seconds(record["first_packet"])
        for suffix, (src, dst) in (("_a2b", ends), ("_b2a", ends[::-1])):
            row = {
                k.removesuffix(suffix).replace(" ", "_"): v.strip()
                for k, v in record.items()
                if k and k.endswith(suffix)
            }
            rows.append({"src": src, "dst": dst, "seconds": seconds} | row)
    return rows


def _address(text: str) -> str:
    """An address as everybody else writes it: tcptrace pads IPv6 with zeros."""
    return str(ipaddress.ip_address(text.strip()))


def _seconds(stamp: str) -> float:
    """A time stamp: seconds and microseconds, the latter without leading zeros."""
    seconds, microseconds = stamp.strip().split(".")
    return int(seconds) + int(microseconds) / 1e6


def exact(value: Any, printed: str) -> bool:
    """An integer, printed as it is; null is printed as 0 or NA."""
    return printed == "NA" if value is None and printed == "NA" else int(value or 0) == int(printed)


def cut(value: float | None, printed: str) -> bool:
    """An integer that tcptrace made of a mean by cutting the fraction off."""
    return value is None if printed == "NA" else math.floor(value or 0) == int(printed)


def rounded(step: float) -> Callable[[float | None, str], bool]:
    """A number printed to a multiple of `step`, so at most half of it away."""
    return lambda value, printed: (
        value is None if printed == "NA" else abs((value or 0) - float(printed)) <= step / 2 + step * 1e-6
    )


def ms(value: float | None, printed: str) -> bool:
    """Nanoseconds, printed as milliseconds with one decimal."""
    return rounded(0.1)(None if value is None else value / 1e6, printed)


def yes(value: bool, printed: str) -> bool:
    return printed == ("Y" if value else "N")


@dataclass(frozen=True)
class Column:
    """One column of `flows`, tcptrace's name of it, and how the one is printed as the other."""

    ours: str
    theirs: str
    same: Callable[[Any, str], bool] = exact
    part: int | None = None
    """Which half of a value printed as `x/y`."""
    samples: str | None = None
    """The count below a mean: tcptrace divides by it plus `shift`."""
    shift: float = 0.0001

    def agrees(self, row: Row, printed: Row) -> bool:
        value, text = row[self.ours], printed[self.theirs]
        if self.part is not None:
            text = text.split("/")[self.part]
        if self.ours == "owin_time_mean_bytes" and text != "NA":
            # tcptrace cuts every bytes x seconds to an integer before it adds it, so up to 1 a packet is missing.
            least = math.floor(value - row["packets"] / printed["seconds"])
            return bool(least <= int(text) <= math.floor(value))
        if self.samples is not None and value is not None:
            count = row[self.samples]
            value = value * count / (count + self.shift)
        return self.same(value, text)


def _times(
    ours: str, theirs: str, last: str, samples: str, middle: tuple[str, str] = ("avg", "stdev")
) -> Iterable[Column]:
    """Minimum, maximum, mean and standard deviation of one kind of times; `theirs` has a place for which of them."""
    yield Column(f"{ours}_min_ns", theirs.format("min") + last, ms)
    yield Column(f"{ours}_max_ns", theirs.format("max") + last, ms)
    yield Column(f"{ours}_mean_ns", theirs.format(middle[0]) + last, ms, samples=samples)
    yield Column(f"{ours}_sd_ns", theirs.format(middle[1]) + last, ms)


COLUMNS = (
    Column("packets", "total_packets"),
    Column("rst_packets", "resets_sent"),
    Column("ack_packets", "ack_pkts_sent"),
    Column("pure_ack_packets", "pure_acks_sent"),
    Column("sack_packets", "sack_pkts_sent"),
    Column("dsack_packets", "dsack_pkts_sent"),
    Column("sack_blocks_max", "max_sack_blks/ack"),
    Column("unique_bytes", "unique_bytes_sent"),
    Column("data_packets", "actual_data_pkts"),
    Column("data_bytes", "actual_data_bytes"),
    Column("rexmt_packets", "rexmt_data_pkts"),
    Column("rexmt_bytes", "rexmt_data_bytes"),
    Column("zero_window_probe_packets", "zwnd_probe_pkts"),
    Column("zero_window_probe_bytes", "zwnd_probe_bytes"),
    Column("out_of_order_packets", "outoforder_pkts"),
    Column("pushed_packets", "pushed_data_pkts"),
    Column("syn_packets", "SYN/FIN_pkts_sent", part=0),
    Column("fin_packets", "SYN/FIN_pkts_sent", part=1),
    Column("window_scale_requested", "req_1323_ws/ts", yes, part=0),
    Column("timestamps_requested", "req_1323_ws/ts", yes, part=1),
    Column("window_scale", "adv_wind_scale"),
    Column("sack_requested", "req_sack", yes),
    Column("sacks_sent", "sacks_sent"),
    Column("urgent_packets", "urgent_data_pkts"),
    Column("urgent_bytes", "urgent_data_bytes"),
    Column("mss_bytes", "mss_requested"),
    Column("segment_max_bytes", "max_segm_size"),
    Column("segment_min_bytes", "min_segm_size"),
    Column("segment_mean_bytes", "avg_segm_size", cut, samples="data_packets", shift=0.001),
    Column("window_max_bytes", "max_win_adv"),
    Column("window_min_bytes", "min_win_adv"),
    Column("zero_window_packets", "zero_win_adv"),
    Column("window_mean_bytes", "avg_win_adv", cut),
    Column("owin_max_bytes", "max_owin"),
    Column("owin_min_bytes", "min_non-zero_owin"),
    Column("owin_mean_bytes", "avg_owin", cut),
    Column("owin_time_mean_bytes", "wavg_owin", cut),
    Column("initial_window_bytes", "initial_window_bytes"),
    Column("initial_window_packets", "initial_window_pkts"),
    Column("stream_bytes", "ttl_stream_length"),
    Column("missed_bytes", "missed_data"),
    Column("truncated_bytes", "truncated_data"),
    Column("truncated_packets", "truncated_packets"),
    Column("data_transmit_ns", "data_xmit_time", lambda v, text: rounded(0.001)(None if v is None else v / 1e9, text)),
    Column("idle_max_ns", "idletime_max", ms),
    Column("hardware_duplicates", "hardware_dups"),
    Column("throughput_bytes_per_s", "throughput", rounded(1)),
    Column("rtt_samples", "RTT_samples"),
    *_times("rtt", "RTT_{}", "", "rtt_samples"),
    Column("rtt_handshake_ns", "RTT_from_3WHS", ms),
    Column("rtt_full_samples", "RTT_full_sz_smpls"),
    *_times("rtt_full", "RTT_full_sz_{}", "", "rtt_full_samples"),
    Column("post_loss_acks", "post-loss_acks"),
    Column("ambiguous_acks", "ambiguous_acks"),
    *_times("rtt_resent", "RTT_{}_(last)", "", "ambiguous_acks", ("avg", "sdv")),
    Column("cumulatively_acked_segments", "segs_cum_acked"),
    Column("duplicate_acks", "duplicate_acks"),
    Column("triple_duplicate_acks", "triple_dupacks"),
    Column("resends_max", "max_#_retrans"),
    Column("resend_min_ns", "min_retr_time", ms),
    Column("resend_max_ns", "max_retr_time", ms),
    Column("resend_mean_ns", "avg_retr_time", ms, samples="resend_samples"),
    Column("resend_sd_ns", "sdv_retr_time", ms),
)
