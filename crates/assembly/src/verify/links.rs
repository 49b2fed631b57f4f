//! Links between unitigs: ends that share k - 1 bases.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use super::faults::{Fault, Faults};
use super::packed::unpack;
use super::text::Text;
use crate::kernel::kmer::Kmer;

/// An end of a sequence: the left end of sequence `i` is `2 i`, its right end `2 i + 1`.
pub type End = u32;

/// Returns the other end of the same sequence.
pub fn opposite(end: End) -> End {
    end ^ 1
}

/// Returns the sequence of an end.
pub fn sequence(end: End) -> usize {
    (end / 2) as usize
}

/// For each end by which a sequence is left, the ends by which sequences are then entered,
/// ascending.
pub struct SequenceLinks<'a> {
    starts: Vec<u32>,
    to: Vec<End>,
    _leases: [Lease<'a>; 2],
}

/// The (k-1)-mer at an end, whether its canonical form is read when the sequence is left there, and
/// the end.
type Meeting<K> = (K, bool, End);

impl<'a> SequenceLinks<'a> {
    /// Finds the links of all sequences. Two ends that meet only each other are a fault: their
    /// sequences should be joined.
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
        each_side(&meetings, k, |ends, partners| {
            ends.iter().for_each(|end| starts[end.2 as usize + 1] = partners.len() as u32);
            count += ends.len() * partners.len();
            if let ([(_, _, left)], [(_, _, right)]) = (ends, partners) {
                let is_circle = text.claim(sequence(*left)).is_marked && opposite(*left) == *right;
                if !is_circle && left != right {
                    faults.add(Fault::EndsEarly);
                }
            }
        });
        for end in 0..ends {
            starts[end + 1] += starts[end];
        }
        let to_lease = budget.take((count * size_of::<End>()) as u64, purpose)?;
        let mut to = vec![0; count];
        each_side(&meetings, k, |ends, partners| {
            for end in ends {
                let start = starts[end.2 as usize] as usize;
                to[start..].iter_mut().zip(partners).for_each(|(to, partner)| *to = partner.2);
            }
        });
        Ok(Self { starts, to, _leases: [starts_lease, to_lease] })
    }

    /// Returns the ends by which sequences are entered after one is left by `end`.
    pub fn after(&self, end: End) -> &[End] {
        &self.to[self.starts[end as usize] as usize..self.starts[end as usize + 1] as usize]
    }
}

fn meetings<K: Kmer>(text: &Text<'_>, k: usize) -> Vec<Meeting<K>> {
    let mut meetings = Vec::with_capacity(2 * text.len());
    let mut codes = Vec::new();
    for index in 0..text.len() {
        let (start, end) = text.range(index);
        for (side, from) in [start, end + 1 - k].into_iter().enumerate() {
            codes.clear();
            unpack(text.words(), (from, from + k - 1), &mut codes);
            let kmer = K::of(&codes, k - 1);
            let canonical = kmer.canonical(k - 1);
            let is_left_forward = (kmer == canonical) == (side == 1);
            meetings.push((canonical, is_left_forward, (2 * index + side) as End));
        }
    }
    meetings
}

/// Calls `take` with ends that meet: twice, from either side, or once with all ends on both sides
/// where the (k-1)-mer is its own reverse complement.
fn each_side<K: Kmer>(
    meetings: &[Meeting<K>],
    k: usize,
    mut take: impl FnMut(&[Meeting<K>], &[Meeting<K>]),
) {
    for group in meetings.chunk_by(|left, right| left.0 == right.0) {
        if group[0].0 == group[0].0.reverse_complement(k - 1) {
            // Each end is left and entered by the same bases: the order must not depend on which
            // strand counts as forward.
            let mut all: Vec<_> = group.to_vec();
            all.sort_unstable_by_key(|end| end.2);
            take(&all, &all);
        } else {
            let (reverse, forward) = group.split_at(group.partition_point(|end| !end.1));
            take(reverse, forward);
            take(forward, reverse);
        }
    }
}
