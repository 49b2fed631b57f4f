//! Which ends of unitigs meet: those that have the same k - 1 bases there.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use super::faults::{Fault, Faults};
use super::packed::unpack;
use super::text::Text;
use crate::kernel::kmer::Kmer;

/// An end of a sequence: of number `i`, the left one is `2 i`, the right one `2 i + 1`.
pub type End = u32;

/// The other end of the same sequence.
pub fn opposite(end: End) -> End {
    end ^ 1
}

/// The sequence of an end.
pub fn sequence(end: End) -> usize {
    (end / 2) as usize
}

/// For every end by which a sequence is left, those by which others are entered then, ascending.
pub struct SequenceLinks<'a> {
    starts: Vec<u32>,
    to: Vec<End>,
    _leases: [Lease<'a>; 2],
}

/// The (k-1)-mer at an end, whether it is in its canonical form when the sequence is left there,
/// and the end.
type Meeting<K> = (K, bool, End);

impl<'a> SequenceLinks<'a> {
    /// The links of all sequences. Two ends that meet nothing but each other are a fault: their
    /// sequences should be one.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn find<K: Kmer>(
        text: &Text<'_>,
        k: usize,
        (budget, faults): (&'a Budget, &Faults),
    ) -> Result<Self> {
        let ends = 2 * text.len();
        let purpose = "the links of unitigs";
        let _meetings = budget.take((ends * size_of::<Meeting<K>>()) as u64, purpose)?;
        let mut meetings = meetings::<K>(text, k);
        meetings.sort_unstable();
        let starts_lease = budget.take(((ends + 1) * size_of::<u32>()) as u64, purpose)?;
        let mut starts = vec![0u32; ends + 1];
        let mut count = 0;
        each_side(&meetings, k, |these, those| {
            these.iter().for_each(|one| starts[one.2 as usize + 1] = those.len() as u32);
            count += these.len() * those.len();
            if let ([(_, _, one)], [(_, _, two)]) = (these, those) {
                let is_circle = text.claim(sequence(*one)).is_marked && opposite(*one) == *two;
                if !is_circle && one != two {
                    faults.add(Fault::EndsEarly);
                }
            }
        });
        for end in 0..ends {
            starts[end + 1] += starts[end];
        }
        let to_lease = budget.take((count * size_of::<End>()) as u64, purpose)?;
        let mut to = vec![0; count];
        each_side(&meetings, k, |these, those| {
            for one in these {
                let start = starts[one.2 as usize] as usize;
                to[start..].iter_mut().zip(those).for_each(|(to, other)| *to = other.2);
            }
        });
        Ok(Self { starts, to, _leases: [starts_lease, to_lease] })
    }

    /// Where one may go on from an end.
    pub fn after(&self, end: End) -> &[End] {
        &self.to[self.starts[end as usize] as usize..self.starts[end as usize + 1] as usize]
    }
}

fn meetings<K: Kmer>(text: &Text<'_>, k: usize) -> Vec<Meeting<K>> {
    let mut found = Vec::with_capacity(2 * text.len());
    let mut codes = Vec::new();
    for index in 0..text.len() {
        let (start, end) = text.range(index);
        for (side, from) in [start, end + 1 - k].into_iter().enumerate() {
            codes.clear();
            unpack(text.words(), (from, from + k - 1), &mut codes);
            let kmer = K::of(&codes, k - 1);
            let canonical = kmer.canonical(k - 1);
            let is_left_forward = (kmer == canonical) == (side == 1);
            found.push((canonical, is_left_forward, (2 * index + side) as End));
        }
    }
    found
}

/// Calls `take` with ends that meet: twice, from either side, or once with all ends on both sides
/// where the (k-1)-mer is its own reverse complement.
fn each_side<K: Kmer>(
    meetings: &[Meeting<K>],
    k: usize,
    mut take: impl FnMut(&[Meeting<K>], &[Meeting<K>]),
) {
    for group in meetings.chunk_by(|one, two| one.0 == two.0) {
        if group[0].0 == group[0].0.reverse_complement(k - 1) {
            // Each is left and entered by the same bases: the order of ends must not depend on
            // which is called forward.
            let mut all: Vec<_> = group.to_vec();
            all.sort_unstable_by_key(|one| one.2);
            take(&all, &all);
        } else {
            let (one, two) = group.split_at(group.partition_point(|one| !one.1));
            take(one, two);
            take(two, one);
        }
    }
}
