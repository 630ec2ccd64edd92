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
    NoPackets, "no_packets", Info, "the capture holds no packet";
    NoTime, "no_time", Loss, "packets that the file stores without a time stamp (simple packet blocks); time is null";
    FractionOverSecond, "fraction_over_a_second", Info, "time stamps whose fraction is between one and two seconds; the second was carried";
    TimeBefore1970, "time_before_1970", Info, "time stamps before 1970";
    EmptyRecords, "empty_records", Info, "records without a single captured byte";
    EmptyRun, "empty_run", Loss, "an endless run of empty records or blocks: reading stopped there";
    ZeroRun, "zero_run", Loss, "zero bytes where records should be (preallocated or lost space) were skipped; the count is bytes";
    BytesSkipped, "bytes_skipped", Loss, "bytes that are no record were skipped up to the next plausible one; the count is bytes";
    RestUnreadable, "rest_unreadable", Loss, "the framing is damaged and no later record was found: the rest of the file was not read";
    OversizedRecord, "oversized_record", Loss, "a record larger than capture programs write was cut to 262144 bytes";
    CaptureOverWire, "captured_over_wire", Error, "records with more captured bytes than the length on the wire that they claim";
    WireLengthImplausible, "wire_length_implausible", Error, "records claim a length on the wire that no link carries";
    OverSnaplen, "over_snaplen", Info, "records longer than the snap length that the file states";
    SecondHeader, "second_header", Info, "another file header follows in mid file (captures were concatenated); both were read";
    ReadFailed, "read_failed", Loss, "the operating system reported an error in mid file; everything before it was read";
    ReaderFailed, "reader_failed", Loss, "the reader of this container failed in mid file; everything before it was read";
    CompressedCut, "compressed_cut", Loss, "the compressed file ends too early; everything before was read";
    CompressedDamaged, "compressed_damaged", Loss, "the compressed data is damaged; everything before was read";
    ChecksumWrong, "checksum_wrong", Error, "the checksum of the compressed file is wrong: packets may be damaged";
    TrailingBytes, "trailing_bytes", Info, "bytes behind the end of the data were ignored";
    BlockDamaged, "block_damaged", Loss, "pcapng blocks whose length cannot be true were skipped up to the next sound block";
    BlockTrailer, "block_trailer", Error, "pcapng blocks whose two lengths differ; the first one was believed";
    BlockShort, "block_short", Loss, "blocks or records too short for their fixed fields were lost";
    BlockSkipped, "block_skipped", Info, "blocks or records that hold no packets (names, secrets, custom data) were skipped";
    PacketOverBlock, "packet_over_block", Loss, "packets that claim more bytes than their block or record holds; the bytes there were kept";
    UnknownInterface, "unknown_interface", Loss, "packets of an interface that the file does not describe were lost";
    TooManyInterfaces, "too_many_interfaces", Loss, "more interfaces than can be followed: packets of the later ones are lost";
    OptionsDamaged, "options_damaged", Loss, "options that run past their block were dropped";
    OptionsCapped, "options_capped", Info, "more options or texts than are kept; the packets are complete";
    SectionLength, "section_length", Error, "a section's length contradicts its blocks; the blocks were believed";
    SectionUnreadable, "section_unreadable", Loss, "a pcapng section of an unknown version was not read";
    TapDropped, "tap_dropped", Loss, "packets that the capturing system itself says it dropped";
    DropsImplausible, "drops_implausible", Error, "a count of dropped packets that cannot be true was ignored";
    RecordsMissing, "records_missing", Loss, "the file header counts more packets than the file holds";
    LocalTime, "local_time", Info, "the format gives local time without its zone; it was taken for UTC";
    NoDate, "no_date", Error, "the capture's date is none: times count from 1970-01-01, their distances are right";
    UnsupportedLinkType, "unsupported_link_type", Loss, "records of an interface whose link type has no decoder were skipped";
    AckedUnseen, "acked_unseen", Loss, "ACKs of data that the capture never held: the tap missed packets";
    SequenceJump, "sequence_jump", Info, "sequence numbers farther apart than any window: the segment is kept, but not followed";
    LateEvidence, "late_evidence", Info, "retransmissions whose need was proved only after their rows had been written stay undecided";
    TooManyNetworks, "too_many_networks", Info, "announcements of more networks than are told apart; their frames are counted all the same";
    FlowEvicted, "flow_evicted", Info, "connections closed early to keep memory flat";
    SnaplenCut, "snaplen_cut", Info, "headers cut short by the snap length";
    LengthLies, "length_lies", Info, "a header whose length contradicts the packet; decoding stopped there";
    BadHeader, "bad_header", Info, "a header with an impossible field; decoding stopped there";
    TooDeep, "too_deep", Info, "headers nested deeper than any real network nests them";
    Encrypted, "encrypted", Info, "frames encrypted at the link layer; the packets inside are not in the tables";
    Tunnel, "tunnel", Info, "IP packets inside IP packets; the innermost is the row";
    WscaleTooLarge, "wscale_too_large", Info, "a window scale above 14, taken as 14 (RFC 7323 section 2.3)";
    SackBlockInvalid, "sack_block_invalid", Info, "a SACK block that is empty or runs backwards was dropped";
    TcpOptionMalformed, "tcp_option_malformed", Info, "a TCP option whose length does not fit its kind was passed over";
    BadFcs, "bad_fcs", Info, "802.11 frames with a wrong frame check sequence; a row only where the IPv4 header checksum is right";
    FcsFound, "fcs_found", Info, "frames end with a frame check sequence that the capture does not announce: it was found by its value, and checked from there on";
    NoFrame, "no_frame", Info, "PPDUs whose frame was not captured, or that held none (sounding)";
    RadioImplausible, "radio_implausible", Info, "values in radio headers that no radio measures or sends (a signal above +30 dBm, an MCS that its PHY does not have); they are null";
    TsfBackwards, "tsf_backwards", Info, "the sniffer's MAC clock steps backwards from frame to frame: it was set, it wrapped, or the frames are out of order";
    ElementsMalformed, "elements_malformed", Info, "management frames whose elements run past their end, or whose fixed fields are cut short; their MAC header was read";
    SsidTooLong, "ssid_too_long", Info, "management frames with an SSID longer than 32 bytes, which the standard forbids";
    S1g, "s1g", Info, "sub-gigahertz frames (802.11ah), whose PHY is not decoded: phy and rate_mbps are null";
    WlanFragment, "wlan_fragment", Info, "fragments of 802.11 MSDUs that could not be put together: others are missing or cut";
    Decrypted, "decrypted", Info, "frames decrypted with the keys given";
    NothingDecrypted, "nothing_decrypted", Error, "no frame could be decrypted with the keys given; the notes beside this one say why";
    HandshakeUnfit, "handshake_unfit", Loss, "stations whose 4-way handshake fits none of the keys given: check passphrase and network name (wpa-pwd:PASSPHRASE:SSID), letter case too";
    WrongKey, "wrong_key", Loss, "encrypted frames of stations whose 4-way handshake fits none of the keys given: check passphrase and network name";
    OtherNetwork, "other_network", Loss, "encrypted frames of networks that no key given names; if one was meant, check the network name in its key";
    WrongWepKey, "wrong_wep_key", Loss, "WEP frames that none of the WEP keys given decrypts: check the digits (wep:HEX)";
    BeforeHandshake, "before_handshake", Loss, "encrypted frames without the 4-way handshake of their station before them: no key can decrypt them; capture while the station joins the network";
    NetworkUnnamed, "network_unnamed", Loss, "encrypted frames of a network whose name the capture does not tell, which a passphrase needs: give wpa-pwd:PASSPHRASE:SSID";
    DecryptionFailed, "decryption_failed", Loss, "encrypted frames of stations with known keys whose integrity check fails: damaged, or under a key agreed on while the tap missed it";
    MichaelFailed, "michael_failed", Error, "TKIP frames whose message integrity code is wrong, as receivers discard them; the packets inside are not in the tables";
    Wpa3Unread, "wpa3_unread", Loss, "frames encrypted with WPA3 (SAE) or OWE, which cannot be read yet: a passphrase does not give their keys";
    GcmpUnread, "gcmp_unread", Loss, "frames encrypted with GCMP, which cannot be read yet";
    FastTransitionUnread, "fast_transition_unread", Loss, "frames encrypted under keys of fast BSS transition (802.11r), which cannot be read yet";
    EnterpriseUnread, "enterprise_unread", Loss, "frames encrypted under keys of an authentication server (802.1X): only the PMK of the session (wpa-psk:HEX) and its 4-way handshake decrypt them";
    KeysCapped, "keys_capped", Loss, "more networks, stations or handshakes than are followed or tried: some frames stay encrypted";
    RadiotapMalformed, "radiotap_malformed", Info, "a radiotap header whose fields do not fit in it; the frame behind it was read";
    AirtimeUnknown, "airtime_unknown", Info, "802.11 frames of which the capture does not say enough to know their time on the air; airtime_us is null";
    AirtimeAssumes, "airtime_assumes", Info, "802.11 frames whose capture header leaves options of the transmitter out (STBC, greenfield, extension streams, LDPC, DCM, Doppler); airtime_us takes them for not used";
    PacketExtensionUntold, "packet_extension_untold", Info, "HE or EHT frames whose packet extension (0 to 16 us, EHT 20 us) the capture does not tell; airtime_us is without it";
    StampUndecided, "stamp_undecided", Info, "802.11 frames whose idle time before them is null: responses do not tell which instant the stamps name";
    FramesOverlap, "frames_overlap", Info, "802.11 frames whose stamp lies before the end of the frame before them; ifs_us is null";
    PpiMalformed, "ppi_malformed", Info, "a PPI header whose fields do not fit in it; the frame behind it was read";
    MissingSequence, "missing_sequence", Loss, "802.11 sequence numbers that were used and never captured: the sniffer missed their frames";
    SequenceSkipped, "sequence_skipped", Info, "802.11 sequence counters that jumped too far to say what is missing";
    LoneAck, "lone_ack", Loss, "802.11 ACKs of frames that the sniffer did not capture, or captured damaged";
    BlockAckMalformed, "block_ack_malformed", Info, "Block Acks of an unknown form or cut short; what could be read counts";
    NoSequence, "no_sequence", Info, "802.11 data and management frames cut before their sequence number: they are in no exchange";
    ExchangesEvicted, "exchanges_evicted", Info, "802.11 exchanges settled early, or not made of missing frames, to keep memory flat";
    UsbHeaderCut, "usb_header_cut", Loss, "USB records too short for the header of their link type; what was there was read";
    UsbLengthLies, "usb_length_lies", Error, "USB records whose header claims lengths that cannot be true; only the record's own bytes were believed";
    UsbTimeImplausible, "usb_time_implausible", Error, "usbmon headers with an impossible time; the container's stamp was used";
    UsbUnknownEvent, "usb_unknown_event", Info, "USB records of an unknown event or transfer type; the columns are null";
    UsbFrameSplit, "usb_frame_split", Info, "IP packets that go on in the next USB transfer; their first part is the row";
    UrbUnsubmitted, "urb_unsubmitted", Info, "URBs that completed without a captured submission (USBPcap of old leaves out records without data)";
    UrbIncomplete, "urb_incomplete", Info, "URBs whose completion was not captured (USBPcap of old leaves out records without data)";
    UrbEvicted, "urb_evicted", Info, "URBs given up early to keep memory flat: a later completion stands alone";
    UsbmonText, "usbmon_text", Info, "usbmon text keeps 32 bytes of a transfer and a clock that begins again after little more than an hour; times count from an unknown day";
    UsbmonLine, "usbmon_line", Loss, "lines that are no usbmon record were skipped";
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
