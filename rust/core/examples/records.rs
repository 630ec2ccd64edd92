//! Print every record of captures (number, seconds, wire and captured length, link type), or with
//! `--count` one line per file; notes go to standard error. For comparison with tshark and for timing.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use wlanlens_core::container;
use wlanlens_core::error::Result;
use wlanlens_core::notes::Notes;

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let (flags, paths): (Vec<_>, Vec<_>) = std::env::args_os().skip(1).partition(|a| a == "--count");
    let count_only = !flags.is_empty();
    for path in paths.iter().map(Path::new) {
        let mut notes = Notes::default();
        let begin = Instant::now();
        let done = read(path, count_only, &mut notes, &mut out);
        let seconds = begin.elapsed().as_secs_f64();
        match done {
            Ok(records) if count_only => writeln!(out, "{records}\t{seconds:.3} s\t{}", path.display())?,
            Ok(_) => {}
            Err(e) => writeln!(out, "error\t{e}\t{}", path.display())?,
        }
        out.flush()?;
        for (kind, c) in notes.iter() {
            eprintln!("  {} x{} from packet {} byte {}", kind.name(), c.count, c.first_packet, c.first_offset);
        }
    }
    Ok(())
}

fn read(path: &Path, count_only: bool, notes: &mut Notes, out: &mut impl Write) -> Result<u64> {
    let mut source =
        container::open(if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })?;
    let mut records = 0;
    while let Some(r) = source.next_record(notes)? {
        records += 1;
        if !count_only {
            let time = r.time_ns.map_or("none".into(), |t| {
                format!("{}.{:09}", t.div_euclid(1_000_000_000), t.rem_euclid(1_000_000_000))
            });
            writeln!(out, "{records}\t{time}\t{}\t{}\t{}", r.wire_bytes, r.data.len(), r.link_type)?;
        }
    }
    Ok(records)
}
