"""Every 802.11 frame of the shared captures, field by field, as tshark reads it.

Where the two differ, `DEVIATIONS` says why, with the clause of IEEE 802.11-2020 or of the header's own definition; a
difference that no rule names fails. Needs the captures in ``../shared``; tshark must be
installed; otherwise the tests skip.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import wlanlens as wl

SHARED = Path(__file__).resolve().parents[3] / "shared"

CAPTURES = [
    "wlan/1_2_test_pcap2.pcap", "wlan/80211_ppi_fcs_present_and_invalid.pcap", "wlan/Http.cap",
    "wlan/Pixel8_Android16.pcapng", "wlan/SamsungS21Ultra5G_SM-G998U_Android11_6GHz_Rando_Anon.pcap",
    "wlan/active1.pcap", "wlan/active2.pcap", "wlan/capture.pcapng", "wlan/eapol-amsdu_BP-fromap.pcapng",
    "wlan/eapol-amsdu_BP-onclient.pcapng", "wlan/example-ft.pcapng", "wlan/ieee802.11_exthdr.pcap",
    "wlan/ieee802.11_rx-stbc.pcap", "wlan/mesh.pcap", "wlan/ping_I_E_E___inc_pn_2-fromap.pcapng",
    "wlan/tcp-chain-test-0-0.pcap", "wlan/tcp-chain-test-9-0.pcap", "wlan/testing.cap", "wlan/testing_mix1.pcap",
    "wlan/weather1.pcap", "wlan/wep_64_ptw.cap", "wlan/wifi7unifi.pcapng", "wlan/wlp2s0_ch11.pcap",
    "wlan/wpa-Induction.pcap", "wlan/wpa-eap-tls.pcap.gz", "wlan/wpa-psk-linksys.cap", "wlan/wpa.cap",
    "wlan/wpa2linkuppassphraseiswireshark.pcap", "malformed/home_8.pcap",
    "malformed/ieee802.11_parse_elements_oobr.pcap", "malformed/radiotap-heapoverflow.pcap",
    "malformed/wpaclean_crash.pcap",
]  # fmt: skip

FIELDS = (
    "frame.number", "frame.protocols", "wlan.fc.version", "wlan.fc.type", "wlan.fc.subtype", "wlan.ta", "wlan.ra",
    "wlan.da", "wlan.sa", "wlan.bssid", "wlan.seq", "wlan.frag", "wlan.qos.tid", "wlan.qos.amsdupresent",
    "wlan.fc.retry", "wlan.fc.frag", "wlan.fc.protected", "wlan.fc.tods", "wlan.fc.fromds", "wlan.duration",
    "wlan.fcs.status", "wlan_radio.phy", "wlan_radio.data_rate", "wlan_radio.11n.mcs_index", "wlan_radio.11ac.mcs",
    "wlan_radio.11ac.nss", "wlan_radio.frequency", "wlan_radio.signal_dbm", "wlan_radio.noise_dbm",
    "wlan_radio.11n.bandwidth", "wlan_radio.11ac.bandwidth", "wlan_radio.11n.short_gi", "wlan_radio.11ac.short_gi",
    "wlan_radio.timestamp", "wlan_radio.a_mpdu_aggregate_id", "radiotap.antenna", "radiotap.dbm_antsignal",
    "radiotap.flags.badfcs", "radiotap.timestamp.ts", "radiotap.mcs.index", "ppi.80211-common.flags.fcs-invalid",
    "prism.did.rssi",
)  # fmt: skip
Fields = dict[str, list[str]]
Row = dict[str, Any]

TYPES = {"0": "management", "1": "control", "2": "data", "3": "extension"}
PHYS = {"4": "b", "5": "a", "6": "g", "7": "n", "8": "ac", "11": "ax"}
FCS = {"0": False, "1": True}
HT_WIDTHS = {0: 20, 1: 40, 2: 20, 3: 20}
VHT_WIDTHS = {0: 20, 1: 40, 4: 80, 11: 160}


def fetch(relative: str) -> Path:
    """The capture, where tshark can read it too."""
    path = SHARED / "captures" / relative
    if not path.exists():
        pytest.skip(f"{relative} is absent from ../shared")
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    return path


def tshark(path: Path) -> Iterator[Fields]:
    """The fields of each record, every occurrence of each."""
    command = ["tshark", "-n", "-r", str(path), "-T", "fields"]
    command += [word for field in FIELDS for word in ("-e", field)]
    options = {"wlan.check_checksum": True, "wlan.enable_decryption": False, "wlan.defragment": False}
    command += [word for key, on in options.items() for word in ("-o", f"{key}:{str(on).upper()}")]
    # tshark leaves with 2 after a file that is cut off, having printed everything before.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 2), done.stderr
    for line in done.stdout.splitlines():
        yield dict(zip(FIELDS, ([v for v in f.split(",") if v] for f in line.split("\t")), strict=True))


def ours(path: Path) -> tuple[dict[int, Row], set[str]]:
    """Our rows by frame number, and the names of the notes."""
    reader = wl.Capture(path).reader(track=False)
    rows: dict[int, Row] = {}
    while batches := reader.next_batches():
        for name, batch in batches:
            for row in batch.to_pylist() if name == "frames" else ():
                assert row["packet"] not in rows, "one row a frame"
                rows[row["packet"]] = row
    return rows, {note[0] for note in reader.notes()}


def number(f: Fields, *names: str) -> int | None:
    """The first occurrence of the first of these fields that is there."""
    return next((int(f[name][0], 0) for name in names if f[name]), None)


def flag(f: Fields, *names: str) -> bool | None:
    return next((f[name][0] in ("1", "True") for name in names if f[name]), None)


def first(f: Fields, name: str) -> str | None:
    return f[name][0] if f[name] else None


def expected(f: Fields) -> Row:
    """What tshark says, in our columns."""
    guard = flag(f, "wlan_radio.11n.short_gi", "wlan_radio.11ac.short_gi")
    width_code, vht_code = number(f, "wlan_radio.11n.bandwidth"), number(f, "wlan_radio.11ac.bandwidth")
    rate = first(f, "wlan_radio.data_rate")
    return {
        "type": TYPES.get(first(f, "wlan.fc.type") or ""),
        "ta": first(f, "wlan.ta"),
        "ra": first(f, "wlan.ra"),
        "da": first(f, "wlan.da"),
        "sa": first(f, "wlan.sa"),
        "bssid": first(f, "wlan.bssid"),
        "seq": number(f, "wlan.seq"),
        "fragment": number(f, "wlan.frag"),
        "tid": number(f, "wlan.qos.tid"),
        "amsdu": flag(f, "wlan.qos.amsdupresent"),
        "retry": flag(f, "wlan.fc.retry"),
        "more_fragments": flag(f, "wlan.fc.frag"),
        "protected": flag(f, "wlan.fc.protected"),
        "to_ds": flag(f, "wlan.fc.tods"),
        "from_ds": flag(f, "wlan.fc.fromds"),
        "duration_us": number(f, "wlan.duration"),
        "fcs_ok": FCS.get(first(f, "wlan.fcs.status") or ""),
        "phy": PHYS.get(first(f, "wlan_radio.phy") or ""),
        "rate_mbps": None if rate is None else float(rate),
        "mcs": number(f, "wlan_radio.11n.mcs_index", "wlan_radio.11ac.mcs"),
        "streams": number(f, "wlan_radio.11ac.nss"),
        "channel_mhz": number(f, "wlan_radio.frequency"),
        "signal_dbm": number(f, "wlan_radio.signal_dbm"),
        "noise_dbm": number(f, "wlan_radio.noise_dbm"),
        "width_mhz": HT_WIDTHS[width_code]
        if width_code is not None
        else VHT_WIDTHS.get(vht_code if vht_code else 0)
        if vht_code is not None
        else None,
        "guard_ns": None if guard is None else 400 if guard else 800,
        "tsf_us": number(f, "wlan_radio.timestamp"),
        "antenna": number(f, "radiotap.antenna"),
        "ampdu": number(f, "wlan_radio.a_mpdu_aggregate_id"),
    }


@dataclass(frozen=True)
class Difference:
    """One field of one frame."""

    column: str
    theirs: Any
    mine: Any
    row: Row
    fields: Fields
    notes: set[str]


@dataclass(frozen=True)
class Deviation:
    """Why and where we differ from tshark 4.0."""

    why: str
    holds: Callable[[Difference], bool]


def group_bit_cleared(address: str | None) -> str | None:
    return address and f"{int(address[:2], 16) & 0xFE:02x}{address[2:]}"


ADDRESSES = {"ta", "ra", "da", "sa", "bssid"}
DEVIATIONS = [
    Deviation(
        "9.2.4.1.2: behind a protocol version other than 0 the header is not known to be this one; tshark reads on",
        lambda d: (
            d.row["stop"] == "bad_header_len"
            and number(d.fields, "wlan.fc.version") != 0
            and (d.mine is None or d.column == "fcs_ok")
        ),
    ),
    Deviation(
        "a Prism message code that no driver writes: where the frame begins is not known; tshark takes it to be at 144",
        lambda d: (
            d.mine is None and d.row["stop"] == "bad_header_len" and d.fields["frame.protocols"][0].startswith("prism")
        ),
    ),
    Deviation(
        "a header that ends in mid record: tshark shows none of its fields, we those that are there",
        lambda d: d.theirs is None and d.row["stop"] in ("length_lies", "snaplen_cut"),
    ),
    Deviation(
        "a four-address header that ends in mid record: tshark takes its FCS for the address that is missing",
        lambda d: d.column == "sa" and d.mine is None and d.row["stop"] == "length_lies" and not d.row["fcs_ok"],
    ),
    Deviation(
        "9.2.4.2, Table 9-9: with its highest bit set the field is no duration (an AID, or reserved)",
        lambda d: d.column == "duration_us" and d.mine is None,
    ),
    Deviation(
        "9.2.4.3.8: a TA with the Individual/Group bit set signals a bandwidth; the address is the one without it",
        lambda d: d.column in ("ta", "bssid") and d.row["type"] == "control" and d.mine == group_bit_cleared(d.theirs),
    ),
    Deviation(
        "9.3.1.6: the second address of a CF-End frame is BSSID and TA in one; tshark shows one of them, or none",
        lambda d: (
            d.column in ("ta", "bssid")
            and d.theirs is None
            and d.row["subtype"] in ("cf_end", "cf_end_cf_ack")
            and d.row["ta"] == d.row["bssid"]
        ),
    ),
    Deviation(
        "9.3.4: DMG beacons begin with a BSSID, S1G beacons with an SA, reserved extension subtypes with what nobody knows",
        lambda d: d.column in ADDRESSES and d.row["type"] == "extension" and d.mine is None,
    ),
    Deviation(
        "Table 9-30: destination and source of an A-MSDU are in its subframes, whose first tshark shows",
        lambda d: d.column in ("da", "sa") and d.row["amsdu"] and d.mine is None,
    ),
    Deviation(
        "radiotap.org/fields/Antenna signal: without an antenna field the signal is that of all antennas; tshark shows the last antenna's",
        lambda d: d.column == "signal_dbm" and d.mine == number(d.fields, "radiotap.dbm_antsignal"),
    ),
    Deviation(
        "the receiver itself says that the FCS was wrong; tshark only says what it can check",
        lambda d: (
            d.column == "fcs_ok"
            and d.mine is False
            and (flag(d.fields, "radiotap.flags.badfcs", "ppi.80211-common.flags.fcs-invalid") or False)
        ),
    ),
    Deviation(
        "no frame of this capture has a right FCS: it is not computed there (noted), and tshark calls all frames damaged",
        lambda d: d.column == "fcs_ok" and d.mine is None and d.theirs is False and "fcs_unverified" in d.notes,
    ),
    Deviation(
        "the FCS at the end is not announced; we find it by its value (noted), tshark takes it for the body's end",
        lambda d: d.column == "fcs_ok" and d.theirs is None and "fcs_found" in d.notes,
    ),
    Deviation(
        "radiotap.org/fields/timestamp is the only clock; tshark shows it separately",
        lambda d: d.column == "tsf_us" and d.theirs is None and d.mine == number(d.fields, "radiotap.timestamp.ts"),
    ),
    Deviation(
        "a clock that has run for more than 2283 years (2^56 us) is none: this AVS driver wrote its clock in the wrong byte order",
        lambda d: d.column == "tsf_us" and d.mine is None and d.theirs >= 1 << 56,
    ),
    Deviation(
        "clauses 15 to 18: the rate and the band determine the PHY where AVS and Prism drivers do not; DSSS is 22 MHz wide",
        lambda d: d.column in ("phy", "channel_mhz") and d.theirs is None and d.row["phy"] in ("a", "b", "g"),
    ),
    Deviation(
        "capturefrm.txt: RSSI is a number without a unit, and 0 dBm here; only negative numbers are dBm",
        lambda d: d.column == "signal_dbm" and d.mine is None and d.theirs >= 0 and bool(d.fields["prism.did.rssi"]),
    ),
    Deviation(
        "clause 19.5: the MCS index determines the streams; tshark has no field for them",
        lambda d: (
            d.column == "streams" and d.row["phy"] == "n" and d.theirs is None and d.mine == ht_streams(d.row["mcs"])
        ),
    ),
    Deviation(
        "the width of PPDUs without an MCS (clauses 15 to 18); tshark has no field for it",
        lambda d: d.column == "width_mhz" and d.theirs is None and d.mine == (22 if d.row["phy"] == "b" else 20),
    ),
    Deviation(
        "of an A-MPDU whose members differ, tshark gives all what the first said, we each what its own header says",
        lambda d: (
            d.column in ("mcs", "rate_mbps")
            and d.row["ampdu"] is not None
            and d.row["mcs"] == number(d.fields, "radiotap.mcs.index")
        ),
    ),
]


def ht_streams(mcs: int) -> int:
    return mcs // 8 + 1 if mcs < 32 else 1 if mcs == 32 else 2 if mcs < 39 else 3 if mcs < 53 else 4


def same(theirs: Any, mine: Any) -> bool:
    """Equal; rates to the decimal place that tshark prints."""
    if isinstance(theirs, float) and isinstance(mine, float):
        return abs(theirs - mine) < 0.051 + 1e-6 * theirs
    return bool(theirs == mine)


def differences(path: Path) -> list[object]:
    """What differs in a capture without a rule that says why."""
    rows, notes = ours(path)
    wrong: list[object] = []
    for f in tshark(path):
        row = rows.pop(int(f["frame.number"][0]), None)
        if row is None:
            if "wlan" in f["frame.protocols"][0].split(":"):
                wrong.append((f["frame.number"][0], "no row"))
            continue
        for column, theirs in expected(f).items():
            if same(theirs, row[column]):
                continue
            difference = Difference(column, theirs, row[column], row, f, notes)
            if not any(rule.holds(difference) for rule in DEVIATIONS):
                wrong.append((row["packet"], column, theirs, row[column], row["subtype"], row["stop"]))
    return wrong + [(packet, "not seen by tshark") for packet in rows]


@pytest.mark.parametrize("relative", CAPTURES)
def test_every_field(relative: str) -> None:
    assert not differences(fetch(relative))[:20]


@pytest.mark.parametrize(
    ("relative", "stop"),
    [
        ("malformed/radiotap-heapoverflow.pcap", "bad_header_len"),
        ("malformed/wpaclean_crash.pcap", "bad_header_len"),
        ("malformed/ieee802.11_parse_elements_oobr.pcap", None),
    ],
)
def test_malformed_frames_have_rows(relative: str, stop: str | None) -> None:
    rows, notes = ours(fetch(relative))
    assert [row["stop"] for row in rows.values()] == [stop]
    assert stop is None or "bad_header" in notes
