"""The receiver's rows of captures at both hosts of a real kernel: what both captures decide, packet by packet."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import pytest

from tests.correlation.test_kernel import both, of_flow
from tests.kernel import WHOLE, needed, truth

pytestmark = needed


@cache
def rows_of(name: str, tap: str) -> pd.DataFrame:
    """Segments of one of both captures, with what names a packet."""
    columns = ["capture", "packet", "src_port", "dst_port", "ip_id", "tcp_seq", "ip_version"]
    packets = both(name).table("packets").select(columns).to_pandas()
    rows = both(name).table("segments").to_pandas().merge(packets, on=["capture", "packet"])
    return rows[rows.capture.str.endswith(f"{tap}.pcap")].sort_values("packet")


def arrived(name: str, flow: dict[str, Any]) -> list[tuple[Any, dict[str, Any] | None]]:
    """Each row of the receiver with its retransmission of the truth, or None for a first transmission. A packet is named by its IP id
    and its sequence number, so IPv6 has none."""
    sent = of_flow(rows_of(name, "sender"), flow)
    occupying = (sent["len"] > 0) | sent.kind.isin(["syn", "synack", "fin"])
    sent = sent[occupying & ~sent.kind.isin(["window_probe", "keepalive"])]
    if not (sent.ip_version == 4).all():
        return []
    place = {key: n for n, key in enumerate(zip(sent.ip_id, sent.tcp_seq, strict=True))}
    again = {entry["n"]: entry for entry in flow["retransmission_list"]}
    rows = of_flow(rows_of(name, "receiver"), flow).itertuples()
    return [(row, again.get(place[row.ip_id, row.tcp_seq])) for row in rows if (row.ip_id, row.tcp_seq) in place]


@pytest.mark.parametrize("name", WHOLE)
def test_need_is_right_at_the_receiver(name: str) -> None:
    for flow in truth(name)["flows"]:
        named = [(row, made) for row, made in arrived(name, flow) if made and row.transmission == "retransmission"]
        wrong = [row.packet for row, made in named if row.spurious == made["needed"]]
        assert wrong == []


@pytest.mark.parametrize("name", WHOLE)
def test_timeouts_are_right_at_the_receiver(name: str) -> None:
    timeouts = both(name).table("timeouts").to_pandas()
    kinds = timeouts[timeouts.capture.str.endswith("receiver.pcap")].set_index("packet").kind.astype(str).to_dict()
    for flow in truth(name)["flows"]:
        for row, made in arrived(name, flow):
            if (kind := kinds.get(row.packet)) is None or kind == "undecided":
                continue
            assert made is not None, f"packet {row.packet} is no retransmission"
            assert made["trigger"] in ("RTO", "TLP") or made.get("flag") == "SYN"
            late = "ack_lost" if made.get("reason") == "ack_lost" else "spurious"
            assert kind == ("genuine" if made["needed"] else late), f"packet {row.packet}"


def test_the_receivers_rows_are_decided() -> None:
    """What the sender's capture shows decides the receiver's rows: few stay open."""
    named = [
        row
        for name in WHOLE
        for flow in truth(name)["flows"]
        for row, made in arrived(name, flow)
        if made and row.transmission == "retransmission"
    ]
    assert len(named) > 900
    assert sum(row.spurious is not None and row.spurious == row.spurious for row in named) >= 0.95 * len(named)
