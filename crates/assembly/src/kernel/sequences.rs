//! Sequences of bases in one buffer, with a summary of each.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::large_pages;

use crate::kernel::kmer::{Base, complement};

/// Most bytes that are leased from the budget in a step, and the largest part of the budget.
const STEP_BYTES_MAX: u64 = 1 << 20;
const STEP_PART: u64 = 256;

/// Lease of memory that grows, taken from a budget in steps.
pub struct Meter<'a> {
    budget: &'a Budget,
    purpose: &'static str,
    leases: Vec<Lease<'a>>,
    left_bytes: u64,
    step_bytes: u64,
}

impl<'a> Meter<'a> {
    /// Creates a meter with nothing leased.
    pub fn new(budget: &'a Budget, purpose: &'static str) -> Self {
        let step_bytes = (budget.limit_bytes() / STEP_PART).min(STEP_BYTES_MAX);
        Self { budget, purpose, leases: Vec::new(), left_bytes: 0, step_bytes }
    }

    /// Adds `size_bytes` to the lease.
    ///
    /// # Errors
    /// `Input` when it does not fit in the budget.
    pub fn take(&mut self, size_bytes: u64) -> Result<()> {
        if self.left_bytes < size_bytes {
            let more = size_bytes.max(self.step_bytes);
            self.leases.push(self.budget.take(more, self.purpose)?);
            self.left_bytes += more;
        }
        self.left_bytes -= size_bytes;
        Ok(())
    }

    /// Takes over the lease of another meter.
    pub fn absorb(&mut self, other: Self) {
        self.leases.extend(other.leases);
        self.left_bytes += other.left_bytes;
    }
}

/// Sequences of bases, each with a `T`.
pub struct Sequences<'a, T> {
    codes: Vec<Base>,
    ends: Vec<usize>,
    facts: Vec<T>,
    meter: Meter<'a>,
}

impl<'a, T> Sequences<'a, T> {
    /// Bytes of a sequence without its bases.
    const EACH_BYTES: usize = size_of::<usize>() + size_of::<T>();

    /// Creates an empty collection; `purpose` names it in messages.
    pub fn new(budget: &'a Budget, purpose: &'static str) -> Self {
        let meter = Meter::new(budget, purpose);
        Self { codes: Vec::new(), ends: Vec::new(), facts: Vec::new(), meter }
    }

    /// Creates one of `parts` empty collections, which lease memory in smaller steps so that
    /// together they hardly exceed the steps of one.
    pub fn part(budget: &'a Budget, purpose: &'static str, parts: usize) -> Self {
        let mut part = Self::new(budget, purpose);
        part.meter.step_bytes /= parts.max(1) as u64;
        part
    }

    /// Creates an empty collection that leases from the same budget.
    pub fn empty_like(&self) -> Self {
        Self::new(self.meter.budget, self.meter.purpose)
    }

    /// Makes room for `count` more sequences of `bases` bases in all, in large pages, whereas
    /// growing would fault in new small pages each time. Leases nothing from the budget yet.
    pub fn reserve(&mut self, count: usize, bases: usize) {
        self.codes.reserve_exact(bases);
        large_pages(self.codes.spare_capacity_mut());
        self.ends.reserve_exact(count);
        self.facts.reserve_exact(count);
    }

    /// Adds a sequence with the bases that `append` appends.
    ///
    /// # Errors
    /// `Input` when it does not fit in the budget.
    pub fn push(&mut self, facts: T, append: impl FnOnce(&mut Vec<Base>)) -> Result<()> {
        let before = self.codes.len();
        append(&mut self.codes);
        self.ends.push(self.codes.len());
        self.facts.push(facts);
        self.meter.take((self.codes.len() - before + Self::EACH_BYTES) as u64)
    }

    /// Adds all sequences of `other`.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn append(&mut self, other: Self) -> Result<()> {
        self.meter.take((other.codes.len() + other.ends.len() * Self::EACH_BYTES) as u64)?;
        let before = self.codes.len();
        self.codes.extend_from_slice(&other.codes);
        self.ends.extend(other.ends.iter().map(|end| before + end));
        self.facts.extend(other.facts);
        Ok(())
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of bases of all sequences.
    pub fn bases(&self) -> usize {
        self.codes.len()
    }

    /// Returns the bases of a sequence.
    pub fn codes(&self, index: usize) -> &[Base] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.codes[start..self.ends[index]]
    }

    /// Returns the summary of a sequence.
    pub fn facts(&self, index: usize) -> &T {
        &self.facts[index]
    }
}

/// Summary of a fragment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentSummary {
    /// Sum of the counts of its k-mers.
    pub count_sum: u64,
    /// Count of its first k-mer.
    pub first_count: u32,
    /// Count of its last k-mer.
    pub last_count: u32,
    /// Number of vertices that a vertex program merged into it.
    pub merges: u32,
    /// Whether its first k-mer is also the first or last of a fragment in another bucket.
    pub left_open: bool,
    /// Whether its last k-mer is also the first or last of a fragment in another bucket.
    pub right_open: bool,
    /// Whether it is a circle: its last k-mer is followed by its first.
    pub circular: bool,
}

impl FragmentSummary {
    /// Creates the summary of a path, whose ends are not open.
    pub fn of(path: &PathSummary) -> Self {
        let PathSummary { count_sum, circular, merges } = *path;
        Self { count_sum, circular, merges, ..Self::default() }
    }

    /// Returns the summary of its reverse complement.
    pub fn turned(self) -> Self {
        Self {
            first_count: self.last_count,
            last_count: self.first_count,
            left_open: self.right_open,
            right_open: self.left_open,
            ..self
        }
    }
}

/// Source of sequences that are joined, or become vertices: fragments or paths.
pub trait SequenceSource {
    /// Returns the range of their indices.
    fn range(&self) -> Range<usize>;

    /// Returns the number of bases of all sequences.
    fn bases(&self) -> usize;

    /// Prefetches a sequence that is read soon.
    fn prefetch(&self, index: usize);

    /// Returns the summary of a sequence and appends its bases to `codes`.
    ///
    /// # Errors
    /// `Defect` where the sequence is damaged.
    fn read(&self, index: usize, codes: &mut Vec<Base>) -> Result<FragmentSummary>;
}

/// Summary of a unitig or contig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSummary {
    /// Sum of the counts of its k-mers.
    pub count_sum: u64,
    /// Whether it is a circle: its last k-mer is followed by its first.
    pub circular: bool,
    /// Number of vertices that a vertex program merged into it.
    pub merges: u32,
}

/// Unitigs or contigs.
pub type Paths<'a> = Sequences<'a, PathSummary>;

impl<'a> Paths<'a> {
    /// Returns the bases of a path as they are written: a circle once around, without the repeat of
    /// its first k - 1 bases at its end.
    pub fn written(&self, index: usize, k: usize) -> &[Base] {
        let codes = self.codes(index);
        if self.facts[index].circular { &codes[..codes.len() + 1 - k] } else { codes }
    }

    /// Returns the paths in the order in which they are sorted.
    pub fn order(&self, k: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|&left, &right| {
            let [left_length, right_length] = [left, right].map(|path| self.written(path, k).len());
            let by_bases = || self.codes(left).cmp(self.codes(right));
            right_length.cmp(&left_length).then_with(by_bases)
        });
        order
    }

    /// Sorts the paths by written length, the longest first, and by bases where lengths are equal.
    ///
    /// # Errors
    /// `Input` when a second copy does not fit in the budget.
    pub fn sorted(self, k: usize, budget: &'a Budget) -> Result<Self> {
        let mut sorted = Self::new(budget, self.meter.purpose);
        sorted.reserve(self.len(), self.bases());
        for index in self.order(k) {
            let codes = self.codes(index);
            sorted.push(self.facts[index], |all| all.extend_from_slice(codes))?;
        }
        Ok(sorted)
    }
}

impl SequenceSource for Paths<'_> {
    fn range(&self) -> Range<usize> {
        0..self.len()
    }

    fn bases(&self) -> usize {
        self.codes.len()
    }

    fn prefetch(&self, index: usize) {
        prefetch(self.codes(index), 0);
    }

    fn read(&self, index: usize, codes: &mut Vec<Base>) -> Result<FragmentSummary> {
        codes.extend_from_slice(self.codes(index));
        Ok(FragmentSummary::of(self.facts(index)))
    }
}

/// Iterates over the bases of the reverse complement.
pub fn reverse_complement(codes: &[Base]) -> impl ExactSizeIterator<Item = Base> {
    codes.iter().rev().map(|&base| complement(base))
}

/// Replaces a linear sequence by the smaller of itself and its reverse complement.
pub fn orient(codes: &mut Vec<Base>) {
    let smaller = codes.iter().copied().le(reverse_complement(codes));
    if !smaller {
        *codes = reverse_complement(codes).collect();
    }
}

/// Replaces a circle, which has as many bases as k-mers, by the least of its rotations on both
/// strands.
pub fn rotate(circle: &mut Vec<Base>) {
    let mut reverse: Vec<Base> = reverse_complement(circle).collect();
    let starts = [least_rotation(circle), least_rotation(&reverse)];
    circle.rotate_left(starts[0]);
    reverse.rotate_left(starts[1]);
    if reverse < *circle {
        *circle = reverse;
    }
}

/// Returns the start of the least rotation: two candidates race, the loser skips what it has
/// compared.
fn least_rotation(circle: &[Base]) -> usize {
    let count = circle.len();
    let (mut first, mut second, mut same) = (0, 1, 0);
    while first < count && second < count && same < count {
        let (a, b) = (circle[(first + same) % count], circle[(second + same) % count]);
        if a == b {
            same += 1;
            continue;
        }
        let loser = if a > b { &mut first } else { &mut second };
        *loser += same + 1;
        if first == second {
            second += 1;
        }
        same = 0;
    }
    first.min(second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rotations_of_a_circle_have_the_same_form(
            codes in prop::collection::vec(0u8..3, 1..30),
            by in 0usize..30,
        ) {
            let mut best = codes.clone();
            rotate(&mut best);
            let turned: Vec<u8> = reverse_complement(&codes).collect();
            for strand in [&codes, &turned] {
                for start in 0..strand.len() {
                    let mut rotated = strand.clone();
                    rotated.rotate_left(start);
                    prop_assert!(best <= rotated);
                }
            }
            let mut rotated = turned;
            let count = rotated.len();
            rotated.rotate_left(by % count);
            rotate(&mut rotated);
            prop_assert_eq!(best, rotated);
        }
    }

    #[test]
    fn both_strands_have_the_same_form() {
        for mut codes in [vec![3, 3, 0], vec![3, 0, 0]] {
            orient(&mut codes);
            assert_eq!(codes, [3, 0, 0]);
        }
    }
}
