//! Every limit of the simulator, each with its reason. The parameters of a scenario are untrusted input.

use crate::engine::Ns;

/// Packets and frames of one run: their ground truth stays in memory until the end, about a hundred bytes each. A flow of
/// 5 Mb/s over 802.11b creates 2000 per second.
pub const ROWS: usize = 10_000_000;

/// Events of one run: a few minutes of computing, and many more than `ROWS` packets need, so only a world whose events send
/// no packets reaches it.
pub const EVENTS: u64 = 400_000_000;

/// Events between two checks for Ctrl-C: a fraction of a second.
pub const EVENTS_A_CALL: u64 = 500_000;

/// Nodes: an access point numbers its stations up to 2007 (IEEE 802.11-2020, 9.4.1.8), and the memory of routes
/// grows with the square of the nodes.
pub const NODES: usize = 2048;

/// Flows: each has a port of its own, from `FIRST_PORT` on.
pub const FLOWS: usize = 20_000;
pub const FIRST_PORT: u16 = 40_000;

/// A time that no run reaches (a run lasts 10^6 s at most), small enough that sums do not overflow.
pub const NEVER: Ns = 100_000_000_000_000_000;
