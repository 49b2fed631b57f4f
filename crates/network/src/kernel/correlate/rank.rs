//! Ranks of the values of a gene, over all samples or over some.
//!
//! Ranks are doubled and centred: over n samples the value of rank q (from 1; equal values share
//! their mean rank) becomes 2q - (n + 1), an integer. Sums of products are then exact.

/// Present samples of a gene in ascending order of value.
#[derive(Debug, Default)]
pub struct RankOrder {
    samples: Vec<u32>,
    /// For each place in `samples`, start and end of its group of equal values; empty if all values
    /// differ.
    groups: Vec<(u32, u32)>,
}

impl RankOrder {
    /// Sorts the present values; NaN is missing.
    pub fn new(values: &[f64]) -> Self {
        let mut keyed: Vec<(u64, u32)> = (0..)
            .zip(values)
            .filter(|(_, value)| !value.is_nan())
            .map(|(sample, value)| (key(*value), sample))
            .collect();
        keyed.sort_unstable();
        let mut groups = Vec::new();
        if keyed.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            for group in keyed.chunk_by(|a, b| a.0 == b.0) {
                let start = groups.len() as u32;
                groups.resize(groups.len() + group.len(), (start, start + group.len() as u32));
            }
        }
        Self { samples: keyed.into_iter().map(|(_, sample)| sample).collect(), groups }
    }

    /// Calls `take(sample, rank)` for each sample of the gene; the rank is 0 for samples outside
    /// the `count` samples that `common` flags with 1. All flagged samples must be present.
    pub fn each_rank(&self, common: &[u8], count: u32, mut take: impl FnMut(usize, i32)) {
        let is_common = |sample: u32| i32::from(common[sample as usize]);
        let mut below = 0;
        if self.groups.is_empty() {
            for &sample in &self.samples {
                let flag = is_common(sample);
                take(sample as usize, (2 * below + 1 - count as i32) & -flag);
                below += flag;
            }
            return;
        }
        let mut belows = Vec::with_capacity(self.samples.len() + 1);
        belows.push(0);
        for &sample in &self.samples {
            below += is_common(sample);
            belows.push(below);
        }
        for (&sample, &(start, end)) in self.samples.iter().zip(&self.groups) {
            let rank = belows[start as usize] + belows[end as usize] - count as i32;
            take(sample as usize, rank & -is_common(sample));
        }
    }
}

/// Returns an integer with the order of the numbers; equal for both zeros.
fn key(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(values: &[f64], common: &[u8]) -> Vec<i32> {
        let mut ranks = vec![9; values.len()];
        let count = common.iter().map(|&flag| u32::from(flag)).sum();
        RankOrder::new(values).each_rank(common, count, |sample, rank| ranks[sample] = rank);
        ranks
    }

    #[test]
    fn equal_values_share_their_mean_rank_and_absent_samples_do_not_count() {
        let values = [3.0, 1.0, f64::NAN, 3.0, -0.0, 0.0, 9.0];
        assert_eq!(ranks(&values, &[1, 1, 0, 1, 1, 1, 1]), [2, -1, 9, 2, -4, -4, 5]);
        assert_eq!(ranks(&values, &[1, 1, 0, 0, 0, 0, 1]), [0, -2, 9, 0, 0, 0, 2]);
    }

    #[test]
    fn different_values_are_ranked_in_order_of_size() {
        let values = [-1.5, f64::MAX, -1e-310, 1e-310, -f64::MAX];
        assert_eq!(ranks(&values, &[1; 5]), [-2, 4, 0, 2, -4]);
        assert_eq!(ranks(&values, &[0, 1, 1, 0, 1]), [0, 2, 0, 0, -2]);
    }
}
