//! Where reads lie on paths, by sampled k-mers that are on one path once.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;

use crate::kernel::glue::End;
use crate::kernel::kmer::Kmer;
use crate::kernel::sequences::Paths;

/// Bases of an anchor.
const ANCHOR_BASES: usize = 31;
/// One k-mer in so many is an anchor.
const SAMPLE: u64 = 8;
/// Slots for each anchor that is expected, in tenths, and more for few of them.
const SLOTS_TENTHS: usize = 16;
const SLOTS_MORE: usize = 64;
/// Anchors that are added together, once memory was asked for their slots.
const TOGETHER: usize = 64;
/// Anchors of a read that are looked at first: one may be of an error, or of a repeat.
const LOOKED_AT: usize = 2;
/// Stands for the path of a k-mer that is on paths more than once.
const SEVERAL: u32 = u32::MAX;

/// A sampled k-mer of a read.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    /// Where it begins.
    place: usize,
    /// Its canonical form, and whether that is the other strand.
    kmer: u64,
    turned: bool,
}

/// The first anchors of a read, for which memory was asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seeds {
    first: [Sampled; LOOKED_AT],
    count: usize,
}

/// An anchor; a free slot has [`Kmer::NONE`].
#[derive(Clone, Copy)]
struct Slot {
    kmer: u64,
    /// Twice where it begins, and 1 more where its canonical form is the other strand.
    place: u64,
    path: u32,
}

const FREE: Slot = Slot { kmer: u64::NONE, place: 0, path: SEVERAL };

/// All anchors of some paths.
pub struct Anchors<'a> {
    slots: Vec<Slot>,
    lengths: Vec<u64>,
    _lease: Lease<'a>,
}

/// Where a read lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// The end of the path by which the read leaves it if it goes on.
    pub end: End,
    /// Bases from the beginning of the read to that end.
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
        // One of them stays free.
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

    /// Adds those that are waiting, while there is room.
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

    /// The first slot where a k-mer may be.
    #[inline(always)]
    fn start(&self, kmer: u64) -> usize {
        ((u128::from(kmer.mixed()) * self.slots.len() as u128) >> u64::BITS) as usize
    }

    /// Where a k-mer is, or the free slot where it would be.
    #[inline(always)]
    fn slot(&self, kmer: u64) -> usize {
        let mut index = self.start(kmer);
        while self.slots[index].kmer != kmer && self.slots[index].kmer != u64::NONE {
            index = if index + 1 == self.slots.len() { 0 } else { index + 1 };
        }
        index
    }

    /// Asks memory for what [`Anchors::locate`] looks at first, which it is given.
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

    /// Bases of a path.
    pub fn length(&self, path: End) -> i64 {
        self.lengths[path as usize] as i64
    }

    /// Where the first anchor of a read, as codes, places it.
    pub fn locate(&self, codes: &[u8], seeds: &Seeds) -> Option<Located> {
        let first = &seeds.first[..seeds.count];
        let found = first.iter().find_map(|&sampled| self.located(sampled));
        if found.is_some() || seeds.count < LOOKED_AT {
            return found;
        }
        let (mut found, last) = (None, first[LOOKED_AT - 1].place);
        each_anchor(codes.iter().copied(), |place, kmer, turned| {
            if place > last {
                found = self.located(Sampled { place, kmer, turned });
            }
            found.is_none()
        });
        found
    }

    /// Where an anchor places its read.
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

/// Calls `take` for each sampled k-mer with where it begins, its canonical form and whether that
/// is the other strand, until it returns false.
fn each_anchor(codes: impl Iterator<Item = u8>, mut take: impl FnMut(usize, u64, bool) -> bool) {
    let (mut forward, mut backward, mut whole) = (0u64, 0u64, 0);
    for (place, code) in codes.enumerate() {
        if code > 3 {
            whole = 0;
            continue;
        }
        forward = forward.append(code, ANCHOR_BASES);
        backward = backward.prepend(3 - code, ANCHOR_BASES);
        whole += 1;
        let canonical = forward.min(backward);
        if whole >= ANCHOR_BASES
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
            if let Some(found) = anchors.locate(&read, &anchors.seeds(&read)) {
                let (start, lengths) = (start as i64, [350, codes.len() as i64 - 350]);
                let path = i64::from(found.end / 2);
                let from = start - 350 * path;
                let left = if turned { from + 100 } else { lengths[path as usize] - from };
                prop_assert_eq!(found.left, left);
                prop_assert_eq!(found.end % 2 == 1, !turned);
            }
        }
    }
}
