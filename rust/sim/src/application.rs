//! The applications of hosts: how much they send, and how file sizes are drawn.

use serde::Deserialize;

use crate::rng::Rng;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "kind")]
pub enum Application {
    /// The client sends until the end.
    Bulk,
    /// The client sends this many bytes and closes if `closes`.
    File {
        bytes: Size,
        #[serde(default = "yes")]
        closes: bool,
    },
    /// The client sends a request of this size; the server answers when it has all of it, and closes if `closes`.
    Request {
        request_bytes: u64,
        answer_bytes: Size,
        #[serde(default = "yes")]
        closes: bool,
    },
    /// The client writes this many bytes at a time, at this interval.
    Paced { bytes: u64, every_s: f64 },
    /// Datagrams of the client.
    Udp { payload_bytes: u32, rate_bps: f64 },
}

fn yes() -> bool {
    true
}

/// The size of a transfer.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum Size {
    Bytes(u64),
    Pareto(Pareto),
}

/// A heavy tail: P(more than x) = (minimum / x)^shape, with minimum = mean * (shape - 1) / shape.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    pub mean_bytes: f64,
    pub shape: f64,
    /// Number of this file among `of` files, from 0. Together they have the distribution's mean for every seed, which only
    /// sets their order: for a shape below 2 the mean of independent draws is uncertain for any number. `of` 0: drawn
    /// independently.
    pub number: u32,
    pub of: u32,
    /// Sizes are whole multiples of this, rounded up.
    pub unit_bytes: u32,
}

impl Application {
    /// Bytes that the sending end sends; 0 if unknown in advance.
    pub fn size(&self) -> Option<Size> {
        match self {
            Application::File { bytes, .. } => Some(*bytes),
            Application::Request { answer_bytes, .. } => Some(*answer_bytes),
            _ => None,
        }
    }

    /// The end that sends the data.
    pub fn sends(&self) -> usize {
        usize::from(matches!(self, Application::Request { .. }))
    }
}

impl Size {
    pub fn bytes(&self, seed: u64, flow: u64, strata: &mut Strata) -> u64 {
        match self {
            Size::Bytes(bytes) => *bytes,
            Size::Pareto(p) => p.bytes(seed, flow, strata),
        }
    }

    /// What makes it invalid.
    pub fn fault(&self) -> Option<String> {
        let Size::Pareto(p) = self else { return None };
        let right = p.mean_bytes >= 1.0 && p.mean_bytes <= 1e12 && p.shape > 1.0 && p.shape <= 100.0;
        if !right || p.unit_bytes == 0 || (p.of > 0 && p.number >= p.of) || p.of > 1_000_000 {
            return Some(format!(
                "a Pareto size needs mean_bytes 1 to 1e12, shape above 1 to 100, unit_bytes >= 1 and number < of <= 1e6, not {}, {}, {}, {} and {}",
                p.mean_bytes, p.shape, p.unit_bytes, p.number, p.of
            ));
        }
        None
    }
}

impl Pareto {
    fn bytes(&self, seed: u64, flow: u64, strata: &mut Strata) -> u64 {
        let bytes = if self.of == 0 {
            Rng::stream(seed, "file", flow).pareto(self.mean_bytes, self.shape)
        } else {
            self.mean_of(strata.place(seed, self.number, self.of), self.of)
        };
        // The end of the tail: no run sends more.
        let units = (bytes / f64::from(self.unit_bytes)).ceil().clamp(1.0, 1e12);
        units as u64 * u64::from(self.unit_bytes)
    }

    /// Mean of the `place`-th of `of` equally likely parts of the distribution.
    fn mean_of(&self, place: u32, of: u32) -> f64 {
        let above = |k: u32| (1.0 - f64::from(k) / f64::from(of)).max(0.0).powf(1.0 - 1.0 / self.shape);
        self.mean_bytes * f64::from(of) * (above(place) - above(place + 1))
    }
}

/// The order in which files of a stratified set come: a shuffle for each size of set.
#[derive(Debug, Default)]
pub struct Strata {
    orders: std::collections::HashMap<u32, Vec<u32>>,
}

impl Strata {
    fn place(&mut self, seed: u64, number: u32, of: u32) -> u32 {
        let order = self.orders.entry(of).or_insert_with(|| {
            let mut rng = Rng::stream(seed, "strata", u64::from(of));
            let mut order: Vec<u32> = (0..of).collect();
            for i in (1..of).rev() {
                order.swap(i as usize, rng.below(i + 1) as usize);
            }
            order
        });
        order[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u32, of: u32) -> Size {
        Size::Pareto(Pareto { mean_bytes: 30_000.0, shape: 1.5, number, of, unit_bytes: 1 })
    }

    #[test]
    fn a_stratified_set_has_the_distributions_mean_for_every_seed() {
        for (seed, of) in [(1, 100), (2, 100), (3, 1000)] {
            let mut strata = Strata::default();
            let mut sizes: Vec<u64> = (0..of).map(|k| file(k, of).bytes(seed, u64::from(k), &mut strata)).collect();
            let mean = sizes.iter().sum::<u64>() as f64 / f64::from(of);
            assert!((mean - 30_000.0).abs() < 2.0, "{mean}");
            sizes.sort_unstable();
            // The minimum is a third of the mean; the median 2^(1/1.5) of that.
            assert!((10_000..10_100).contains(&sizes[0]), "{}", sizes[0]);
            let median = sizes[of as usize / 2] as f64;
            assert!((median / 15_874.0 - 1.0).abs() < 0.01, "{median}");
        }
    }

    #[test]
    fn the_seed_sets_their_order() {
        let order = |seed| {
            let mut strata = Strata::default();
            (0..50).map(|k| file(k, 50).bytes(seed, 0, &mut strata)).collect::<Vec<_>>()
        };
        assert_ne!(order(1), order(2));
        let sorted = |mut v: Vec<u64>| {
            v.sort_unstable();
            v
        };
        assert_eq!(sorted(order(1)), sorted(order(2)));
    }

    #[test]
    fn independent_draws_follow_the_tail() {
        let mut strata = Strata::default();
        let sizes: Vec<u64> = (0..4000).map(|k| file(0, 0).bytes(1, k, &mut strata)).collect();
        for (more, chance) in [(20_000_u64, 0.5_f64.powf(1.5)), (80_000, 0.125_f64.powf(1.5))] {
            let share = sizes.iter().filter(|s| **s > more).count() as f64 / 4000.0;
            assert!((share - chance).abs() < 3.0 * (chance / 4000.0).sqrt(), "{more}: {share} {chance}");
        }
    }

    #[test]
    fn sizes_are_whole_units() {
        let mut strata = Strata::default();
        let p = Size::Pareto(Pareto { mean_bytes: 30_000.0, shape: 1.5, number: 3, of: 10, unit_bytes: 1000 });
        assert_eq!(p.bytes(1, 0, &mut strata) % 1000, 0);
        assert!(Size::Pareto(Pareto { mean_bytes: 1.0, shape: 1.0, number: 0, of: 0, unit_bytes: 1 })
            .fault()
            .is_some());
        assert!(p.fault().is_none());
    }
}
