//! Division of entries into buckets of about equal size, whatever the keys.

use super::Entry;

/// Upper bits of an entry that select its cell, a lookup before splitters are compared.
const CELL_BITS: u32 = 14;
const CELLS: usize = 1 << CELL_BITS;

/// Entries that divide all entries into buckets. They include positions, so equal keys are divided
/// like different ones.
#[derive(Clone, Debug)]
pub struct Splitters {
    cuts: Vec<Entry>,
    /// For each cell of entries with the same upper bits, the number of cuts below it.
    below: Vec<u16>,
}

impl Splitters {
    /// Chooses cuts that divide `sample`, which is sorted in place, into `buckets` parts; at most
    /// 2^16.
    pub fn choose(sample: &mut [Entry], buckets: usize) -> Self {
        sample.sort_unstable();
        let mut cuts: Vec<Entry> = (1..buckets)
            .filter_map(|cut| sample.get(cut * sample.len() / buckets))
            .copied()
            .collect();
        cuts.dedup();
        Self::new(cuts)
    }

    /// Divides at `cuts`, which are ascending; fewer than 2^16.
    pub fn new(cuts: Vec<Entry>) -> Self {
        let cell = |cell: usize| (cell as u128) << (128 - CELL_BITS);
        let below = |index: usize| cuts.partition_point(|&cut| cut < cell(index)) as u16;
        let mut below: Vec<u16> = (0..CELLS).map(below).collect();
        below.push(cuts.len() as u16);
        Self { cuts, below }
    }

    /// Returns the number of buckets.
    pub fn buckets(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Returns the cuts.
    pub fn cuts(&self) -> &[Entry] {
        &self.cuts
    }

    /// Returns the bucket of an entry: the number of cuts at or below it.
    #[inline(always)]
    pub fn bucket(&self, entry: Entry) -> u16 {
        let cell = (entry >> (128 - CELL_BITS)) as usize;
        let (low, high) = (self.below[cell], self.below[cell + 1]);
        if low == high {
            return low;
        }
        let inside = &self.cuts[usize::from(low)..usize::from(high)];
        low + inside.partition_point(|&cut| cut <= entry) as u16
    }

    /// Copies `entries` to `out` bucket by bucket; sets `starts`, which has one element more than
    /// there are buckets, to the start of each bucket. `places` is scratch memory.
    pub fn divide(
        &self,
        entries: &[Entry],
        places: &mut Vec<u16>,
        starts: &mut [u32],
        out: &mut [Entry],
    ) {
        starts.fill(0);
        places.clear();
        places.extend(entries.iter().map(|&entry| self.bucket(entry)));
        places.iter().for_each(|&bucket| starts[usize::from(bucket) + 1] += 1);
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        // While entries are placed, each start advances to the start of the next bucket.
        for (&entry, &bucket) in entries.iter().zip(places.iter()) {
            let place = &mut starts[usize::from(bucket)];
            out[*place as usize] = entry;
            *place += 1;
        }
        starts.copy_within(..self.buckets(), 1);
        starts[0] = 0;
    }
}

/// Copies the entries of `bucket` in all stripes of `stripe` entries to `out`, stripe by stripe;
/// `starts` is the output of [`Splitters::divide`], one row for each stripe.
pub fn collect(
    divided: &[Entry],
    stripe: usize,
    starts: &[Vec<u32>],
    bucket: usize,
    out: &mut [Entry],
) {
    let mut filled = 0;
    for (entries, starts) in divided.chunks(stripe).zip(starts) {
        let piece = &entries[starts[bucket] as usize..starts[bucket + 1] as usize];
        out[filled..filled + piece.len()].copy_from_slice(piece);
        filled += piece.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::random::Stream;

    fn divided(entries: &[Entry], buckets: usize) -> Vec<Vec<Entry>> {
        let mut sample: Vec<Entry> = entries.iter().step_by(3).copied().collect();
        let splitters = Splitters::choose(&mut sample, buckets);
        let stripe = 100;
        let mut out = vec![0; entries.len()];
        let mut starts = Vec::new();
        for (from, to) in entries.chunks(stripe).zip(out.chunks_mut(stripe)) {
            let mut row = vec![0; splitters.buckets() + 1];
            splitters.divide(from, &mut Vec::new(), &mut row, to);
            starts.push(row);
        }
        let collected = |bucket: usize| {
            let count = starts.iter().map(|row| row[bucket + 1] - row[bucket]).sum::<u32>();
            let mut entries = vec![0; count as usize];
            collect(&out, stripe, &starts, bucket, &mut entries);
            entries
        };
        (0..splitters.buckets()).map(collected).collect()
    }

    #[test]
    fn buckets_are_ascending_and_of_about_equal_size_whatever_the_keys() {
        let stream = Stream::new(1, 0);
        let random = |i: u64| u128::from(stream.bits(i)) << 64 | u128::from(i);
        let equal = |i: u64| 77 << 64 | u128::from(i);
        let close = |i: u64| u128::from(stream.bits(i) % 1000) << 64 | u128::from(i);
        for make in [&random as &dyn Fn(u64) -> u128, &equal, &close] {
            let entries: Vec<Entry> = (0..1000).map(make).collect();
            let buckets = divided(&entries, 10);
            assert_eq!(buckets.len(), 10);
            assert!(buckets.iter().all(|bucket| (50..150).contains(&bucket.len())));
            let ends = buckets.iter().map(|bucket| (bucket.iter().min(), bucket.iter().max()));
            let ends: Vec<_> = ends.collect();
            assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0));
            let mut all: Vec<Entry> = buckets.concat();
            all.sort_unstable();
            let mut expected = entries;
            expected.sort_unstable();
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn few_entries_make_few_buckets() {
        assert_eq!(divided(&[5], 10).concat(), [5]);
        assert_eq!(Splitters::choose(&mut [], 10).buckets(), 1);
    }
}
