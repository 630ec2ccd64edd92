//! The order in which a sender sent its packets, as its IP identification shows it.

use crate::limits;

/// A packet overtaken on the path is fewer ids behind than this; a larger step is another counter.
const NEAR: i32 = 1000;
/// Distance of two counters: farther than any two packets of one counter are compared.
const APART: u32 = 1 << 20;

/// What the counters of a host, and of the pair, show when a packet passes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// Other flows use them, too.
    pub shared: [bool; 2],
    /// Ids that no captured packet has, so far.
    pub missing: [u16; 2],
}

impl Counters {
    pub fn is_shared(&self) -> bool {
        self.shared.contains(&true)
    }
}

/// One packet, as the counter is learned from it.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub ip_id: Option<u32>,
    /// Segments missing between the highest byte sent and this packet.
    pub gap: i64,
    /// It carries bytes above all captured ones, so it was sent after all of them.
    pub new: bool,
    /// The sender had nothing to acknowledge since its previous packet, so a missing packet carried data.
    pub quiet: bool,
    /// Nothing was missing, and the sender was silent for at least the time of a timer.
    pub silent: bool,
    /// Packets of the host that may be missing since the previous packet of this flow, by a counter that other flows use, too.
    pub missing: Option<u16>,
}

/// What one direction's IP ids show.
#[derive(Debug, Default)]
pub struct IpOrder {
    /// Id and unwrapped position of the packet sent latest; positions start at `APART`.
    newest: Option<u16>,
    position: u32,
    /// Steps as of a counter, and all steps.
    good: (u32, u32),
    /// Steps of one, and all steps.
    ones: (u32, u32),
    /// Steps that are those of this flow's own packets, and all steps that decide it.
    own: (u32, u32),
    /// Silences without a missing packet, and with one: other flows of the host would use the counter meanwhile.
    silences: (u32, u32),
    /// Steps that are smaller with the bytes swapped, a counter in the wrong byte order (Windows up to 2000), and all steps.
    swapped: (u32, u32),
    same: u32,
    /// Steps of one with nothing missing that are not counted above yet.
    uncounted: u32,
    /// Packets sent between the previous captured one and this one, by a counter of this flow alone.
    pub skipped: u16,
    /// This packet's step shows that earlier packets are missing.
    pub step_missing: bool,
    /// It has the next id after that of the previous packet, but for those of captured packets of other flows.
    pub next: bool,
    /// That of the previous packet itself.
    pub follows: bool,
    /// What the counters of its host showed with the previous packet.
    pub host: Counters,
    /// Ids are skipped before this packet that this flow's captured data does not explain.
    pub unexplained: bool,
    /// The id also counts packets of other flows.
    pub shared: bool,
    /// At most so many packets were sent and not captured since the highest captured byte passed, and since the timer may last have expired.
    pub above: u32,
    pub since_expiry: u32,
    /// Packets that the ids count and the capture does not hold, beyond those whose data is missing.
    unseen: u32,
    /// Packets missing between the first captured one and the next, whose id is a small step from that one's.
    pub early: u16,
}

/// A random id is so close to another in one of 1000 cases.
const EARLY: i32 = 64;

/// Where ids show nothing, any number of packets may be missing.
const ANY_NUMBER: u32 = 1 << 20;

/// Distance of two ids on their circle.
pub fn apart(a: u16, b: u16) -> u16 {
    (a.wrapping_sub(b) as i16).unsigned_abs()
}

/// Halve counts, so that they follow a change and never overflow.
fn count(counts: &mut (u32, u32), is: bool) {
    add(counts, u32::from(is), 1);
}

fn add((some, all): &mut (u32, u32), more: u32, of: u32) {
    if *all >= 1 << 20 {
        (*some, *all) = (*some / 2, *all / 2);
    }
    *some += more;
    *all += of;
}

impl IpOrder {
    /// The same id on every packet.
    pub fn constant(&self) -> bool {
        self.same >= 3
    }

    /// Whether the ids are a counter: nearly all packets are a small step from the latest one, in either direction. Random ids are
    /// in 3 of 100 cases, and twice in a row in one of 1000.
    pub fn counts(&self) -> bool {
        let (good, all) = (self.good.0 + self.uncounted, self.good.1 + self.uncounted);
        all >= 2 && good * 10 >= all * 9
    }

    /// Whether the packet at this position was sent after the first captured one: its id is a small step away. One random id in 50 is.
    pub fn after_first(&self, position: u32) -> Option<bool> {
        let apart = position.wrapping_sub(APART) as i32;
        (position != 0 && apart != 0 && apart.abs() < NEAR).then_some(apart > 0)
    }

    fn number(&self, id: u16) -> u16 {
        if self.reversed() {
            id.swap_bytes()
        } else {
            id
        }
    }

    /// Packets of the host that may be missing since the previous one of this flow, by a counter of several flows.
    pub fn missing(&self, now: &Counters) -> Option<u16> {
        let known = self.newest.is_some();
        let since = now.missing.iter().zip(self.host.missing).map(|(now, then)| now.wrapping_sub(then));
        since.zip(now.shared).filter(|(_, shared)| known && *shared).map(|(n, _)| n).min()
    }

    /// The common case of `observe`: the id after the latest one, with nothing missing and no silence. Returns the position.
    #[inline]
    pub fn follow(&mut self, ip_id: Option<u32>) -> Option<u32> {
        let (id, newest) = (ip_id? as u16, self.newest?);
        if id != newest.wrapping_add(1) || self.uncounted >= 1 << 16 || self.reversed() {
            return None;
        }
        self.newest = Some(id);
        self.uncounted += 1;
        (self.same, self.skipped) = (0, 0);
        (self.step_missing, self.unexplained, self.next, self.follows) = (false, false, true, true);
        self.position = self.position.wrapping_add(1);
        Some(self.position)
    }

    /// Count what `follow` left.
    fn count_next(&mut self) {
        let next = std::mem::take(&mut self.uncounted);
        if next > 0 {
            for counts in [&mut self.good, &mut self.ones, &mut self.own] {
                add(counts, next, next);
            }
            add(&mut self.swapped, 0, next);
        }
    }

    /// The ids are in the wrong byte order.
    fn reversed(&self) -> bool {
        let (swapped, all) = self.swapped;
        all >= 4 && swapped * 2 > all
    }

    /// Learn from a packet and return its position in sending order, 0 if it has none.
    #[inline(never)]
    pub fn observe(&mut self, s: Step) -> u32 {
        self.count_next();
        (self.skipped, self.step_missing, self.unexplained, self.next, self.follows) = (0, false, false, false, false);
        let Some(id) = s.ip_id.map(|i| i as u16) else {
            self.miss(ANY_NUMBER);
            return 0;
        };
        let Some(newest) = self.newest else {
            if id != 0 {
                (self.newest, self.position) = (Some(id), APART);
            }
            return self.position;
        };
        let step = i32::from(self.number(id).wrapping_sub(self.number(newest)) as i16);
        let missing = match (s.missing, step) {
            (Some(n), _) => Some(i32::from(n as i16)),
            (None, 1..) if self.counts() => Some(step - 1),
            // A late packet is one of those that were missing.
            (None, i32::MIN..=0) if self.counts() && step > -NEAR => Some(step.signum()),
            _ => None,
        };
        if self.good.1 == 0 {
            self.early = u16::try_from(missing.unwrap_or(step - 1)).ok().filter(|n| i32::from(*n) < EARLY).unwrap_or(0);
            self.unseen += u32::from(if missing.is_none() { self.early } else { 0 });
        }
        self.miss(missing.map_or(ANY_NUMBER, |n| u32::try_from(n).unwrap_or(0)));
        if let Some(n) = missing.filter(|n| *n <= i32::from(limits::SKIPPED_PACKETS)) {
            let beyond = i64::from(n) - s.gap.max(0);
            self.unseen = self.unseen.saturating_add_signed(if n > 0 { beyond.max(0) as i32 } else { n });
        }
        // Id 0 stands for "none" (RFC 6864 section 4.1) unless a counter passes it.
        if id == 0 && step.abs() >= NEAR {
            return 0;
        }
        self.same = if step == 0 { self.same.saturating_add(1) } else { 0 };
        count(&mut self.good, step != 0 && step.abs() < NEAR && !(s.new && step < 0));
        count(&mut self.swapped, apart(id.swap_bytes(), newest.swap_bytes()) < apart(id, newest));
        if step <= 0 && step > -NEAR {
            return self.position.saturating_sub(step.unsigned_abs());
        }
        let (ones, steps) = self.ones;
        let missing = (2..=i32::from(limits::SKIPPED_PACKETS)).contains(&step);
        self.step_missing = missing && steps >= 8 && ones * 2 >= steps;
        self.follows = step == 1;
        self.next = self.follows || s.missing == Some(0);
        count(&mut self.ones, self.follows);
        let explained = i64::from(step) == 1 + s.gap;
        if explained || s.quiet {
            let (all, (without, with)) = (self.own.1, self.silences);
            self.unexplained = missing && !explained;
            let alone = without > with || (without + with == 0 && all >= 32);
            if missing && s.quiet && all >= 8 && self.is_own() && (alone || !s.silent) {
                self.skipped = u16::try_from(i64::from(step) - 1 - s.gap).unwrap_or(0);
            }
            count(&mut self.own, explained);
            if s.silent {
                self.silences = if explained { (without + 1, with) } else { (without, with + 1) };
            }
        }
        self.newest = Some(id);
        let another = !(1..=i32::from(limits::SKIPPED_PACKETS)).contains(&step);
        self.position = self.position.wrapping_add(if another { APART } else { step.unsigned_abs() });
        self.position
    }

    /// Most steps are those of this flow's own packets.
    fn is_own(&self) -> bool {
        let (own, all) = (self.own.0 + self.uncounted, self.own.1 + self.uncounted);
        own * 5 >= all * 4
    }

    /// Packets that the sender's ids count, or its host's, and the capture does not hold, beyond those whose data is missing. None where
    /// they count nothing, or packets of which the capture holds none.
    pub fn unseen(&self) -> Option<u32> {
        let counted = self.counts() && (self.host.is_shared() || self.is_own());
        // Two ids that are close are a counter until another shows that they are none.
        let first = self.early > 0 && self.good.1 < 2;
        ((counted || first) && !self.constant()).then_some(self.unseen)
    }

    /// So many packets may be missing before this one.
    fn miss(&mut self, packets: u32) {
        self.above = (self.above + packets).min(ANY_NUMBER);
        self.since_expiry = (self.since_expiry + packets).min(ANY_NUMBER);
    }

    /// Whether the packet at this position, the last one captured, was sent after all before it; None if the ids do not show it.
    pub fn is_newest(&self, position: u32) -> Option<bool> {
        (position != 0 && self.counts()).then_some(position == self.position)
    }

    /// Whether the packet at position `a` was sent before that at `b`; None if the ids do not show it.
    pub fn before(&self, a: u32, b: u32) -> Option<bool> {
        let apart = a.wrapping_sub(b) as i32;
        (a != 0 && b != 0 && apart != 0 && apart.unsigned_abs() < APART && self.counts()).then_some(apart < 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(ids: impl IntoIterator<Item = u32>) -> (IpOrder, Vec<u32>) {
        let mut order = IpOrder::default();
        let at = |id| Step { ip_id: Some(id), gap: 0, new: false, quiet: true, silent: false, missing: None };
        let positions = ids.into_iter().map(|id| order.observe(at(id))).collect();
        (order, positions)
    }

    #[test]
    fn a_late_packet_is_placed_across_the_wrap() {
        let (order, at) = positions([65_530, 65_531, 65_532, 65_533, 65_535, 1, 65_534, 0, 2]);
        assert_eq!(order.before(at[6], at[4]), Some(true));
        assert_eq!(order.before(at[7], at[4]), Some(false));
        assert_eq!(order.before(at[7], at[5]), Some(true));
    }

    #[test]
    fn ids_that_others_use_too_are_in_order() {
        let (order, at) = positions([10, 40, 45, 130, 131, 90, 400]);
        assert_eq!(order.before(at[5], at[3]), Some(true));
        assert_eq!(order.before(at[6], at[3]), Some(false));
    }

    #[test]
    fn swapped_bytes_are_a_counter_too() {
        let (order, at) = positions((250u16..270).chain([268]).map(|id| u32::from(id.swap_bytes())));
        assert_eq!(order.before(at[20], at[19]), Some(true));
        assert_eq!(order.before(at[19], at[8]), Some(false));
    }

    #[test]
    fn ids_without_a_packet_are_counted_until_it_comes_late() {
        let unseen = |more: &[u32]| positions((1u32..=20).chain(more.iter().copied())).0.unseen();
        assert_eq!(unseen(&[]), Some(0));
        assert_eq!(unseen(&[23, 24]), Some(2));
        assert_eq!(unseen(&[23, 22, 24]), Some(1));
        // Most steps are not those of this flow: others use the counter.
        assert_eq!(positions([10, 14, 19, 21, 27, 30]).0.unseen(), None);
        // What is missing next after the first packet shows at once.
        assert_eq!(
            [positions([1, 3]), positions([1, 2]), positions([1, 300])].map(|(o, _)| o.unseen()),
            [Some(1), None, None]
        );
    }

    #[test]
    fn random_constant_and_zero_ids_show_nothing() {
        let random = (1u32..40).map(|n| n.wrapping_mul(2_654_435_761) >> 16);
        for ids in [random.collect::<Vec<_>>(), vec![7; 10], vec![0; 10]] {
            let (order, at) = positions(ids);
            assert!(at.iter().all(|a| at.iter().all(|b| order.before(*a, *b).is_none())));
        }
    }
}
