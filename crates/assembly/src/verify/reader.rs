//! What a thread of the verification reads with.

use super::align::{Group, TextAligner};
use super::evidence::Adder;
use super::packed::are_bases;
use super::packed_reads::PackedReads;
use super::repeats::RepeatFilter;
use crate::kernel::scan;

/// Reads that are laid along the answer, some at a time.
pub struct EvidenceReader<'s, 'a> {
    /// Takes the k-mers that are not there.
    pub adder: Adder<'s, 'a>,
    /// Bases of the reads so far.
    pub bases: u64,
    /// Letters of the longest of them.
    pub longest: u64,
    /// K-mers that the reads have once, and the answer has not.
    pub singles: u64,
    group: Group,
    /// Where reads go that later sizes of k-mers take from there.
    cache: Option<&'s PackedReads<'a>>,
    /// What tells these, and their size.
    seen: Option<(&'s RepeatFilter<'a>, usize)>,
}

impl<'s, 'a> EvidenceReader<'s, 'a> {
    /// One that has read nothing.
    pub fn new(
        adder: Adder<'s, 'a>,
        seen: Option<(&'s RepeatFilter<'a>, usize)>,
        cache: Option<&'s PackedReads<'a>>,
    ) -> Self {
        Self { adder, bases: 0, longest: 0, singles: 0, group: Group::default(), cache, seen }
    }

    /// Adds a read, or the stretches between ambiguous letters, unless reads with these are left
    /// out.
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

    /// Whether as many reads are there as are laid along the answer together.
    pub fn is_full(&self) -> bool {
        self.group.is_full()
    }

    /// Lays the reads along the answer.
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

    /// Lays packed reads along the answer, whose bases were counted already.
    pub fn align(&mut self, group: &Group, aligner: &TextAligner<'_, '_, '_>) {
        let Self { adder, seen, singles, .. } = self;
        match seen {
            None => aligner.align(group, |words, kmers| adder.add(words, kmers)),
            Some((seen, k)) => aligner.align(group, |words, (first, last)| {
                *singles += seen.divide(words, (*k, first..last), |others| {
                    adder.add(words, (others.start, others.end));
                });
            }),
        }
    }
}
