//! Index of positions of k-mers in a text: one k-mer in eight by hash, and those at the ends of its
//! sequences.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;
use cuesta_runtime::parallel;

use super::packed::{Alignment, WORD_BASES, base, turned, window};
use super::text::{PLACES_MAX, Text};
use crate::kernel::kmer::complement;

/// Sampling rate of k-mers in the index, as a power of two.
const SAMPLE_BITS: u32 = 3;
/// Most bases in the core of a k-mer, its middle by which it is sampled.
const CORE_BASES_MAX: usize = 31;
/// Slots per k-mer, in tenths.
const SLOTS_TENTHS: usize = 16;
/// Slots that are probed before a k-mer counts as absent, which only makes it slower to count.
const PROBES_MAX: usize = 64;
/// Probes that suffice for most k-mers.
const PROBES_MEAN: usize = 4;
/// K-mers of a sequence that are inserted together, so that the cache misses of their slots
/// overlap.
const WAITING_MAX: usize = 32;
const EMPTY: u32 = u32::MAX;
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Core of a k-mer: an odd number of bases in its middle, which are the middle on either strand.
#[derive(Clone, Copy)]
pub struct Core {
    k: usize,
    bases: usize,
}

impl Core {
    /// Returns the core of k-mers of `k` bases.
    pub fn of(k: usize) -> Self {
        Self { k, bases: k.min(CORE_BASES_MAX) }
    }

    /// Calls `take` for the k-mers from `first` to before `last` with their positions and the
    /// hashes of their cores, until `take` returns false.
    #[inline(always)]
    pub fn each(
        self,
        words: &[u64],
        (first, last): (usize, usize),
        mut take: impl FnMut(usize, u64) -> bool,
    ) {
        let away = (self.k - self.bases) / 2;
        let (mask, top) = ((1 << (2 * self.bases)) - 1, 2 * (self.bases - 1));
        let mut forward = window(words, first + away) >> (64 - 2 * self.bases);
        let mut backward = turned(forward) >> (64 - 2 * self.bases);
        for place in first..last {
            if !take(place, mixed(forward.min(backward))) {
                return;
            }
            let next = base(words, place + away + self.bases);
            forward = (forward << 2 | u64::from(next)) & mask;
            backward = backward >> 2 | u64::from(complement(next)) << top;
        }
    }

    /// Returns the hash of the k-mer at a position, given that of its core.
    #[inline(always)]
    fn name(self, words: &[u64], place: usize, core: u64) -> u64 {
        if self.k == self.bases { core } else { self.long_name(words, place) }
    }

    /// Returns the hash of the core of the k-mer at a position.
    #[inline]
    pub fn hash(self, words: &[u64], place: usize) -> u64 {
        let away = (self.k - self.bases) / 2;
        let forward = window(words, place + away) >> (64 - 2 * self.bases);
        mixed(forward.min(turned(forward) >> (64 - 2 * self.bases)))
    }

    /// Hashes a long k-mer, combining both strands: each is hashed by windows at the same distances
    /// from its start, the last window at its end.
    fn long_name(self, words: &[u64], place: usize) -> u64 {
        let last = self.k - WORD_BASES;
        let starts = (0..last).step_by(WORD_BASES).chain([last]);
        let both = starts.fold([0, 0], |[forward, backward], start| {
            let ahead = window(words, place + start);
            let behind = turned(window(words, place + last - start));
            [mixed(forward ^ ahead), mixed(backward ^ behind)]
        });
        mixed(both[0].wrapping_add(both[1]))
    }
}

#[inline(always)]
fn mixed(kmer: u64) -> u64 {
    let product = kmer.wrapping_mul(SPREAD);
    product ^ product >> 32
}

/// Returns whether a k-mer whose core has this hash is in the index at any position of a sequence.
#[inline(always)]
pub fn is_sampled(core: u64) -> bool {
    core >> (64 - SAMPLE_BITS) == 0
}

/// Index of the positions of k-mers in a text.
pub struct Index<'t, 'a> {
    text: &'t Text<'a>,
    core: Core,
    slots: Vec<AtomicU32>,
    /// Low bits of a slot that are a position; the bits above are of the hash.
    place_bits: u32,
    /// Upper bound (exclusive) of the indexed positions.
    end: usize,
    _lease: Lease<'a>,
}

impl<'t, 'a> Index<'t, 'a> {
    /// Returns the bytes of the index of sequences with `bases` bases in all.
    fn size_bytes(bases: usize, sequences: usize) -> u64 {
        let kmers = (bases >> SAMPLE_BITS) + 2 * sequences + 64;
        (kmers * SLOTS_TENTHS / 10 * size_of::<AtomicU32>()) as u64
    }

    /// Indexes the first sequences of a text, as many as fit in `most_bytes` with the index and
    /// `each_bytes` per base.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn new(
        text: &'t Text<'a>,
        k: usize,
        (budget, most_bytes, each_bytes): (&'a Budget, u64, u64),
        threads: usize,
    ) -> Result<Self> {
        let fits = |sequences: usize| {
            let bases = text.start(sequences);
            Self::size_bytes(bases, sequences) + bases as u64 * each_bytes <= most_bytes
                && bases <= PLACES_MAX
        };
        let (mut sequences, mut too_many) = (0, text.len() + 1);
        while too_many - sequences > 1 {
            let middle = sequences.midpoint(too_many);
            *(if fits(middle) { &mut sequences } else { &mut too_many }) = middle;
        }
        let end = text.start(sequences);
        let size_bytes = Self::size_bytes(end, sequences);
        let lease = budget.take(size_bytes, "where k-mers are in the answer")?;
        let count = size_bytes as usize / size_of::<AtomicU32>();
        let slots = in_large_pages(count, || AtomicU32::new(EMPTY));
        let place_bits = usize::BITS - (end + 1).leading_zeros();
        let index = Self { text, core: Core::of(k), slots, place_bits, end, _lease: lease };
        let work = |_: &mut (), task: usize| {
            text.each_in_task((task, end), |sequence, places| {
                index.add(sequence, places, k);
                Ok(())
            })
        };
        parallel::run(threads, text.tasks(end), || (), work, |_| {})?;
        Ok(index)
    }

    /// Returns the upper bound (exclusive) of the indexed positions.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Returns the core of its k-mers.
    pub fn core(&self) -> Core {
        self.core
    }

    fn add(&self, sequence: usize, places: Range<usize>, k: usize) {
        let (start, end) = self.text.range(sequence);
        let (words, last) = (self.text.words(), end - k);
        let (mut waiting, mut count) = ([(0, 0); WAITING_MAX], 0);
        self.core.each(words, (places.start, places.end.min(last + 1)), |place, core| {
            if is_sampled(core) || place == start || place == last {
                waiting[count] = (place, self.prefetch(words, place, core));
                count += 1;
                if count == WAITING_MAX {
                    waiting.iter().for_each(|&(place, name)| self.insert(place, name));
                    count = 0;
                }
            }
            true
        });
        waiting[..count].iter().for_each(|&(place, name)| self.insert(place, name));
    }

    #[inline(always)]
    fn slot(&self, name: u64) -> usize {
        ((u64::from(name as u32) * self.slots.len() as u64) >> 32) as usize
    }

    #[inline(always)]
    fn tag(&self, name: u64) -> u32 {
        let bits = u64::from(self.place_bits);
        // With 32 bits of positions no bit is left.
        ((name >> 32) << bits) as u32
    }

    fn insert(&self, place: usize, name: u64) {
        let entry = self.tag(name) | place as u32;
        let mut slot = self.slot(name);
        for _ in 0..PROBES_MAX {
            let (order, fail) = (Ordering::Relaxed, Ordering::Relaxed);
            if self.slots[slot].compare_exchange(EMPTY, entry, order, fail).is_ok() {
                return;
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
    }

    /// Prefetches the slots of the k-mer at a base of a read, and returns its hash (name).
    #[inline(always)]
    pub fn prefetch(&self, words: &[u64], base: usize, core: u64) -> u64 {
        let name = self.core.name(words, base, core);
        let slot = self.slot(name);
        // Some of the slots to be probed may be in the next cache line.
        prefetch(&self.slots, slot);
        prefetch(&self.slots, slot + PROBES_MEAN);
        name
    }

    /// Iterates over the candidate positions of a k-mer by its hash.
    #[inline(always)]
    pub fn places(&self, name: u64) -> impl Iterator<Item = usize> {
        let (tag, place_mask) = (self.tag(name), ((1u64 << self.place_bits) - 1) as u32);
        let mut slot = self.slot(name);
        let entries = (0..PROBES_MAX).map_while(move |_| {
            let entry = self.slots[slot].load(Ordering::Relaxed);
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
            (entry != EMPTY).then_some(entry)
        });
        let is_it = move |entry: &u32| entry & !place_mask == tag;
        entries.filter(is_it).map(move |entry| (entry & place_mask) as usize)
    }

    /// Finds an alignment of a read by the k-mer at a base, given its hash.
    #[inline]
    pub fn find(&self, read: &[u64], base: usize, name: u64) -> Option<Alignment> {
        let (k, words) = (self.core.k, self.text.words());
        for place in self.places(name) {
            let forward = Alignment { origin: place as i64 - base as i64, is_turned: false };
            if forward.same_ahead(read, words, base, k) == k {
                return Some(forward);
            }
            let origin = (place + k - 1 + base) as i64;
            let backward = Alignment { origin, is_turned: true };
            if backward.same_ahead(read, words, base, k) == k {
                return Some(backward);
            }
        }
        None
    }
}
