//! Reader of the verification, one per thread.

use std::collections::BTreeMap;

use cuesta_core::Result;
use cuesta_input::reads::trim::TrimCounts;

use super::align::{Group, TextAligner};
use super::evidence::Adder;
use super::packed::are_bases;
use super::packed_reads::PackedReads;
use super::repeats::RepeatFilter;
use crate::kernel::scan;
use crate::params::{K_MAX, Plan};
use crate::stages::level::Level;

/// Reader that collects reads in groups and aligns them to the answer.
pub struct EvidenceReader<'s, 'a> {
    /// Destination of k-mers that are neither in the answer nor single.
    pub adder: Adder<'s, 'a>,
    /// Bases of the reads so far.
    pub bases: u64,
    /// Letters of the longest read so far.
    pub longest: u64,
    /// Bases of the stretches of each length.
    lengths: BTreeMap<usize, u64>,
    /// K-mers that occur once in the reads and not in the answer.
    pub singles: u64,
    group: Group,
    /// Cache of the reads for later sizes of k-mers.
    cache: Option<&'s PackedReads<'a>>,
    /// Filter of repeated k-mers, which identifies single ones, and the size of the k-mers to
    /// count.
    repeats: Option<(&'s RepeatFilter<'a>, usize)>,
}

/// Numbers of the reads of a level.
#[derive(Clone, Debug, Default)]
pub struct ReadNumbers {
    /// Their bases.
    pub bases: u64,
    /// Letters of the longest one.
    pub longest: u64,
    /// Bases of the stretches without ambiguous letters, by their length.
    pub bases_by_length: BTreeMap<usize, u64>,
    /// K-mers that occur once in them and not in the unitigs.
    pub singles: u64,
    /// Their counts as they were trimmed; none of cached reads.
    pub trimmed: TrimCounts,
}

/// A read of this many letters may have been cut, so that its length is unknown.
const READ_PART_BASES: u64 = 4 << 10;

impl ReadNumbers {
    /// Returns the letters of the longest read, and the length of the stretches that half of all
    /// bases are in where it chooses the sizes of k-mers; as claimed, if a read so long was cut and
    /// all sizes are chosen by it.
    pub fn lengths(&self, plan: &Plan, claimed: &Level) -> (u64, Option<u64>) {
        match claimed.longest_read {
            Some(longest) if self.longest >= READ_PART_BASES => {
                (longest.max(self.longest), claimed.common_stretch)
            }
            _ => (self.longest, plan.common_stretch(self.longest, self.half())),
        }
    }

    /// Returns the length of the last of the shorter stretches with half of all bases, that of the
    /// longer ones where both are half; at most that of the longest k-mer and one more.
    fn half(&self) -> usize {
        let all: u64 = self.bases_by_length.values().sum();
        let mut shorter = 0;
        let half = self.bases_by_length.iter().find(|&(_, &bases)| {
            shorter += bases;
            2 * u128::from(shorter) > u128::from(all)
        });
        half.map_or(0, |(&length, _)| length.min(K_MAX + 1))
    }
}

/// Finishes readers; returns the numbers of their reads.
///
/// # Errors
/// `System`.
pub fn finished(readers: Vec<Option<EvidenceReader<'_, '_>>>) -> Result<ReadNumbers> {
    let mut numbers = ReadNumbers::default();
    for reader in readers.into_iter().flatten() {
        numbers.bases += reader.bases;
        numbers.longest = reader.longest.max(numbers.longest);
        numbers.singles += reader.singles;
        for (length, bases) in reader.lengths {
            *numbers.bases_by_length.entry(length).or_insert(0) += bases;
        }
        reader.adder.finish()?;
    }
    Ok(numbers)
}

impl<'s, 'a> EvidenceReader<'s, 'a> {
    /// Creates a reader without reads.
    pub fn new(
        adder: Adder<'s, 'a>,
        repeats: Option<(&'s RepeatFilter<'a>, usize)>,
        cache: Option<&'s PackedReads<'a>>,
    ) -> Self {
        let (group, lengths) = (Group::default(), BTreeMap::new());
        Self { adder, bases: 0, longest: 0, lengths, singles: 0, group, cache, repeats }
    }

    /// Adds a read. One with ambiguous letters is cut there, or dropped with `drop_ambiguous`.
    #[inline]
    pub fn add(&mut self, letters: &[u8], drop_ambiguous: bool) {
        self.longest = self.longest.max(letters.len() as u64);
        if are_bases(letters) {
            self.push(letters);
            return;
        }
        if drop_ambiguous {
            return;
        }
        for stretch in letters.split(|&letter| scan::code(letter) > 3) {
            self.push(stretch);
        }
    }

    #[inline]
    fn push(&mut self, stretch: &[u8]) {
        let bases = stretch.len() as u64;
        self.bases += bases;
        *self.lengths.entry(stretch.len()).or_insert(0) += bases;
        self.group.push(stretch);
    }

    /// Returns whether the group of reads is full.
    pub fn is_full(&self) -> bool {
        self.group.is_full()
    }

    /// Aligns the group of reads to the answer.
    pub fn align_pending(&mut self, aligner: &TextAligner<'_, '_, '_>) {
        let mut group = std::mem::take(&mut self.group);
        self.align(&group, aligner);
        match self.cache {
            Some(cache) => {
                group.shrink();
                cache.add(group);
            }
            None => {
                group.clear();
                self.group = group;
            }
        }
    }

    /// Aligns a group of reads to the answer, whose bases the caller has counted.
    pub fn align(&mut self, group: &Group, aligner: &TextAligner<'_, '_, '_>) {
        let Self { adder, repeats, singles, .. } = self;
        match repeats {
            None => aligner.align(group, |words, kmers| adder.add(words, kmers)),
            Some((repeats, k)) => aligner.align(group, |words, (first, last)| {
                *singles += repeats.divide(words, (*k, first..last), |counted| {
                    adder.add(words, (counted.start, counted.end));
                });
            }),
        }
    }
}
