//! `networks`: one row a name that a BSS goes by.

pub const SECURITIES: &[&str] = &["open", "wep", "psk", "enterprise", "sae", "owe", "other"];

define_table! {
    NetworkRows, NETWORKS, "networks",
    "One row a network name that a BSS announced, in beacons, probe responses and association requests.", {
    bssid: Dict, "", "Basic service set: the access point's address.";
    ssid: Dict ? null, "", "Network name, bytes that are no UTF-8 as \\xNN; null when it is hidden. A stranger's text.";
    channel: U8 ? null, "", "Primary channel number that it says it is on; null when it does not.";
    beacon_interval_us: U32 ? null, "us", "Time between beacons that it announces.";
    security: Enum(SECURITIES) ? null, "", "How data frames are protected; of several the one that is read most easily.";
    beacons: U64, "", "Beacons.";
    probe_responses: U64, "", "Probe responses.";
    associations: U64, "", "Association and reassociation requests that name it.";
    first_packet: U64, "", "Record of its first announcement.";
    last_packet: U64, "", "Record of its last.";
    t_first_ns: I64 ? null, "ns", "When the first came, since the trace's start.";
    t_last_ns: I64 ? null, "ns", "When the last came.";
} }
