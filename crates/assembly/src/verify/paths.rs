//! The sequences of an answer, held against the k-mers that are claimed.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_input::parallel;

use super::answer::{Answer, Segment};
use super::claims::{Claims, Follower, strands};
use crate::glue::End;
use crate::kmer::{Base, Kmer};
use crate::reference::{kmers, only_after};
use crate::sequences::{orient, rotate};

/// Unitigs that a thread looks at before it says that it goes on.
const UNITIGS_AT_A_TIME: usize = 64;

/// Whether these sequences are the unitigs of the k-mers that they have, each in its one form.
///
/// # Errors
/// `Cancelled`.
pub fn are_unitigs<K: Kmer>(
    unitigs: &[Segment],
    claims: &Claims<K>,
    k: usize,
    (threads, progress): (usize, &Progress),
) -> Result<bool> {
    let all_hold = AtomicBool::new(true);
    let chunks: Vec<&[Segment]> = unitigs.chunks(UNITIGS_AT_A_TIME).collect();
    let work = |_: &mut (), chunk: usize| {
        let holds = chunks[chunk].iter().all(|unitig| is_unitig(unitig, claims, k));
        all_hold.fetch_and(holds, Ordering::Relaxed);
        progress.advance(0)
    };
    parallel::run(threads, chunks.len(), || (), work, |_| {})?;
    Ok(all_hold.into_inner())
}

fn is_unitig<K: Kmer>(unitig: &Segment, claims: &Claims<K>, k: usize) -> bool {
    let is_solid = |kmer: &K| claims.find((*kmer, kmer.reverse_complement(k))).is_some();
    let path: Vec<K> = kmers(&unitig.codes, k).collect();
    let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return false };
    let ends_hold = if unitig.marked {
        is_circle(&unitig.codes, k) && is_joint(last, first, k, is_solid)
    } else {
        only_after(is_solid, last, k).is_none()
            && only_after(is_solid, first.reverse_complement(k), k).is_none()
    };
    ends_hold
        && is_in_form(unitig, k)
        && path.windows(2).all(|two| is_joint(two[0], two[1], k, is_solid))
}

/// Whether of two solid k-mers that overlap nothing else follows the one or comes before the other.
fn is_joint<K: Kmer>(one: K, two: K, k: usize, is_solid: impl Fn(&K) -> bool) -> bool {
    let junction = one.suffix(k);
    let after = two.last_but(0);
    let before = one.last_but(k - 1);
    let bases = 0..4;
    junction != junction.reverse_complement(k - 1)
        && !bases.clone().any(|base| base != after && is_solid(&one.append(base, k)))
        && !bases.clone().any(|base| base != before && is_solid(&two.prepend(base, k)))
}

fn is_in_form(unitig: &Segment, k: usize) -> bool {
    let mut codes = unitig.codes.clone();
    if unitig.marked {
        codes.truncate(codes.len() + 1 - k);
        rotate(&mut codes);
        unitig.codes.starts_with(&codes)
    } else {
        orient(&mut codes);
        codes == unitig.codes
    }
}

/// Whether a sequence ends as it begins.
pub fn is_circle(codes: &[Base], k: usize) -> bool {
    codes[..k - 1] == codes[codes.len() + 1 - k..]
}

/// The counts of the k-mers of a sequence, unless one is not claimed or was there before.
pub fn count_sum<K: Kmer>(
    codes: &[Base],
    k: usize,
    claims: &Claims<K>,
    once: &mut [bool],
) -> Option<u64> {
    let (mut sum, mut follower) = (0, Follower::default());
    for both in strands(codes, k) {
        let place = follower.next(claims, both).or_else(|| claims.find(both))?;
        sum += u64::from(claims.count(place));
        if std::mem::replace(&mut once[place], true) {
            return None;
        }
    }
    Some(sum)
}

/// Whether the links are exactly those of segments that share k - 1 bases.
pub fn links_are_all<K: Kmer>(answer: &Answer, k: usize) -> bool {
    let mut entered_by: HashMap<K, Vec<End>> = HashMap::new();
    let mut left_by = Vec::new();
    for (index, segment) in answer.segments.iter().enumerate() {
        let codes = &segment.codes;
        let first = K::of(codes, k - 1);
        let last = K::of(&codes[codes.len() + 1 - k..], k - 1);
        let (left, right) = (2 * index as End, 2 * index as End + 1);
        entered_by.entry(first).or_default().push(left);
        entered_by.entry(last.reverse_complement(k - 1)).or_default().push(right);
        left_by.extend([(left, first.reverse_complement(k - 1)), (right, last)]);
    }
    let mut expected: HashSet<(End, End)> = HashSet::new();
    for (end, kmer) in left_by {
        let others = entered_by.get(&kmer).map_or(&[][..], Vec::as_slice);
        expected.extend(others.iter().map(|&other| (end.min(other), end.max(other))));
    }
    let found: HashSet<(End, End)> =
        answer.links.iter().map(|&(one, two)| (one.min(two), one.max(two))).collect();
    found == expected && found.len() == answer.links.len()
}
