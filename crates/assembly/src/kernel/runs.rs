//! Ends of runs of equal values, as bits, so that stepping from run to run takes no branch per
//! value.

/// Values whose bits fit into a word.
pub const PLACES: usize = u64::BITS as usize;
/// Multiplier that gathers the lowest bits of eight bytes in the highest byte.
const LOWEST_BITS: u64 = 0x0102_0408_1020_4080;

/// Ends of runs of equal values.
#[derive(Default)]
pub struct BucketRuns {
    /// 1 at each value that differs from the next one.
    differs: Vec<u8>,
    /// `differs` with one bit per value.
    ends: Vec<u64>,
}

impl BucketRuns {
    /// Finds the ends of the runs of `values`; their number is a multiple of [`PLACES`], plus one.
    #[inline(always)]
    pub fn find(&mut self, values: &[u32]) {
        let count = values.len() - 1;
        self.differs.resize(count, 0);
        self.ends.resize(count / PLACES, 0);
        for ((differs, value), next) in self.differs.iter_mut().zip(values).zip(&values[1..]) {
            *differs = u8::from(value != next);
        }
        let (groups, _) = self.differs.as_chunks::<PLACES>();
        for (word, group) in self.ends.iter_mut().zip(groups) {
            let (eights, _) = group.as_chunks::<8>();
            *word = eights.iter().rev().fold(0, |word, &eight| {
                word << 8 | u64::from_le_bytes(eight).wrapping_mul(LOWEST_BITS) >> 56
            });
        }
    }

    /// Returns the position after the run of values that are equal to the value at `first`; values
    /// after `last` do not count.
    #[inline(always)]
    pub fn end(&self, first: usize, last: usize) -> usize {
        let mut place = first;
        while place < last {
            let bits = self.ends[place / PLACES] >> (place % PLACES);
            if bits != 0 {
                return last.min(place + bits.trailing_zeros() as usize) + 1;
            }
            place = (place / PLACES + 1) * PLACES;
        }
        last + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_run_ends_before_a_different_value_or_at_the_last(
            runs in prop::collection::vec((0u32..3, 1usize..100), 1..20),
            [first, last] in any::<[prop::sample::Index; 2]>(),
        ) {
            let mut values: Vec<u32> =
                runs.iter().flat_map(|&(value, count)| vec![value; count]).collect();
            let count = values.len();
            values.resize(count.next_multiple_of(PLACES) + 1, 7);
            let mut runs = BucketRuns::default();
            // Results must not depend on the values before.
            runs.find(&[[1, 2].repeat(PLACES), vec![3]].concat());
            runs.find(&values);
            let last = last.index(count);
            let first = first.index(last + 1);
            let run = values[first..=last].iter();
            let same = run.take_while(|&&value| value == values[first]).count();
            prop_assert_eq!(runs.end(first, last), first + same);
        }
    }
}
