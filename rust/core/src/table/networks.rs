//! `networks`: one row per network name of a BSS.

pub const SECURITIES: &[&str] = &["open", "wep", "psk", "enterprise", "sae", "owe", "other"];

define_table! {
    NetworkRows, NETWORKS, "networks",
    "One row per network name of a BSS, from beacons, probe responses and association requests.", {
    bssid: Dict, "", "Basic service set identifier: the access point's address.";
    ssid: Dict ? null, "", "Network name, with bytes outside UTF-8 as \\xNN; null when it is hidden. The text is untrusted.";
    channel: U8 ? null, "", "Primary channel number in its announcements; null when they contain none.";
    beacon_interval_us: U32 ? null, "us", "Beacon interval in its announcements.";
    security: Enum(SECURITIES) ? null, "", "Protection of data frames; with several, the weakest.";
    beacons: U64, "", "Beacons.";
    probe_responses: U64, "", "Probe responses.";
    associations: U64, "", "Association and reassociation requests with this name.";
    first_packet: U64, "", "Record of its first announcement.";
    last_packet: U64, "", "Record of its last announcement.";
    t_first_ns: I64 ? null, "ns", "Time of the first announcement, since the trace's start.";
    t_last_ns: I64 ? null, "ns", "Time of the last announcement, since the trace's start.";
} }
