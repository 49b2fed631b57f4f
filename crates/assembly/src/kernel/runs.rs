//! Where runs of equal values end, as bits, so that going from run to run takes no branch a value.

/// Values that a word has the bits of.
pub const PLACES: usize = u64::BITS as usize;
/// What moves the lowest bits of eight bytes next to each other, into the highest byte.
const LOWEST_BITS: u64 = 0x0102_0408_1020_4080;

/// The ends of runs.
#[derive(Default)]
pub struct BucketRuns {
    /// 1 where the value after is another.
    differs: Vec<u8>,
    /// The same, a bit a value.
    ends: Vec<u64>,
}

impl BucketRuns {
    /// Finds those of some values: of a multiple of [`PLACES`], and one more.
    #[inline(always)]
    pub fn find(&mut self, values: &[u32]) {
        let count = values.len() - 1;
        self.differs.resize(count, 0);
        self.ends.resize(count / PLACES, 0);
        for ((differs, one), two) in self.differs.iter_mut().zip(values).zip(&values[1..]) {
            *differs = u8::from(one != two);
        }
        let (groups, _) = self.differs.as_chunks::<PLACES>();
        for (word, group) in self.ends.iter_mut().zip(groups) {
            let (eights, _) = group.as_chunks::<8>();
            *word = eights.iter().rev().fold(0, |word, &eight| {
                word << 8 | u64::from_le_bytes(eight).wrapping_mul(LOWEST_BITS) >> 56
            });
        }
    }

    /// The place after the last of the values that are equal to that at `first`, as all between;
    /// those after `last` do not count.
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
        fn a_run_ends_before_another_value_or_at_the_last_one(
            runs in prop::collection::vec((0u32..3, 1usize..100), 1..20),
            [first, last] in any::<[prop::sample::Index; 2]>(),
        ) {
            let mut values: Vec<u32> =
                runs.iter().flat_map(|&(value, count)| vec![value; count]).collect();
            let count = values.len();
            values.resize(count.next_multiple_of(PLACES) + 1, 7);
            let mut runs = BucketRuns::default();
            // What it had before must not show.
            runs.find(&[[1, 2].repeat(PLACES), vec![3]].concat());
            runs.find(&values);
            let last = last.index(count);
            let first = first.index(last + 1);
            let same = values[first..=last].iter().take_while(|&&one| one == values[first]).count();
            prop_assert_eq!(runs.end(first, last), first + same);
        }
    }
}
