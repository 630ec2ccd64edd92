//! White noise: from the signal to noise ratio to bit and frame errors.

use crate::phy::Rate;

/// Probability that white noise damages a frame of this many bytes.
pub fn frame_error_rate(snr_db: f64, rate: Rate, bytes: u32) -> f64 {
    let ber = bit_error_rate(10f64.powf(snr_db / 10.0), rate);
    -(f64::from(bytes) * 8.0 * (-ber).ln_1p()).exp_m1()
}

/// The bound is for a coherent receiver, but DQPSK is not coherent: 4 dB (a factor of 2.5) separate the rates like the
/// sensitivities in the standard (clauses 15.4.8.2 and 16.3.8.2).
const CCK_LOSS: f64 = 2.512;

/// Bits in error under white noise, `snr` in 22 MHz.
///
/// DBPSK and DQPSK: Proakis, Digital Communications, section 5.2. CCK: union bound over the distances of its code words
/// (Pursley and Royster 2000); OFDM: coherent modulations after a code gain of 5 dB, a common approximation.
pub fn bit_error_rate(snr: f64, rate: Rate) -> f64 {
    const BANDWIDTH_KHZ: f64 = 22_000.0;
    let per_bit = snr * BANDWIDTH_KHZ / f64::from(rate.kbps.max(1));
    let ber = match rate {
        Rate::R1 => 0.5 * (-per_bit).exp(),
        Rate::R2 => {
            let root = std::f64::consts::SQRT_2;
            let front = (root + 1.0) / (8.0 * std::f64::consts::PI * root).sqrt();
            front / per_bit.sqrt() * (-(2.0 - root) * per_bit).exp()
        }
        Rate::R5_5 => {
            // 4 bits in a symbol of 8 chips: squared distances 8 and 16 in units of the chip energy.
            let chip = per_bit * 4.0 / 8.0 / CCK_LOSS;
            8.0 / 15.0 * (14.0 * tail((8.0 * chip).sqrt()) + tail((16.0 * chip).sqrt()))
        }
        Rate::R11 => {
            let chip = per_bit / CCK_LOSS;
            let terms = [(24.0, 4.0), (16.0, 6.0), (174.0, 8.0), (16.0, 10.0), (24.0, 12.0), (1.0, 16.0)];
            128.0 / 255.0 * terms.iter().map(|(n, d)| n * tail((d * chip).sqrt())).sum::<f64>()
        }
        _ => {
            let coded = per_bit * 10f64.powf(0.5);
            let points: f64 = match rate.kbps {
                0..=9_000 => 2.0,
                9_001..=18_000 => 4.0,
                18_001..=36_000 => 16.0,
                _ => 64.0,
            };
            let bits = points.log2();
            if points <= 4.0 {
                tail((2.0 * coded).sqrt())
            } else {
                4.0 / bits * (1.0 - 1.0 / points.sqrt()) * tail((3.0 * bits / (points - 1.0) * coded).sqrt())
            }
        }
    };
    ber.clamp(0.0, 0.5)
}

/// The tail of the normal distribution, by Abramowitz and Stegun 26.2.17 (error below 7.5e-8).
fn tail(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let poly =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    poly * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_orders_rates_and_lengths() {
        for snr in [-5.0, 0.0, 3.0, 6.0, 9.0, 12.0] {
            let fer = |rate, bytes| frame_error_rate(snr, rate, bytes);
            assert!(Rate::DSSS.windows(2).all(|w| fer(w[0], 1500) <= fer(w[1], 1500) + 1e-12), "{snr}");
            assert!(fer(Rate::R11, 40) <= fer(Rate::R11, 1500));
        }
        assert!(frame_error_rate(20.0, Rate::R11, 1500) < 1e-6 && frame_error_rate(-15.0, Rate::R1, 1500) > 0.99);
        assert!((tail(1.0) - 0.158_655_254).abs() < 1e-6);
    }
}
