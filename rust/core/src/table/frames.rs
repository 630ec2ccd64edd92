//! `frames`: one row per 802.11 frame.

use super::column::DictCol;
use super::keys::Keys;
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
    "One row per 802.11 frame.", {
    packet: U64, "", "Number of the record in its file, from 1: Wireshark's frame.number.";
    time: Time ? null, "", "Timestamp of the capture in its own clock; null when it cannot be represented.";
    t_ns: I64 ? null, "ns", "Time since the trace's start on its common axis.";
    mpdu_bytes: U32, "bytes", "Length of the MPDU on the air with its FCS, whether the FCS was captured or not.";
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
    duration_us: U16 ? null, "us", "Duration field: time after this frame that it reserves (NAV); null where the field is an AID.";
    fcs_ok: Bool ? null, "", "Whether the frame check sequence is right; null where it is unknown.";
    phy: Enum(PHYS) ? null, "", "PHY, by the letter of its amendment to IEEE 802.11.";
    rate_mbps: F64 ? null, "Mbit/s", "Data rate.";
    mcs: U8 ? null, "", "MCS index; for 802.11n it includes the number of streams, 0 to 76.";
    streams: U8 ? null, "", "Spatial streams.";
    width_mhz: U16 ? null, "MHz", "Channel width of the PPDU.";
    guard_ns: U16 ? null, "ns", "Guard interval.";
    channel_mhz: U16 ? null, "MHz", "Centre of the primary channel.";
    signal_dbm: I8 ? null, "dBm", "Signal at the sniffer.";
    noise_dbm: I8 ? null, "dBm", "Noise at the sniffer.";
    antenna: U8 ? null, "", "Antenna of the sniffer.";
    tsf_us: U64 ? null, "us", "MAC clock (TSF timer) of the sniffer when the frame arrived.";
    ampdu: U32 ? null, "", "Number that all MPDUs of one A-MPDU share; null outside A-MPDUs.";
    amsdu: Bool ? null, "", "Whether the MPDU holds an A-MSDU; null without a QoS field or a body.";
    airtime_us: F64 ? null, "us", "Time on the air, the standard's TXTIME, with 6 us of signal extension at 2.4 GHz. The preamble of an A-MPDU is part of its first MPDU. A packet extension (HE, EHT) is included only where the capture contains it. Null where the capture does not contain all parameters.";
    ifs_us: F64 ? null, "us", "Idle time between the end of the previous PPDU and the start of this one; null inside an A-MPDU and where it is unknown which instant the timestamps mark.";
    carries: Enum(CARRIES) ? null, "", "Payload of the frame; null where it cannot be read.";
    body_digest: U32 ? null, "", "Hash of the body's first 32 bytes as transmitted, which identifies a frame that two sniffers captured; null where these bytes were not captured.";
    ip_packet: U64 ? null, "", "Number of the record in `packets` that the frame holds; all rows of an A-MSDU have this number.";
    stop: Enum(STOPS) ? null, "", "Why decoding of the MAC header ended early; null when it did not.";
} }

/// Frames converted to columns at a time: few enough to stay in the first-level cache.
const BLOCK: usize = 64;

/// One frame of a block.
#[derive(Debug)]
struct Row {
    frame: Frame,
    t_ns: Option<i64>,
    /// Keys of its transmitter, receiver, destination, source and basic service set.
    macs: [Option<i32>; 5],
}

/// Pushes frames into columns, keeping each address's key in the batch's dictionary.
#[derive(Debug, Default)]
pub struct FrameTable {
    columns: FrameRows,
    block: Vec<Row>,
    keys: [Keys<u64>; 5],
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
            self.columns.reserve(crate::limits::BATCH_ROWS);
            self.block.reserve(BLOCK);
        }
        self.len += 1;
        let c = &mut self.columns;
        let [ta, ra, da, sa, bssid] = &mut self.keys;
        let macs = [
            f.ta().map(|m| key(ta, m, &mut c.ta)),
            f.ra().map(|m| key(ra, m, &mut c.ra)),
            f.da().map(|m| key(da, m, &mut c.da)),
            f.sa().map(|m| key(sa, m, &mut c.sa)),
            f.bssid().map(|m| key(bssid, m, &mut c.bssid)),
        ];
        self.block.push(Row { frame: *f, t_ns: f.time_ns.and_then(|t| t.checked_sub(start_ns)), macs });
        if self.block.len() >= BLOCK {
            self.write_block();
        }
    }

    fn write_block(&mut self) {
        let (c, rows) = (&mut self.columns, &self.block[..]);
        c.packet.fill(rows, |r| r.frame.number);
        c.time.fill_opt(rows, |r| r.frame.time_ns);
        c.t_ns.fill_opt(rows, |r| r.t_ns);
        c.mpdu_bytes.fill(rows, |r| r.frame.mpdu_bytes);
        c.r#type.fill_opt(rows, |r| r.frame.kind().map(|k| (k >> 2) as i8));
        c.subtype.fill_opt(rows, |r| {
            r.frame.control.map(|c| ((c & control::TYPE) << 2 | (c & control::SUBTYPE) >> 4) as i8)
        });
        c.ta.fill_keys(rows, |r| r.macs[0]);
        c.ra.fill_keys(rows, |r| r.macs[1]);
        c.da.fill_keys(rows, |r| r.macs[2]);
        c.sa.fill_keys(rows, |r| r.macs[3]);
        c.bssid.fill_keys(rows, |r| r.macs[4]);
        c.seq.fill_opt(rows, |r| r.frame.seq());
        c.fragment.fill_opt(rows, |r| r.frame.fragment());
        c.tid.fill_opt(rows, |r| r.frame.tid());
        c.retry.fill_opt(rows, |r| r.frame.flag(control::RETRY));
        c.more_fragments.fill_opt(rows, |r| r.frame.flag(control::MORE_FRAGMENTS));
        c.protected.fill_opt(rows, |r| r.frame.flag(control::PROTECTED));
        c.to_ds.fill_opt(rows, |r| r.frame.flag(control::TO_DS));
        c.from_ds.fill_opt(rows, |r| r.frame.flag(control::FROM_DS));
        c.duration_us.fill_opt(rows, |r| r.frame.duration.filter(|d| d & 0x8000 == 0));
        c.fcs_ok.fill_opt(rows, |r| r.frame.fcs_ok);
        c.phy.fill_opt(rows, |r| r.frame.radio.ppdu.phy.map(|p| p as i8));
        c.rate_mbps.fill_opt(rows, |r| r.frame.radio.ppdu.rate_mbps);
        c.mcs.fill_opt(rows, |r| r.frame.radio.ppdu.mcs);
        c.streams.fill_opt(rows, |r| r.frame.radio.ppdu.streams);
        c.width_mhz.fill_opt(rows, |r| r.frame.radio.ppdu.width_mhz);
        c.guard_ns.fill_opt(rows, |r| r.frame.radio.ppdu.guard_ns);
        c.channel_mhz.fill_opt(rows, |r| r.frame.radio.ppdu.channel_mhz);
        c.signal_dbm.fill_opt(rows, |r| r.frame.radio.signal_dbm);
        c.noise_dbm.fill_opt(rows, |r| r.frame.radio.noise_dbm);
        c.antenna.fill_opt(rows, |r| r.frame.radio.antenna);
        c.tsf_us.fill_opt(rows, |r| r.frame.radio.tsf_us);
        c.ampdu.fill_opt(rows, |r| r.frame.radio.ampdu);
        c.amsdu.fill_opt(rows, |r| r.frame.amsdu());
        c.airtime_us.fill_opt(rows, |r| r.frame.airtime_ns.map(|t| f64::from(t) / 1e3));
        c.ifs_us.fill_opt(rows, |r| r.frame.ifs_ns.map(|t| t as f64 / 1e3));
        c.carries.fill_enum(rows, |r| r.frame.carries as i8);
        c.body_digest.fill_opt(rows, |r| r.frame.body_digest);
        c.ip_packet.fill_opt(rows, |r| r.frame.ip_packet.then_some(r.frame.number));
        c.stop.fill_enum(rows, |r| r.frame.stop as i8);
        self.block.clear();
    }

    /// Set an idle time that was computed after its row was pushed.
    pub fn set_ifs(&mut self, row: usize, ifs_ns: i64) {
        match row.checked_sub(self.len - self.block.len()).and_then(|at| self.block.get_mut(at)) {
            Some(row) => row.frame.ifs_ns = Some(ifs_ns),
            None => self.columns.ifs_us.set(row, Some(ifs_ns as f64 / 1e3)),
        }
    }

    /// The rows as one batch; the table is empty afterwards.
    pub fn finish(&mut self) -> arrow_array::RecordBatch {
        self.write_block();
        self.keys.iter_mut().for_each(Keys::clear);
        self.len = 0;
        self.columns.finish()
    }
}

#[inline]
fn key(keys: &mut Keys<u64>, mac: Mac, column: &mut DictCol) -> i32 {
    let number = number(mac);
    keys.get(number, number as u32, column, |_| text(mac))
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
