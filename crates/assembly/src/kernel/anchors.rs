//! Positions of reads on paths, found by sampled k-mers that occur exactly once in all paths.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;

use crate::kernel::glue::End;
use crate::kernel::kmer::Kmer;
use crate::kernel::sequences::Paths;

/// Bases in an anchor.
const ANCHOR_BASES: usize = 31;
/// Sampling rate: 1 of this many k-mers, by hash, is an anchor.
const SAMPLE: u64 = 8;
/// Slots per expected anchor, in tenths, and extra slots for small tables.
const SLOTS_TENTHS: usize = 16;
const SLOTS_MORE: usize = 64;
/// Anchors that are inserted together after their slots have been prefetched.
const TOGETHER: usize = 64;
/// Anchors of a read that are tried first: the first alone may have a wrong base or be in a repeat.
const LOOKED_AT: usize = 2;
/// Path number of a k-mer that occurs more than once in the paths.
const SEVERAL: u32 = u32::MAX;

/// A sampled k-mer of a read.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    /// Base of the read at which it begins.
    place: usize,
    /// Canonical form, and whether the canonical form is the reverse complement.
    kmer: u64,
    turned: bool,
}

/// The first anchors of a read, whose slots have been prefetched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seeds {
    first: [Sampled; LOOKED_AT],
    count: usize,
}

/// An anchor; a free slot contains [`Kmer::NONE`].
#[derive(Clone, Copy)]
struct Slot {
    kmer: u64,
    /// Twice its start on the path, plus 1 if its canonical form is the reverse complement.
    place: u64,
    path: u32,
}

const FREE: Slot = Slot { kmer: u64::NONE, place: 0, path: SEVERAL };

/// Index of all anchors of a set of paths.
pub struct Anchors<'a> {
    slots: Vec<Slot>,
    lengths: Vec<u64>,
    _lease: Lease<'a>,
}

/// Position of a read on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// End of the path towards which the read points.
    pub end: End,
    /// Bases from the start of the read to that end.
    pub left: i64,
}

impl<'a> Anchors<'a> {
    /// Indexes the paths.
    ///
    /// # Errors
    /// `Input` when the anchors do not fit in the budget.
    pub fn new(paths: &Paths<'_>, budget: &'a Budget) -> Result<Self> {
        let count = paths.bases() / SAMPLE as usize * SLOTS_TENTHS / 10 + SLOTS_MORE;
        let bytes = count * size_of::<Slot>() + paths.len() * size_of::<u64>();
        let _lease = budget.take(bytes as u64, "placing reads on contigs")?;
        let slots = in_large_pages(count, || FREE);
        let lengths = (0..paths.len()).map(|index| paths.codes(index).len() as u64).collect();
        let mut anchors = Self { slots, lengths, _lease };
        // One slot always stays free, so that a search ends.
        let mut room = count - 1;
        let mut waiting = Vec::with_capacity(TOGETHER);
        for index in 0..paths.len() {
            each_anchor(paths.codes(index).iter().copied(), |start, kmer, turned| {
                prefetch(&anchors.slots, anchors.start(kmer));
                let place = (start as u64) << 1 | u64::from(turned);
                waiting.push(Slot { kmer, place, path: index as u32 });
                if waiting.len() == TOGETHER {
                    anchors.add(&mut waiting, &mut room);
                }
                true
            });
        }
        anchors.add(&mut waiting, &mut room);
        Ok(anchors)
    }

    /// Inserts the waiting anchors while there is room.
    fn add(&mut self, waiting: &mut Vec<Slot>, room: &mut usize) {
        for new in waiting.drain(..) {
            let index = self.slot(new.kmer);
            let slot = &mut self.slots[index];
            if slot.kmer == new.kmer {
                slot.path = SEVERAL;
            } else if *room > 0 {
                *slot = new;
                *room -= 1;
            }
        }
    }

    /// Returns the first slot in which a k-mer may be.
    #[inline(always)]
    fn start(&self, kmer: u64) -> usize {
        ((u128::from(kmer.mixed()) * self.slots.len() as u128) >> u64::BITS) as usize
    }

    /// Returns the slot of a k-mer, or the free slot where it would be inserted.
    #[inline(always)]
    fn slot(&self, kmer: u64) -> usize {
        let mut index = self.start(kmer);
        while self.slots[index].kmer != kmer && self.slots[index].kmer != u64::NONE {
            index = if index + 1 == self.slots.len() { 0 } else { index + 1 };
        }
        index
    }

    /// Returns the first anchors of a read for [`Anchors::locate`], and prefetches their slots.
    #[inline]
    pub fn seeds(&self, codes: &[u8]) -> Seeds {
        let mut seeds = Seeds::default();
        each_anchor(codes.iter().copied(), |place, kmer, turned| {
            prefetch(&self.slots, self.start(kmer));
            seeds.first[seeds.count] = Sampled { place, kmer, turned };
            seeds.count += 1;
            seeds.count < LOOKED_AT
        });
        seeds
    }

    /// Returns the length of a path in bases.
    pub fn length(&self, path: End) -> i64 {
        self.lengths[path as usize] as i64
    }

    /// Locates a read, as codes, by its first anchor that is in the index.
    pub fn locate(&self, codes: &[u8], seeds: &Seeds) -> Option<Located> {
        let first = &seeds.first[..seeds.count];
        let located = first.iter().find_map(|&sampled| self.located(sampled));
        if located.is_some() || seeds.count < LOOKED_AT {
            return located;
        }
        let (mut located, last) = (None, first[LOOKED_AT - 1].place);
        each_anchor(codes.iter().copied(), |place, kmer, turned| {
            if place > last {
                located = self.located(Sampled { place, kmer, turned });
            }
            located.is_none()
        });
        located
    }

    /// Returns the position that an anchor implies for its read.
    #[inline(always)]
    fn located(&self, Sampled { place, kmer, turned }: Sampled) -> Option<Located> {
        let Slot { path, place: on_path, .. } = self.slots[self.slot(kmer)];
        let (place, start) = (place as i64, (on_path >> 1) as i64);
        (path != SEVERAL).then(|| {
            if turned == (on_path & 1 == 1) {
                let left = self.lengths[path as usize] as i64 - (start - place);
                Located { end: 2 * path + 1, left }
            } else {
                Located { end: 2 * path, left: start + ANCHOR_BASES as i64 + place }
            }
        })
    }
}

/// Calls `take` for each sampled k-mer with its start, its canonical form and whether that is the
/// reverse complement, until `take` returns false.
fn each_anchor(codes: impl Iterator<Item = u8>, mut take: impl FnMut(usize, u64, bool) -> bool) {
    let (mut forward, mut backward, mut valid_bases) = (0u64, 0u64, 0);
    for (place, code) in codes.enumerate() {
        if code > 3 {
            valid_bases = 0;
            continue;
        }
        forward = forward.append(code, ANCHOR_BASES);
        backward = backward.prepend(3 - code, ANCHOR_BASES);
        valid_bases += 1;
        let canonical = forward.min(backward);
        if valid_bases >= ANCHOR_BASES
            && canonical.mixed() % SAMPLE == 0
            && !take(place + 1 - ANCHOR_BASES, canonical, backward < forward)
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::{PathSummary, reverse_complement};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_read_is_placed_where_it_comes_from(
            codes in prop::collection::vec(0u8..4, 400..600),
            start in 0usize..300,
            turned in any::<bool>(),
        ) {
            let budget = Budget::new(1 << 30);
            let mut paths = Paths::new(&budget, "a test");
            paths.push(PathSummary::default(), |all| all.extend_from_slice(&codes[..350])).unwrap();
            paths.push(PathSummary::default(), |all| all.extend_from_slice(&codes[350..])).unwrap();
            let anchors = Anchors::new(&paths, &budget).unwrap();
            let part = &codes[start..start + 100];
            let read = if turned { reverse_complement(part).collect() } else { part.to_vec() };
            if let Some(located) = anchors.locate(&read, &anchors.seeds(&read)) {
                let (start, lengths) = (start as i64, [350, codes.len() as i64 - 350]);
                let path = i64::from(located.end / 2);
                let from = start - 350 * path;
                let left = if turned { from + 100 } else { lengths[path as usize] - from };
                prop_assert_eq!(located.left, left);
                prop_assert_eq!(located.end % 2 == 1, !turned);
            }
        }
    }
}
