//! Reader of the verification, one per thread.

use cuesta_core::Result;
use cuesta_input::reads::trim::TrimCounts;

use super::align::{Group, TextAligner};
use super::evidence::Adder;
use super::packed::are_bases;
use super::packed_reads::PackedReads;
use super::repeats::RepeatFilter;
use crate::kernel::scan;

/// Reader that collects reads in groups and aligns them to the answer.
pub struct EvidenceReader<'s, 'a> {
    /// Destination of k-mers that are neither in the answer nor single.
    pub adder: Adder<'s, 'a>,
    /// Bases of the reads so far.
    pub bases: u64,
    /// Letters of the longest read so far.
    pub longest: u64,
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
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadNumbers {
    /// Their bases.
    pub bases: u64,
    /// Letters of the longest one.
    pub longest: u64,
    /// K-mers that occur once in them and not in the unitigs.
    pub singles: u64,
    /// Their counts as they were trimmed; none of cached reads.
    pub trimmed: TrimCounts,
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
        Self { adder, bases: 0, longest: 0, singles: 0, group: Group::default(), cache, repeats }
    }

    /// Adds a read. One with ambiguous letters is cut there, or dropped with `drop_ambiguous`.
    #[inline]
    pub fn add(&mut self, letters: &[u8], drop_ambiguous: bool) {
        self.longest = self.longest.max(letters.len() as u64);
        if are_bases(letters) {
            self.bases += letters.len() as u64;
            self.group.push(letters);
            return;
        }
        if drop_ambiguous {
            return;
        }
        for stretch in letters.split(|&letter| scan::code(letter) > 3) {
            self.bases += stretch.len() as u64;
            self.group.push(stretch);
        }
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
