//! The truth as Arrow tables.

use std::sync::Arc;

use arrow_array::{Float64Array, RecordBatch, StringArray, UInt64Array};

use super::codes::{PACKET_FATES, TRIGGERS};
use super::columns::{directions, maybe_times, small, table, times, whole, words};
use super::Truth;

impl Truth {
    /// `truth_packets`, `truth_frames`, `truth_events`, `truth_queues` and `truth_urbs`.
    pub fn tables(mut self) -> Vec<(&'static str, RecordBatch)> {
        let frames = std::mem::take(&mut self.frames);
        vec![
            ("truth_packets", self.packet_table()),
            ("truth_frames", frames.table()),
            ("truth_events", self.event_table()),
            ("truth_queues", self.queue_table()),
            ("truth_urbs", self.urb_table()),
        ]
    }

    fn packet_table(&self) -> RecordBatch {
        let p = || self.packets.iter();
        table(
            "truth_packets",
            "One row a packet that a stack made: why, and what became of it.",
            vec![
                ("id", "Number of the packet in the run, from 0.", whole(p().map(|r| r.id)), false),
                ("flow", "Flow of the scenario, from 0.", small(p().map(|r| r.flow)), false),
                ("direction", "a is the client.", directions(p().map(|r| r.reverse)), false),
                (
                    "rel_seq",
                    "Offset in the stream; the SYN is 0. Of a datagram its number.",
                    whole(p().map(|r| r.seq)),
                    false,
                ),
                ("rel_ack", "Offset acknowledged; 0 for none.", whole(p().map(|r| r.ack)), false),
                ("len_bytes", "Payload.", small(p().map(|r| r.len)), false),
                ("trigger", "Why it was sent.", words(p().map(|r| r.trigger), &TRIGGERS), false),
                ("copy", "How often its first byte was sent before.", small(p().map(|r| r.copy.into())), false),
                ("t_made_ns", "When its stack made it.", times(p().map(|r| r.made)), false),
                (
                    "t_tap_ns",
                    "When its sender's tap saw it; null when it never did.",
                    maybe_times(p().map(|r| r.tapped)),
                    true,
                ),
                ("fate", "What became of it.", words(p().map(|r| r.fate as i8), &PACKET_FATES), false),
                ("t_end_ns", "When that was decided.", times(p().map(|r| r.ended)), false),
                ("attempts", "Attempts on the air.", small(p().map(|r| r.attempts)), false),
            ],
        )
    }

    fn event_table(&self) -> RecordBatch {
        // A hold is told at its end, of its begin as well.
        let mut events = self.events.clone();
        events.sort_by_key(|e| e.t);
        let e = || events.iter();
        let names: StringArray = e().map(|r| Some(r.what)).collect();
        table(
            "truth_events",
            "What TCP senders, receivers, the applications above them and adapters did, in order of time.",
            vec![
                ("t_ns", "When.", times(e().map(|r| r.t)), false),
                ("flow", "Flow of the scenario, from 0.", small(e().map(|r| r.flow)), false),
                ("direction", "a is the client.", directions(e().map(|r| r.reverse)), false),
                (
                    "what",
                    "timeout, timeout_undone, recovery_began, recovery_undone, recovery_ended, third_duplicate, window_probe, window_filled and window_closed (only the peer's window stands in the way), window_freed, transfer_began, transfer_ended; delayed_ack: the timer of this end sent an ACK; hold_began and hold_ended: an adapter kept this flow's packets of this direction.",
                    Arc::new(names),
                    false,
                ),
                ("rel_seq", "The segment that it is about; of a delayed ACK what it acknowledges.", whole(e().map(|r| r.seq)), false),
                (
                    "rto_ns",
                    "Of a timeout: the timer's length. Of hold_ended: how long the hold lasted.",
                    times(e().map(|r| r.value_ns)),
                    false,
                ),
                ("packets", "Of a hold: how many packets of the flow were kept.", small(e().map(|r| r.packets)), false),
            ],
        )
    }

    fn urb_table(&self) -> RecordBatch {
        let u = || self.urbs.iter();
        table(
            "truth_urbs",
            "One row a completed transfer of a USB adapter, in order of completion.",
            vec![
                ("node", "Node of the host.", small(u().map(|r| r.node)), false),
                ("direction", "out: to the adapter.", words(u().map(|r| i8::from(r.into_host)), &["out", "in"]), false),
                ("packet", "id of the packet in it.", whole(u().map(|r| r.packet)), false),
                ("len_bytes", "Bytes transferred.", small(u().map(|r| r.bytes)), false),
                ("t_submit_ns", "When the driver submitted it.", times(u().map(|r| r.submitted)), false),
                ("t_first_ns", "Begin of its first transaction.", times(u().map(|r| r.times.first)), false),
                ("t_last_ns", "End of its last transaction.", times(u().map(|r| r.times.last)), false),
                ("t_complete_ns", "When the driver was told.", times(u().map(|r| r.completed)), false),
                (
                    "refused_ns",
                    "How long the adapter had no room for it when its turn had come.",
                    times(u().map(|r| r.times.refused)),
                    false,
                ),
                (
                    "ahead_count",
                    "Packets that the adapter still had for the air when it had this one whole.",
                    small(u().map(|r| r.found)),
                    false,
                ),
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
            "What the queues were like: a row at each drop, at changes of the length (long queues: large ones) and when one \
             became empty.",
            vec![
                ("t_ns", "When.", times(q().map(|r| r.note.t)), false),
                (
                    "queue",
                    "Whose: \"wire 0 a2b\" is before the first line at its end a; \"station 1\" between that node and the air.",
                    Arc::new(names),
                    false,
                ),
                (
                    "length_packets",
                    "Packets waiting, the one being sent not counted.",
                    small(q().map(|r| r.note.packets)),
                    false,
                ),
                ("average_packets", "RED's average; null for other queues.", Arc::new(average), true),
                ("dropped", "id of the packet that was dropped; null for a change of length.", Arc::new(dropped), true),
            ],
        )
    }
}
