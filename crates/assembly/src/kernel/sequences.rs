//! Many sequences of bases one after the other, and what is known of each.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::large_pages;

use crate::kernel::kmer::{Base, complement};

/// Most that is taken from the budget at a time, and the part of the budget that it is at most.
const STEP_BYTES_MAX: u64 = 1 << 20;
const STEP_PART: u64 = 256;

/// Memory that grows, taken from a budget in steps.
pub struct Meter<'a> {
    budget: &'a Budget,
    purpose: &'static str,
    leases: Vec<Lease<'a>>,
    left_bytes: u64,
    step_bytes: u64,
}

impl<'a> Meter<'a> {
    /// Nothing taken yet.
    pub fn new(budget: &'a Budget, purpose: &'static str) -> Self {
        let step_bytes = (budget.limit_bytes() / STEP_PART).min(STEP_BYTES_MAX);
        Self { budget, purpose, leases: Vec::new(), left_bytes: 0, step_bytes }
    }

    /// Takes more.
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

    /// Goes on with what another one took, too.
    pub fn absorb(&mut self, other: Self) {
        self.leases.extend(other.leases);
        self.left_bytes += other.left_bytes;
    }
}

/// Sequences, each with a `T`.
pub struct Sequences<'a, T> {
    codes: Vec<Base>,
    ends: Vec<usize>,
    facts: Vec<T>,
    meter: Meter<'a>,
}

impl<'a, T> Sequences<'a, T> {
    /// Bytes of a sequence besides its bases.
    const EACH_BYTES: usize = size_of::<usize>() + size_of::<T>();

    /// None, for `purpose`.
    pub fn new(budget: &'a Budget, purpose: &'static str) -> Self {
        let meter = Meter::new(budget, purpose);
        Self { codes: Vec::new(), ends: Vec::new(), facts: Vec::new(), meter }
    }

    /// None, for one of `parts` that together take hardly more at a time than one does.
    pub fn part(budget: &'a Budget, purpose: &'static str, parts: usize) -> Self {
        let mut part = Self::new(budget, purpose);
        part.meter.step_bytes /= parts.max(1) as u64;
        part
    }

    /// An empty one that takes its memory from the same budget.
    pub fn none_yet(&self) -> Self {
        Self::new(self.meter.budget, self.meter.purpose)
    }

    /// Makes room for `count` more, of so many bases together: one piece of memory in large pages,
    /// where growing would take new small ones each time. Takes nothing from the budget yet.
    pub fn reserve(&mut self, count: usize, bases: usize) {
        self.codes.reserve_exact(bases);
        large_pages(self.codes.spare_capacity_mut());
        self.ends.reserve_exact(count);
        self.facts.reserve_exact(count);
    }

    /// Adds the bases that `append` appends.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn push(&mut self, facts: T, append: impl FnOnce(&mut Vec<Base>)) -> Result<()> {
        let before = self.codes.len();
        append(&mut self.codes);
        self.ends.push(self.codes.len());
        self.facts.push(facts);
        self.meter.take((self.codes.len() - before + Self::EACH_BYTES) as u64)
    }

    /// Adds all of `other`.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bases of all.
    pub fn bases(&self) -> usize {
        self.codes.len()
    }

    /// The bases of one.
    pub fn codes(&self, index: usize) -> &[Base] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.codes[start..self.ends[index]]
    }

    /// What is known of one.
    pub fn facts(&self, index: usize) -> &T {
        &self.facts[index]
    }
}

/// What is known of a fragment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentSummary {
    /// The counts of its k-mers, added up.
    pub count_sum: u64,
    /// The count of its first k-mer.
    pub first_count: u32,
    /// The count of its last k-mer.
    pub last_count: u32,
    /// How often another vertex was merged into it, in the program of the paper.
    pub merges: u32,
    /// Its first k-mer is also the last or first of a fragment of another bucket.
    pub left_open: bool,
    /// So is its last k-mer.
    pub right_open: bool,
    /// Its last k-mer is followed by its first.
    pub circular: bool,
}

impl FragmentSummary {
    /// Of a path, whose ends are not open.
    pub fn of(path: &PathSummary) -> Self {
        let PathSummary { count_sum, circular, merges } = *path;
        Self { count_sum, circular, merges, ..Self::default() }
    }

    /// The same on the other strand.
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

/// What is joined, or becomes vertices: fragments, or paths.
pub trait SequenceSource {
    /// The numbers of all.
    fn range(&self) -> Range<usize>;

    /// Bases of all.
    fn bases(&self) -> usize;

    /// Asks memory for one that is read soon.
    fn prefetch(&self, index: usize);

    /// What is known of one, whose bases are appended to `codes`.
    ///
    /// # Errors
    /// `Defect` where it is damaged.
    fn read(&self, index: usize, codes: &mut Vec<Base>) -> Result<FragmentSummary>;
}

/// What is known of a unitig or contig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSummary {
    /// The counts of its k-mers, added up.
    pub count_sum: u64,
    /// Its last k-mer is followed by its first.
    pub circular: bool,
    /// How often another vertex was merged into it, in the program of the paper.
    pub merges: u32,
}

/// Unitigs or contigs.
pub type Paths<'a> = Sequences<'a, PathSummary>;

impl<'a> Paths<'a> {
    /// The bases of a path as they are written: those of a circle once around, without its first
    /// k - 1 at its end.
    pub fn written(&self, index: usize, k: usize) -> &[Base] {
        let codes = self.codes(index);
        if self.facts[index].circular { &codes[..codes.len() + 1 - k] } else { codes }
    }

    /// Sorts them: the longest as written first, those of one length in the order of their bases.
    ///
    /// # Errors
    /// `Input` when a second copy does not fit in the budget.
    pub fn sorted(self, k: usize, budget: &'a Budget) -> Result<Self> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by(|&one, &two| {
            let [length_one, length_two] = [one, two].map(|path| self.written(path, k).len());
            let in_order = || self.codes(one).cmp(self.codes(two));
            length_two.cmp(&length_one).then_with(in_order)
        });
        let mut sorted = Self::new(budget, self.meter.purpose);
        sorted.reserve(self.len(), self.bases());
        for index in order {
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

/// The bases of the other strand.
pub fn reverse_complement(codes: &[Base]) -> impl ExactSizeIterator<Item = Base> {
    codes.iter().rev().map(|&base| complement(base))
}

/// Replaces a linear sequence by the smaller of it and its reverse complement.
pub fn orient(codes: &mut Vec<Base>) {
    let smaller = codes.iter().copied().le(reverse_complement(codes));
    if !smaller {
        *codes = reverse_complement(codes).collect();
    }
}

/// Replaces a circle, which has as many bases as k-mers, by its least rotation on either strand.
pub fn rotate(circle: &mut Vec<Base>) {
    let other: Vec<Base> = reverse_complement(circle).collect();
    let (one, two) = (least_rotation(circle), least_rotation(&other));
    circle.rotate_left(one);
    let mut other = other;
    other.rotate_left(two);
    if other < *circle {
        *circle = other;
    }
}

/// Where the least rotation starts: two candidates race, the loser skips what it has compared.
fn least_rotation(circle: &[Base]) -> usize {
    let count = circle.len();
    let (mut one, mut two, mut same) = (0, 1, 0);
    while one < count && two < count && same < count {
        let (a, b) = (circle[(one + same) % count], circle[(two + same) % count]);
        if a == b {
            same += 1;
            continue;
        }
        let loser = if a > b { &mut one } else { &mut two };
        *loser += same + 1;
        if one == two {
            two += 1;
        }
        same = 0;
    }
    one.min(two)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_circle_has_one_form(codes in prop::collection::vec(0u8..3, 1..30), by in 0usize..30) {
            let mut best = codes.clone();
            rotate(&mut best);
            let turned: Vec<u8> = reverse_complement(&codes).collect();
            for strand in [&codes, &turned] {
                for start in 0..strand.len() {
                    let mut other = strand.clone();
                    other.rotate_left(start);
                    prop_assert!(best <= other);
                }
            }
            let mut other = turned;
            let count = other.len();
            other.rotate_left(by % count);
            rotate(&mut other);
            prop_assert_eq!(best, other);
        }
    }

    #[test]
    fn a_sequence_has_one_form() {
        for mut codes in [vec![3, 3, 0], vec![3, 0, 0]] {
            orient(&mut codes);
            assert_eq!(codes, [3, 0, 0]);
        }
    }
}
