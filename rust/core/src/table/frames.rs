//! `frames`: one row an 802.11 frame.

use rustc_hash::FxHashMap;

use super::column::DictCol;
use super::packets::STOPS;
use crate::frame::{control, Frame, Mac};

pub const TYPES: &[&str] = &["management", "control", "data", "extension"];
/// In the order of `Phy`.
pub const PHYS: &[&str] = &["b", "g", "a", "n", "ac", "ax", "be"];
/// In the order of `Carries`.
pub const CARRIES: &[&str] =
    &["tcp_data", "tcp_ack", "udp", "other_ip", "other", "management", "control", "null", "protected"];
/// Names by type << 4 | subtype (IEEE 802.11-2020 Table 9-1); "" where reserved.
pub const SUBTYPES: &[&str] = &[
    "assoc_request",
    "assoc_response",
    "reassoc_request",
    "reassoc_response",
    "probe_request",
    "probe_response",
    "timing_advertisement",
    "reserved_mgmt_7",
    "beacon",
    "atim",
    "disassoc",
    "auth",
    "deauth",
    "action",
    "action_no_ack",
    "reserved_mgmt_15",
    "reserved_ctl_0",
    "reserved_ctl_1",
    "trigger",
    "tack",
    "beamforming_report_poll",
    "ndp_announcement",
    "control_extension",
    "control_wrapper",
    "block_ack_request",
    "block_ack",
    "ps_poll",
    "rts",
    "cts",
    "ack",
    "cf_end",
    "cf_end_cf_ack",
    "data",
    "data_cf_ack",
    "data_cf_poll",
    "data_cf_ack_cf_poll",
    "null",
    "cf_ack",
    "cf_poll",
    "cf_ack_cf_poll",
    "qos_data",
    "qos_data_cf_ack",
    "qos_data_cf_poll",
    "qos_data_cf_ack_cf_poll",
    "qos_null",
    "reserved_data_13",
    "qos_cf_poll",
    "qos_cf_ack_cf_poll",
    "dmg_beacon",
    "s1g_beacon",
    "reserved_ext_2",
    "reserved_ext_3",
    "reserved_ext_4",
    "reserved_ext_5",
    "reserved_ext_6",
    "reserved_ext_7",
    "reserved_ext_8",
    "reserved_ext_9",
    "reserved_ext_10",
    "reserved_ext_11",
    "reserved_ext_12",
    "reserved_ext_13",
    "reserved_ext_14",
    "reserved_ext_15",
];

define_table! {
    FrameRows, FRAMES, "frames",
    "One row an 802.11 frame.", {
    packet: U64, "", "Number of the record in its file, from 1: Wireshark's frame.number.";
    time: Time ? null, "", "When the tap stamped it, in the capture's own clock.";
    t_ns: I64 ? null, "ns", "Time since the trace's start on its common axis.";
    mpdu_bytes: U32, "bytes", "Length of the MPDU on the air, its FCS counted whether captured or not.";
    r#type: Enum(TYPES) ? null, "", "Frame type.";
    subtype: Enum(SUBTYPES) ? null, "", "Frame subtype.";
    ta: Dict ? null, "", "Transmitter address; control frames such as ACK and CTS have none.";
    ra: Dict ? null, "", "Receiver address.";
    da: Dict ? null, "", "Destination address, by To DS and From DS.";
    sa: Dict ? null, "", "Source address, by To DS and From DS.";
    bssid: Dict ? null, "", "Basic service set.";
    seq: U16 ? null, "", "Sequence number.";
    fragment: U8 ? null, "", "Fragment number.";
    tid: U8 ? null, "", "Traffic identifier of a QoS frame.";
    retry: Bool ? null, "", "Retry bit.";
    more_fragments: Bool ? null, "", "More fragments follow.";
    protected: Bool ? null, "", "Protected: the body is encrypted.";
    to_ds: Bool ? null, "", "To the distribution system.";
    from_ds: Bool ? null, "", "From the distribution system.";
    duration_us: U16 ? null, "us", "Time that the frame reserves behind itself (its NAV); null where the field holds an AID.";
    fcs_ok: Bool ? null, "", "Whether the frame check sequence was right; null where nobody can say.";
    phy: Enum(PHYS) ? null, "", "The PHY by its amendment's letter.";
    rate_mbps: F64 ? null, "Mbit/s", "Data rate.";
    mcs: U8 ? null, "", "MCS index; for n it counts streams too, 0 to 76.";
    streams: U8 ? null, "", "Spatial streams.";
    width_mhz: U16 ? null, "MHz", "Channel width of the PPDU.";
    guard_ns: U16 ? null, "ns", "Guard interval.";
    channel_mhz: U16 ? null, "MHz", "Centre of the primary channel.";
    signal_dbm: I8 ? null, "dBm", "Signal at the sniffer.";
    noise_dbm: I8 ? null, "dBm", "Noise at the sniffer.";
    antenna: U8 ? null, "", "Antenna of the sniffer.";
    tsf_us: U64 ? null, "us", "The sniffer's MAC clock when the frame came.";
    ampdu: U32 ? null, "", "Number that all MPDUs of one A-MPDU share; null outside A-MPDUs.";
    amsdu: Bool ? null, "", "The MPDU holds an A-MSDU; null without a QoS field or a body.";
    airtime_us: F64 ? null, "us", "Time on the air by the standard's TXTIME; an A-MPDU's preamble is its first MPDU's. Null where metadata is missing.";
    ifs_us: F64 ? null, "us", "Idle time between the end of the frame before and the start of this one.";
    carries: Enum(CARRIES) ? null, "", "What the frame carries; null where it cannot be read.";
    ip_packet: U64 ? null, "", "Number of the row in `packets` that the frame holds (an A-MSDU: of all its rows).";
    stop: Enum(STOPS) ? null, "", "Why decoding of the MAC header ended early; null when it did not.";
} }

/// Pushes frames into rows, remembering each address's key in the batch's dictionary.
#[derive(Debug, Default)]
pub struct FrameTable {
    rows: FrameRows,
    keys: [FxHashMap<u64, i32>; 5],
    len: usize,
}

impl FrameTable {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Append one frame; `start_ns` is the trace's start.
    pub fn push(&mut self, f: &Frame, start_ns: i64) {
        if self.len == 0 {
            self.rows.reserve(crate::limits::BATCH_ROWS);
        }
        self.len += 1;
        let r = &mut self.rows;
        r.packet.push(f.number);
        r.time.push_opt(f.time_ns);
        r.t_ns.push_opt(f.time_ns.and_then(|t| t.checked_sub(start_ns)));
        r.mpdu_bytes.push(f.mpdu_bytes);
        r.r#type.push_opt(f.kind().map(|k| (k >> 2) as i8));
        r.subtype.push_opt(f.control.map(|c| ((c & control::TYPE) << 2 | (c & control::SUBTYPE) >> 4) as i8));
        let [ta, ra, da, sa, bssid] = &mut self.keys;
        push_address(&mut r.ta, ta, f.ta());
        push_address(&mut r.ra, ra, f.ra());
        push_address(&mut r.da, da, f.da());
        push_address(&mut r.sa, sa, f.sa());
        push_address(&mut r.bssid, bssid, f.bssid());
        r.seq.push_opt(f.seq());
        r.fragment.push_opt(f.fragment());
        r.tid.push_opt(f.tid());
        r.retry.push_opt(f.flag(control::RETRY));
        r.more_fragments.push_opt(f.flag(control::MORE_FRAGMENTS));
        r.protected.push_opt(f.flag(control::PROTECTED));
        r.to_ds.push_opt(f.flag(control::TO_DS));
        r.from_ds.push_opt(f.flag(control::FROM_DS));
        r.duration_us.push_opt(f.duration.filter(|d| d & 0x8000 == 0));
        r.fcs_ok.push_opt(f.fcs_ok);
        let radio = &f.radio;
        let ppdu = &radio.ppdu;
        r.phy.push_opt(ppdu.phy.map(|p| p as i8));
        r.rate_mbps.push_opt(ppdu.rate_mbps);
        r.mcs.push_opt(ppdu.mcs);
        r.streams.push_opt(ppdu.streams);
        r.width_mhz.push_opt(ppdu.width_mhz);
        r.guard_ns.push_opt(ppdu.guard_ns);
        r.channel_mhz.push_opt(ppdu.channel_mhz);
        r.signal_dbm.push_opt(radio.signal_dbm);
        r.noise_dbm.push_opt(radio.noise_dbm);
        r.antenna.push_opt(radio.antenna);
        r.tsf_us.push_opt(radio.tsf_us);
        r.ampdu.push_opt(radio.ampdu);
        r.amsdu.push_opt(f.amsdu());
        r.airtime_us.push_opt(f.airtime_ns.map(|t| f64::from(t) / 1e3));
        r.ifs_us.push_opt(f.ifs_ns.map(|t| t as f64 / 1e3));
        r.carries.push_enum(f.carries as i8);
        r.ip_packet.push_opt(f.ip_packet.then_some(f.number));
        r.stop.push_enum(f.stop as i8);
    }

    /// Fill in an idle time that was found after its row was pushed.
    pub fn set_ifs(&mut self, row: usize, ifs_ns: i64) {
        self.rows.ifs_us.set(row, Some(ifs_ns as f64 / 1e3));
    }

    /// The rows as one batch; the table is empty afterwards.
    pub fn finish(&mut self) -> arrow_array::RecordBatch {
        self.keys.iter_mut().for_each(FxHashMap::clear);
        self.len = 0;
        self.rows.finish()
    }
}

/// Append an address by its key in the batch's dictionary.
#[inline]
fn push_address(column: &mut DictCol, keys: &mut FxHashMap<u64, i32>, address: Option<Mac>) {
    let key = address.map(|m| *keys.entry(number(m)).or_insert_with(|| column.intern(text(m))));
    column.push_key(key);
}

/// A MAC address as a number, which hashes faster.
#[inline]
fn number([a, b, c, d, e, f]: Mac) -> u64 {
    u64::from(u32::from_be_bytes([a, b, c, d])) << 16 | u64::from(u16::from_be_bytes([e, f]))
}

/// A MAC address as Wireshark writes it.
pub fn text(m: Mac) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(17);
    for (i, byte) in m.into_iter().enumerate() {
        if i > 0 {
            text.push(':');
        }
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 0xf)]));
    }
    text
}
