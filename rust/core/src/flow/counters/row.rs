//! The counters of one direction as a row of `flows`.

use super::ConnectionCounters;
use crate::flow::duration_stats::elapsed_ns;
use crate::table::flows::CounterRows;

impl ConnectionCounters {
    /// Write the row of one direction. `capture_end_ns`: the time of the capture's last IP packet, to which a connection
    /// that was not closed counts as idle.
    pub fn push_row(&self, reverse: bool, capture_end_ns: Option<i64>, rows: &mut CounterRows) {
        let (own, other) = (&self.dir[usize::from(reverse)], &self.dir[usize::from(!reverse)]);
        let closed = (own.fin_packets > 0 && other.fin_packets > 0) || own.rst_packets + other.rst_packets > 0;
        let elapsed = elapsed_ns(self.first_ns, self.last_ns);
        let idle = own.last_ns.map(|last| match capture_end_ns {
            Some(end) if !closed => own.idle_max_ns.max(elapsed_ns(last, end)),
            _ => own.idle_max_ns,
        });
        let stream = own.stream_bytes();
        let scaled = own.scaled_packets.filter(|_| other.scaled_packets.is_some());

        rows.packets.push(own.packets);
        rows.rst_packets.push(own.rst_packets);
        rows.ack_packets.push(own.ack_packets);
        rows.pure_ack_packets.push(own.pure_ack_packets);
        rows.sack_packets.push(own.sack_ack_packets);
        rows.dsack_packets.push(own.dsack_packets);
        rows.sack_blocks_max.push(own.sack_blocks_max);
        rows.unique_bytes.push(own.unique_bytes);
        rows.data_packets.push(own.data_packets);
        rows.data_bytes.push(own.data_bytes);
        rows.rexmt_packets.push(own.rexmt_packets);
        rows.rexmt_bytes.push(own.rexmt_bytes);
        rows.zero_window_probe_packets.push(own.probe_packets);
        rows.zero_window_probe_bytes.push(own.probe_bytes);
        rows.out_of_order_packets.push(own.out_of_order_packets);
        rows.pushed_packets.push(own.pushed_packets);
        rows.syn_packets.push(own.syn_packets);
        rows.fin_packets.push(own.fin_packets);
        rows.window_scale_requested.push(own.scale_requested);
        rows.timestamps_requested.push(own.timestamps_requested);
        rows.window_scale.push(own.scale);
        rows.sack_requested.push(own.sack_requested);
        rows.sacks_sent.push(own.sack_option_packets);
        rows.urgent_packets.push(own.urgent_packets);
        rows.urgent_bytes.push(own.urgent_bytes);
        rows.mss_bytes.push_opt(own.mss);
        rows.segment_max_bytes.push_opt(own.segment_min.map(|_| own.segment_max));
        rows.segment_min_bytes.push_opt(own.segment_min);
        rows.segment_mean_bytes.push_opt(ratio(own.data_bytes, own.data_packets));
        rows.window_max_bytes.push_opt((own.packets > 0).then_some(own.window_max));
        rows.window_min_bytes.push_opt((own.window_min > 0).then_some(own.window_min));
        rows.zero_window_packets.push(own.zero_windows);
        rows.window_mean_bytes.push_opt(ratio(own.window_sum, scaled.unwrap_or(own.packets)));
        rows.owin_max_bytes.push_opt((own.owin_count > 0).then_some(own.owin_max));
        rows.owin_min_bytes.push_opt(own.owin_min);
        rows.owin_mean_bytes.push_opt(ratio(own.owin_sum, own.owin_count));
        rows.owin_time_mean_bytes.push_opt((elapsed > 0).then(|| own.owin_byte_ns as f64 / elapsed as f64));
        rows.initial_window_bytes.push(own.initial_bytes);
        rows.initial_window_packets.push(own.initial_packets);
        rows.stream_bytes.push_opt(stream);
        rows.missed_bytes.push_opt(stream.map(|bytes| (bytes as i64).wrapping_sub(own.unique_bytes as i64)));
        rows.truncated_bytes.push(own.truncated_bytes);
        rows.truncated_packets.push(own.truncated_packets);
        rows.data_transmit_ns.push_opt(own.first_data_ns.map(|first| elapsed_ns(first, own.last_data_ns)));
        rows.idle_max_ns.push_opt(idle);
        rows.hardware_duplicates.push(own.hardware_duplicates);
        rows.throughput_bytes_per_s.push_opt((elapsed > 0).then(|| own.unique_bytes as f64 * 1e9 / elapsed as f64));

        rows.rtt_samples.push(own.acks.rtt.count());
        rows.rtt_min_ns.push_opt(own.acks.rtt.min_ns());
        rows.rtt_max_ns.push_opt(own.acks.rtt.max_ns());
        rows.rtt_mean_ns.push_opt(own.acks.rtt.mean_ns());
        rows.rtt_sd_ns.push_opt(own.acks.rtt.sd_ns());
        rows.rtt_handshake_ns.push_opt(own.handshake_rtt_ns);
        rows.rtt_full_samples.push(own.acks.rtt_full.count());
        rows.rtt_full_min_ns.push_opt(own.acks.rtt_full.min_ns());
        rows.rtt_full_max_ns.push_opt(own.acks.rtt_full.max_ns());
        rows.rtt_full_mean_ns.push_opt(own.acks.rtt_full.mean_ns());
        rows.rtt_full_sd_ns.push_opt(own.acks.rtt_full.sd_ns());
        rows.post_loss_acks.push(own.acks.post_loss);
        rows.ambiguous_acks.push(own.acks.rtt_resent.count());
        rows.rtt_resent_min_ns.push_opt(own.acks.rtt_resent.min_ns());
        rows.rtt_resent_max_ns.push_opt(own.acks.rtt_resent.max_ns());
        rows.rtt_resent_mean_ns.push_opt(own.acks.rtt_resent.mean_ns());
        rows.rtt_resent_sd_ns.push_opt(own.acks.rtt_resent.sd_ns());
        rows.cumulatively_acked_segments.push(own.acks.cumulatively_acked);
        rows.duplicate_acks.push(own.acks.duplicates);
        rows.triple_duplicate_acks.push(own.acks.triple_duplicates);
        rows.resends_max.push(own.resends.most);
        rows.resend_samples.push(own.resends.waited.count());
        rows.resend_min_ns.push_opt(own.resends.waited.min_ns());
        rows.resend_max_ns.push_opt(own.resends.waited.max_ns());
        rows.resend_mean_ns.push_opt(own.resends.waited.mean_ns());
        rows.resend_sd_ns.push_opt(own.resends.waited.sd_ns());
    }
}

fn ratio(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}
