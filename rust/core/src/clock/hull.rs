//! The convex hull of the limits of one direction, which alone bounds the clock offset.

use std::cmp::Ordering;

/// At most this many points go through the sequential algorithm without prior filtering.
const FEW: usize = 32;

/// Indices of the corners of the lower (`side` 1) or upper (`side` -1) convex hull of points, in order of x.
pub fn hull(x: &[f64], limit: &[f64], side: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..x.len().min(limit.len())).collect();
    let by = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    order.sort_by(|&a, &b| by(x[a], x[b]).then(by(side * limit[a], side * limit[b])));
    // Whether b is beyond the line from a to c.
    let beyond = |a: usize, b: usize, c: usize| {
        side * ((limit[b] - limit[a]) * (x[c] - x[a]) - (limit[c] - limit[a]) * (x[b] - x[a])) < 0.0
    };
    while order.len() > FEW {
        // A point that is not beyond the line through its neighbours is no corner.
        let mut kept = vec![order[0]];
        kept.extend(order.windows(3).filter(|w| beyond(w[0], w[1], w[2])).map(|w| w[1]));
        kept.push(order[order.len() - 1]);
        if kept.len() == order.len() {
            break;
        }
        order = kept;
    }
    let mut kept: Vec<usize> = Vec::new();
    for next in order {
        if kept.last().is_some_and(|&last| x[last] == x[next]) {
            continue;
        }
        while let [.., before, last] = kept[..] {
            if beyond(before, last, next) {
                break;
            }
            kept.pop();
        }
        kept.push(next);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_of_both_sides() {
        let x = [0.0, 1.0, 2.0, 3.0, 4.0, 4.0];
        let y = [0.0, 3.0, 1.0, -2.0, 5.0, 0.0];
        assert_eq!(hull(&x, &y, 1.0), [0, 3, 5]);
        assert_eq!(hull(&x, &y, -1.0), [0, 1, 4]);
        assert_eq!(hull(&[], &[], 1.0), []);
        assert_eq!(hull(&[7.0], &[1.0], -1.0), [0]);
    }

    #[test]
    fn all_points_are_on_one_side_of_it() {
        // A deterministic scatter of more points than go unfiltered.
        let x: Vec<f64> = (0..500).map(f64::from).collect();
        let y: Vec<f64> = (0..500u32).map(|n| f64::from(n.wrapping_mul(2_654_435_761) >> 16)).collect();
        for side in [1.0, -1.0] {
            let corners = hull(&x, &y, side);
            for pair in corners.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                let slope = (y[b] - y[a]) / (x[b] - x[a]);
                assert!((a..=b).all(|k| side * (y[k] - (y[a] + slope * (x[k] - x[a]))) > -1e-6));
            }
        }
    }
}
