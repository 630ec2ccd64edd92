//! One layer of compression, recognised by content and undone in a thread of its own.

mod compression;
mod gzip;
mod lz4;
mod sink;
mod skippable;
mod thread;
mod zstd;

pub use compression::Compression;
pub use thread::Decompressed;
pub use zstd::refusal as zstd_refusal;
