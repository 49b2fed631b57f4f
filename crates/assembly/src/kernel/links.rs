//! Which paths follow each other: they share k - 1 bases.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use crate::kernel::glue::{End, NOWHERE};
use crate::kernel::kmer::Kmer;
use crate::kernel::sequences::Paths;

/// For every end of a path, the ends by which others are entered when it is left there.
pub struct Links<'a> {
    starts: Vec<u32>,
    to: Vec<End>,
    _lease: Lease<'a>,
}

/// A (k-1)-mer where ends meet, whether it is left in canonical form there, and the end.
type Meeting<K> = (K, bool, End);

impl<'a> Links<'a> {
    /// The links of all paths.
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
        each_meeting(&meetings, k, |end, others| counts[end as usize + 1] = others.len() as u32);
        for end in 0..ends {
            counts[end + 1] += counts[end];
        }
        let mut to = vec![NOWHERE; counts[ends] as usize];
        each_meeting(&meetings, k, |end, others| {
            let start = counts[end as usize] as usize;
            for (place, other) in to[start..].iter_mut().zip(others) {
                *place = other.2;
            }
        });
        Ok(Self { starts: counts, to, _lease })
    }

    /// Where the path that is left by `end` goes on.
    pub fn after(&self, end: End) -> &[End] {
        let start = self.starts[end as usize] as usize;
        &self.to[start..self.starts[end as usize + 1] as usize]
    }

    /// Calls `found` for every link once, with the end that is left and the one that is entered.
    pub fn each(&self, mut found: impl FnMut(End, End)) {
        for end in 0..self.starts.len() as End - 1 {
            for &other in self.after(end).iter().filter(|&&other| end <= other) {
                found(end, other);
            }
        }
    }
}

/// Calls `found` for each end with those it meets. At a (k-1)-mer that is its own reverse
/// complement all ends meet all, themselves too.
fn each_meeting<'m, K: Kmer>(
    meetings: &'m [Meeting<K>],
    k: usize,
    mut found: impl FnMut(End, &'m [Meeting<K>]),
) {
    for group in meetings.chunk_by(|one, two| one.0 == two.0) {
        let (one, two) = group.split_at(group.partition_point(|meeting| !meeting.1));
        let palindrome = group[0].0 == group[0].0.reverse_complement(k - 1);
        for (these, those) in [(one, two), (two, one)] {
            let those = if palindrome { group } else { those };
            these.iter().for_each(|meeting| found(meeting.2, those));
        }
    }
}
