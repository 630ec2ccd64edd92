//! pcapng: blocks of a type and a length, in sections, with interfaces.
//!
//! Source: draft-ietf-opsawg-pcapng.

use super::bytes::Bytes;
use super::pcap::record_cap;
use crate::container::record::{Interface, Record, RecordSource, Sniffed};
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::notes::{NoteKind, Notes};

mod block;
mod clock;
mod interface;
mod packet;
mod section;
mod texts;

use block::{ENHANCED_PACKET, FRAME, INTERFACE, INTERFACE_STATISTICS, PACKET, SIMPLE_PACKET};
use interface::Place;
use packet::{PacketFields, PacketOptions};
use section::{Section, SECTION_BLOCK};
use texts::Texts;

pub use block::is_section_header;

/// Reads the packet blocks of all sections of a pcapng file.
pub struct NgSource {
    bytes: Bytes,
    compression: &'static str,
    section: Section,
    shown: Vec<Interface>,
    texts: Texts,
    records: u64,
    /// Consecutive blocks without packet bytes.
    empty_run: u64,
    resyncs: u32,
    done: bool,
}

/// The position of a packet's data in its block, with its other fields.
struct Found {
    total: usize,
    data_at: usize,
    captured: usize,
    record: Record<'static>,
}

impl NgSource {
    /// `bytes` begins with a section header.
    pub fn open(mut bytes: Bytes, compression: &'static str) -> Result<Self> {
        let corrupt = |what: String| Error::new(ErrorKind::CorruptCapture, what).at(0);
        if !bytes.fill(SECTION_BLOCK) {
            return Err(corrupt(format!(
                "the pcapng file ends inside its section header at byte {}",
                bytes.available()
            )));
        }
        let order = block::Order::of_section(bytes.data())
            .ok_or_else(|| corrupt("the pcapng section header has no valid byte order".into()))?;
        let total = order.u32(bytes.data(), 4).unwrap_or(0);
        if !block::length_is_possible(total) || (total as usize) < SECTION_BLOCK || !bytes.fill(total as usize) {
            return Err(corrupt(format!("the pcapng section header has an impossible length of {total} bytes")));
        }
        let section = Section::parse(&bytes.data()[..total as usize], 0, 0)?;
        Ok(NgSource {
            bytes,
            compression,
            section,
            shown: Vec::new(),
            texts: Texts::default(),
            records: 0,
            empty_run: 0,
            resyncs: 0,
            done: false,
        })
    }

    fn place(&self) -> Place {
        Place { packet: self.records + 1, offset: self.bytes.offset() }
    }

    /// Go to the next block with a packet; None at the end.
    fn next_packet(&mut self, notes: &mut Notes) -> Result<Option<Found>> {
        while let Some((kind, total)) = self.next_block(notes) {
            self.empty_run += 1;
            if self.empty_run > limits::EMPTY_RUN {
                notes.add(NoteKind::EmptyRun, self.records + 1, self.bytes.offset());
                return Ok(None);
            }
            match kind {
                ENHANCED_PACKET | SIMPLE_PACKET | PACKET if self.section.readable => {
                    if let Some(found) = self.packet(kind, total, notes)? {
                        return Ok(Some(found));
                    }
                }
                block::SECTION_HEADER => self.section_header(total, notes),
                _ if !self.section.readable => {}
                INTERFACE => self.interface(total, notes),
                INTERFACE_STATISTICS => self.statistics(total, notes),
                _ => notes.add(NoteKind::BlockSkipped, self.records + 1, self.bytes.offset()),
            }
            self.bytes.consume(total);
        }
        Ok(None)
    }

    /// Read the next whole block into memory: its type and total length. None at the end.
    #[inline]
    fn next_block(&mut self, notes: &mut Notes) -> Option<(u32, usize)> {
        loop {
            if !self.bytes.fill(FRAME) {
                if self.bytes.available() > 0 {
                    let place = self.place();
                    notes.add(NoteKind::CutFile, place.packet, place.offset);
                }
                return None;
            }
            let data = self.bytes.data();
            let order = if is_section_header(data) {
                // A header without byte order has no usable length.
                block::Order::of_section(data).unwrap_or(self.section.order)
            } else {
                self.section.order
            };
            let (kind, total) = (order.u32(data, 0)?, order.u32(data, 4)?);
            if !block::length_is_possible(total) {
                if self.lost(NoteKind::BlockDamaged, notes) {
                    continue;
                }
                return None;
            }
            let len = total as usize;
            if !self.bytes.fill(len) {
                if self.cut(notes) {
                    continue;
                }
                return None;
            }
            let trailer = order.u32(self.bytes.data(), len - 4)?;
            if trailer == total || self.trailer_differs(len, notes) {
                return Some((kind, len));
            }
            if !self.lost(NoteKind::BlockDamaged, notes) {
                return None;
            }
        }
    }

    /// The two lengths of the block at the front differ. True if the first one leads to another block.
    fn trailer_differs(&mut self, len: usize, notes: &mut Notes) -> bool {
        let follows = if self.bytes.fill(len + FRAME) {
            let next = &self.bytes.data()[len..];
            is_section_header(next) || self.section.order.u32(next, 4).is_some_and(block::length_is_possible)
        } else {
            self.bytes.available() == len
        };
        if follows {
            let place = self.place();
            notes.add(NoteKind::BlockTrailer, place.packet, place.offset);
        }
        follows
    }

    /// The framing is lost: search for the next valid block. False if there is none.
    fn lost(&mut self, kind: NoteKind, notes: &mut Notes) -> bool {
        let begin = self.place();
        let zeros = self.bytes.data().iter().take(FRAME).all(|b| *b == 0);
        self.bytes.consume(1);
        let found = self.search(begin.offset);
        if zeros {
            let skipped = self.bytes.offset() - begin.offset;
            notes.add_many(NoteKind::ZeroRun, skipped, begin.packet, begin.offset);
        } else {
            notes.add(kind, begin.packet, begin.offset);
        }
        if !found && (!zeros || self.bytes.available() > 0) {
            notes.add(NoteKind::RestUnreadable, begin.packet, begin.offset);
        }
        found
    }

    /// Go to the next valid block of a known type; false if there is none before the limit or the end.
    fn search(&mut self, begin: u64) -> bool {
        self.resyncs += 1;
        let bound = begin.saturating_add(limits::RESYNC_BYTES);
        let lookahead = limits::RESYNC_BLOCK_BYTES;
        while self.resyncs <= limits::RESYNC_TIMES && self.bytes.offset() < bound && self.bytes.fill(FRAME) {
            let whole = !self.bytes.fill(lookahead + limits::BLOCK_BYTES / 4);
            let data = self.bytes.data();
            let last = if whole { data.len() } else { data.len() - lookahead };
            let order = self.section.order;
            match (0..last).find(|at| block::plausible(data, *at, order).is_some()) {
                Some(at) => {
                    self.bytes.consume(at);
                    return true;
                }
                None => self.bytes.consume(last),
            }
        }
        false
    }

    /// The stream ended inside the block at the front. True if valid blocks follow nevertheless.
    fn cut(&mut self, notes: &mut Notes) -> bool {
        let place = self.place();
        match block::blocks_to_the_end(self.bytes.data(), self.section.order) {
            Some(from) => {
                notes.add(NoteKind::BlockDamaged, place.packet, place.offset);
                self.bytes.consume(from);
                true
            }
            None => {
                notes.add(NoteKind::CutFile, place.packet, place.offset);
                false
            }
        }
    }

    fn section_header(&mut self, total: usize, notes: &mut Notes) {
        let place = self.place();
        if place.offset > 0 {
            self.section.finish(place.offset, notes);
        }
        let next = self.section.next_interface();
        let head = &self.bytes.data()[..total];
        match Section::parse(head, place.offset, next) {
            Ok(section) => {
                section.read_texts(head, &mut self.texts, notes, place);
                self.section = section;
            }
            Err(_) => {
                notes.add(NoteKind::SectionUnreadable, place.packet, place.offset);
                let order = block::Order::of_section(head).unwrap_or(self.section.order);
                self.section = Section::unreadable(order, next);
            }
        }
    }

    fn interface(&mut self, total: usize, notes: &mut Notes) {
        let place = self.place();
        let body = &self.bytes.data()[8..total - 4];
        let index = self.section.next_interface();
        match interface::describe(body, self.section.order, index, &mut self.texts, notes, place) {
            None => notes.add(NoteKind::BlockShort, place.packet, place.offset),
            Some((tap, shown)) => {
                if !self.section.add(tap) {
                    notes.add(NoteKind::TooManyInterfaces, place.packet, place.offset);
                } else if self.shown.len() < limits::INTERFACES_SHOWN {
                    self.shown.push(shown);
                }
            }
        }
    }

    fn statistics(&mut self, total: usize, notes: &mut Notes) {
        let place = self.place();
        let order = self.section.order;
        let body = &self.bytes.data()[8..total - 4];
        let (Some(id), Some(option_bytes)) = (order.u32(body, 0), body.get(12..)) else {
            notes.add(NoteKind::BlockShort, place.packet, place.offset);
            return;
        };
        let Some(tap) = self.section.taps.get_mut(id as usize) else {
            notes.add(NoteKind::UnknownInterface, place.packet, place.offset);
            return;
        };
        if let Some(drops) = interface::stated_drops(option_bytes, order, notes, place) {
            tap.stated_drops = Some(drops);
        }
        let drops = tap.stated_drops;
        if let Some(shown) = self.shown.get_mut(self.section.first_interface as usize + id as usize) {
            shown.dropped = drops;
        }
    }

    /// Read the packet block at the front; None if it is lost.
    fn packet(&mut self, kind: u32, total: usize, notes: &mut Notes) -> Result<Option<Found>> {
        let place = self.place();
        let order = self.section.order;
        let body = &self.bytes.data()[8..total - 4];
        let Some(fields) = PacketFields::parse(kind, body, order) else {
            notes.add(NoteKind::BlockShort, place.packet, place.offset);
            return Ok(None);
        };
        let Some(tap) = self.section.taps.get_mut(fields.interface as usize) else {
            if self.section.next_interface() == 0 && self.records == 0 {
                return Err(Error::new(
                    ErrorKind::CorruptCapture,
                    "the pcapng file has packets but describes no interface",
                )
                .at(place.offset));
            }
            notes.add(NoteKind::UnknownInterface, place.packet, place.offset);
            return Ok(None);
        };
        let held = body.len() - fields.data_at;
        let mut captured = fields.captured as usize;
        if kind == SIMPLE_PACKET {
            notes.add(NoteKind::NoTime, place.packet, place.offset);
            if tap.snaplen != 0 {
                captured = captured.min(tap.snaplen as usize);
            }
        }
        if captured > held {
            notes.add(NoteKind::PacketOverBlock, place.packet, place.offset);
            captured = held;
        }
        let options_at = fields.data_at + captured.next_multiple_of(4);
        let mut said = PacketOptions::default();
        if kind != SIMPLE_PACKET && options_at < body.len() {
            said = PacketOptions::parse(&body[options_at..], order, &mut self.texts, notes, place);
        }
        tap.packet_drops = tap.packet_drops.saturating_add(fields.drops).saturating_add(said.drops);
        let cap = record_cap(tap.link_type) as usize;
        if captured > cap {
            notes.add(NoteKind::OversizedRecord, place.packet, place.offset);
            captured = cap;
        }
        if captured > fields.wire as usize {
            notes.add(NoteKind::CaptureOverWire, place.packet, place.offset);
        }
        if fields.wire > limits::WIRE_BYTES {
            notes.add(NoteKind::WireLengthImplausible, place.packet, place.offset);
        }
        if tap.snaplen != 0 && captured > tap.snaplen as usize {
            notes.add(NoteKind::OverSnaplen, place.packet, place.offset);
        }
        if captured > 0 {
            self.empty_run = 0;
        } else {
            notes.add(NoteKind::EmptyRecords, place.packet, place.offset);
        }
        let time_ns = fields.ticks.and_then(|ticks| tap.clock.time_ns(ticks));
        match time_ns {
            Some(t) if t < 0 => notes.add(NoteKind::TimeBefore1970, place.packet, place.offset),
            None if fields.ticks.is_some() => notes.add(NoteKind::TimeNotRepresentable, place.packet, place.offset),
            _ => {}
        }
        Ok(Some(Found {
            total,
            data_at: 8 + fields.data_at,
            captured,
            record: Record {
                time_ns,
                wire_bytes: fields.wire,
                data: &[],
                link_type: tap.link_type,
                interface: self.section.first_interface.saturating_add(fields.interface),
                fcs_bytes: said.fcs_bytes.or(tap.fcs_bytes),
                outgoing: said.outgoing,
                offset: place.offset,
                radio: None,
            },
        }))
    }

    /// Add the notes that need the end of the file, once.
    fn end(&mut self, notes: &mut Notes) -> Result<()> {
        self.done = true;
        if self.records == 0 {
            if let Some(e) = self.bytes.take_failure() {
                return Err(Error::from(e));
            }
            notes.add(NoteKind::NoPackets, 0, self.bytes.offset());
        }
        self.section.finish(self.bytes.offset(), notes);
        self.bytes.report(notes);
        Ok(())
    }
}

impl RecordSource for NgSource {
    fn next_record<'a>(&'a mut self, notes: &mut Notes) -> Result<Option<Record<'a>>> {
        if self.done {
            return Ok(None);
        }
        let Some(found) = self.next_packet(notes)? else {
            self.end(notes)?;
            return Ok(None);
        };
        self.records += 1;
        let block = self.bytes.advance(found.total);
        Ok(Some(Record { data: &block[found.data_at..found.data_at + found.captured], ..found.record }))
    }

    fn sniffed(&self) -> Sniffed {
        Sniffed { format: "pcapng".into(), compression: self.compression }
    }

    fn interfaces(&self) -> Vec<Interface> {
        self.shown.clone()
    }

    fn texts(&self) -> Vec<(String, String)> {
        self.texts.kept().to_vec()
    }
}

#[cfg(test)]
mod tests;
