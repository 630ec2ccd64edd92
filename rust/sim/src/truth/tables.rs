//! The ground truth as Arrow tables.

use std::sync::Arc;

use arrow_array::{Float64Array, RecordBatch, StringArray, UInt64Array};

use super::categories::CATEGORIES;
use super::codes::{PACKET_FATES, TRIGGERS};
use super::columns::{directions, maybe_small, maybe_times, small, table, times, whole, words};
use super::{EventRow, Truth};
use crate::tcp::Variables;

impl Truth {
    /// `truth_packets`, `truth_frames`, `truth_events`, `truth_queues`, `truth_urbs` and `truth_ledger`.
    pub fn tables(mut self) -> Vec<(&'static str, RecordBatch)> {
        let ledger = self.ledger_table();
        let frames = std::mem::take(&mut self.frames);
        vec![
            ("truth_packets", self.packet_table()),
            ("truth_frames", frames.table()),
            ("truth_events", self.event_table()),
            ("truth_queues", self.queue_table()),
            ("truth_urbs", self.urb_table()),
            ("truth_ledger", ledger),
        ]
    }

    fn packet_table(&self) -> RecordBatch {
        let p = || self.packets.iter();
        let queued = self.queued();
        table(
            "truth_packets",
            "One row per packet that a stack sent, with its trigger and fate.",
            vec![
                ("id", "Number of the packet in the run, from 0.", whole(p().map(|r| r.id)), false),
                ("flow", "Flow of the scenario, from 0.", small(p().map(|r| r.flow)), false),
                (
                    "direction",
                    "Direction: a2b or b2a, where a is the client.",
                    directions(p().map(|r| r.reverse)),
                    false,
                ),
                (
                    "ip_id",
                    "Identification field of its IP header: names it in a capture.",
                    small(p().map(|r| r.ip_id.into())),
                    false,
                ),
                (
                    "rel_seq",
                    "Offset in the stream, where the SYN is 0; for a datagram its number in the flow.",
                    whole(p().map(|r| r.seq)),
                    false,
                ),
                ("rel_ack", "Offset acknowledged; 0 without ACK.", whole(p().map(|r| r.ack)), false),
                ("len_bytes", "Length of the payload.", small(p().map(|r| r.len)), false),
                ("trigger", "Trigger of the transmission.", words(p().map(|r| r.trigger), &TRIGGERS), false),
                (
                    "copy",
                    "Number of earlier transmissions of its first byte.",
                    small(p().map(|r| r.copy.into())),
                    false,
                ),
                ("t_made_ns", "Time at which its stack created it.", times(p().map(|r| r.made)), false),
                (
                    "t_tap_ns",
                    "Time at its sender's tap; null if it did not pass the tap.",
                    maybe_times(p().map(|r| r.tapped)),
                    true,
                ),
                ("fate", "Fate of the packet.", words(p().map(|r| r.fate as i8), &PACKET_FATES), false),
                ("t_end_ns", "Time at which its fate was decided.", times(p().map(|r| r.ended)), false),
                (
                    "queued_ns",
                    "Time in the queues of lines, stations and their MACs; null if it still waits, or without the true ledger.",
                    maybe_times(queued.into_iter()),
                    true,
                ),
                ("attempts", "Transmissions on the air.", small(p().map(|r| r.attempts)), false),
            ],
        )
    }

    fn event_table(&self) -> RecordBatch {
        // A hold is recorded at its end, together with its start.
        let mut events = self.events.clone();
        events.sort_by_key(|e| e.t);
        let e = || events.iter();
        fn v<'a, T: 'a>(
            events: &'a [EventRow],
            get: impl Fn(&Variables) -> Option<T> + 'a,
        ) -> impl Iterator<Item = Option<T>> + 'a {
            events.iter().map(move |r| r.variables.as_ref().and_then(&get))
        }
        let names: StringArray = e().map(|r| Some(r.what)).collect();
        table(
            "truth_events",
            "Events of TCP senders, receivers, applications and adapters, in order of time.",
            vec![
                ("t_ns", "Time of the event.", times(e().map(|r| r.t)), false),
                ("flow", "Flow of the scenario, from 0.", small(e().map(|r| r.flow)), false),
                ("direction", "Direction: a2b or b2a, where a is the client.", directions(e().map(|r| r.reverse)), false),
                (
                    "what",
                    "timeout; loss_state: after a timeout, and after each ACK of new data in the recovery that follows; timeout_undone, recovery_began, recovery_undone, recovery_ended, third_duplicate: the third duplicate ACK of a segment that was not retransmitted in this recovery; window_probe, window_filled and window_closed (the peer's window limits the sender), window_freed, transfer_began, transfer_ended; delayed_ack: the timer of this end sent an ACK; hold_began and hold_ended: an adapter held this flow's packets of this direction.",
                    Arc::new(names),
                    false,
                ),
                ("rel_seq", "Offset of the segment concerned; for a delayed ACK the offset acknowledged, for loss_state the first outstanding one.", whole(e().map(|r| r.seq)), false),
                (
                    "rto_ns",
                    "For timeout and loss_state the retransmission timeout; for hold_ended the length of the hold.",
                    times(e().map(|r| r.value_ns)),
                    false,
                ),
                ("packets", "For a hold the packets of the flow that were held.", small(e().map(|r| r.packets)), false),
                (
                    "srtt_ns",
                    "For timeout (before it) and loss_state, as the columns after it: smoothed round trip; null before the first sample.",
                    maybe_times(v(&events, |v| v.srtt)),
                    true,
                ),
                ("mdev_ns", "Mean deviation of the round trip.", maybe_times(v(&events, |v| Some(v.mdev))), true),
                ("cwnd_segments", "Congestion window.", maybe_small(v(&events, |v| Some(v.cwnd))), true),
                ("ssthresh_segments", "Slow start threshold; null before the first loss.", maybe_small(v(&events, |v| v.ssthresh)), true),
                ("expiries", "Consecutive timeouts.", maybe_small(v(&events, |v| Some(v.expiries))), true),
                ("backoff", "Doublings of the timeout.", maybe_small(v(&events, |v| Some(v.backoff))), true),
                ("outstanding_segments", "Segments sent and not acknowledged.", maybe_small(v(&events, |v| Some(v.outstanding))), true),
            ],
        )
    }

    fn urb_table(&self) -> RecordBatch {
        let u = || self.urbs.iter();
        table(
            "truth_urbs",
            "One row per completed transfer of a USB adapter, in order of completion.",
            vec![
                ("node", "Node of the host.", small(u().map(|r| r.node)), false),
                (
                    "direction",
                    "Direction: out is to the adapter.",
                    words(u().map(|r| i8::from(r.into_host)), &["out", "in"]),
                    false,
                ),
                ("packet", "id of the packet in it.", whole(u().map(|r| r.packet)), false),
                ("len_bytes", "Bytes transferred.", small(u().map(|r| r.bytes)), false),
                ("t_submit_ns", "Time at which the driver submitted it.", times(u().map(|r| r.submitted)), false),
                ("t_first_ns", "Start of its first transaction.", times(u().map(|r| r.times.first)), false),
                ("t_last_ns", "End of its last transaction.", times(u().map(|r| r.times.last)), false),
                (
                    "t_complete_ns",
                    "Time at which the driver got the completion.",
                    times(u().map(|r| r.completed)),
                    false,
                ),
                (
                    "refused_ns",
                    "Time for which the adapter refused it because its buffer was full.",
                    times(u().map(|r| r.times.refused)),
                    false,
                ),
                (
                    "ahead_count",
                    "Packets still in the adapter for the air when it had this one completely.",
                    small(u().map(|r| r.found)),
                    false,
                ),
            ],
        )
    }

    fn ledger_table(&self) -> RecordBatch {
        let rows = self.ledger_rows();
        let r = || rows.iter();
        table(
            "truth_ledger",
            "What the sender of each direction with data waited for: intervals without a gap from the connection's first packet to \
             its last ACK.",
            vec![
                ("flow", "Flow of the scenario, from 0.", small(r().map(|r| r.flow)), false),
                ("direction", "Direction: a2b or b2a, where a is the client.", directions(r().map(|r| r.reverse)), false),
                (
                    "category",
                    "What was waited for, in the categories of `ledger`.",
                    words(r().map(|r| r.category as i8), &CATEGORIES),
                    false,
                ),
                ("t_start_ns", "Start of the interval.", times(r().map(|r| r.start)), false),
                ("t_end_ns", "End of the interval.", times(r().map(|r| r.end)), false),
            ],
        )
    }

    fn queue_table(&self) -> RecordBatch {
        let q = || self.queues.iter();
        let names: StringArray = q().map(|r| Some(&*r.queue)).collect();
        let average: Float64Array = q().map(|r| r.note.average).collect();
        let dropped: UInt64Array = q().map(|r| r.note.dropped).collect();
        table(
            "truth_queues",
            "Lengths and drops of the queues: a row at each drop, at changes of the length (long queues: large changes) and when a \
             queue becomes empty.",
            vec![
                ("t_ns", "Time of the event.", times(q().map(|r| r.note.t)), false),
                (
                    "queue",
                    "Name of the queue: \"wire 0 a2b\" is before the first line at its end a; \"station 1\" between that node and the air.",
                    Arc::new(names),
                    false,
                ),
                (
                    "length_packets",
                    "Packets in the queue, without the one being sent.",
                    small(q().map(|r| r.note.packets)),
                    false,
                ),
                ("average_packets", "Average length of RED; null for other queues.", Arc::new(average), true),
                ("dropped", "id of the dropped packet; null for a change of length.", Arc::new(dropped), true),
            ],
        )
    }
}
