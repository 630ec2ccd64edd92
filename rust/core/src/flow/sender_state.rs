//! The state of one sender, as far as the tap can infer it.

use std::collections::VecDeque;

use super::causes::Causes;
use super::dup_runs::DupRuns;
use super::intervals::Timeline;
use super::ip_order::IpOrder;
use super::kinds::{Phase, State};
use super::link_times::{Bursts, LinkTimes};
use super::recent::RecentPackets;
use super::scoreboard::{Run, Scoreboard};
use super::sender_view::SenderView;
use super::seq::SeqSpace;
use super::slow_start::SlowStart;
use super::spurious::Pending;
use super::stall::Stall;
use super::timer::Timer;
use super::timestamp_clock::TimestampClock;
use super::undecided::{EchoWait, HeldAck, KeptBack, Probe, Recovery, Settled, Timeout};
use super::undo::Undo;

/// Counts for `flows`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Tally {
    pub packets: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub unique_bytes: u64,
    pub last_t: i64,
    pub first_t: Option<i64>,
    pub first_packet: u64,
    pub ttl: u8,
    pub last_send: Option<i64>,
    pub longest_idle: i64,
    pub flight_max: i64,
    pub window_max: u32,
    pub window_min: Option<u32>,
    pub zero_windows: u64,
    pub dsack_acks: u64,
    pub rtt_samples: u64,
    pub rtt_sum: f64,
    pub rtt_sum_sq: f64,
    pub rtt_min: i64,
    pub rtt_max: i64,

    // Seldom.
    pub retransmissions: u64,
    pub by_trigger: [u32; 7],
    pub spurious: u64,
    pub needed: u64,
    pub undecided: u64,
    pub rto: [u32; 4],
    pub fast_recoveries: u64,
    pub lost_before_tap: u64,
    pub reordered: u64,
    pub duplicates: [u64; 3],
    pub acks_unseen: u64,
    pub keepalives: u64,
    pub window_probes: u64,
    pub dupacks: u64,
    pub sack_acks: u64,
}

/// State of one sender and of what its peer acknowledged.
/// In the order of use (`repr(C)`): every packet reads most of the first groups, so they share lines of the cache.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SenderState {
    // Both when it sends and when it is acknowledged.
    /// Highest ACK captured, and highest sequence number sent (exclusive).
    pub una: i64,
    pub end: i64,
    pub seq: SeqSpace,
    /// The peer's window: raw field, and in bytes where the scale is known.
    pub raw_window: Option<u16>,
    pub window: Option<u32>,
    /// The least one, but for a SYN's, which no scale fits (RFC 7323 section 2.2).
    pub window_least: Option<u32>,
    pub phase: Phase,
    /// Whether it goes from b to a.
    pub reverse: bool,
    pub timestamps: bool,
    pub syn_seen: bool,
    /// Its SYN was lost: it begins with one segment (RFC 5681 section 3.1).
    pub syn_lost: bool,
    pub sack_permitted: bool,
    /// Not all options of its SYN were captured.
    pub options_cut: bool,
    pub near_receiver: bool,
    pub near_sender: bool,
    /// Another connection shows that the tap is at this host.
    pub at_host: bool,
    pub answered: bool,
    pub slow_start: SlowStart,
    /// It keeps the path busy by itself.
    pub fills_path: bool,
    /// What is outstanding may fill the path: the answers to it show that.
    pub may_fill_path: bool,
    /// The latest round trips found a queue that takes nearly all of their time; the latest one took half as long again as the least one.
    pub queued: bool,
    pub late: bool,
    /// When the latest retransmissions were sent that no ACK has shown to have arrived.
    pub copies_on_path: VecDeque<i64>,
    pub keepalive_open: bool,
    /// Consecutive duplicate ACKs, and those that a retransmission of arrived bytes may have caused.
    pub dupacks: u16,
    /// When the latest duplicate ACK came that shows a hole.
    pub latest_dupack: Option<i64>,
    /// When the latest third duplicate ACK came.
    pub third_dupack: i64,
    /// The highest sequence number that had passed then.
    pub third_dupack_end: i64,
    /// Its TSval.
    pub third_dupack_tsval: Option<u32>,
    /// Linux without SACK: duplicate ACKs not yet used up by progress.
    pub unspent_dupacks: u16,
    /// Doublings in force: kept until a valid round-trip sample (Karn's algorithm, RFC 6298 section 5).
    pub backoff: u16,
    pub scoreboard: Scoreboard,
    pub timeline: Option<Box<Timeline>>,
    /// An ACK beyond everything sent, until another packet confirms it.
    pub held_ack: Option<Box<HeldAck>>,
    /// Recovery point of the phase.
    pub recover: i64,
    pub rtt_least: Option<i64>,
    /// When the latest ACK came that left no data of it on the path.
    pub path_empty_at: i64,
    /// When the first answer came to what was sent since then.
    pub path_answered_at: Option<i64>,
    /// The first data since then that waited on the path was sent at this time.
    pub path_queued_from: Option<i64>,
    pub last_ack: Option<i64>,
    pub echo_waits: Vec<EchoWait>,
    /// The echo awaited for a sample of `loop_least`: a TSval of the peer, and when it passed.
    pub echo_probe: Option<(u32, i64)>,
    /// What the sender knew when it sent the latest data, at a tap away from it.
    pub view: Option<Box<SenderView>>,
    /// Its packets echo older ACKs than have passed the tap on their way to it: they waited in a queue between TCP and the tap.
    pub behind: bool,
    /// Data of its peer is outstanding: what is echoed may be older than the latest ACK (RFC 7323 section 4.3).
    pub peer_waits: bool,
    /// Resets that its peer has sent, and nothing else since.
    pub resets: u32,

    // When it is acknowledged.
    pub ts_clock: TimestampClock,
    pub timer: Timer,
    pub pending: VecDeque<Pending>,
    pub timeouts: VecDeque<Timeout>,
    /// The latest TSval of its peer, and when it first passed.
    pub peer_tsval: Option<u32>,
    pub peer_tsval_at: i64,
    /// When the latest ACK of new data came, and which it was.
    pub last_advance: Option<i64>,
    pub last_advance_packet: u64,
    /// The least time from one such ACK to the next for 1024 bytes that it acknowledges, ns.
    pub least_spaced: Option<i64>,
    pub sacked_bytes: i64,
    pub expired_at: i64,
    /// When the latest segment known to have arrived was sent, and when the ACK that showed it came (RACK, RFC 8985).
    pub delivered_sent: Option<i64>,
    pub delivered_at: Option<i64>,
    /// The latest bytes sent once that an ACK reported: when they were sent, and when the ACK came.
    pub once: Option<(i64, i64)>,
    /// When the retransmission of the left edge that caused the latest new ACK was sent: bytes sent before it that start at `una` are missing.
    pub edge_filled: Option<i64>,
    pub probe: Option<Box<Probe>>,
    /// Runs acknowledged recently, for copies that arrive after their ACK.
    pub past: VecDeque<Run>,
    /// The first data captured begins here: bytes below it were sent before the capture began.
    pub captured_from: Option<i64>,
    /// The minimum RTT is that of a small packet (the SYN): a full segment needs its transmission time in addition.
    pub rtt_least_small: bool,
    /// Minimum time above `rtt_least` per KiB in flight: the transmission time of the bytes ahead of a segment.
    pub ns_per_kib: Option<i64>,
    /// The bytes in flight just after the last transmission.
    pub flight_sent: i64,
    /// The latest burst that one ACK answered: its bytes, how much longer than the least round trip that took, and the window then.
    pub burst_late: (i64, i64, Option<u32>),
    /// The bursts that one ACK each answered, and since when the link has been busy by the latest.
    pub bursts: Option<Bursts>,
    pub link_busy: Option<(i64, i64)>,
    /// Round trips of its bursts by size.
    pub sizes: LinkTimes,
    pub last_send: Option<i64>,
    /// ACKs that repeat the number of the latest one: duplicate ACKs for a sender with outstanding data.
    pub same_acks: u16,

    // When it sends.
    pub last_new_send: Option<i64>,
    /// The highest sequence number that this sender's own packets show.
    pub captured_end: i64,
    /// Largest payload sent: the size of a full segment.
    pub segment: i64,
    /// When the previous packet was captured.
    pub previous_packet: Option<i64>,
    /// Segments from `end` on that were sent before, in packets that never passed the tap.
    pub lost_ahead: i64,
    /// The start of a segment far from the others, until another packet confirms it.
    pub doubted_segment: Option<i64>,
    pub head_sent: Option<i64>,
    /// The longest silence that new data ended while other data was outstanding, or after a full segment: the sender waited for ACKs.
    pub usual_gap: i64,
    /// Payload of its latest new segment.
    pub len_before: i64,
    /// Bytes of the present burst that met nothing outstanding, 0 for none, and of the largest one.
    pub write: i64,
    pub write_most: i64,
    /// When a burst began that may go on.
    pub burst: Option<i64>,
    pub kept_back: Option<KeptBack>,
    /// The receiver seems to have delayed an ACK of one segment, as the next one was lost: that ACK, the time since when it was, and what
    /// the sender waited for before.
    pub first_delayed: Option<(i64, i64, State)>,
    /// The pair of hosts, from this one to the other, and their least round trip when this direction's data began.
    pub pair: u64,
    pub pair_least: i64,
    /// The least round trip of the pair of hosts by now, with undecided retransmissions; 0 for not looked up.
    pub pair_now: i64,
    /// The same from the tap to this sender and back, at a tap away from it.
    pub pair_loop: i64,
    /// The place of this host in `HostQueues`.
    pub host: u16,
    /// ACK number and window of this sender's latest packet, as it sent them.
    pub stated: Option<(u32, u16)>,
    /// Its latest TSval and TSecr.
    pub own_stamps: Option<(u32, u32)>,
    /// TSval and TSecr before its latest packet; TSval, TSecr and time of that packet.
    pub stamps_before: Option<(u32, u32)>,
    pub latest_stamp: Option<(u32, u32, i64)>,
    /// Length of a tick of its TSval once known, ns; its first TSval, and when it passed.
    pub own_clock_tick: Option<i64>,
    pub first_stamp: Option<(u32, i64)>,
    /// When it sent its latest packet with old bytes, at a tap away from it its latest packet, by its own clock and the fastest path.
    pub sent_at: Option<i64>,
    /// The same of the packet before.
    pub sent_before_at: Option<i64>,
    pub stall: Stall,
    pub ids: IpOrder,
    /// Packets sent recently, to recognise copies of the same packet.
    pub recent: RecentPackets,
    pub undo: Undo,
    /// It went back after an ACK whose echo let it undo a timeout: it does without the Eifel detection (RFC 3522).
    pub ignores_echo: bool,
    /// Shortest reaction time of this sender to an ACK.
    pub reaction: Option<i64>,
    pub fin_end: Option<i64>,
    pub tally: Tally,

    // Seldom.
    /// The largest payload that it accepts, and that both ends do, 0 for unknown.
    pub mss: Option<u16>,
    pub accepted: i64,
    pub wscale: Option<u8>,
    /// The latest run of duplicate ACKs that an advance ended: its ACK, their number, and when the last came.
    pub dup_run: Option<(i64, u16, i64)>,
    pub dup_runs: Option<Box<DupRuns>>,
    /// When it last repeated bytes whose ACK had come before: that copy was in the queue of its host.
    pub late_copy: Option<i64>,
    pub sacked_hi: i64,
    pub last_sack: Option<Box<[(i64, i64); 4]>>,
    /// The previous phase of recovery or loss.
    pub left: Phase,
    /// The left edge when something sent after its latest copy arrived for the first time, and when that ACK came.
    pub head_overtaken: Option<(i64, i64)>,
    /// A SACK restarted the timer.
    pub sack_restart: Option<i64>,
    /// Since when its ACKs show a hole.
    pub hole_since: Option<i64>,
    /// When an ACK last closed the window, and when one last opened it again.
    pub closed: Option<i64>,
    pub reopened: Option<i64>,
    /// When the peer last sent a SYN.
    pub asked: Option<i64>,
    /// SYNs of the peer, and how soon a SYN+ACK came after one.
    pub syns_of_peer: u32,
    pub answered_in: Option<i64>,
    /// Consecutive expiries for the segment at `expired_at`.
    pub expiries: u16,
    /// There may have been more.
    pub expiries_unsure: bool,
    pub last_expiry: Option<i64>,
    /// How long the timer ran before it, as far as the tap can infer it.
    pub expiry_waited: i64,
    /// RTT of the handshake, both sides of the tap together.
    pub rtt_whole: Option<i64>,
    /// The tap is a sniffer: at neither end.
    pub sniffed: bool,
    /// The silence before the latest retransmission of the left edge.
    pub head_gap: Option<i64>,
    /// Up to here it is undecided whether the sender is in a recovery, and in which.
    pub unsure_until: i64,
    pub unsure_since: Option<i64>,
    /// When it last sent what may have been an expiry, and what this was.
    pub maybe_expired: Option<i64>,
    pub maybe_expired_start: i64,
    /// What it may repeat meanwhile.
    pub unsure: Causes,
    /// What can have caused the retransmission that made it uncertain.
    pub doubt_left: Causes,
    /// Away from the sender: it may have sent bytes below this before its timer last may have expired.
    pub hidden_until: i64,
    /// The host dropped packets before the tap that it had sent since the new bytes before these.
    pub host_dropped: bool,
    /// How long the queue of its host lately kept an answer; 0 if it kept none.
    pub host_delay: i64,
    /// The latest ACK of bytes not reported before: its TSval, 0 for none, and when it passed.
    pub latest_news: Option<(u32, i64)>,
    /// Copies that are spurious, or may be, and that no DSACK has reported.
    pub unreported: VecDeque<Pending>,
    /// How late segments were at most that nothing can have repaired so soon.
    pub lateness: i64,
    /// Fast retransmissions of segments that were only late: the path reorders.
    pub reorders: bool,
    /// A DSACK came when its copy was settled: the absence of others proves nothing.
    pub reports_late: bool,
    /// Near the sender: ACKs came out of order, so round trips are not all alike.
    pub acks_overtake: bool,
    pub recoveries: VecDeque<Recovery>,
    pub next_id: u64,
    /// A first expiry concerned the head although a probe would have come before: this sender sends no probes.
    pub no_probes: bool,
    /// This sender has sent a probe.
    pub probes: bool,
    /// Rows recently classified as capture duplicates, and their bytes: a DSACK shows that the receiver got them twice.
    pub duplicated: VecDeque<(u64, i64, i64)>,
    /// When the IP ID last showed that ACKs of the peer are missing.
    pub acks_missing: Option<i64>,
    /// They end here at the latest.
    pub lost_until: i64,
    /// When it last retransmitted, the end of these bytes, and whether they had been acknowledged.
    pub last_resend: Option<i64>,
    pub resent_end: i64,
    pub resent_acked: bool,
    /// It passed so soon after their ACK that the sender had not read that when it sent the copy: no queue need have held either.
    pub resent_crossed: bool,
    /// Expiries of the segment that starts here may have been lost before the tap.
    pub hidden_expiries: Option<i64>,
    /// Whether the receiver reports segments that arrive twice (DSACK, RFC 2883), as its ACKs show.
    pub reports: Option<bool>,
    /// Shortest time from the tap to this sender and back.
    pub loop_least: Option<i64>,
    /// The same of the handshake, which contains how long it took to accept the connection.
    pub loop_syn: Option<i64>,
    /// The whole handshake, from its first SYN or SYN+ACK: what this sender took for its first round trip, or the timers that last until it
    /// measures one.
    pub opening_trip: Option<i64>,
    /// When the handshake's ACK passed.
    pub opened: Option<i64>,
    /// A timeout whose ACK came late or was lost: its number, what that ACK covered, and the copy's TSval.
    pub late_check: Option<(u64, i64, u32)>,
    /// The latest settled retransmissions, but for spurious ones.
    pub settled: VecDeque<Settled>,
    /// The latest expiry, whose recovery is in progress.
    pub last_timeout: Option<u64>,
}

impl SenderState {
    pub fn flight(&self) -> i64 {
        self.end - self.una
    }

    pub fn flight_u32(&self) -> u32 {
        u32::try_from(self.flight().max(0)).unwrap_or(u32::MAX)
    }

    /// It repairs nothing.
    pub fn is_calm(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Disorder)
    }

    pub fn mss(&self) -> i64 {
        if self.segment > 0 {
            self.segment
        } else {
            536
        }
    }

    pub fn cwnd_segments(&self) -> i64 {
        (self.flight() / self.mss()).max(1)
    }

    /// Nothing shows that it does without SACK.
    pub fn may_use_sack(&self) -> bool {
        self.sack_permitted || self.options_cut || !self.syn_seen
    }

    pub fn rto(&self) -> Option<i64> {
        self.timer.rto(self.backoff, self.cwnd_segments())
    }

    pub fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}
