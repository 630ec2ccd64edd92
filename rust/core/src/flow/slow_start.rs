//! Whether a sender is in slow start, from how many bytes it keeps outstanding.

/// Slow start, as the outstanding bytes show it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SlowStart {
    pub over: bool,
    /// The most that was outstanding since the latest repair, and when that last grew in slow start.
    most: i64,
    grown: Option<i64>,
    /// A time in the latest smoothed round trip, and the most outstanding until then.
    earlier: (i64, i64),
    /// A round trip, from a transmission to its ACK: when it began, what was acknowledged and the end of what had been sent by then, and
    /// the most outstanding in it; and the most in the one before, 0 if a repair was under way in it.
    since: i64,
    una: i64,
    mark: i64,
    round: i64,
    before: i64,
    /// When the round trip before began.
    began: i64,
    /// ACKs that came together, the bytes that they covered, and the end of what had been sent before.
    acks: (u32, i64, i64),
}

/// Outstanding bytes at a transmission, for `SlowStart::sends`.
#[derive(Debug, Clone, Copy)]
pub struct Outstanding {
    pub t: i64,
    pub bytes: i64,
    /// The end of all that was sent.
    pub end: i64,
    pub mss: i64,
    /// A smoothed round trip, once there is one.
    pub trip: Option<i64>,
    /// Nothing is being repaired.
    pub open: bool,
    pub last_resend: Option<i64>,
}

impl SlowStart {
    /// A recovery was undone: the sender has the window and the threshold of before (`tcp_undo_cwnd_reduction` in Linux).
    pub fn resume(&mut self, t: i64) {
        *self = SlowStart { grown: Some(t), mark: self.mark, since: t, ..SlowStart::default() };
    }

    /// ACKs that come together. Each lets the sender send a segment more than it covers in slow start (RFC 5681 section 3.1), and one in
    /// a round trip in congestion avoidance. `apart`: the sender paused before this one. `room`: the window has room for a segment.
    pub fn acked(&mut self, acked: i64, end: i64, mss: i64, apart: bool, room: bool) {
        let (acks, covered, from) = self.acks;
        if apart || acks == 0 {
            self.over |= acks >= 2 && room && (covered..=covered + mss).contains(&(end - from));
            self.acks = (1, acked, end);
        } else {
            self.acks = (acks + 1, covered + acked, from);
        }
    }

    /// It is over when a round trip passes without a larger flight. It adds a segment for each ACK, and so two in a round trip of four
    /// (RFC 5681 section 3.1): one less is congestion avoidance.
    ///
    /// After a loss it is under way again when a round trip adds half of what was outstanding and more, as ACKs release it: congestion avoidance adds
    /// no more (RFC 9438 section 4.4), and an application that writes again waits for no ACK.
    pub fn sends(&mut self, o: Outstanding) {
        let repairs = self.repairs(&o);
        let grows = o.bytes > self.most || repairs;
        if grows {
            self.most = if repairs { 0 } else { o.bytes };
            self.grown = if self.over { self.grown } else { Some(o.t) };
        }
        self.round = self.round.max(o.bytes);
        let una = o.end - o.bytes;
        if una >= self.mark {
            self.next_round(&o, una);
        } else if self.over && o.last_resend.is_some() && self.before >= 2 * o.mss && grows && !repairs {
            let growth = self.round - o.mss - self.before;
            if 2 * growth >= self.before && growth <= una - self.una {
                (self.over, self.grown, self.earlier) = (false, Some(o.t), (o.t, self.most));
            }
        }
        let Some(trip) = o.trip else { return };
        let (since, before) = self.earlier;
        if !self.over && o.t - since > trip {
            self.over = before >= 4 * o.mss && self.most < before + 2 * o.mss;
            self.earlier = (o.t, self.most);
        }
        // One that waits for a delayed ACK takes longer and ends it not.
        self.over |= !grows && self.grown.is_some_and(|grown| grown < self.began && (o.t - grown) / 2 > trip);
    }

    /// Something was repaired in this round trip: what was outstanding then is not the window.
    fn repairs(&self, o: &Outstanding) -> bool {
        !o.open || o.last_resend.is_some_and(|at| at >= self.since)
    }

    fn next_round(&mut self, o: &Outstanding, una: i64) {
        self.before = if self.repairs(o) { 0 } else { self.round };
        self.began = self.since;
        (self.since, self.una, self.mark, self.round) = (o.t, una, o.end, o.bytes);
    }
}
