//! Rows of `flows`: the facts of a direction, written when its connection ends.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use rustc_hash::FxHashMap;

use super::connection::Connection;
use super::counters::ConnectionCounters;
use super::ends::End;
use super::kinds::{TimeoutKind, Transmission, Trigger};
use super::tap::tap;
use crate::packet::Addr;
use crate::table::flow_facts::{FactRows, FACTS};
use crate::table::flows::{CounterRows, COUNTERS};

/// How a connection ended, in the order of `table::flow_facts::CLOSES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Close {
    Fin,
    Rst,
    Open,
    Reused,
    Evicted,
}

/// The rows of `flows`: facts and tcptrace's counters.
#[derive(Debug, Default)]
pub struct FlowTable {
    facts: FactRows,
    counters: CounterRows,
    src_keys: FxHashMap<Addr, i32>,
    dst_keys: FxHashMap<Addr, i32>,
}

impl FlowTable {
    pub fn len(&self) -> usize {
        self.facts.flow.len()
    }

    /// The columns of both parts.
    pub fn schema() -> Arc<Schema> {
        static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
        let made = || {
            let (facts, counters) = (FACTS.schema(), COUNTERS.schema());
            let fields: Vec<Arc<Field>> = facts.fields().iter().chain(counters.fields()).cloned().collect();
            Arc::new(Schema::new_with_metadata(fields, facts.metadata().clone()))
        };
        SCHEMA.get_or_init(made).clone()
    }

    pub fn finish(&mut self) -> RecordBatch {
        self.src_keys.clear();
        self.dst_keys.clear();
        let mut columns = self.facts.finish_columns();
        columns.extend(self.counters.finish_columns());
        RecordBatch::try_new(Self::schema(), columns).expect("flows: every row fills every column")
    }

    /// Write both directions of a connection, also a direction without packets.
    pub fn push(
        &mut self,
        c: &Connection,
        counters: &ConnectionCounters,
        ends: [End; 2],
        why: Close,
        capture_end_ns: Option<i64>,
    ) {
        let closed = match why {
            Close::Reused | Close::Evicted => why,
            _ if c.reset => Close::Rst,
            _ if c.fins >= 2 => Close::Fin,
            _ => Close::Open,
        };
        for reverse in [false, true] {
            let h = &c.senders[usize::from(reverse)];
            let other = &c.senders[usize::from(!reverse)];
            let t = &h.tally;
            let (src, dst) = if reverse { (ends[1], ends[0]) } else { (ends[0], ends[1]) };
            let seconds = (c.last_t - c.start) as f64 / 1e9;
            let rate = |bytes: u64| (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds);
            let by = |k: Trigger| u64::from(t.by_trigger[k as usize]);
            let kinds = |k: TimeoutKind| u64::from(t.rto[k as usize]);
            let f = &mut self.facts;
            f.flow.push(c.id);
            f.direction.push(i8::from(reverse));
            let src_key = *self.src_keys.entry(src.0).or_insert_with(|| f.ip_src.intern(src.0.to_string()));
            let dst_key = *self.dst_keys.entry(dst.0).or_insert_with(|| f.ip_dst.intern(dst.0.to_string()));
            f.ip_src.push_key(Some(src_key));
            f.ip_dst.push_key(Some(dst_key));
            f.src_port.push(src.1);
            f.dst_port.push(dst.1);
            f.first_packet.push_opt((t.first_packet > 0).then_some(t.first_packet));
            f.t_first_ns.push_opt(t.first_t);
            f.t_last_ns.push_opt(t.first_t.map(|_| t.last_t));
            f.t_start_ns.push(c.start);
            f.t_end_ns.push(c.last_t);
            f.payload_bytes.push(t.payload_bytes);
            f.wire_bytes.push(t.wire_bytes);
            f.goodput_bps.push_opt(rate(t.unique_bytes));
            f.throughput_bps.push_opt(rate(t.payload_bytes));
            f.retransmissions.push(t.retransmissions);
            f.retransmissions_rto.push(by(Trigger::Rto));
            f.retransmissions_go_back_n.push(by(Trigger::GoBackN));
            f.retransmissions_fast.push(by(Trigger::Fast) + by(Trigger::PartialAck) + by(Trigger::Sack));
            f.retransmissions_tail_loss_probe.push(by(Trigger::TailLossProbe));
            f.retransmissions_undecided.push(by(Trigger::Undecided));
            f.spurious_retransmissions.push(t.spurious);
            f.needed_retransmissions.push(t.needed);
            f.rto_genuine.push(kinds(TimeoutKind::Genuine));
            f.rto_spurious.push(kinds(TimeoutKind::Spurious));
            f.rto_ack_lost.push(kinds(TimeoutKind::AckLost));
            f.rto_undecided.push(kinds(TimeoutKind::Undecided));
            f.fast_recoveries.push(t.fast_recoveries);
            f.lost_before_tap.push(t.lost_before_tap);
            f.missing_packets.push_opt(h.ids.unseen().map(u64::from));
            f.reordered_packets.push(t.reordered);
            let copies = |k: Transmission| t.duplicates[k as usize - Transmission::NetworkDuplicate as usize];
            f.network_duplicates.push(copies(Transmission::NetworkDuplicate));
            f.capture_duplicates.push(copies(Transmission::CaptureDuplicate));
            f.mac_copies.push(copies(Transmission::MacCopy));
            f.acked_unseen.push(t.acks_unseen);
            let n = t.rtt_samples;
            let mean = t.rtt_sum / n as f64;
            f.tap_rtt_samples.push(n);
            f.tap_rtt_min_ns.push_opt((n > 0).then_some(t.rtt_min));
            f.tap_rtt_mean_ns.push_opt((n > 0).then_some(mean));
            f.tap_rtt_sd_ns
                .push_opt((n > 1).then(|| ((t.rtt_sum_sq - mean * t.rtt_sum) / (n - 1) as f64).max(0.0).sqrt()));
            f.tap_rtt_max_ns.push_opt((n > 0).then_some(t.rtt_max));
            f.handshake_rtt_ns.push_opt(h.rtt_whole);
            f.longest_idle_ns.push(t.longest_idle);
            f.flight_max_bytes.push(u64::try_from(t.flight_max).unwrap_or(0));
            f.peer_window_min_bytes.push_opt(t.window_min);
            f.peer_window_max_bytes.push(t.window_max);
            f.zero_window_acks.push(t.zero_windows);
            f.window_probes.push(t.window_probes);
            f.keepalives.push(t.keepalives);
            f.dupacks.push(t.dupacks);
            f.sack_agreed.push_opt((h.syn_seen && other.syn_seen).then_some(h.sack_permitted && other.sack_permitted));
            f.timestamps_agreed.push(h.timestamps && other.timestamps);
            f.timer.push_opt(h.timer.fitted().then(|| h.timer.flavour() as i8));
            f.tap.push(tap(c.local_votes, &c.handshake, c.on_air, &c.senders, reverse) as i8);
            f.closed_by.push(closed as i8);
            counters.push_row(reverse, capture_end_ns, &mut self.counters);
        }
    }
}
