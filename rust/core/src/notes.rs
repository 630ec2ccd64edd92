//! Named counts of anomalies in a capture: each loss is visible, with its first occurrence.

/// Severity of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information; no data is missing.
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
        /// The anomalies: name, severity and sentence of each.
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
    TimeNotRepresentable, "time_not_representable", Loss, "timestamps outside the years 1677 to 2262 or with an impossible fraction; time is null";
    TimeBackwards, "time_backwards", Info, "timestamps run backwards; the rows keep the file's order";
    TimeWrapped, "time_wrapped", Info, "the 32-bit seconds of the file ran over (7 February 2106); the timestamps continue after that";
    NoPackets, "no_packets", Info, "the capture contains no packets";
    NoTime, "no_time", Loss, "packets stored without a timestamp (simple packet blocks); time is null";
    FractionOverSecond, "fraction_over_a_second", Info, "timestamps with a fraction between one and two seconds; the second was carried";
    TimeBefore1970, "time_before_1970", Info, "timestamps before 1970";
    EmptyRecords, "empty_records", Info, "records without captured bytes";
    EmptyRun, "empty_run", Loss, "too many empty records or blocks in a row; reading stopped there";
    ZeroRun, "zero_run", Loss, "zero bytes in place of records (preallocated or lost space) were skipped; the count is in bytes";
    BytesSkipped, "bytes_skipped", Loss, "bytes that are no record were skipped up to the next plausible record; the count is in bytes";
    RestUnreadable, "rest_unreadable", Loss, "the framing is damaged and no later record was found; the rest of the file was not read";
    OversizedRecord, "oversized_record", Loss, "a record larger than capture programs write was cut to 262144 bytes";
    CaptureOverWire, "captured_over_wire", Error, "records with more captured bytes than their length on the wire";
    WireLengthImplausible, "wire_length_implausible", Error, "records with a length on the wire that no link carries";
    OverSnaplen, "over_snaplen", Info, "records longer than the snap length in the file header";
    SecondHeader, "second_header", Info, "a second file header inside the file (concatenated captures); both captures were read";
    ReadFailed, "read_failed", Loss, "the operating system reported a read error inside the file; everything before it was read";
    ReaderFailed, "reader_failed", Loss, "the reader of the container failed inside the file; everything before it was read";
    CompressedCut, "compressed_cut", Loss, "the compressed file ends too early; everything before the end was read";
    CompressedDamaged, "compressed_damaged", Loss, "the compressed data is damaged; everything before the damage was read";
    ChecksumWrong, "checksum_wrong", Error, "the checksum of the compressed file is wrong; packets may be damaged";
    TrailingBytes, "trailing_bytes", Info, "bytes after the end of the data were ignored";
    BlockDamaged, "block_damaged", Loss, "pcapng blocks with an impossible length were skipped up to the next valid block";
    BlockTrailer, "block_trailer", Error, "pcapng blocks whose two lengths differ; the first one was used";
    BlockShort, "block_short", Loss, "blocks or records too short for their fixed fields were lost";
    BlockSkipped, "block_skipped", Info, "blocks or records that hold no packets (names, secrets, custom data) were skipped";
    PacketOverBlock, "packet_over_block", Loss, "packets longer than their block or record; the bytes present were kept";
    UnknownInterface, "unknown_interface", Loss, "packets of an interface that the file does not describe were lost";
    TooManyInterfaces, "too_many_interfaces", Loss, "more interfaces than the limit; packets of the later ones are lost";
    OptionsDamaged, "options_damaged", Loss, "options that extend beyond their block were dropped";
    OptionsCapped, "options_capped", Info, "more options or texts than the limit; the packets are complete";
    SectionLength, "section_length", Error, "a section's length contradicts its blocks; the blocks were used";
    SectionUnreadable, "section_unreadable", Loss, "a pcapng section of an unknown version was not read";
    TapDropped, "tap_dropped", Loss, "packets that the capturing system reported as dropped";
    DropsImplausible, "drops_implausible", Error, "an impossible count of dropped packets was ignored";
    RecordsMissing, "records_missing", Loss, "the file header counts more packets than the file holds";
    LocalTime, "local_time", Info, "the format stores local time without a time zone; it was read as UTC";
    NoDate, "no_date", Error, "the capture has no valid date; times count from 1970-01-01, and time differences are correct";
    UnsupportedLinkType, "unsupported_link_type", Loss, "records of an interface whose link type has no decoder were skipped";
    AckedUnseen, "acked_unseen", Loss, "ACKs of data that is not in the capture: the tap missed packets";
    SequenceJump, "sequence_jump", Info, "segments and ACKs with impossible numbers (beyond everything sent and the window); they are rows, and change no connection";
    LateEvidence, "late_evidence", Info, "retransmissions proved needed or spurious only after their rows were written; they stay undecided";
    TooManyNetworks, "too_many_networks", Info, "announcements of more networks than the limit; their frames are still counted";
    FlowEvicted, "flow_evicted", Info, "connections closed early to limit memory";
    SnaplenCut, "snaplen_cut", Info, "headers cut short by the snap length";
    LengthLies, "length_lies", Info, "headers whose length contradicts the packet; decoding stopped there";
    BadHeader, "bad_header", Info, "headers with an impossible field; decoding stopped there";
    TooDeep, "too_deep", Info, "headers nested more deeply than the limit; decoding stopped there";
    Encrypted, "encrypted", Info, "frames encrypted at the link layer; the packets inside are not in the tables";
    Tunnel, "tunnel", Info, "IP packets inside IP packets; the innermost packet is the row";
    WscaleTooLarge, "wscale_too_large", Info, "a window scale above 14, taken as 14 (RFC 7323 section 2.3)";
    SackBlockInvalid, "sack_block_invalid", Info, "a SACK block that is empty or runs backwards was dropped";
    TcpOptionMalformed, "tcp_option_malformed", Info, "TCP options whose length does not fit their kind were skipped";
    BadFcs, "bad_fcs", Info, "frames with a wrong frame check sequence; they have a row only where the IPv4 header checksum is correct";
    FcsUnverified, "fcs_unverified", Info, "802.11 frames with a wrong frame check sequence before any frame of the interface had a right one: it is not computed there, and the frames count as intact";
    BadChecksum, "bad_checksum", Info, "TCP packets with a wrong checksum of senders whose checksums are right before; they are rows of packets, and change no connection";
    ChecksumUnverified, "checksum_unverified", Info, "TCP packets with a wrong checksum of senders without right ones before: it is not computed at this capture point (offload), and the packets count as intact";
    FcsFound, "fcs_found", Info, "frames with a frame check sequence that the capture does not announce; it was recognised by its value and checked from there on";
    NoFrame, "no_frame", Info, "PPDUs whose frame was not captured, or that held none (sounding)";
    RadioImplausible, "radio_implausible", Info, "impossible values in radio headers (a signal above +30 dBm, an MCS that the PHY does not have); they are null";
    TsfBackwards, "tsf_backwards", Info, "the sniffer's MAC clock steps backwards between frames: it was set, it wrapped, or the frames are out of order";
    ElementsMalformed, "elements_malformed", Info, "management frames with elements that extend beyond the frame, or with fixed fields cut short; their MAC header was read";
    SsidTooLong, "ssid_too_long", Info, "management frames with an SSID longer than 32 bytes, which the standard forbids";
    S1g, "s1g", Info, "sub-gigahertz frames (802.11ah), whose PHY is not decoded: phy and rate_mbps are null";
    WlanFragment, "wlan_fragment", Info, "fragments of 802.11 MSDUs that could not be reassembled: other fragments are missing or cut";
    Decrypted, "decrypted", Info, "frames decrypted with the keys given";
    NothingDecrypted, "nothing_decrypted", Error, "no frame could be decrypted with the given keys; the other notes give the reason";
    HandshakeUnfit, "handshake_unfit", Loss, "stations whose 4-way handshake does not match any given key; check the passphrase and the network name (wpa-pwd:PASSPHRASE:SSID), including upper and lower case";
    WrongKey, "wrong_key", Loss, "encrypted frames of stations whose 4-way handshake does not match any given key; check the passphrase and the network name";
    OtherNetwork, "other_network", Loss, "encrypted frames of networks without a given key; if you gave a key for one of them, check its network name";
    WrongWepKey, "wrong_wep_key", Loss, "WEP frames that no given WEP key decrypts; check the digits (wep:HEX)";
    BeforeHandshake, "before_handshake", Loss, "encrypted frames of stations whose 4-way handshake was not captured before them, so that no key can decrypt them; capture while the station joins the network";
    NetworkUnnamed, "network_unnamed", Loss, "encrypted frames of a network whose name is not in the capture, which a passphrase needs; give wpa-pwd:PASSPHRASE:SSID";
    DecryptionFailed, "decryption_failed", Loss, "encrypted frames of stations with known keys whose integrity check fails: the frame is damaged, or its key was agreed in a handshake that the sniffer missed";
    MichaelFailed, "michael_failed", Error, "TKIP frames with a wrong message integrity code, which receivers discard; the packets inside are not in the tables";
    Wpa3Unread, "wpa3_unread", Loss, "frames encrypted with WPA3 (SAE) or OWE, which cannot be decrypted yet: a passphrase does not give their keys";
    GcmpUnread, "gcmp_unread", Loss, "frames encrypted with GCMP, which cannot be decrypted yet";
    FastTransitionUnread, "fast_transition_unread", Loss, "frames encrypted with keys of fast BSS transition (802.11r), which cannot be decrypted yet";
    EnterpriseUnread, "enterprise_unread", Loss, "frames encrypted with keys of an authentication server (802.1X); to decrypt them, give the PMK of the session (wpa-psk:HEX) and capture its 4-way handshake";
    KeysCapped, "keys_capped", Loss, "more networks, stations or handshakes than the limit; some frames stay encrypted";
    RadiotapMalformed, "radiotap_malformed", Info, "a radiotap header whose fields do not fit into it; the frame after it was read";
    AirtimeUnknown, "airtime_unknown", Info, "802.11 frames whose capture header does not contain all parameters of the time on the air; airtime_us is null";
    AirtimeAssumes, "airtime_assumes", Info, "802.11 frames whose capture header does not contain some transmitter options (STBC, greenfield, extension streams, LDPC, DCM, Doppler); airtime_us assumes that they were not used";
    PacketExtensionUntold, "packet_extension_untold", Info, "HE or EHT frames whose packet extension (0 to 16 us, EHT 20 us) is not in the capture; airtime_us does not include it";
    TimestampUndecided, "timestamp_undecided", Info, "802.11 frames without an idle time before them: responses do not show which instant the timestamps mark";
    FramesOverlap, "frames_overlap", Info, "802.11 frames whose timestamp is before the end of the previous frame; ifs_us is null";
    PpiMalformed, "ppi_malformed", Info, "a PPI header whose fields do not fit into it; the frame after it was read";
    MissingSequence, "missing_sequence", Loss, "802.11 sequence numbers that were used but not captured: the sniffer missed their frames";
    SequenceSkipped, "sequence_skipped", Info, "802.11 sequence counters that jumped too far to infer the missing frames";
    LoneAck, "lone_ack", Loss, "802.11 ACKs of frames that the sniffer did not capture, or captured damaged";
    BlockAckMalformed, "block_ack_malformed", Info, "Block Acks of an unknown form or cut short; the readable part was used";
    NoSequence, "no_sequence", Info, "802.11 data and management frames cut before their sequence number; they are in no exchange";
    ExchangesEvicted, "exchanges_evicted", Info, "802.11 exchanges ended early, or not inferred for missing frames, to limit memory";
    UsbHeaderCut, "usb_header_cut", Loss, "USB records too short for the header of their link type; the bytes present were read";
    UsbLengthLies, "usb_length_lies", Error, "USB records whose header has impossible lengths; only the bytes of the record were used";
    UsbTimeImplausible, "usb_time_implausible", Error, "usbmon headers with an impossible time; the timestamp of the container was used";
    UsbUnknownEvent, "usb_unknown_event", Info, "USB records of an unknown event or transfer type; the columns are null";
    UsbFrameSplit, "usb_frame_split", Info, "IP packets that continue in the next USB transfer; their first part is the row";
    UrbUnsubmitted, "urb_unsubmitted", Info, "URBs that completed without a captured submission (old versions of USBPcap leave out records without data)";
    UrbIncomplete, "urb_incomplete", Info, "URBs whose completion was not captured (old versions of USBPcap leave out records without data)";
    UrbEvicted, "urb_evicted", Info, "URBs dropped early to limit memory; a later completion has a row of its own";
    UsbmonText, "usbmon_text", Info, "usbmon text has 32 bytes per transfer and a clock that restarts after about 70 minutes; times count from an unknown day";
    UsbmonLine, "usbmon_line", Loss, "lines that are no usbmon record were skipped";
}

/// One counted note.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    pub count: u64,
    /// Number of its first packet, from 1 (0: none).
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
    #[cold]
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
