//! Links between paths: the end of one path shares k - 1 bases with the start of the next.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use crate::kernel::glue::{End, NOWHERE};
use crate::kernel::kmer::Kmer;
use crate::kernel::sequences::Paths;

/// For each end of a path, the ends by which it enters other paths.
pub struct Links<'a> {
    starts: Vec<u32>,
    to: Vec<End>,
    _lease: Lease<'a>,
}

/// A (k-1)-mer at an end, whether the end is left by its canonical form, and the end.
type Meeting<K> = (K, bool, End);

impl<'a> Links<'a> {
    /// Finds the links between all paths.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn find<K: Kmer>(paths: &Paths<'_>, k: usize, budget: &'a Budget) -> Result<Self> {
        let ends = 2 * paths.len();
        let size_bytes = ends * (size_of::<Meeting<K>>() + 4 * size_of::<u32>());
        let _lease = budget.take(size_bytes as u64, "the links of paths")?;
        let mut meetings: Vec<Meeting<K>> = Vec::with_capacity(ends);
        for index in 0..paths.len() {
            let codes = paths.codes(index);
            let first = K::of(codes, k - 1).reverse_complement(k - 1);
            let last = K::of(&codes[codes.len() + 1 - k..], k - 1);
            for (side, left_by) in [first, last].into_iter().enumerate() {
                let canonical = left_by.canonical(k - 1);
                meetings.push((canonical, left_by == canonical, (2 * index + side) as End));
            }
        }
        meetings.sort_unstable();
        let mut counts = vec![0u32; ends + 1];
        each_meeting(&meetings, k, |end, partners| {
            counts[end as usize + 1] = partners.len() as u32;
        });
        for end in 0..ends {
            counts[end + 1] += counts[end];
        }
        let mut to = vec![NOWHERE; counts[ends] as usize];
        each_meeting(&meetings, k, |end, partners| {
            let start = counts[end as usize] as usize;
            for (place, partner) in to[start..].iter_mut().zip(partners) {
                *place = partner.2;
            }
        });
        Ok(Self { starts: counts, to, _lease })
    }

    /// Returns the ends by which paths are entered after a path is left by `end`.
    pub fn after(&self, end: End) -> &[End] {
        let start = self.starts[end as usize] as usize;
        &self.to[start..self.starts[end as usize + 1] as usize]
    }

    /// Calls `take` for each link once, with the end that is left and the end that is entered.
    pub fn each(&self, mut take: impl FnMut(End, End)) {
        for end in 0..self.starts.len() as End - 1 {
            for &entered in self.after(end).iter().filter(|&&entered| end <= entered) {
                take(end, entered);
            }
        }
    }
}

/// Calls `take` for each end with its partners. At a (k-1)-mer that is its own reverse complement
/// all ends are partners of all, including themselves.
fn each_meeting<'m, K: Kmer>(
    meetings: &'m [Meeting<K>],
    k: usize,
    mut take: impl FnMut(End, &'m [Meeting<K>]),
) {
    for group in meetings.chunk_by(|first, second| first.0 == second.0) {
        let (reverse, canonical) = group.split_at(group.partition_point(|meeting| !meeting.1));
        let palindrome = group[0].0 == group[0].0.reverse_complement(k - 1);
        for (ends, partners) in [(reverse, canonical), (canonical, reverse)] {
            let partners = if palindrome { group } else { partners };
            ends.iter().for_each(|meeting| take(meeting.2, partners));
        }
    }
}
