//! Since when a host's interface has been sending without a pause: meanwhile its packets waited in its own queue, and reached the tap later.
//!
//! Linux hands a packet to its taps when the interface takes it from the queue: `dev_hard_start_xmit` after the queueing discipline.

use super::intervals::TICK_NS;
use crate::limits;

/// Bytes of a frame that the capture does not hold: preamble, check sequence and gap of Ethernet (IEEE 802.3 clause 4.4.2). Other links
/// have other ones: only a packet that is long beside them shows the pace.
const UNSEEN_BYTES: i64 = 24;
const LEAST_BYTES: i64 = 128;
/// Clocks of taps tick, and an interrupt comes late: a quarter and so much more than its packet needs is no pause yet.
const SLACK_NS: i64 = 2_000;
/// Packets in turn: fewer pass without a pause by chance.
const LEAST_RUN: u32 = 16;
/// The same of packets that follow no ACK at once either.
const LEAST_TURNS: u32 = 4;
/// Fewer connections have one end in common by chance.
const LEAST_CONNECTIONS: u32 = 16;
/// A queue that nothing shows any more after so many times its delay has drained.
const DRAINED: i64 = 8;

/// A time in which the interface of a host sent packets without a pause.
#[derive(Debug, Clone, Copy)]
pub struct Busy {
    /// When the first packet of it passed.
    since: i64,
    /// Packets since then without a pause, the present one included.
    run: u32,
    /// Its packet before the present one.
    pub until: i64,
    /// How long its queue lately kept an answer, at most.
    delay: i64,
    /// It once sent for a while without a pause, as a line of constant rate does, and no station.
    line: bool,
}

impl Busy {
    pub const UNKNOWN: Busy = Busy { since: i64::MAX, run: 0, until: i64::MIN, delay: 0, line: false };

    /// The present packet passes right behind the one of that time, as the interface takes packets from its queue, which was empty when
    /// an ACK came at `asked`.
    pub fn was_empty(&self, packet_t: i64, asked: i64) -> bool {
        self.run > 1 && self.until == packet_t && self.since >= asked
    }

    /// The same since a round trip before that ACK: the host's data has kept the interface busy since.
    pub fn is_kept_busy(&self, packet_t: i64, asked: i64, trip: i64) -> bool {
        self.run >= LEAST_TURNS && self.until == packet_t && asked.saturating_sub(self.since) >= trip
    }

    /// Other packets passed since the host could answer at `asked`, and its answer passes at `t`: it waited behind them if they passed
    /// without a pause, or if another answer lately waited about as long, less a packet.
    pub fn delays(&self, asked: i64, t: i64) -> bool {
        let packet = t.saturating_sub(self.until);
        let usual = t.saturating_sub(asked) <= self.delay.saturating_add(packet).saturating_mul(2);
        self.until > asked && (self.has_no_pause(asked) || self.delay > 0 && usual)
    }

    /// A line had what passes at `t` in its queue before `asked`: later packets stay for much longer. A station shares the air with the
    /// ACKs: either is under way all the time.
    pub fn had_it(&self, asked: i64, t: i64) -> bool {
        !self.line || t.saturating_sub(asked).saturating_mul(2) <= self.delay
    }

    /// No other packet of it passed since then, in whose queue the present one could have waited.
    pub fn is_first_since(&self, asked: i64) -> bool {
        self.until <= asked
    }

    /// How long its queue lately kept an answer; 0 if none did.
    pub fn delay(&self) -> i64 {
        self.delay
    }

    pub fn has_no_pause(&self, asked: i64) -> bool {
        self.run >= LEAST_RUN && self.since <= asked.saturating_add(TICK_NS)
    }
}

/// The interface of a host.
#[derive(Debug, Clone, Copy)]
struct Interface {
    last_t: i64,
    last_bytes: i64,
    /// The least time for 1024 bytes between two packets, which no interface beats; ns.
    ns_per_kib: i64,
    /// Of a host that opens many connections, until that is known: whether the latest packet was a SYN, the least time from one to the
    /// next packet, and its bytes.
    syn: bool,
    least_syn: (i64, i64),
    busy_since: i64,
    /// Packets since then, and whether they were once enough.
    run: u32,
    line: bool,
    /// How long its queue kept the latest answer, and when that passed.
    delay: (i64, i64),
    /// The least time from the tap to the host and back, over its connections.
    loop_ns: i64,
    /// Connections of which it is an end.
    connections: u32,
}

/// No packet that needs so long passes later without a pause before it.
fn with_slack(needs: i64) -> i64 {
    (needs.saturating_add(needs / 4)).saturating_add(SLACK_NS)
}

/// By host, in a table of constant size: two hosts in one place seem faster, and so less busy.
#[derive(Debug)]
pub struct HostQueues {
    interfaces: Vec<Interface>,
    /// Connections of the capture.
    connections: u32,
}

impl Default for HostQueues {
    fn default() -> Self {
        let idle = Interface {
            last_t: 0,
            last_bytes: 0,
            ns_per_kib: i64::MAX,
            syn: false,
            least_syn: (i64::MAX, 1),
            busy_since: i64::MAX,
            run: 0,
            line: false,
            delay: (0, 0),
            loop_ns: i64::MAX,
            connections: 0,
        };
        HostQueues { interfaces: vec![idle; limits::IP_ID_HOSTS], connections: 0 }
    }
}

impl HostQueues {
    /// A packet of the host passes; `syn`: it opens a connection.
    pub fn observe(&mut self, place: u16, t: i64, wire_bytes: u32, syn: bool) -> Busy {
        let Some(x) = self.interfaces.get_mut(usize::from(place)) else { return Busy::UNKNOWN };
        let until = x.last_t;
        let gap = t.saturating_sub(x.last_t);
        let bytes = x.last_bytes + UNSEEN_BYTES;
        // Division takes long, and few packets come as fast as the fastest before.
        let fast = x.last_bytes >= LEAST_BYTES && gap.saturating_mul(1024) <= x.ns_per_kib.saturating_mul(bytes);
        let pace = if fast { gap.saturating_mul(1024) / bytes } else { i64::MAX };
        let first = x.ns_per_kib == i64::MAX;
        // Faster than ever: until now a sender was slow, not the interface.
        let faster = if first { x.syn && gap < x.least_syn.0 / 8 * 7 } else { pace < x.ns_per_kib / 8 * 7 };
        if first && x.syn && gap < x.least_syn.0 {
            // A damaged record may say that a packet had no bytes.
            x.least_syn = (gap, x.last_bytes.max(1));
        }
        let needs = match first {
            // A packet takes no longer than SYNs of as many bytes, which have more unseen ones.
            true => x.least_syn.0.saturating_mul(x.last_bytes) / x.least_syn.1,
            false => x.ns_per_kib.min(pace).saturating_mul(bytes) / 1024,
        };
        x.ns_per_kib = x.ns_per_kib.min(pace);
        if faster || needs == i64::MAX || gap > with_slack(needs) {
            (x.busy_since, x.run) = (t, 0);
        }
        x.syn = syn;
        x.run = x.run.saturating_add(1);
        (x.last_t, x.last_bytes) = (t, i64::from(wire_bytes));
        x.line |= x.run >= LEAST_RUN && x.ns_per_kib < i64::MAX;
        let lately = t.saturating_sub(x.delay.1) <= x.delay.0.saturating_mul(DRAINED);
        Busy { since: x.busy_since, run: x.run, until, delay: if lately { x.delay.0 } else { 0 }, line: x.line }
    }

    /// An answer that the host gave at once passes `delay` later: its queue kept it so long. `sure`: it answers no earlier packet.
    pub fn note_delay(&mut self, place: u16, t: i64, delay: i64, sure: bool) {
        if let Some(x) = self.interfaces.get_mut(usize::from(place)) {
            let lately = t.saturating_sub(x.delay.1) <= x.delay.0.saturating_mul(DRAINED);
            if sure || delay >= x.delay.0 || !lately {
                x.delay = (delay, t);
            }
        }
    }

    /// A connection between two hosts begins.
    pub fn open(&mut self, places: [u16; 2]) {
        self.connections = self.connections.saturating_add(1);
        for place in places {
            if let Some(x) = self.interfaces.get_mut(usize::from(place)) {
                x.connections = x.connections.saturating_add(1);
            }
        }
    }

    /// Whether every connection of the capture has this host as an end, and one in eight at most the other one: a capture of its own packets.
    pub fn is_of_all(&self, place: u16, other: u16) -> bool {
        let connections = |place: u16| self.interfaces.get(usize::from(place)).map_or(0, |x| x.connections);
        self.connections >= LEAST_CONNECTIONS
            && connections(place) == self.connections
            && u64::from(connections(other)) * 8 <= u64::from(self.connections)
    }

    /// As far as this capture has shown, the tap is near this host.
    pub fn is_near(&self, place: u16, other: u16) -> bool {
        self.is_of_all(place, other) || self.interfaces.get(usize::from(place)).is_some_and(|x| x.loop_ns <= TICK_NS)
    }

    /// The least time from the tap to the host and back; `own`: as one of its connections shows it.
    pub fn loop_ns(&mut self, place: u16, own: Option<i64>) -> i64 {
        let Some(x) = self.interfaces.get_mut(usize::from(place)) else { return i64::MAX };
        x.loop_ns = x.loop_ns.min(own.unwrap_or(i64::MAX));
        x.loop_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn an_answer_waits_about_as_long_as_the_one_before() {
        let mut hosts = HostQueues::default();
        // A packet every 2 to 4 ms; an answer at 100 ms came 3 ms late.
        for (k, t) in [96, 98, 100].into_iter().enumerate() {
            hosts.observe(0, t * MS, 1500, false);
            hosts.note_delay(0, t * MS, k as i64 * MS * 3 / 2, true);
        }
        let busy = hosts.observe(0, 104 * MS, 1500, false);
        assert!(busy.delays(96 * MS, 104 * MS), "{busy:?}");
        assert!(!busy.delays(80 * MS, 104 * MS), "{busy:?}");
        // No other packet passed since it could answer.
        assert!(!busy.delays(101 * MS, 104 * MS), "{busy:?}");
        // Later an answer comes at once, and then that delay says nothing any more.
        hosts.note_delay(0, 104 * MS, 0, true);
        assert!(!hosts.observe(0, 107 * MS, 1500, false).delays(100 * MS, 107 * MS));
    }

    #[test]
    fn a_pace_of_short_packets() {
        let pace = |bytes| {
            let mut hosts = HostQueues::default();
            let passes = (0..40).map(|k| hosts.observe(0, k * MS, bytes, false));
            passes.last().unwrap().has_no_pause(10 * MS)
        };
        assert!(pace(240));
        // Of a packet that is not long beside what its link adds, the time says little.
        assert!(!pace(60));
    }

    #[test]
    fn a_pace_without_a_pause() {
        let mut hosts = HostQueues::default();
        let mut busy = Busy::UNKNOWN;
        for k in 0..40 {
            busy = hosts.observe(0, k * MS, 1500, false);
        }
        assert!(busy.delays(10 * MS, 39 * MS), "{busy:?}");
        // After a pause the queue had drained.
        let after = hosts.observe(0, 50 * MS, 1500, false);
        assert!(!after.delays(30 * MS, 50 * MS), "{after:?}");
        // Two packets at once: the interface is faster, and what seemed busy was a slow sender.
        assert!((1..20).all(|k| !hosts.observe(0, 50 * MS + k * MS / 100, 1500, false).delays(30 * MS, 51 * MS)));
    }

    #[test]
    fn what_a_line_had_before() {
        let line = Busy { delay: 60 * MS, line: true, ..Busy::UNKNOWN };
        assert!(line.had_it(0, 30 * MS) && !line.had_it(0, 60 * MS));
        // A station shares the air with the ACKs.
        assert!(Busy { line: false, ..line }.had_it(0, 60 * MS));
    }

    #[test]
    fn a_line_shows_by_its_pace() {
        let mut hosts = HostQueues::default();
        let busy = (0..20).map(|k| hosts.observe(0, k * MS, 1000, false)).last().unwrap();
        assert!(busy.line);
        // The times of a station vary.
        let station = (0..40).map(|k| hosts.observe(1, k * MS + k % 3 * MS / 2, 1000, false)).last().unwrap();
        assert!(!station.line);
    }

    #[test]
    fn syns_show_the_pace_before_anything_long_does() {
        // 40 SYNs of 74 bytes at 10 Mb/s, and segments of 322 bytes behind them: no pause since the second.
        let mut hosts = HostQueues::default();
        let mut at = 0;
        let mut busy = Busy::UNKNOWN;
        for k in 0..60 {
            let (bytes, syn) = if k < 40 { (74, true) } else { (322, false) };
            busy = hosts.observe(0, at, bytes, syn);
            at += i64::from(bytes + 4) * 800;
        }
        assert!(busy.has_no_pause(MS) && busy.line);
        // Nothing shows it where no SYN does.
        let mut hosts = HostQueues::default();
        let busy = (0..40).map(|k| hosts.observe(0, k * MS / 10, 66, false)).last().unwrap();
        assert!(!busy.has_no_pause(2 * MS));
    }
}
