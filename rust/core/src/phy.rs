//! The parameters of a PPDU in the capture: what a receiver's radio reports with the frame.

pub mod rates;

/// The PHY, by its amendment's letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum Phy {
    /// DSSS and HR/DSSS (IEEE 802.11-2020 clauses 15 and 16).
    B = 0,
    /// ERP-OFDM (clause 18).
    G = 1,
    /// OFDM (clause 17).
    A = 2,
    /// HT (clause 19).
    N = 3,
    /// VHT (clause 21).
    Ac = 4,
    /// HE (IEEE 802.11ax-2021 clause 27).
    Ax = 5,
    /// EHT (IEEE 802.11be clause 36).
    Be = 6,
}

/// The PPDU formats of HE and EHT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Su,
    /// Extended range single user (HE only).
    ErSu,
    Mu,
    /// Triggered by the access point.
    Tb,
}

/// The instant of the frame that a timestamp marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampAt {
    /// The first bit of the PPDU.
    PpduStart,
    /// The end of the header that the receiver must read before it reports the frame to its MAC (PHY-RXSTART):
    /// PLCP header, SIGNAL, HT-SIG, VHT-SIG-A, HE-SIG-A, U-SIG.
    HeaderEnd,
    /// The first bit of the MPDU, after the whole preamble.
    MpduStart,
    /// The last bit of the PPDU.
    PpduEnd,
}

/// One PPDU's parameters; None if not in the capture.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ppdu {
    pub phy: Option<Phy>,
    /// Data rate; of one user if there are several.
    pub rate_mbps: Option<f64>,
    /// MCS index; HT's 0..=76 includes the number of streams.
    pub mcs: Option<u8>,
    /// Spatial streams.
    pub streams: Option<u8>,
    /// 5, 10, 20, 22 (DSSS), 40, 80, 160, 320.
    pub width_mhz: Option<u16>,
    pub guard_ns: Option<u16>,
    /// Centre of the primary channel.
    pub channel_mhz: Option<u16>,
    /// DSSS: the short preamble.
    pub short_preamble: Option<bool>,
    /// HT: the greenfield format.
    pub greenfield: Option<bool>,
    /// Space-time streams above spatial streams (HT), or 1 for on (VHT, HE).
    pub stbc: Option<u8>,
    pub ldpc: Option<bool>,
    /// HT: extension spatial streams.
    pub extension_streams: Option<u8>,
    /// HE and EHT.
    pub format: Option<Format>,
    /// HE and EHT: number of LTF symbols.
    pub ltf_symbols: Option<u8>,
    /// HE and EHT: 1, 2 or 4 times 3.2 us.
    pub ltf_size: Option<u8>,
    /// HE and EHT: tones of the user's resource unit; None for the full width.
    pub ru_tones: Option<u16>,
    /// HE-SIG-B or EHT-SIG: OFDM symbols.
    pub sig_symbols: Option<u8>,
    /// VHT, HE and EHT: number of users of the PPDU.
    pub users: Option<u8>,
    /// HE: dual carrier modulation.
    pub dcm: Option<bool>,
    /// HE and EHT: data symbols between midambles (10 or 20); 0 without Doppler.
    pub midamble_symbols: Option<u8>,
    /// HE and EHT: duration of the packet extension.
    pub packet_extension_us: Option<u8>,
    /// HE and EHT: the PE Disambiguity bit.
    pub pe_disambiguity: Option<bool>,
    /// LENGTH of the L-SIG field of HT mixed, VHT, HE and EHT: it spoofs the PPDU's duration.
    pub l_sig_bytes: Option<u16>,
}

/// What the receiver's radio reports about a frame (radiotap, Prism, AVS, PPI, Sniffer).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Radio {
    pub ppdu: Ppdu,
    /// The MAC's clock when the frame arrived (Prism and AVS clocks are converted to microseconds).
    pub tsf_us: Option<u64>,
    /// The radio's own clock if the marked instant is known (radiotap's timestamp field); often another
    /// clock than the TSF, and of 32 bits. Only differences are meaningful.
    pub stamp_ns: Option<u64>,
    /// The instant that `stamp_ns` marks; None: not in the capture.
    pub stamp_at: Option<StampAt>,
    pub signal_dbm: Option<i8>,
    pub noise_dbm: Option<i8>,
    pub antenna: Option<u8>,
    /// The reference number that all MPDUs of one A-MPDU share.
    pub ampdu: Option<u32>,
    /// The last MPDU of its A-MPDU, if the capture contains this.
    pub ampdu_last: Option<bool>,
    /// Sent by the capturing host itself (radiotap TX flags): not received, and its rate may only be requested.
    pub transmitted: bool,
}
