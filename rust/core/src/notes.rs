//! Named counts of what was odd in a capture: the user must see every loss, and where it began.

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; no data is missing.
    Info,
    /// Something could not be read and is missing from the tables.
    Loss,
    /// The capture contradicts itself.
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Loss => "loss",
            Severity::Error => "error",
        }
    }
}

macro_rules! notes {
    ($($variant:ident, $name:literal, $severity:ident, $sentence:literal;)*) => {
        /// What can be odd; a name, a severity and a sentence each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum NoteKind { $($variant),* }

        impl NoteKind {
            pub const ALL: &'static [NoteKind] = &[$(NoteKind::$variant),*];
            pub fn name(self) -> &'static str { match self { $(NoteKind::$variant => $name),* } }
            pub fn severity(self) -> Severity { match self { $(NoteKind::$variant => Severity::$severity),* } }
            pub fn sentence(self) -> &'static str { match self { $(NoteKind::$variant => $sentence),* } }
        }
    };
}

notes! {
    CutFile, "cut_file", Loss, "the file ends inside a record; everything before it was read";
    TimeNotRepresentable, "time_not_representable", Loss, "a time stamp outside 1677..2262 or with an impossible fraction; time is null";
    TimeBackwards, "time_backwards", Info, "time stamps run backwards; rows stay in the file's order";
    UnsupportedLinkType, "unsupported_link_type", Loss, "records of an interface whose link type has no decoder were skipped";
    SnaplenCut, "snaplen_cut", Info, "headers cut short by the snap length";
    LengthLies, "length_lies", Info, "a header whose length contradicts the packet; decoding stopped there";
    BadHeader, "bad_header", Info, "a header with an impossible field; decoding stopped there";
    TooDeep, "too_deep", Info, "headers nested deeper than any real network nests them";
    Encrypted, "encrypted", Info, "frames encrypted at the link layer; the packets inside are not in the tables";
    Tunnel, "tunnel", Info, "IP packets inside IP packets; the innermost is the row";
    WscaleTooLarge, "wscale_too_large", Info, "a window scale above 14, taken as 14 (RFC 7323 section 2.3)";
    SackBlockInvalid, "sack_block_invalid", Info, "a SACK block that is empty or runs backwards was dropped";
    TcpOptionMalformed, "tcp_option_malformed", Info, "a TCP option whose length does not fit its kind was passed over";
    BadFcs, "bad_fcs", Info, "802.11 frames with a wrong frame check sequence: noise, of which nothing is believed";
    WlanFragment, "wlan_fragment", Info, "fragments of 802.11 MSDUs, which are not put together";
    RadiotapMalformed, "radiotap_malformed", Info, "a radiotap header whose fields do not fit in it; the frame behind it was read";
    PpiMalformed, "ppi_malformed", Info, "a PPI header whose fields do not fit in it; the frame behind it was read";
}

/// One counted note.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    pub count: u64,
    /// 1-based packet at which it was first seen (0: none).
    pub first_packet: u64,
    pub first_offset: u64,
}

/// The counts of one capture.
#[derive(Debug, Clone)]
pub struct Notes {
    counts: Vec<Count>,
}

impl Default for Notes {
    fn default() -> Self {
        Notes { counts: vec![Count::default(); NoteKind::ALL.len()] }
    }
}

impl Notes {
    pub fn add(&mut self, kind: NoteKind, packet: u64, offset: u64) {
        self.add_many(kind, 1, packet, offset);
    }

    pub fn add_many(&mut self, kind: NoteKind, many: u64, packet: u64, offset: u64) {
        let c = &mut self.counts[kind as usize];
        if c.count == 0 {
            c.first_packet = packet;
            c.first_offset = offset;
        }
        c.count = c.count.saturating_add(many);
    }

    /// Add another's counts to these.
    pub fn merge(&mut self, other: &Notes) {
        for (kind, c) in other.iter() {
            self.add_many(kind, c.count, c.first_packet, c.first_offset);
        }
    }

    pub fn get(&self, kind: NoteKind) -> Count {
        self.counts[kind as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (NoteKind, Count)> + '_ {
        NoteKind::ALL.iter().map(|k| (*k, self.counts[*k as usize])).filter(|(_, c)| c.count > 0)
    }
}
