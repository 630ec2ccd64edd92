//! A pcap file with nanosecond stamps.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// Little-endian pcap, magic 0xa1b23c4d. It is written beside its name and takes it when it is whole.
#[derive(Debug)]
pub struct PcapFile {
    file: File,
    /// Records not written yet.
    buffer: Vec<u8>,
    partial: PathBuf,
    path: PathBuf,
    snaplen: u32,
}

impl PcapFile {
    pub fn create(path: &Path, linktype: u32, snaplen: u32) -> io::Result<Self> {
        let partial = path.with_extension("pcap.partial");
        let file = File::create(&partial)?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + 0x1_0000);
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, snaplen, linktype] {
            buffer.extend(word.to_le_bytes());
        }
        Ok(PcapFile { file, buffer, partial, path: path.to_path_buf(), snaplen })
    }

    /// Append a record stamped with ns since 1970, whose bytes `fill` appends.
    pub fn record(&mut self, stamp_ns: i64, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let head = self.buffer.len();
        let start = head + 16;
        self.buffer.resize(start, 0);
        fill(&mut self.buffer);
        let whole = self.buffer.len() - start;
        let kept = whole.min(self.snaplen as usize);
        self.buffer.truncate(start + kept);
        let (seconds, rest) = (stamp_ns.div_euclid(1_000_000_000), stamp_ns.rem_euclid(1_000_000_000));
        let words = [seconds as u32, rest as u32, kept as u32, whole as u32];
        for (slot, word) in self.buffer[head..start].chunks_exact_mut(4).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// The file is whole: give it its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        std::fs::rename(&self.partial, &self.path)
    }
}
