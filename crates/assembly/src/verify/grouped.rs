//! Sorting of values by k-mer: one pass divides all into groups by first bases, and then each small
//! group is sorted by itself.

use crate::kernel::kmer::Kmer;

/// Least number of values that are divided into groups.
const GROUPED_MIN: usize = 256;
/// Most bases that a group shares: the counters of all groups fit in a first-level cache.
const BASES_MAX: usize = 6;
const GROUPS_MAX: usize = 1 << (2 * BASES_MAX);
/// Most values that are divided into groups.
const GROUPED_MAX: usize = u32::MAX as usize;

/// Sorts values whose order is first that of their k-mers, of `k` bases. It is slower if `spare`
/// has less capacity than there are values.
pub fn sort<K: Kmer, T: Copy + Ord>(
    (values, spare): (&mut [T], &mut Vec<T>),
    k: usize,
    kmer: impl Fn(&T) -> K,
) {
    if values.len() < GROUPED_MIN || values.len() > spare.capacity().min(GROUPED_MAX) {
        return values.sort_unstable();
    }
    let bases = BASES_MAX.min(values.len().ilog2() as usize / 2).min(k);
    let group = |value: &T| kmer(value).first(bases, k) as usize;
    // First the number of values in each group, then the end of each group.
    let mut ends = [0u32; GROUPS_MAX];
    values.iter().for_each(|value| ends[group(value)] += 1);
    let mut end = 0;
    for group in &mut ends {
        end += *group;
        *group = end - *group;
    }
    spare.clear();
    spare.extend_from_slice(values);
    for value in spare.iter() {
        let end = &mut ends[group(value)];
        values[*end as usize] = *value;
        *end += 1;
    }
    let mut start = 0;
    for &end in &ends[..1 << (2 * bases)] {
        if end - start > 1 {
            values[start as usize..end as usize].sort_unstable();
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_with_and_without_room(
            values in prop::collection::vec((any::<u64>(), 0u32..3), 0..3000),
            (k, least) in (3usize..=31, 0usize..=31),
            room in prop_oneof![Just(0), Just(3000)],
        ) {
            // Some first bases are the same, so that groups differ in size.
            let bits = 2 * least.min(k);
            let mut values: Vec<(u64, u32)> =
                values.into_iter().map(|(kmer, more)| (kmer & ((1 << bits) - 1), more)).collect();
            let mut expected = values.clone();
            expected.sort();
            let mut spare = Vec::with_capacity(room);
            sort((&mut values, &mut spare), k, |value| value.0);
            prop_assert_eq!(values, expected);
        }
    }
}
