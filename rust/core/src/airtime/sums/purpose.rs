//! What a frame's airtime was for. The names and their order are those of `PURPOSES` in Python.

use crate::table::frames::{SUBTYPES, TYPES};

pub const PURPOSES: usize = 12;

pub const DELIVERED: u8 = 0;
pub const UNPROVEN: u8 = 1;
pub const GROUP: u8 = 2;
pub const RETRY: u8 = 3;
const ACKNOWLEDGEMENT: u8 = 4;
const RESERVATION: u8 = 5;
const CONTROL: u8 = 6;
const BEACON: u8 = 7;
const PROBE: u8 = 8;
const MANAGEMENT: u8 = 9;
pub const DAMAGED: u8 = 10;
pub const UNKNOWN: u8 = 11;

pub const NAMES: [&str; PURPOSES] = [
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
];

/// Purpose by subtype; data may still become a retry or unproven.
fn by_subtype(name: &str) -> Option<u8> {
    Some(match name {
        "data" | "data_cf_ack" | "data_cf_poll" | "data_cf_ack_cf_poll" => DELIVERED,
        "qos_data" | "qos_data_cf_ack" | "qos_data_cf_poll" | "qos_data_cf_ack_cf_poll" => DELIVERED,
        "ack" | "block_ack" | "block_ack_request" => ACKNOWLEDGEMENT,
        "rts" | "cts" => RESERVATION,
        "beacon" | "dmg_beacon" | "s1g_beacon" => BEACON,
        "probe_request" | "probe_response" => PROBE,
        _ => return None,
    })
}

/// Purpose by type for all other subtypes; data frames without data signal power save.
fn by_type(name: &str) -> u8 {
    match name {
        "management" => MANAGEMENT,
        "control" | "data" => CONTROL,
        _ => UNKNOWN,
    }
}

/// Purpose of each value of a batch's dictionary of types.
pub fn of_types(values: &[&str]) -> Vec<u8> {
    values.iter().map(|name| if TYPES.contains(name) { by_type(name) } else { UNKNOWN }).collect()
}

/// Purpose of each value of a batch's dictionary of subtypes, where the subtype decides.
pub fn of_subtypes(values: &[&str]) -> Vec<Option<u8>> {
    values.iter().map(|name| SUBTYPES.contains(name).then(|| by_subtype(name)).flatten()).collect()
}

/// Whether frames of a purpose are acknowledged, so that their exchange shows whether they failed.
pub fn answered(purpose: u8) -> bool {
    matches!(purpose, DELIVERED | PROBE | MANAGEMENT | CONTROL)
}
