//! Numbers of pairs by samples and size of the correlation: the ranks of their p-values, and so
//! false discovery rates and q-values, without a list of the pairs.
//!
//! Source: Benjamini and Hochberg 1995.

use std::cmp::Ordering;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};

use crate::fixed::Micro;
use crate::statistics::student_p_value;

/// Places of a page.
const PAGE: usize = 256;
/// Steps from 0 to 1 of scores in millionths.
const MILLION: usize = 1_000_000;

/// Returns the two-sided p-value of a correlation over `samples`, by Student's t; 1 for fewer than
/// three samples.
pub fn p_value(correlation: f64, samples: usize) -> f64 {
    if samples < 3 { 1.0 } else { student_p_value(correlation, samples) }
}

/// Values by place, a page at a time; a page without a value takes no memory.
#[derive(Clone, Debug, PartialEq)]
struct Paged<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
    /// Number of pages in memory.
    filled: u64,
}

impl<T: Copy + Default> Paged<T> {
    fn new(places: usize) -> Self {
        let pages = std::iter::repeat_with(|| None).take(places.div_ceil(PAGE)).collect();
        Self { pages, filled: 0 }
    }

    #[inline(always)]
    fn get_mut(&mut self, place: usize) -> &mut T {
        let page = self.pages[place / PAGE].get_or_insert_with(|| {
            self.filled += 1;
            Box::new([T::default(); PAGE])
        });
        &mut page[place % PAGE]
    }

    fn get(&self, place: usize) -> T {
        let page = self.pages.get(place / PAGE).and_then(Option::as_ref);
        page.map_or_else(T::default, |page| page[place % PAGE])
    }

    fn pages(&self) -> impl Iterator<Item = (usize, &[T; PAGE])> {
        let pages = self.pages.iter().enumerate();
        pages.filter_map(|(number, page)| Some((number * PAGE, &**page.as_ref()?)))
    }
}

/// Number of pairs by samples and size of the correlation.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreCounts {
    /// Steps of equal width from 0 to 1.
    steps: usize,
    counts: BTreeMap<usize, Paged<u32>>,
}

impl ScoreCounts {
    /// Creates counts of 0 with `steps` steps of equal width from 0 to 1.
    pub fn new(steps: usize) -> Self {
        Self { steps, counts: BTreeMap::new() }
    }

    /// Creates counts of 0 of scores in millionths.
    pub fn of_millionths() -> Self {
        Self::new(MILLION)
    }

    /// Width of a step.
    pub fn width(&self) -> f64 {
        1.0 / self.steps as f64
    }

    /// Counts pairs over `samples`.
    pub fn of_samples(&mut self, samples: usize) -> CountsOfSamples<'_> {
        let places = self.steps + 1;
        let counts = self.counts.entry(samples).or_insert_with(|| Paged::new(places));
        CountsOfSamples { steps: self.steps, counts }
    }

    /// Adds the counts of others, of the same steps.
    pub fn merge(&mut self, other: &Self) {
        for (samples, counts) in &other.counts {
            let sums = self.of_samples(*samples);
            for (first, page) in counts.pages() {
                for (place, count) in (first..).zip(page).filter(|(_, count)| **count > 0) {
                    *sums.counts.get_mut(place) += count;
                }
            }
        }
    }

    /// Number of pairs.
    pub fn pairs(&self) -> u64 {
        let pages = self.counts.values().flat_map(Paged::pages);
        pages.flat_map(|(_, page)| page).map(|count| u64::from(*count)).sum()
    }

    /// Returns the memory of the counts and of the q-values that follow from them, in bytes.
    pub fn size_bytes(&self) -> u64 {
        let of_place = size_of::<u32>() + size_of::<f64>();
        let lists = (self.counts.len() * self.steps.div_ceil(PAGE) * 2 * size_of::<usize>()) as u64;
        let filled: u64 = self.counts.values().map(|counts| counts.filled).sum();
        lists + filled * (PAGE * of_place) as u64
    }

    /// Returns the smallest |r| that is significant at false discovery rate `rate` by number of
    /// samples, rounded up to a step; and the number of pairs from there on. Empty if none is.
    pub fn critical(&self, rate: f64) -> Critical {
        let total = self.pairs() as f64;
        let mut critical = Critical::default();
        self.each_descending(|cell, rank| {
            if critical.p_value.is_none() && cell.p <= rate * rank as f64 / total {
                (critical.p_value, critical.pairs) = (Some(cell.p), rank);
            }
            if critical.p_value.is_some() {
                let least = critical.correlations.entry(cell.samples).or_insert(1.0);
                *least = least.min(cell.place as f64 / self.steps as f64);
            }
        });
        critical
    }

    /// Returns the q-values of all pairs whose |r| is at least `least` steps.
    pub fn q_values(&self, least: usize) -> QValues {
        let total = self.pairs() as f64;
        let mut q_values: BTreeMap<usize, Paged<f64>> = BTreeMap::new();
        let mut q = 1.0_f64;
        self.each_descending(|cell, rank| {
            q = q.min(cell.p * total / rank as f64);
            if cell.place >= least {
                let places = || Paged::new(self.steps + 1);
                *q_values.entry(cell.samples).or_insert_with(places).get_mut(cell.place) = q;
            }
        });
        QValues(q_values)
    }

    /// Passes each filled place by falling p-value, with the number of pairs whose p-value is at
    /// most this.
    fn each_descending(&self, mut visit: impl FnMut(&Cell, u64)) {
        let mut rank = self.pairs();
        let first = |&samples: &usize| self.next(samples, 0);
        let mut cells: BinaryHeap<Cell> = self.counts.keys().filter_map(first).collect();
        while let Some(mut largest) = cells.peek_mut() {
            visit(&largest, rank);
            rank -= u64::from(largest.count);
            match self.next(largest.samples, largest.place + 1) {
                Some(next) => *largest = next,
                None => {
                    PeekMut::pop(largest);
                }
            }
        }
    }

    /// Returns the first filled place from `place` on.
    fn next(&self, samples: usize, place: usize) -> Option<Cell> {
        let pages = &self.counts.get(&samples)?.pages;
        let mut place = place;
        while let Some(page) = pages.get(place / PAGE) {
            let filled = page.as_ref().and_then(|page| {
                page[place % PAGE..].iter().position(|count| *count > 0).map(|skipped| {
                    let place = place + skipped;
                    (place, page[place % PAGE])
                })
            });
            if let Some((place, count)) = filled {
                let p = p_value(place as f64 / self.steps as f64, samples);
                return Some(Cell { p, samples, place, count });
            }
            place = (place / PAGE + 1) * PAGE;
        }
        None
    }
}

/// Pairs of equal samples and score.
#[derive(Clone, Copy, Debug)]
struct Cell {
    p: f64,
    samples: usize,
    place: usize,
    count: u32,
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        let places = (self.samples, self.place).cmp(&(other.samples, other.place));
        self.p.total_cmp(&other.p).then(places)
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cell {}

/// Counts for a number of samples.
pub struct CountsOfSamples<'c> {
    steps: usize,
    counts: &'c mut Paged<u32>,
}

impl CountsOfSamples<'_> {
    /// Counts a pair of a correlation of this size; 1 is in the last step.
    #[inline(always)]
    pub fn add(&mut self, size: f64) {
        let place = ((size * self.steps as f64) as usize).min(self.steps - 1);
        *self.counts.get_mut(place) += 1;
    }

    /// Counts a pair of a score in millionths, where these are the steps.
    #[inline(always)]
    pub fn add_millionths(&mut self, score: Micro) {
        *self.counts.get_mut((score.unsigned_abs() as usize).min(self.steps)) += 1;
    }
}

/// Pairs that a false discovery rate admits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Critical {
    /// Largest p-value, if any is admitted.
    pub p_value: Option<f64>,
    /// Number of pairs.
    pub pairs: u64,
    /// Smallest |r| by number of samples.
    pub correlations: BTreeMap<usize, f64>,
}

/// Values of q by samples and size of the correlation.
#[derive(Clone, Debug, PartialEq)]
pub struct QValues(BTreeMap<usize, Paged<f64>>);

impl QValues {
    /// Returns the q-value of the counted pairs of a score in millionths over `samples`.
    pub fn of_millionths(&self, score: Micro, samples: usize) -> f64 {
        let place = score.unsigned_abs() as usize;
        self.0.get(&samples).map_or(f64::NAN, |q_values| q_values.get(place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::statistics::q_values;

    proptest! {
        #[test]
        fn q_values_are_those_of_all_pairs(
            pairs in proptest::collection::vec((-1_000_000i32..=1_000_000, 2usize..7), 1..300),
            strong in proptest::collection::vec((999_990i32..=1_000_000, 2usize..40), 0..60),
            least in 0usize..600_000,
            cut in 0usize..300,
        ) {
            let pairs = [pairs, strong].concat();
            let p_of = |&(score, samples): &(i32, usize)| p_value(f64::from(score) / 1e6, samples);
            let expected = q_values(&pairs.iter().map(p_of).collect::<Vec<_>>());
            let (left, right) = pairs.split_at(cut.min(pairs.len()));
            let [mut left, right] = [left, right].map(|pairs| {
                let mut counts = ScoreCounts::of_millionths();
                for &(score, samples) in pairs {
                    counts.of_samples(samples).add_millionths(score);
                }
                counts
            });
            left.merge(&right);
            prop_assert_eq!(left.pairs(), pairs.len() as u64);
            let ours = left.q_values(least);
            for ((score, samples), q) in pairs.into_iter().zip(expected) {
                if score.unsigned_abs() as usize >= least {
                    // Neighbouring scores whose p-values rounding swaps are no matter.
                    let ours = ours.of_millionths(score, samples);
                    prop_assert!((ours - q).abs() <= 1e-12 * q, "{ours} {q}");
                }
            }
        }
    }
}
