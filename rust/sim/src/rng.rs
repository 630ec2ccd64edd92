//! Random numbers: a small generator, one stream per component.

/// xoshiro256** (Blackman and Vigna 2018), seeded through splitmix64.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

fn splitmix(x: &mut u64) -> u64 {
    *x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*x ^ (*x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream of one component: draws of others do not change it.
    pub fn stream(seed: u64, component: &str, index: u64) -> Self {
        // FNV-1a: names are short.
        let name = component
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut x = seed ^ name.rotate_left(17) ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93);
        Rng { state: [splitmix(&mut x), splitmix(&mut x), splitmix(&mut x), splitmix(&mut x)] }
    }

    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A uniform whole number in 0..n (Lemire 2019); 0 for n = 0.
    pub fn below(&mut self, n: u32) -> u32 {
        let mut product = u64::from(self.next_u64() as u32) * u64::from(n);
        if (product as u32) < n {
            let least = n.wrapping_neg() % n;
            while (product as u32) < least {
                product = u64::from(self.next_u64() as u32) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability. Probabilities 0 and 1 draw nothing, so that they do not change the stream.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.unit() < p)
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Pareto with this mean and shape (> 1).
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let scale = mean * (shape - 1.0) / shape;
        scale / (1.0 - self.unit()).powf(1.0 / shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_independent() {
        let draw = |name, i| Rng::stream(7, name, i).next_u64();
        assert_eq!(draw("dcf", 1), draw("dcf", 1));
        assert_ne!(draw("dcf", 1), draw("dcf", 2));
        assert_ne!(draw("dcf", 1), draw("channel", 1));
        assert_ne!(draw("dcf", 1), Rng::stream(8, "dcf", 1).next_u64());
    }

    #[test]
    fn moments() {
        let mut r = Rng::stream(1, "test", 0);
        const N: u32 = 200_000;
        let mean = |r: &mut Rng, f: &dyn Fn(&mut Rng) -> f64| (0..N).map(|_| f(r)).sum::<f64>() / f64::from(N);
        assert!((mean(&mut r, &|r| f64::from(r.below(32))) - 15.5).abs() < 0.1);
        assert!((mean(&mut r, &|r| r.exponential(3.0)) - 3.0).abs() < 0.05);
        // Finite variance from shape 2 on.
        assert!((mean(&mut r, &|r| r.pareto(3.0, 4.0)) - 3.0).abs() < 0.05);
        assert!((mean(&mut r, &|r| f64::from(u8::from(r.chance(0.25)))) - 0.25).abs() < 0.01);
        assert!((0..1000).all(|_| r.below(3) < 3));
    }
}
