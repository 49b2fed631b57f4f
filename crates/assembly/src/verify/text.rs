//! Sequences of a FASTA file of an answer, packed one after another.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::{in_large_pages, large_pages};
use cuesta_core::{Error, Result};

use super::OPERATION;
use super::packed::{PADDING_WORDS, WORD_BASES, are_bases, pack_letters, unpack};
use crate::kernel::kmer::Base;
use crate::kernel::sequences::Meter;

const BUFFER_BYTES: usize = 1 << 18;
/// Approximate number of tasks into which a text is divided, and the least and most positions of
/// each.
const TASKS: usize = 256;
const TASK_PLACES_MIN: usize = 1 << 9;
const TASK_PLACES_MAX: usize = 1 << 16;
/// Most positions: they have 32 bits, and one value means none.
pub const PLACES_MAX: usize = u32::MAX as usize - 1;
/// Largest count of a claim, which has 63 bits.
pub const COUNT_MAX: u64 = u64::MAX >> 1;

/// Claim in the name of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Sum of the counts of its k-mers, or their weight.
    pub count: u64,
    /// Whether it is marked: as a circle, or as a bridge.
    pub is_marked: bool,
}

/// Parses the name of a unitig.
pub fn unitig_claim(name: &str) -> Option<Claim> {
    let count = name.split(" KC:i:").nth(1)?.split(' ').next()?.parse().ok()?;
    Some(Claim { count, is_marked: name.ends_with(" TP:Z:circular") })
}

/// Parses the name of a trusted sequence.
pub fn trusted_claim(name: &str) -> Option<Claim> {
    let count = name.split(" weight=").nth(1)?.split(' ').next()?.parse().ok()?;
    Some(Claim { count, is_marked: name.ends_with(" bridge") })
}

/// Sequences packed one after another.
pub struct Text<'a> {
    words: Vec<u64>,
    /// Start of each sequence, and the end of the last one.
    starts: Vec<usize>,
    /// A bit for each position: whether a sequence starts there. An additional bit for the end.
    start_bits: Vec<u64>,
    /// Twice the count of each claim, plus 1 if it is marked.
    claims: Vec<u64>,
    _lease: Lease<'a>,
    _meter: Meter<'a>,
}

impl<'a> Text<'a> {
    /// Reads a file; `claim` parses the name of a sequence.
    ///
    /// # Errors
    /// `Input` naming file and line, or when the sequences do not fit in the budget; `System`.
    pub fn read(
        path: &Path,
        budget: &'a Budget,
        claim: impl Fn(&str) -> Option<Claim>,
    ) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
        let file = File::open(path).map_err(failed)?;
        let bases_max = file.metadata().map_err(failed)?.len();
        let purpose = "the sequences of the answer";
        // Two bits for a base, and one that marks the start of a sequence.
        let lease = budget.take(bases_max / 4 + bases_max / 8 + 64, purpose)?;
        let words_max = (bases_max as usize).div_ceil(WORD_BASES) + 1 + PADDING_WORDS;
        let mut text = Self {
            words: Vec::with_capacity(words_max),
            starts: Vec::new(),
            start_bits: Vec::new(),
            claims: Vec::new(),
            _lease: lease,
            _meter: Meter::new(budget, purpose),
        };
        large_pages(text.words.spare_capacity_mut());
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let (mut name, mut end) = (Vec::new(), 0);
        loop {
            name.clear();
            if reader.read_until(b'\n', &mut name).map_err(failed)? == 0 {
                break;
            }
            let parsed = std::str::from_utf8(&name).ok().and_then(|name| name.strip_prefix('>'));
            let parsed = parsed.and_then(|name| claim(name.trim_end_matches('\n')));
            let parsed = parsed.filter(|parsed| parsed.count <= COUNT_MAX);
            let line = 2 * text.claims.len() + 1;
            let parsed = parsed.ok_or_else(|| bad(path, line, "is no name of a sequence"))?;
            text._meter.take(2 * (size_of::<usize>() + size_of::<u64>()) as u64)?;
            text.starts.push(end);
            text.claims.push(parsed.count << 1 | u64::from(parsed.is_marked));
            let start = end;
            loop {
                let bytes = reader.fill_buf().map_err(failed)?;
                let here = memchr::memchr(b'\n', bytes);
                let letters = &bytes[..here.unwrap_or(bytes.len())];
                if !are_bases(letters) {
                    return Err(bad(path, line + 1, "is no sequence of A, C, G, T"));
                }
                append(letters, &mut end, &mut text.words);
                let used = letters.len() + usize::from(here.is_some());
                reader.consume(used);
                if here.is_some() || used == 0 {
                    break;
                }
            }
            if end == start {
                return Err(bad(path, line + 1, "is no sequence of A, C, G, T"));
            }
        }
        text.starts.push(end);
        text.words.extend([0; 1 + PADDING_WORDS]);
        text.start_bits = in_large_pages(end / 64 + 1, || 0);
        for &start in &text.starts {
            text.start_bits[start / 64] |= 1 << (start % 64);
        }
        Ok(text)
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Returns whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Returns the packed bases.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Prefetches the words around a position.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        prefetch(&self.words, place / WORD_BASES);
        prefetch(&self.start_bits, place / 64);
    }

    /// Returns the end of the last sequence.
    pub fn end(&self) -> usize {
        self.starts[self.len()]
    }

    /// Returns the start of a sequence, or for the number of sequences the end of the last one.
    pub fn start(&self, index: usize) -> usize {
        self.starts[index]
    }

    /// Returns the number of tasks into which the positions before `end` are divided; a task has
    /// many short sequences, or a part of a long one.
    pub fn tasks(&self, end: usize) -> usize {
        end.div_ceil(self.task_places())
    }

    fn task_places(&self) -> usize {
        (self.end() / TASKS).clamp(TASK_PLACES_MIN, TASK_PLACES_MAX)
    }

    /// Calls `take` for each sequence that is in a task, with the positions of it that are, but
    /// none from `end` on.
    pub fn each_in_task(
        &self,
        (task, end): (usize, usize),
        mut take: impl FnMut(usize, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let first = task * self.task_places();
        let last = end.min(first + self.task_places());
        let before = self.starts[..self.len()].partition_point(|&start| start <= first);
        for sequence in before.saturating_sub(1)..self.len() {
            let (start, end) = self.range(sequence);
            if start >= last {
                break;
            }
            take(sequence, start.max(first)..end.min(last))?;
        }
        Ok(())
    }

    /// Returns the start and end of a sequence.
    pub fn range(&self, index: usize) -> (usize, usize) {
        (self.starts[index], self.starts[index + 1])
    }

    /// Returns the number of bases of a sequence.
    pub fn length(&self, index: usize) -> usize {
        self.starts[index + 1] - self.starts[index]
    }

    /// Returns the number of k-mers of a sequence.
    pub fn kmers(&self, index: usize, k: usize) -> usize {
        (self.length(index) + 1).saturating_sub(k)
    }

    /// Appends the bases of a sequence.
    pub fn unpack(&self, index: usize, codes: &mut Vec<Base>) {
        unpack(&self.words, self.range(index), codes);
    }

    /// Returns the claim in the name of a sequence.
    pub fn claim(&self, index: usize) -> Claim {
        let claim = self.claims[index];
        Claim { count: claim >> 1, is_marked: claim & 1 == 1 }
    }

    /// Returns the first position after `place` where a sequence starts or the last one ends, or
    /// `most` if that is less.
    #[inline]
    pub fn end_after(&self, place: usize, most: usize) -> usize {
        let (mut word, first) = ((place + 1) / 64, (place + 1) % 64);
        let Some(&bits) = self.start_bits.get(word) else { return most };
        let mut bits = bits >> first << first;
        while bits == 0 {
            word += 1;
            if word * 64 >= most || word >= self.start_bits.len() {
                return most;
            }
            bits = self.start_bits[word];
        }
        most.min(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Returns the start of the sequence that contains `place`, or `least` if that is more.
    #[inline]
    pub fn start_before(&self, place: usize, least: usize) -> usize {
        let mut word = place / 64;
        let mut bits = self.start_bits[word] << (63 - place % 64) >> (63 - place % 64);
        while bits == 0 {
            if word == 0 || word * 64 <= least {
                return least;
            }
            word -= 1;
            bits = self.start_bits[word];
        }
        least.max(word * 64 + 63 - bits.leading_zeros() as usize)
    }
}

fn bad(path: &Path, line: usize, what: &str) -> Error {
    Error::input(OPERATION, format!("line {line} of {} {what}", path.display()))
}

/// Appends letters to the first `end` bases of `words`.
fn append(letters: &[u8], end: &mut usize, words: &mut Vec<u64>) {
    let shift = 2 * (*end % WORD_BASES);
    let complete = words.len();
    pack_letters(letters, words);
    words.truncate(complete + letters.len().div_ceil(WORD_BASES));
    *end += letters.len();
    if shift > 0 && !letters.is_empty() {
        // The words are shifted up to the bases before.
        for word in complete..words.len() {
            words[word - 1] |= words[word] >> shift;
            words[word] <<= 64 - shift;
        }
        words.truncate(end.div_ceil(WORD_BASES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sequences_are_unpacked_with_their_positions(
            sequences in prop::collection::vec("[ACGT]{1,150}", 0..20),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("all.fa");
            let lines: String =
                sequences.iter().map(|sequence| format!(">7 c\n{sequence}\n")).collect();
            std::fs::write(&path, lines).unwrap();
            let budget = Budget::new(1 << 24);
            let claim = |name: &str| Some(Claim { count: 7, is_marked: name.ends_with(" c") });
            let text = Text::read(&path, &budget, claim).unwrap();
            prop_assert_eq!(text.len(), sequences.len());
            for (index, sequence) in sequences.iter().enumerate() {
                let mut codes = Vec::new();
                text.unpack(index, &mut codes);
                let letters: Vec<u8> =
                    codes.iter().map(|&code| b"ACGT"[usize::from(code)]).collect();
                prop_assert_eq!(letters, sequence.as_bytes());
                prop_assert_eq!(text.claim(index), Claim { count: 7, is_marked: true });
                let (start, end) = text.range(index);
                for place in start..end {
                    for away in [1, 40, 1000] {
                        prop_assert_eq!(text.end_after(place, place + away), end.min(place + away));
                        let least = place.saturating_sub(away);
                        prop_assert_eq!(text.start_before(place, least), start.max(least));
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn each_position_is_in_a_single_task_and_in_its_sequence(
            lengths in prop::collection::vec(1usize..3000, 0..12),
            before in any::<prop::sample::Index>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("all.fa");
            let lines: String =
                lengths.iter().map(|&length| format!(">a\n{}\n", "A".repeat(length))).collect();
            std::fs::write(&path, lines).unwrap();
            let budget = Budget::new(1 << 24);
            let text = Text::read(&path, &budget, |_| Some(Claim::default())).unwrap();
            let end = before.index(text.end() + 1);
            let mut next = 0;
            for task in 0..text.tasks(end) {
                text.each_in_task((task, end), |sequence, places| {
                    assert_eq!(places.start, next);
                    assert!(!places.is_empty());
                    let (start, end) = text.range(sequence);
                    assert!(start <= places.start && places.end <= end);
                    next = places.end;
                    Ok(())
                }).unwrap();
            }
            prop_assert_eq!(next, end);
        }
    }

    #[test]
    fn invalid_sequences_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.fa");
        for (content, what) in [
            (">a\nACGT\nACGT\n", "line 3 of"),
            (">a\nACNT\n", "line 2 of"),
            (">a\n", "line 2 of"),
            (">a\n\n", "line 2 of"),
            (">no\nACGT\n", "line 1 of"),
            (">a\nACGT\n>too many\nACGT\n", "line 3 of"),
        ] {
            std::fs::write(&path, content).unwrap();
            let budget = Budget::new(1 << 24);
            let claim = |name: &str| match name {
                "a" => Some(Claim::default()),
                "too many" => Some(Claim { count: COUNT_MAX + 1, is_marked: false }),
                _ => None,
            };
            let error = Text::read(&path, &budget, claim).map(|_| ()).unwrap_err();
            assert!(error.message().contains(what), "{}", error.message());
        }
    }
}
