//! How one end of a connection is configured.

use super::rto::RtoFlavour;
use super::wheel::Wheel;
use crate::engine::{Ns, MS};

/// How losses are recovered without SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// RFC 5681: recovery ends with the first ACK of new data.
    Reno,
    /// RFC 6582. `careful`: no second fast retransmission for duplicate ACKs that the recovery itself caused.
    #[default]
    NewReno,
    /// Without the careful variant's guard.
    NewRenoCareless,
}

/// What holds the application's data until it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendBuffer {
    /// 0: no bound, and writes of any size.
    pub bytes: u64,
    /// The bound follows the congestion window, as Linux's does: twice that, this many bytes a segment; 0: it stays.
    pub grows_by_bytes: u64,
    /// What a segment takes up beyond its data.
    pub overhead_bytes: u64,
    /// The application writes so much at a time.
    pub write_bytes: u64,
    /// From the moment that there is room to the application's next write.
    pub wakeup: Ns,
    /// From the handshake to its first write.
    pub first_write: Ns,
}

/// How one end is set.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    pub mss_bytes: u32,
    pub initial_window_segments: u32,
    pub initial_ssthresh_segments: u32,
    /// The receive buffer that is offered.
    pub receive_window_bytes: u32,
    /// How the offered window grows to that: from so much, with every segment by two; 0: it is offered at once.
    pub receive_window_first_bytes: u32,
    /// Where the window may grow on later: (bytes received, greatest window).
    pub receive_window_steps: Vec<(u64, u32)>,
    /// The windows of the receiver's ACKs after the handshake, in order, where a capture tells them: memory is not simulated.
    pub receive_window_script: Vec<u32>,
    pub send_buffer: SendBuffer,
    pub sack: bool,
    /// Report duplicates (RFC 2883).
    pub dsack: bool,
    /// Forward acknowledgment: what lies three segments below the highest SACK is lost at once.
    pub fack: bool,
    pub timestamps: bool,
    pub recovery: Recovery,
    /// Proportional rate reduction (RFC 6937), as Linux; else the window is inflated by duplicate ACKs.
    pub prr: bool,
    /// Rate halving, as Linux 2.4: while it repairs, the window falls by one for every second ACK, down to half the new
    /// threshold, and never exceeds what is in flight by more than one. Instead of PRR, which followed it.
    pub rate_halving: bool,
    pub limited_transmit: bool,
    /// After a timeout no new data goes out, and further timeouts leave the windows alone, until all that was outstanding is
    /// acknowledged (Linux 2.2).
    pub repairs_all_first: bool,
    pub nagle: bool,
    /// Only an earlier small segment makes a small one wait (Minshall), as in Linux; else any outstanding data (RFC 896).
    pub minshall: bool,
    /// The receiver offers no window below a segment (RFC 9293 section 3.8.6.2.2).
    pub silly_window_avoidance: bool,
    /// Linux's defect without SACK: duplicate ACKs counted for new data sent in the recovery after a timeout still count when
    /// it is over, and begin a fast recovery for nothing.
    pub stale_dupacks: bool,
    /// An idle connection is asked after so often (RFC 9293 section 3.8.4); 0: never.
    pub keep_alive: Ns,
    /// The congestion window grows by the segment acknowledged (RFC 3465; Linux since 3.13); else by the ACK (RFC 5681).
    pub counts_segments: bool,
    /// The congestion window grows only while it is filled.
    pub cwnd_validation: bool,
    /// ACK every so many full segments.
    pub delayed_ack_segments: u32,
    /// Of early segments more often: (number of the last one from 1, ACK every so many).
    pub delayed_ack_steps: Vec<(u64, u32)>,
    pub delayed_ack_timer: Ns,
    /// Segments that are acknowledged at once when a connection begins (Linux: its quick ACKs).
    pub quick_acks: u32,
    /// Acknowledge a pushed segment at once, as Linux does once its application has read it.
    pub ack_pushed: bool,
    pub rto: RtoFlavour,
    /// The clock of its timers.
    pub wheel: Wheel,
    /// Undo a timeout that the ACK's timestamp shows to be spurious (RFC 3522, RFC 4015).
    pub eifel: bool,
    /// Linux 2.4's defect: the timestamp of the first retransmission is that of the SYN until a timeout has been undone or recovered
    /// from once, so that the first spurious timeout is not undone.
    pub eifel_first_stamp_defect: bool,
    /// RFC 5682.
    pub frto: bool,
    /// RFC 8985 section 7; needs SACK.
    pub tail_loss_probe: bool,
    /// Duplicate ACKs needed.
    pub dupack_threshold: u32,
}

impl Default for TcpConfig {
    /// Linux of the 2010s without SACK and timestamps set apart: scenarios say what they need.
    fn default() -> Self {
        TcpConfig {
            mss_bytes: 1448,
            initial_window_segments: 10,
            initial_ssthresh_segments: u32::MAX,
            receive_window_bytes: 65_535,
            receive_window_first_bytes: 0,
            receive_window_steps: Vec::new(),
            receive_window_script: Vec::new(),
            send_buffer: SendBuffer::default(),
            sack: true,
            dsack: true,
            fack: false,
            timestamps: true,
            recovery: Recovery::NewReno,
            prr: true,
            rate_halving: false,
            limited_transmit: true,
            repairs_all_first: false,
            nagle: true,
            minshall: true,
            silly_window_avoidance: true,
            stale_dupacks: false,
            keep_alive: 0,
            counts_segments: true,
            cwnd_validation: true,
            delayed_ack_segments: 2,
            delayed_ack_steps: Vec::new(),
            delayed_ack_timer: 40 * MS,
            quick_acks: 16,
            ack_pushed: false,
            rto: RtoFlavour::linux(),
            wheel: Wheel::default(),
            eifel: true,
            eifel_first_stamp_defect: false,
            frto: true,
            tail_loss_probe: false,
            dupack_threshold: 3,
        }
    }
}
