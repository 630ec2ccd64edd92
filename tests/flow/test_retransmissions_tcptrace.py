"""Retransmissions compared with tcptrace's byte-range map: equal except where the map cannot distinguish a copy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import wlanlens as wl
from tests.captures import ROOT

FOLDER = Path(os.environ.get("WLANLENS_SHARED", ROOT.parent / "shared")) / "captures" / "tcp"

#: (capture, why the two differ). The map counts every byte seen before, whoever repeated it.
EXPLAINED = {
    "206_example_b.pcap": "tcptrace calls 47 retransmissions into a closed window zero-window probes",
    "discard.solaris.dmp.gz": "44 packets were captured twice (same IP id)",
    "hardware_dups.dmp.gz": "486 packets were captured twice (same IP id)",
    "ipv6-http-atomic-frag.pcap": "tcptrace splits the connection",
    "loss-window-approximation.trace": "2 packets below a hole are new to the map",
    "one_tcp_stream_max_seq.pcap": "a keep-alive repeats one byte",
    "pcap_v2.2.dmp.gz": "packets were captured twice (same IP id)",
    "pppoe-over-qinq.pcap": "the network or the tap doubled packets (same IP id)",
    "receiver.pcap": "probe train with a window field of 0: probes to tcptrace",
    "sender.pcap": "probe train with a window field of 0: probes to tcptrace",
    "zwnd.dmp.gz": "tcptrace calls one retransmission into a closed window a probe",
}


def captures() -> list[str]:
    return sorted(p.name for p in FOLDER.iterdir()) if FOLDER.is_dir() else []


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the shared captures (../shared) are absent")
@pytest.mark.parametrize("name", captures())
def test_retransmissions_are_tcptraces(name: str) -> None:
    try:
        capture = wl.open(FOLDER / name)
        flows = capture.table("flows").to_pandas()
    except wl.WlanlensError as error:
        pytest.skip(str(error))
    ours = flows.retransmissions + flows.reordered_packets
    theirs = flows.rexmt_packets + flows.out_of_order_packets
    assert (ours.tolist() != theirs.tolist()) == (name in EXPLAINED)
