//! The decompressor's thread, and the stream of its output.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;

use super::compression::Compression;
use super::sink::{Gone, Sink};
use crate::container::bytes::{ByteStream, Bytes, Oddity};
use crate::limits;
use crate::notes::NoteKind;

/// Messages of the thread.
enum Message {
    Data(Vec<u8>),
    Odd(Oddity),
    Failed(io::Error),
    /// The thread has finished; without this message it panicked.
    End,
}

/// The output of a decompressor that runs in its own thread, a bounded number of buffers ahead.
pub struct Decompressed {
    messages: Receiver<Message>,
    emptied: SyncSender<Vec<u8>>,
    current: Vec<u8>,
    at: usize,
    bytes: u64,
    ended: bool,
    odd: Vec<Oddity>,
    dropped: Arc<AtomicBool>,
}

impl Decompressed {
    /// Start the thread on `input`. It ends with the input, or at its next step after the stream is dropped.
    pub fn start(compression: Compression, mut input: Bytes) -> io::Result<Self> {
        let (send, messages) = sync_channel(limits::CHUNKS_WAITING);
        let (emptied, reuse) = sync_channel(limits::CHUNKS_WAITING + 2);
        let dropped = Arc::new(AtomicBool::new(false));
        let mut out =
            Output { buffer: vec![0; limits::CHUNK_BYTES], at: 0, bytes: 0, send, reuse, dropped: dropped.clone() };
        std::thread::Builder::new().name("decompress".into()).spawn(move || {
            compression.run(&mut input, &mut out);
            out.finish(input.take_failure());
        })?;
        Ok(Decompressed {
            messages,
            emptied,
            current: Vec::new(),
            at: 0,
            bytes: 0,
            ended: false,
            odd: Vec::new(),
            dropped,
        })
    }
}

impl Drop for Decompressed {
    /// Do not join the thread: it may be blocked in a read of a pipe.
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

impl ByteStream for Decompressed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.current.len() {
            if self.ended {
                return Ok(0);
            }
            match self.messages.recv() {
                Ok(Message::Data(next)) => {
                    let old = std::mem::replace(&mut self.current, next);
                    self.at = 0;
                    if old.capacity() > 0 {
                        // The thread may have finished already: then the buffer is not needed.
                        let _unneeded = self.emptied.try_send(old);
                    }
                }
                Ok(Message::Odd(odd)) => self.odd.push(odd),
                Ok(Message::Failed(e)) => {
                    self.ended = true;
                    return Err(e);
                }
                Ok(Message::End) => self.ended = true,
                Err(_) => {
                    // The decoder panicked: its output so far is treated like that of damaged data.
                    self.odd.push((NoteKind::CompressedDamaged, self.bytes));
                    self.ended = true;
                }
            }
        }
        let n = into.len().min(self.current.len() - self.at);
        into[..n].copy_from_slice(&self.current[self.at..self.at + n]);
        self.at += n;
        self.bytes += n as u64;
        Ok(n)
    }

    fn take_oddities(&mut self, out: &mut Vec<Oddity>) {
        out.append(&mut self.odd);
    }
}

/// The thread's end of the channel.
struct Output {
    buffer: Vec<u8>,
    at: usize,
    /// Bytes returned so far, for the offsets of anomalies.
    bytes: u64,
    send: SyncSender<Message>,
    reuse: Receiver<Vec<u8>>,
    dropped: Arc<AtomicBool>,
}

impl Output {
    fn flush(&mut self) -> Result<(), Gone> {
        if self.at == 0 {
            return Ok(());
        }
        let mut next = self.reuse.try_recv().unwrap_or_default();
        next.resize(limits::CHUNK_BYTES, 0);
        let mut full = std::mem::replace(&mut self.buffer, next);
        full.truncate(self.at);
        self.at = 0;
        self.send.send(Message::Data(full)).map_err(|_| Gone)
    }

    fn finish(mut self, failure: Option<io::Error>) {
        let flushed = self.flush();
        let last = failure.map_or(Message::End, Message::Failed);
        if flushed.is_ok() {
            // The receiver may have gone; that is not an error.
            let _gone = self.send.send(last);
        }
    }
}

impl Sink for Output {
    fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.at..]
    }

    fn filled(&mut self, n: usize) -> Result<(), Gone> {
        self.at += n;
        self.bytes += n as u64;
        if self.at == self.buffer.len() {
            self.flush()?;
        }
        self.wanted()
    }

    fn odd(&mut self, kind: NoteKind) -> Result<(), Gone> {
        self.flush()?;
        self.send.send(Message::Odd((kind, self.bytes))).map_err(|_| Gone)
    }

    fn wanted(&self) -> Result<(), Gone> {
        if self.dropped.load(Ordering::Relaxed) {
            Err(Gone)
        } else {
            Ok(())
        }
    }
}
