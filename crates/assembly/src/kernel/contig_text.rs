//! Contigs packed one after another, and an index of their *seeds*: short k-mers, one in eight by
//! hash.

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;

use crate::kernel::kmer::{Base, Kmer};
use crate::kernel::words::{
    PADDING_WORDS, WORD_BASES, base_at, differences, kmer_at, pack, turned, window,
};

/// Longest seed, in bases.
const SEED_MAX: usize = 31;
/// Sampling rate of seeds, as a power of two: 1 in 8 k-mers.
const SAMPLE_BITS: u32 = 3;
/// K-mers of the contigs per slot: half as many as per seed, so that half of the slots stay free.
const SLOTS_PART: usize = 4;
const SLOTS_MIN: usize = 64;
/// Slots that are probed before a seed counts as absent.
const PROBES_MAX: usize = 32;
/// A free slot.
const EMPTY: u64 = u64::MAX;
/// Most bases whose positions fit into a slot.
const PLACES_MAX: usize = u32::MAX as usize;

/// Packed contigs with a seed index.
pub struct ContigText<'a> {
    /// A word of no contig, then the contigs, each starting a new word, then padding.
    words: Vec<u64>,
    /// Start and end of each contig.
    ranges: Vec<(usize, usize)>,
    /// Contig that each word belongs to.
    owners: Vec<u32>,
    seed_bases: usize,
    /// Position of a seed in the lower half, bits of its hash in the upper half.
    slots: Vec<u64>,
    _lease: Lease<'a>,
}

/// Alignment of a read with a contig, without gaps: base `i` of the read is at `origin + i`, or, on
/// the reverse strand, its complement is at `origin - i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagonal {
    /// Position of base 0 of the read, which may be outside the contig.
    pub origin: i64,
    /// Whether the read is on the reverse strand.
    pub is_turned: bool,
    /// Range of the bases of the read that overlap the contig.
    pub bases: (usize, usize),
}

impl Diagonal {
    /// Returns the position in the text at which the k-mer at a base of the read begins.
    #[inline(always)]
    pub fn kmer_place(&self, base: usize, k: usize) -> usize {
        let (base, k) = (base as i64, k as i64);
        (if self.is_turned { self.origin - base + 1 - k } else { self.origin + base }) as usize
    }
}

/// Whether a k-mer with this hash is a seed.
#[inline(always)]
fn is_seed(hash: u64) -> bool {
    hash >> (u64::BITS - SAMPLE_BITS) == 0
}

/// Returns the bits of a hash that are stored in a slot.
#[inline(always)]
fn tag(hash: u64) -> u64 {
    hash << SAMPLE_BITS >> 32
}

impl<'a> ContigText<'a> {
    /// Returns the bytes that contigs with `bases` bases in all take, without any counts.
    pub fn size_bytes(contigs: usize, bases: usize) -> u64 {
        let words = bases / WORD_BASES + contigs + 1 + PADDING_WORDS;
        let word_bytes = words * (size_of::<u64>() + size_of::<u32>());
        let slot_bytes = slots(bases) * size_of::<u64>();
        (word_bytes + slot_bytes + contigs * size_of::<(usize, usize)>()) as u64
    }

    /// Packs and indexes the `count` contigs that `codes` returns, to align reads with k-mers of
    /// `k` bases; a contig without bases has no seed. Returns `None` where they do not fit in the
    /// budget or have too many bases.
    pub fn new<'c>(
        count: usize,
        codes: impl Fn(usize) -> &'c [Base],
        (k, budget): (usize, &'a Budget),
    ) -> Option<Self> {
        let bases = (0..count).map(|index| codes(index).len()).sum();
        if bases + WORD_BASES * (count + 1) > PLACES_MAX {
            return None;
        }
        let _lease = budget.try_take(Self::size_bytes(count, bases))?;
        let mut words = vec![0];
        words.reserve(bases / WORD_BASES + count + PADDING_WORDS);
        let mut owners = vec![0];
        let mut ranges = Vec::with_capacity(count);
        let mut packed = Vec::new();
        for index in 0..count {
            let codes = codes(index);
            let start = words.len() * WORD_BASES;
            pack(codes, &mut packed);
            words.extend_from_slice(&packed[..packed.len() - PADDING_WORDS]);
            owners.resize(words.len(), index as u32);
            ranges.push((start, start + codes.len()));
        }
        words.extend([0; PADDING_WORDS]);
        let slots = in_large_pages(slots(bases), || EMPTY);
        let mut text = Self { words, ranges, owners, seed_bases: k.min(SEED_MAX), slots, _lease };
        (0..count).for_each(|index| text.add_seeds(index));
        Some(text)
    }

    fn add_seeds(&mut self, index: usize) {
        let Self { words, slots, seed_bases, .. } = self;
        each_seed(words, self.ranges[index], *seed_bases, |place, hash| {
            let mut slot = slot(hash, slots.len());
            for _ in 0..PROBES_MAX {
                if slots[slot] == EMPTY {
                    slots[slot] = tag(hash) << 32 | place as u64;
                    break;
                }
                slot = if slot + 1 == slots.len() { 0 } else { slot + 1 };
            }
            true
        });
    }

    /// Returns an upper bound (exclusive) of all positions of bases.
    pub fn end(&self) -> usize {
        self.words.len() * WORD_BASES
    }

    /// Returns the start and end of a contig.
    pub fn range(&self, index: usize) -> (usize, usize) {
        self.ranges[index]
    }

    /// Returns the number of bases in a seed.
    pub fn seed_bases(&self) -> usize {
        self.seed_bases
    }

    /// Returns the first seed in a range of the bases of a read, with its hash.
    #[inline]
    pub fn seed(&self, read: &[u64], bases: (usize, usize)) -> Option<(usize, u64)> {
        let mut first = None;
        each_seed(read, bases, self.seed_bases, |place, hash| {
            first = Some((place, hash));
            false
        });
        first
    }

    /// Prefetches the first slot of a seed.
    #[inline(always)]
    pub fn prefetch_slot(&self, hash: u64) {
        prefetch(&self.slots, slot(hash, self.slots.len()));
    }

    /// Prefetches the contig at the first candidate position of a seed.
    #[inline(always)]
    pub fn prefetch_place(&self, hash: u64) {
        if let Some(place) = self.places(hash).next() {
            prefetch(&self.words, place / WORD_BASES);
            prefetch(&self.owners, place / WORD_BASES);
        }
    }

    /// Iterates over the candidate positions of a seed.
    #[inline(always)]
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mut slot = slot(hash, self.slots.len());
        let entries = (0..PROBES_MAX).map_while(move |_| {
            let entry = self.slots[slot];
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
            (entry != EMPTY).then_some(entry)
        });
        let is_it = move |entry: &u64| entry >> 32 == tag(hash);
        entries.filter(is_it).map(|entry| entry as u32 as usize)
    }

    /// Calls `take` for each diagonal on which a seed of a read matches a contig, with the bases
    /// from `start` to `end` of the read that overlap the contig, until `take` returns true.
    #[inline]
    pub fn find(
        &self,
        read: &[u64],
        ((place, hash), (start, end)): ((usize, u64), (usize, usize)),
        mut take: impl FnMut(Diagonal) -> bool,
    ) {
        let seed = kmer_at(read, place, self.seed_bases);
        for at in self.places(hash) {
            let text_kmer = kmer_at(&self.words, at, self.seed_bases);
            let is_turned = text_kmer != seed;
            if is_turned && text_kmer.reverse_complement(self.seed_bases) != seed {
                continue;
            }
            let (first, last) = self.ranges[self.owners[at / WORD_BASES] as usize];
            let (first, last) = (first as i64, last as i64);
            let (origin, from, to) = if is_turned {
                let origin = (at + place + self.seed_bases - 1) as i64;
                (origin, origin - last + 1, origin - first + 1)
            } else {
                let origin = at as i64 - place as i64;
                (origin, first - origin, last - origin)
            };
            let bases = (from.max(start as i64) as usize, to.min(end as i64) as usize);
            if take(Diagonal { origin, is_turned, bases }) {
                return;
            }
        }
    }

    /// Calls `take` for each base of the diagonal in which read and contig differ, in order, until
    /// `take` returns false.
    #[inline(always)]
    pub fn each_mismatch(
        &self,
        read: &[u64],
        diagonal: &Diagonal,
        mut take: impl FnMut(usize) -> bool,
    ) {
        let (mut base, end) = diagonal.bases;
        while base < end {
            let text = if diagonal.is_turned {
                // A word precedes the first contig, so this is within the text.
                let last = diagonal.origin - base as i64;
                turned(window(&self.words, (last + 1 - WORD_BASES as i64) as usize))
            } else {
                window(&self.words, (diagonal.origin + base as i64) as usize)
            };
            let mut mismatches = differences(window(read, base), text);
            if end - base < WORD_BASES {
                mismatches &= u64::MAX << (2 * (WORD_BASES - (end - base)));
            }
            while mismatches != 0 {
                let bit = mismatches.leading_zeros();
                if !take(base + bit as usize / 2) {
                    return;
                }
                mismatches &= !(1 << (u64::BITS - 1 - bit));
            }
            base += WORD_BASES;
        }
    }
}

/// Returns the number of slots for the seeds of `bases` bases.
fn slots(bases: usize) -> usize {
    bases / SLOTS_PART + SLOTS_MIN
}

#[inline(always)]
fn slot(hash: u64, slots: usize) -> usize {
    ((u64::from(hash as u32) * slots as u64) >> 32) as usize
}

/// Calls `take` for each seed in a range of packed bases, with its position and hash, until `take`
/// returns false.
#[inline(always)]
fn each_seed(
    words: &[u64],
    (start, end): (usize, usize),
    seed_bases: usize,
    mut take: impl FnMut(usize, u64) -> bool,
) {
    if end < start + seed_bases {
        return;
    }
    let mut forward = kmer_at(words, start, seed_bases);
    let mut backward = forward.reverse_complement(seed_bases);
    for place in start..=end - seed_bases {
        let hash = forward.min(backward).mixed();
        if is_seed(hash) && !take(place, hash) {
            return;
        }
        let next = base_at(words, place + seed_bases);
        forward = forward.append(next, seed_bases);
        backward = backward.prepend(3 - next, seed_bases);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::reverse_complement;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_read_aligns_with_its_contig_and_mismatches_are_those_of_its_bases(
            contigs in prop::collection::vec(prop::collection::vec(0u8..4, 40..300), 1..4),
            [which, start, length] in [0usize..4, 0usize..300, 33usize..120],
            errors in prop::collection::vec(0usize..120, 0..4),
            [is_turned, has_more] in any::<[bool; 2]>(),
        ) {
            let budget = Budget::new(1 << 20);
            let codes = |index: usize| &contigs[index][..];
            let text = ContigText::new(contigs.len(), codes, (33, &budget)).unwrap();
            let contig = &contigs[which % contigs.len()];
            let start = start % (contig.len() - 33);
            let part = &contig[start..(start + length).min(contig.len())];
            let mut read: Vec<Base> =
                if is_turned { reverse_complement(part).collect() } else { part.to_vec() };
            errors.iter().for_each(|error| {
                let place = error % read.len();
                read[place] = (read[place] + 1) & 3;
            });
            if has_more {
                read.extend([2; 50]);
            }
            let mut words = Vec::new();
            pack(&read, &mut words);
            let mut from = 0;
            while let Some(seed) = text.seed(&words, (from, read.len())) {
                from = seed.0 + 1;
                text.find(&words, (seed, (0, read.len())), |diagonal| {
                    let (first, last) = diagonal.bases;
                    let contig = (0..contigs.len()).find(|&index| {
                        let (start, end) = text.range(index);
                        (start..end).contains(&diagonal.kmer_place(seed.0, 31))
                    });
                    let start = text.range(contig.unwrap()).0;
                    let contig = codes(contig.unwrap());
                    // Base `i` of the read is that of the contig at `at(i)`.
                    let at = |base: usize| diagonal.kmer_place(base, 1) as i64 - start as i64;
                    let is_inside = |base: usize| (0..contig.len() as i64).contains(&at(base));
                    let inside: Vec<usize> =
                        (0..read.len()).filter(|&base| is_inside(base)).collect();
                    assert_eq!((inside[0], inside[inside.len() - 1] + 1), (first, last));
                    let is_same = |&base: &usize| {
                        let text_base = contig[at(base) as usize];
                        read[base] == if diagonal.is_turned { 3 - text_base } else { text_base }
                    };
                    assert!((seed.0..seed.0 + 31).all(|base| is_same(&base)));
                    let expected: Vec<usize> =
                        inside.into_iter().filter(|base| !is_same(base)).collect();
                    let mut mismatches = Vec::new();
                    text.each_mismatch(&words, &diagonal, |base| {
                        mismatches.push(base);
                        true
                    });
                    assert_eq!(mismatches, expected);
                    false
                });
            }
        }
    }

    #[test]
    fn all_seeds_of_a_contig_are_at_their_positions() {
        let budget = Budget::new(1 << 20);
        let stream = cuesta_core::random::Stream::new(5, 0);
        let codes: Vec<Base> = (0..20_000).map(|place| (stream.bits(place) & 3) as Base).collect();
        let text = ContigText::new(1, |_| &codes[..], (43, &budget)).unwrap();
        let mut words = Vec::new();
        pack(&codes, &mut words);
        let (mut from, mut seeds) = (0, 0);
        while let Some(seed) = text.seed(&words, (from, codes.len())) {
            let mut diagonals = Vec::new();
            text.find(&words, (seed, (0, codes.len())), |diagonal| {
                diagonals.push((diagonal.kmer_place(seed.0, 31), diagonal.is_turned));
                false
            });
            assert_eq!(diagonals, [(text.range(0).0 + seed.0, false)]);
            (from, seeds) = (seed.0 + 1, seeds + 1);
        }
        assert!((2000..3000).contains(&seeds), "{seeds}");
        let none = Budget::new(100);
        assert!(ContigText::new(1, |_| &codes[..], (43, &none)).is_none());
    }
}
