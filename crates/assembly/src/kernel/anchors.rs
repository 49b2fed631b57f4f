//! Where reads lie on paths, by sampled k-mers that are on one path once.

use std::collections::hash_map::Entry;

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use crate::kernel::glue::End;
use crate::kernel::kmer::{Kmer, KmerMap};
use crate::kernel::sequences::Paths;

/// Bases of an anchor.
const ANCHOR_BASES: usize = 31;
/// One k-mer in so many is an anchor.
const SAMPLE: u64 = 8;
/// Bytes that an anchor takes, about.
const ANCHOR_BYTES: u64 = 40;

/// A place on a path; `None` for a k-mer that is there more than once.
type Place = Option<(u32, u64, bool)>;

/// All anchors of some paths.
pub struct Anchors<'a> {
    places: KmerMap<u64, Place>,
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
        let bytes = paths.bases() as u64 / SAMPLE * ANCHOR_BYTES;
        let _lease = budget.take(bytes, "placing reads on contigs")?;
        let mut places = KmerMap::default();
        places.reserve(paths.bases() / SAMPLE as usize);
        for index in 0..paths.len() {
            each_anchor(paths.codes(index).iter().copied(), |start, kmer, turned| {
                match places.entry(kmer) {
                    Entry::Vacant(free) => {
                        free.insert(Some((index as u32, start as u64, turned)));
                    }
                    Entry::Occupied(mut taken) => {
                        taken.insert(None);
                    }
                }
                true
            });
        }
        let lengths = (0..paths.len()).map(|index| paths.codes(index).len() as u64).collect();
        Ok(Self { places, lengths, _lease })
    }

    /// Bases of a path.
    pub fn length(&self, path: End) -> i64 {
        self.lengths[path as usize] as i64
    }

    /// Where the first anchor of a read, as codes, places it.
    pub fn locate(&self, codes: &[u8]) -> Option<Located> {
        let mut found = None;
        each_anchor(codes.iter().copied(), |place, kmer, turned| {
            if let Some(&Some((path, start, path_turned))) = self.places.get(&kmer) {
                let (place, start) = (place as i64, start as i64);
                found = Some(if turned == path_turned {
                    let left = self.lengths[path as usize] as i64 - (start - place);
                    Located { end: 2 * path + 1, left }
                } else {
                    Located { end: 2 * path, left: start + ANCHOR_BASES as i64 + place }
                });
            }
            found.is_none()
        });
        found
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
            if let Some(found) = anchors.locate(&read) {
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
