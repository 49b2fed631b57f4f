//! Insert sizes of read pairs, and what they show of gaps between contigs.

use crate::kernel::libraries::{Ends, Library};
use crate::kernel::simplify::PathGraph;

/// Bases at the end of a contig within which a read cannot be placed: an anchor, and about the
/// number of further bases until one is sampled.
const ANCHOR: i64 = 31;
const SAMPLED: i64 = 7;
/// Pairs further from the median than this many deviations are placed wrongly.
const FAR: f64 = 5.0;

/// Distribution of insert sizes.
pub struct Inserts {
    /// Part of all pairs, by insert size.
    parts: Vec<f64>,
    /// Pairs that begin at a base, on average.
    each_base: f64,
    /// Most bases that two contigs share.
    shared_max: i64,
    /// Standard deviation, from quantiles.
    pub deviation: f64,
}

impl Inserts {
    /// Creates the distribution from the pairs of a library on one path.
    pub fn of(library: &Library, graph: &PathGraph<'_>) -> Self {
        let (pairs, deviation) = (library.pairs(), library.deviation());
        let (insert, far) = (library.quantile(0.5), FAR * deviation.max(1.0));
        let part = |(bases, &some): (usize, &u64)| {
            let is_far = (bases as f64 - insert).abs() > far;
            if is_far { 0.0 } else { some as f64 / pairs.max(1) as f64 }
        };
        let mut parts: Vec<f64> = library.inserts.iter().enumerate().map(part).collect();
        parts.resize(library.insert_max() as usize + 1, 0.0);
        let each_base = pairs as f64 / graph.paths.bases().max(1) as f64;
        Self { parts, each_base, shared_max: graph.k as i64 - 1, deviation }
    }

    /// Returns the bases that each of two contigs, left by these ends, shares with the contigs that
    /// follow in the graph.
    pub fn shared(graph: &PathGraph<'_>, (left, right): Ends) -> [i64; 2] {
        let with = |end| if graph.links.after(end).is_empty() { 0 } else { graph.k as i64 - 1 };
        [with(left), with(right)]
    }

    /// Returns the expected number of pairs across a gap, and the mean number of bases that they
    /// have on both sides of it. Anchors within shared bases are of no use.
    fn across(&self, gap: i64, shared: [i64; 2]) -> (f64, f64) {
        let hidden: i64 =
            shared.iter().map(|&bases| ANCHOR.max(bases + 1).max(1 - gap) + SAMPLED).sum();
        let (mut pairs, mut bases) = (0.0, 0.0);
        for (insert, part) in self.parts.iter().enumerate() {
            let both = insert as i64 - gap;
            let places = (both - hidden).max(0) as f64;
            pairs += part * places;
            bases += part * places * both as f64;
        }
        (pairs * self.each_base, if pairs > 0.0 { bases / pairs } else { 0.0 })
    }

    /// Returns the expected number of pairs across a gap.
    pub fn expected(&self, gap: i64, shared: [i64; 2]) -> f64 {
        self.across(gap, shared).0
    }

    /// Returns the gap across which pairs have `both` bases on both sides, on average: long inserts
    /// reach across a gap more often than short ones.
    pub fn gap(&self, both: f64, shared: [i64; 2]) -> i64 {
        let (mut least, mut most) = (-self.shared_max, self.parts.len() as i64);
        while least < most {
            let middle = (least + most).div_euclid(2);
            if self.across(middle, shared).1 > both {
                least = middle + 1;
            } else {
                most = middle;
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns inserts of 200 to 400, each equally frequent.
    fn inserts() -> Inserts {
        let parts = (0..2001).map(|bases| if (200..=400).contains(&bases) { 1.0 } else { 0.0 });
        let parts = parts.map(|part| part / 201.0).collect();
        Inserts { parts, each_base: 0.1, shared_max: 78, deviation: 60.0 }
    }

    #[test]
    fn a_gap_follows_from_the_pairs_across_it() {
        let inserts = inserts();
        for gap in [-20, 0, 80, 200] {
            let (pairs, both) = inserts.across(gap, [0, 0]);
            assert!((inserts.gap(both, [0, 0]) - gap).abs() <= 1, "{gap}");
            assert_eq!(pairs, inserts.expected(gap, [0, 0]));
        }
        assert!(inserts.expected(0, [0, 40]) > inserts.expected(100, [0, 40]));
    }
}
