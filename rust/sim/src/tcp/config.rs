//! The configuration of one end of a connection.

use super::rto::RtoFlavour;
use super::wheel::Wheel;
use crate::engine::{Ns, MS};

/// How losses are recovered without SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// RFC 5681: recovery ends with the first ACK of new data.
    Reno,
    /// RFC 6582, with the careful variant: no second fast retransmission for duplicate ACKs that the recovery itself caused.
    #[default]
    NewReno,
    /// RFC 6582 without the careful variant.
    NewRenoCareless,
}

/// The buffer of the application's data until it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendBuffer {
    /// 0: unlimited, and writes of any size.
    pub bytes: u64,
    /// The size follows the congestion window, as in Linux: twice that, this many bytes per segment; 0: it is constant.
    pub grows_by_bytes: u64,
    /// Memory per segment beyond its data.
    pub overhead_bytes: u64,
    /// Bytes per write of the application.
    pub write_bytes: u64,
    /// Time from free space to the application's next write.
    pub wakeup: Ns,
    /// Time from the handshake to its first write.
    pub first_write: Ns,
}

/// The configuration of one end.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpConfig {
    pub mss_bytes: u32,
    pub initial_window_segments: u32,
    pub initial_ssthresh_segments: u32,
    /// The receive buffer that is advertised.
    pub receive_window_bytes: u32,
    /// How the advertised window grows to that: from this size, by two segments with every segment; 0: advertised immediately.
    pub receive_window_first_bytes: u32,
    /// Where the window may grow later: (bytes received, largest window).
    pub receive_window_steps: Vec<(u64, u32)>,
    /// The windows of the receiver's ACKs after the handshake, in order, taken from a capture: memory is not simulated.
    pub receive_window_script: Vec<u32>,
    pub send_buffer: SendBuffer,
    pub sack: bool,
    /// Report duplicates (RFC 2883).
    pub dsack: bool,
    /// Forward acknowledgment: segments three below the highest SACK are lost immediately.
    pub fack: bool,
    pub timestamps: bool,
    pub recovery: Recovery,
    /// Proportional rate reduction (RFC 6937), as in Linux; else duplicate ACKs inflate the window.
    pub prr: bool,
    /// Rate halving, as in Linux 2.4: during recovery the window falls by one for every second ACK, to half the new
    /// threshold, and never exceeds the segments in flight by more than one. PRR replaced it.
    pub rate_halving: bool,
    /// A retransmission is lost again when data sent after it is selectively acknowledged (Linux 2.4 to 4.9).
    pub lost_retransmissions: bool,
    /// Linux 2.4's scoreboard: in a recovery only data sent before it is marked as lost, a partial ACK marks the next hole only
    /// when more than three segments up to the highest SACK are left, and what is neither SACKed nor marked is retransmitted
    /// when nothing new may be sent.
    pub linux24_scoreboard: bool,
    /// After a duplicate ACK, and in the recovery after a timeout, the window is at most the segments in flight and this
    /// many more (Linux 2.4: 3); 0: no limit.
    pub burst_segments: u32,
    pub limited_transmit: bool,
    /// After a timeout no new data is sent, and further timeouts do not change the windows, until all outstanding data is
    /// acknowledged (Linux 2.2).
    pub repairs_all_first: bool,
    pub nagle: bool,
    /// Only an earlier small segment makes a small one wait (Minshall), as in Linux; else any outstanding data (RFC 896).
    pub minshall: bool,
    /// The receiver advertises no window below a segment (RFC 9293 section 3.8.6.2.2).
    pub silly_window_avoidance: bool,
    /// Linux's defect without SACK: duplicate ACKs counted for new data sent in the recovery after a timeout still count
    /// after it, and begin a spurious fast recovery.
    pub stale_dupacks: bool,
    /// Keep-alive interval of an idle connection (RFC 9293 section 3.8.4); 0: none.
    pub keep_alive: Ns,
    /// The congestion window grows by the segments acknowledged (RFC 3465; Linux since 3.13); else per ACK (RFC 5681).
    pub counts_segments: bool,
    /// The congestion window grows only while it is filled.
    pub cwnd_validation: bool,
    /// One ACK per this many full segments.
    pub delayed_ack_segments: u32,
    /// For early segments more often: (number of the last one from 1, segments per ACK).
    pub delayed_ack_steps: Vec<(u64, u32)>,
    pub delayed_ack_timer: Ns,
    /// Segments acknowledged immediately when a connection begins (quick ACKs of Linux).
    pub quick_acks: u32,
    /// Acknowledge a pushed segment immediately, as Linux does once its application has read it.
    pub ack_pushed: bool,
    pub rto: RtoFlavour,
    /// The clock of its timers.
    pub wheel: Wheel,
    /// Undo a timeout that the ACK's timestamp shows to be spurious (RFC 3522, RFC 4015).
    pub eifel: bool,
    /// Linux 2.4's defect: the timestamp of the first retransmission is that of the SYN until a timeout has been undone or a
    /// recovery has ended, so that the first spurious timeout is not undone.
    pub eifel_first_stamp_defect: bool,
    /// RFC 5682.
    pub frto: bool,
    /// RFC 8985 section 7; needs SACK.
    pub tail_loss_probe: bool,
    /// Duplicate ACKs needed.
    pub dupack_threshold: u32,
}

impl Default for TcpConfig {
    /// Linux of the 2010s.
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
            lost_retransmissions: false,
            linux24_scoreboard: false,
            burst_segments: 0,
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
