//! A small deterministic fuzzer: seeds, mutations, and a hook that saves the input on a panic.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use wlanlens_core::container::{self, RecordSource};
use wlanlens_core::crypto::keys::Keys;
use wlanlens_core::notes::{NoteKind, Notes};
use wlanlens_core::reader::Reader;

pub mod mutate;
pub mod rng;
pub mod seeds;

use mutate::INPUT_BYTES;
use rng::Rng;

/// The input being tried and since when, for the panic hook and the watchdog.
static CURRENT: Mutex<Option<(Vec<u8>, Instant)>> = Mutex::new(None);

/// Time limit for one input; the slowest valid one takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// The options of the command line.
pub struct Options {
    pub seed: u64,
    pub seconds: u64,
    pub runs: Option<u64>,
    pub link_type: Option<u16>,
    pub files: Vec<PathBuf>,
}

impl Options {
    /// Parse the command line, or end with a usage message.
    pub fn parse() -> Options {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let mut options = Options {
            seed: clock.map_or(1, |d| d.as_nanos() as u64) | 1,
            seconds: 60,
            runs: None,
            link_type: None,
            files: Vec::new(),
        };
        let mut args = std::env::args_os().skip(1);
        while let Some(arg) = args.next() {
            let flag = arg.to_str().unwrap_or_default().to_owned();
            if !flag.starts_with("--") {
                options.files.push(arg.into());
                continue;
            }
            let Some(n) = args.next().and_then(|v| v.to_str().and_then(|v| v.parse::<u64>().ok())) else {
                usage();
            };
            match flag.as_str() {
                "--seed" => options.seed = n | 1,
                "--seconds" => options.seconds = n,
                "--runs" => options.runs = Some(n),
                "--link-type" => options.link_type = u16::try_from(n).ok(),
                _ => usage(),
            }
        }
        options
    }

    /// The files and directories of the command line, as seeds.
    fn load(&self) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        for path in &self.files {
            let inside: Vec<PathBuf> = match std::fs::read_dir(path) {
                Ok(entries) => entries.filter_map(|e| e.ok().map(|e| e.path())).collect(),
                Err(_) => vec![path.clone()],
            };
            for file in inside {
                match std::fs::read(&file) {
                    Ok(bytes) => out.push(bytes),
                    Err(e) => eprintln!("{}: {e}", file.display()),
                }
            }
        }
        out
    }
}

fn usage() -> ! {
    eprintln!("usage: TARGET [--seed N] [--seconds N] [--runs N] [--link-type N] [SEED FILE OR DIRECTORY]...");
    exit(2);
}

/// Try every seed unchanged, then mutations of them until the time or the runs are over.
pub fn run(name: &'static str, options: &Options, seeds: Vec<Vec<u8>>, target: impl Fn(&[u8], &mut Rng)) {
    run_made(name, options, seeds, mutate::next, target);
}

/// The same with inputs that `make` derives from the seeds.
pub fn run_made(
    name: &'static str,
    options: &Options,
    mut seeds: Vec<Vec<u8>>,
    make: impl Fn(&[Vec<u8>], &mut Rng) -> Vec<u8>,
    target: impl Fn(&[u8], &mut Rng),
) {
    println!("{name}: --seed {}", options.seed);
    save_on_panic(name);
    watch(name);
    let mut rng = Rng::new(options.seed);
    let files = options.load();
    for seed in seeds.iter().chain(&files) {
        attempt(seed, &mut rng, &target);
    }
    seeds.extend(files);
    seeds.iter_mut().for_each(|s| s.truncate(INPUT_BYTES));
    let begin = Instant::now();
    let mut runs = 0_u64;
    let more = |runs| match options.runs {
        Some(n) => runs < n,
        None => begin.elapsed() < Duration::from_secs(options.seconds),
    };
    while more(runs) {
        let input = make(&seeds, &mut rng);
        attempt(&input, &mut rng, &target);
        runs += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{name}: {runs} inputs in {seconds:.1} s, peak memory {}", peak_memory());
}

fn attempt(input: &[u8], rng: &mut Rng, target: &impl Fn(&[u8], &mut Rng)) {
    set_current(Some((input.to_vec(), Instant::now())));
    target(input, rng);
    set_current(None);
}

fn set_current(to: Option<(Vec<u8>, Instant)>) {
    if let Ok(mut current) = CURRENT.lock() {
        *current = to;
    }
}

/// Write the current input to `artifacts/` and end the process.
fn give_up(name: &str, why: &str) -> ! {
    let input = CURRENT.lock().ok().and_then(|mut c| c.take());
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts");
    if let Some((bytes, _)) = input {
        let hash =
            bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
        let path = directory.join(format!("{name}-{why}-{hash:016x}"));
        match std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, &bytes)) {
            Ok(()) => eprintln!("{name}: {why}; the input is {}", path.display()),
            Err(e) => eprintln!("{name}: {why}; the input could not be saved: {e}"),
        }
    }
    exit(101);
}

fn save_on_panic(name: &'static str) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        usual(info);
        give_up(name, "panic");
    }));
}

/// End the process when one input takes too long.
fn watch(name: &'static str) {
    std::thread::spawn(move || loop {
        std::thread::sleep(Duration::from_secs(1));
        let since = CURRENT.lock().ok().and_then(|c| c.as_ref().map(|(_, since)| *since));
        if since.is_some_and(|s| s.elapsed() > PATIENCE) {
            give_up(name, "slow");
        }
    });
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".into(), |l| l.trim().into())
}

/// Read all records of `input` and check what must hold for any input.
pub fn read_container(input: &[u8]) {
    let _format = container::format_of(input);
    let mut notes = Notes::default();
    let Ok(mut source) = container::open(Box::new(Cursor::new(input.to_vec()))) else {
        return;
    };
    let (mut records, mut last) = (0_u64, 0_u64);
    loop {
        match source.next_record(&mut notes) {
            Ok(Some(r)) => {
                records += 1;
                assert!(r.offset >= last, "offsets rise");
                assert!(r.data.len() <= wlanlens_core::limits::USB_RECORD_BYTES, "records are capped");
                last = r.offset;
            }
            Ok(None) => break,
            Err(_) => return,
        }
    }
    assert!(records > 0 || notes.get(NoteKind::NoPackets).count > 0, "an empty result says so");
    assert!(matches!(source.next_record(&mut notes), Ok(None)), "the end stays the end");
    describe(source.as_ref());
}

fn describe(source: &dyn RecordSource) {
    assert!(source.interfaces().len() <= wlanlens_core::limits::INTERFACES_SHOWN);
    assert!(source.texts().len() <= wlanlens_core::limits::TEXTS);
}

/// The whole path, including tracking.
pub fn read_whole(input: &[u8], batch_rows: usize) {
    read_with_keys(input, batch_rows, &[]);
}

/// The whole path, with keys for encrypted frames.
pub fn read_with_keys(input: &[u8], batch_rows: usize, keys: &[&str]) {
    let Ok(source) = container::open(Box::new(Cursor::new(input.to_vec()))) else {
        return;
    };
    let keys = Keys::parse(keys.iter().map(|k| k.as_bytes())).expect("the keys are sound");
    let mut reader = Reader::new(source, batch_rows, true).with_keys(keys);
    while let Ok(batches) = reader.next_batches() {
        if batches.is_empty() {
            break;
        }
        for (_, batch) in &batches {
            assert!(batch.num_rows() > 0, "no empty batches");
        }
    }
    let _notes = reader.notes();
}
