//! A pcap file with nanosecond timestamps.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::Gather;

/// Little-endian pcap, magic 0xa1b23c4d. It is written under a temporary name and renamed when it is complete.
#[derive(Debug)]
pub struct PcapFile {
    file: File,
    /// Records not written yet.
    buffer: Gather,
    partial: PathBuf,
    path: PathBuf,
    snaplen: u32,
}

impl PcapFile {
    pub fn create(path: &Path, linktype: u32, snaplen: u32) -> io::Result<Self> {
        let partial = path.with_extension("pcap.partial");
        let file = File::create(&partial)?;
        let mut buffer = Gather::default();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, snaplen, linktype] {
            buffer.put(&word.to_le_bytes());
        }
        Ok(PcapFile { file, buffer, partial, path: path.to_path_buf(), snaplen })
    }

    /// Append a record timestamped with ns since 1970, whose bytes `fill` appends.
    pub fn record(&mut self, stamp_ns: i64, fill: impl FnOnce(&mut Gather)) -> io::Result<()> {
        let head = self.buffer.mark();
        self.buffer.put(&[0; 16]);
        let start = self.buffer.mark();
        fill(&mut self.buffer);
        let whole = self.buffer.since(start);
        let kept = whole.min(self.snaplen as usize);
        self.buffer.cut(start, kept);
        let (seconds, rest) = (stamp_ns.div_euclid(1_000_000_000), stamp_ns.rem_euclid(1_000_000_000));
        let words = [seconds as u32, rest as u32, kept as u32, whole as u32];
        self.buffer.patch(head, words.map(u32::to_le_bytes).as_flattened());
        if self.buffer.full() {
            self.buffer.flush(&mut self.file)?;
        }
        Ok(())
    }

    /// The file is complete: rename it.
    pub fn finish(mut self) -> io::Result<()> {
        self.buffer.flush(&mut self.file)?;
        std::fs::rename(&self.partial, &self.path)
    }
}
