//! Ranks of the values of a gene, over all samples or over some.
//!
//! Ranks are doubled and centred: over n samples the value of rank q (from 1; equal values share
//! their mean rank) becomes 2q - (n + 1), an integer. Sums of products are then exact.

/// Marks a place of an order whose value equals the one before.
const TIED: u32 = 1 << 31;

/// Writes the sample numbers of the present values in ascending order of value.
pub fn sort(values: &[f64], order: &mut Vec<u32>) {
    order.clear();
    order.extend((0..values.len() as u32).filter(|&sample| !values[sample as usize].is_nan()));
    // Equal values may come in any order: they get the same rank.
    order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
    let mut before = f64::NAN;
    for place in order {
        let value = values[*place as usize];
        if value == before {
            *place |= TIED;
        }
        before = value;
    }
}

/// Writes the ranks of the samples in `common` and 0 for all others; gives their sum of squares.
///
/// `order` is what [`sort`] made, `common` has a bit for every sample, all of them present.
pub fn ranks_within(order: &[u32], common: &[u8], ranks: &mut [i32]) -> i64 {
    ranks.fill(0);
    let count: u32 = common.iter().map(|byte| byte.count_ones()).sum();
    let mut squares = 0;
    let (mut start, mut below) = (0, 0);
    while start < order.len() {
        let length = 1 + order[start + 1..].iter().take_while(|&&place| place & TIED != 0).count();
        let group = &order[start..start + length];
        let is_common = |place: u32| {
            let sample = (place & !TIED) as usize;
            common[sample / 8] >> (sample % 8) & 1
        };
        let members: u32 = group.iter().map(|&place| u32::from(is_common(place))).sum();
        let rank = (2 * below + members + 1) as i32 - (count + 1) as i32;
        for &place in group {
            ranks[(place & !TIED) as usize] = rank * i32::from(is_common(place));
        }
        squares += i64::from(members) * i64::from(rank) * i64::from(rank);
        below += members;
        start += length;
    }
    squares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_mean_rank_and_absent_samples_do_not_count() {
        let values = [3.0, 1.0, f64::NAN, 3.0, -0.0, 0.0, 9.0];
        let mut order = Vec::new();
        sort(&values, &mut order);
        let mut ranks = [9; 7];
        let squares = ranks_within(&order, &[0b0111_1011], &mut ranks);
        assert_eq!(ranks, [2, -1, 0, 2, -4, -4, 5]);
        assert_eq!(squares, 4 + 1 + 4 + 16 + 16 + 25);
        let squares = ranks_within(&order, &[0b0100_0011], &mut ranks);
        assert_eq!((ranks, squares), ([0, -2, 0, 0, 0, 0, 2], 8));
    }
}
