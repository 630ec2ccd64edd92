//! A pcap file with nanosecond stamps.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Little-endian pcap, magic 0xa1b23c4d. It is written beside its name and takes it when it is whole.
#[derive(Debug)]
pub struct PcapFile {
    out: BufWriter<File>,
    partial: PathBuf,
    path: PathBuf,
    snaplen: u32,
    pub records: u64,
}

impl PcapFile {
    pub fn create(path: &Path, linktype: u32, snaplen: u32) -> io::Result<Self> {
        let partial = path.with_extension("pcap.partial");
        let mut out = BufWriter::with_capacity(1 << 18, File::create(&partial)?);
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, snaplen, linktype] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(PcapFile { out, partial, path: path.to_path_buf(), snaplen, records: 0 })
    }

    /// Append a record stamped with ns since 1970.
    pub fn write(&mut self, stamp_ns: i64, bytes: &[u8]) -> io::Result<()> {
        let kept = bytes.len().min(self.snaplen as usize);
        let (seconds, rest) = (stamp_ns.div_euclid(1_000_000_000), stamp_ns.rem_euclid(1_000_000_000));
        let mut head = [0; 16];
        for (slot, word) in head.chunks_exact_mut(4).zip([seconds as u32, rest as u32, kept as u32, bytes.len() as u32])
        {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        self.out.write_all(&head)?;
        self.out.write_all(&bytes[..kept])?;
        self.records += 1;
        Ok(())
    }

    /// The file is whole: give it its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        std::fs::rename(&self.partial, &self.path)
    }
}
