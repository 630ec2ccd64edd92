"""Not run: which key would open the frames of an encrypted capture."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import wlanlens as wl
from tests.airtime.test_cli import AP, STATION, beacon, mac, radiotap
from tests.captures import pcap
from wlanlens.capture.decryption_keys import key_of_network
from wlanlens.detection import capture_needs
from wlanlens.detection.tcp_seen import TcpSeen

RSN = {
    "psk": bytes.fromhex("30140100000fac040100000fac040100000fac020000"),
    "enterprise": bytes.fromhex("30140100000fac040100000fac040100000fac010000"),
    "sae": bytes.fromhex("30140100000fac040100000fac040100000fac080000"),
}


def reason(tmp_path: Path, security: str) -> str:
    """Why packet_loss was not run for a capture with protected frames of this network."""
    start, ms = 1_700_000_000 * 10**9, 1_000_000
    data = mac(0x4108, AP, STATION, AP, 7) + b"\x11" * 40
    frames = [(2, beacon(b"office", 1) + RSN[security]), (108, data), (108, data)]
    path = tmp_path / "air.pcap"
    path.write_bytes(pcap([(start + i * 10 * ms, radiotap(rate) + f) for i, (rate, f) in enumerate(frames)], 127))
    found = wl.analyze(path, out=tmp_path / "out", report=False).findings
    (state,) = (s for s in found.states if s.code == "packet_loss")
    assert state.state == "not_run"
    assert capture_needs.plain(state.reason) == state.reason
    (links,) = (s for s in found.states if s.code == "ack_loss")
    assert "two points" in capture_needs.plain(links.reason)
    return state.reason


@pytest.mark.parametrize(
    ("security", "said"),
    [
        (
            "psk",
            "give the passphrase of office with --key-file (line wpa-pwd:PASSPHRASE:office), and capture the station's 4-way",
        ),
        ("enterprise", "each session of office has a key (802.1X): give its PMK with --key-file (line wpa-psk:HEX"),
        (
            "sae",
            "the frames of office use WPA3 or OWE, which no key that can be given opens: capture at the sending host",
        ),
    ],
)
def test_the_key_that_opens_the_frames_is_named(tmp_path: Path, security: str, said: str) -> None:
    assert said in reason(tmp_path, security)


def test_a_network_without_a_beacon_has_a_key_too() -> None:
    assert "PASSPHRASE:SSID" in key_of_network(None, None)
    assert "wep:HEX" in key_of_network(None, None)
    assert "wep:HEX" not in key_of_network("home", "psk")


def test_of_many_networks_a_few_are_named() -> None:
    seen = TcpSeen()
    names = [f"net{i}" for i in range(9)]
    rows = {"bssid": names, "ssid": names, "security": ["psk"] * 9}
    seen.add_networks(pa.table(rows))
    seen._protected.update(names)
    assert seen.encrypted
    assert "those of 6 more networks" in seen.lacks()
