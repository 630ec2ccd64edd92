//! One layer of compression, recognised by content and decompressed in a separate thread.

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
