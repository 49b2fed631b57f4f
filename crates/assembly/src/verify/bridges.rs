//! Evidence of reads and read pairs, recomputed on the graph that was proven, and a check that
//! bridges consist of bases of contigs or of reads.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_input::reads::Pairing;
use cuesta_runtime::parallel;

use super::files::{Compared, put_letters};
use super::paths::Paths;
use super::reads::{ReadBlock, ReadSource};
use crate::kernel::kmer::kmers;
use crate::kernel::kmer::{Base, Kmer, KmerMap, complement};
use crate::kernel::path_search::READS_ALONE_MIN;
use crate::kernel::placements::OVERLAP_MIN;
use crate::kernel::scan;
use crate::kernel::sequences;
use crate::pairs::{SolidKind, SolidSequences};

/// Bits of the filter before the map of k-mers: the least number, as a power of two, and the number
/// per k-mer.
const FILTER_BITS_MIN: u32 = 20;
const FILTER_BITS_EACH: usize = 16;
const BLOCK_BYTES: usize = 256 << 10;

/// Returns all paths with their bases, for placing reads on them.
///
/// # Errors
/// `Input` when they do not fit in the budget.
pub fn spelled<'a>(paths: &Paths<'_, '_>, budget: &'a Budget) -> Result<sequences::Paths<'a>> {
    let mut all = sequences::Paths::new(budget, "the contigs");
    for (index, path) in paths.all.iter().enumerate() {
        let facts = sequences::PathSummary {
            count_sum: path.count_sum,
            circular: path.is_circle(),
            ..Default::default()
        };
        all.push(facts, |codes| codes.extend(paths.spelled(index)))?;
    }
    Ok(all)
}

/// Returns whether a file has exactly these contigs, continuations and bridges.
///
/// # Errors
/// `System`.
pub fn is_file_of(path: &Path, solid: &SolidSequences<'_>) -> Result<bool> {
    let mut file = Compared::open(path)?;
    let mut row = Vec::new();
    for index in 0..solid.len() {
        let facts = solid.facts(index);
        let mark = facts.kind.mark();
        row.clear();
        row.extend_from_slice(format!(">{index} weight={}{mark}\n", facts.weight).as_bytes());
        put_letters(solid.codes(index), &mut row);
        row.push(b'\n');
        file.put(&row)?;
    }
    file.finish()
}

/// Returns whether each stretch of a bridge, as long as the least overlap of contigs, is also in a
/// contig or a read.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn are_supported(
    solid: &SolidSequences<'_>,
    (k, drop_ambiguous): (usize, bool),
    (request, pairing): (&Request, Pairing),
    progress: &Progress,
) -> Result<bool> {
    let size = OVERLAP_MIN.min(k);
    let all = |kind: SolidKind| {
        (0..solid.len())
            .filter(move |&index| solid.facts(index).kind == kind)
            .flat_map(move |index| kmers::<u64>(solid.codes(index), size))
            .map(move |kmer| kmer.canonical(size))
    };
    let mut sought = SoughtKmers::new(size, all(SolidKind::Bridge));
    all(SolidKind::Contig).for_each(|kmer| sought.count(kmer));
    sought.drop_counted();
    if sought.counts.is_empty() {
        return Ok(true);
    }
    let overlap = (!drop_ambiguous).then_some(size - 1);
    let source = ReadSource::open((&request.inputs, pairing), BLOCK_BYTES, overlap)?;
    let work = |block: &mut ReadBlock, _: usize| {
        let mut codes = Vec::new();
        while source.next(block)? {
            block.each_read(|letters| {
                codes.clear();
                codes.extend(letters.iter().map(|&letter| scan::code(letter)));
                if !drop_ambiguous || codes.iter().all(|&code| code < 4) {
                    sought.count_read(&codes);
                }
                Ok(())
            })?;
            progress.advance(0)?;
        }
        Ok(())
    };
    parallel::run(request.threads, request.threads, ReadBlock::default, work, |_| {})?;
    Ok(sought.are_all_counted())
}

/// K-mers that are searched for, with the numbers of their occurrences.
struct SoughtKmers {
    size: usize,
    filter: Vec<u64>,
    counts: KmerMap<u64, AtomicU32>,
}

impl SoughtKmers {
    fn new(size: usize, kmers: impl Iterator<Item = u64>) -> Self {
        let counts = kmers.map(|kmer| (kmer, AtomicU32::new(0))).collect();
        let mut sought = Self { size, filter: Vec::new(), counts };
        sought.fill();
        sought
    }

    /// Fills the filter with all k-mers of the map.
    fn fill(&mut self) {
        let bits = (self.counts.len() * FILTER_BITS_EACH).max(1 << FILTER_BITS_MIN);
        self.filter.clear();
        self.filter.resize(bits.next_power_of_two() / u64::BITS as usize, 0);
        for &kmer in self.counts.keys() {
            let (word, bit) = bit(kmer, self.filter.len());
            self.filter[word] |= bit;
        }
    }

    #[inline(always)]
    fn count(&self, kmer: u64) {
        let (word, bit) = bit(kmer, self.filter.len());
        if self.filter[word] & bit != 0
            && let Some(count) = self.counts.get(&kmer)
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes the k-mers that have been found.
    fn drop_counted(&mut self) {
        self.counts.retain(|_, count| *count.get_mut() == 0);
        self.fill();
    }

    fn count_read(&self, codes: &[Base]) {
        let (mut forward, mut backward, mut valid_bases) = (0u64, 0u64, 0);
        for &code in codes {
            if code > 3 {
                valid_bases = 0;
                continue;
            }
            forward = forward.append(code, self.size);
            backward = backward.prepend(complement(code), self.size);
            valid_bases += 1;
            if valid_bases >= self.size {
                self.count(forward.min(backward));
            }
        }
    }

    fn are_all_counted(&self) -> bool {
        self.counts.values().all(|count| count.load(Ordering::Relaxed) >= READS_ALONE_MIN)
    }
}

/// Returns the word and the bit of a k-mer in a filter of `words` words, a power of two.
#[inline(always)]
fn bit(kmer: u64, words: usize) -> (usize, u64) {
    let hash = kmer.mixed() >> (u64::BITS - u64::BITS.ilog2() - words.ilog2());
    ((hash / 64) as usize, 1 << (hash % 64))
}
