//! Indexed contigs of the previous k-mer size, to which reads are aligned so that their k-mers need
//! not be counted one by one.

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_runtime::parallel;

use super::workers::LevelParams;
use crate::buckets::{BucketWriter, Buckets};
use crate::kernel::contig_text::ContigText;
use crate::kernel::kmer::{Base, Kmer, kmers};
use crate::kernel::read_aligner::ContigKmers;
use crate::kernel::repeated::RepeatedKmers;
use crate::kernel::scan::{ReadCutter, Scanner, SuperKmer};
use crate::kernel::stretch_counts::{self, StretchCounts};
use crate::pairs::{SolidKind, SolidSequences};

/// Part of the free memory that contigs may take.
const MEMORY_PART: u64 = 4;
/// Least cutoff for which k-mers that occur once in the reads are not solid.
const COUNT_MIN: u32 = 2;
/// Approximate bases of the sequences of a task.
const TASK_BASES: usize = 64 << 10;

/// Solid sequences, with an index of the contigs among them and counts of their k-mers.
pub struct IndexedContigs<'s, 'c> {
    solid: &'s SolidSequences<'c>,
    k: usize,
    text: ContigText<'c>,
    counts: StretchCounts<'c>,
    repeated: Option<&'s RepeatedKmers<'c>>,
    /// End of the sequences of each task.
    task_ends: Vec<usize>,
}

impl<'s, 'c> IndexedContigs<'s, 'c> {
    /// Indexes the contigs among the solid sequences; `None` where they take too much of the
    /// memory, of which open blocks need `blocks_bytes`.
    ///
    /// # Errors
    /// None at present.
    pub fn new(
        params: &LevelParams,
        solid: &'s SolidSequences<'c>,
        repeated: Option<&'s RepeatedKmers<'c>>,
        (budget, threads, blocks_bytes): (&'c Budget, usize, u64),
    ) -> Result<Option<Self>> {
        let k = params.k;
        let text_bytes = ContigText::size_bytes(solid.len(), solid.bases());
        let count_bytes = solid.bases() as u64 * stretch_counts::EACH_BYTES;
        let part_bytes = budget.free_bytes() / MEMORY_PART;
        let left_bytes = budget.free_bytes().saturating_sub(blocks_bytes);
        if text_bytes + count_bytes > part_bytes.min(left_bytes) {
            return Ok(None);
        }
        let codes = |index: usize| contig(solid, index, k);
        let Some(text) = ContigText::new(solid.len(), codes, (k, budget)) else { return Ok(None) };
        let Some(counts) = StretchCounts::new(text.end(), budget) else { return Ok(None) };
        let repeated =
            repeated.filter(|_| params.min_count.is_some_and(|count| count >= COUNT_MIN));
        let task_ends = task_ends(solid);
        let contigs = Self { solid, k, text, counts, repeated, task_ends };
        contigs.add_to_repeated(threads)?;
        Ok(Some(contigs))
    }

    /// Returns the contigs and counts with which reads are aligned.
    pub fn kmers(&self) -> ContigKmers<'_, 'c> {
        ContigKmers { contigs: &self.text, counts: &self.counts, repeated: self.repeated }
    }

    /// Puts the k-mers of all solid sequences into buckets, those of contigs with their counts,
    /// after all reads are aligned.
    ///
    /// # Errors
    /// `Input` when one block per bucket does not fit in the budget; `System`.
    pub fn add<'b>(
        &self,
        params: &LevelParams,
        buckets: &'b Buckets<'c>,
        threads: usize,
    ) -> Result<()> {
        let work = |worker: &mut Option<(BucketWriter<'b, 'c>, Scanner, Vec<u32>)>, task: usize| {
            let (sink, scanner, counts) = match worker {
                Some(worker) => worker,
                None => {
                    let scanner = Scanner::new(self.k, params.bits, false);
                    worker.insert((buckets.sink()?, scanner, Vec::new()))
                }
            };
            for index in self.sequences(task) {
                let codes = contig(self.solid, index, self.k);
                if codes.is_empty() {
                    add_solid(self.solid, index, scanner, sink);
                    continue;
                }
                let (start, end) = self.text.range(index);
                self.counts.of(start..end + 1 - self.k, counts);
                let mut emit = |part: &SuperKmer<'_>| {
                    sink.add_counted(part, &counts[part.first..part.first + part.kmers]);
                };
                scanner.take_codes(codes, &mut emit);
                scanner.flush(&mut emit);
            }
            sink.open.check()
        };
        let workers = parallel::run(threads, self.task_ends.len(), || None, work, |_| {})?;
        workers.into_iter().flatten().try_for_each(|(sink, ..)| sink.open.finish())
    }

    /// Adds the shorter k-mers of all solid sequences to the filter of repeated k-mers, so that no
    /// solid k-mer is taken for a single one.
    fn add_to_repeated(&self, threads: usize) -> Result<()> {
        let Some(repeated) = self.repeated else { return Ok(()) };
        let k = repeated.k();
        let work = |_: &mut (), task: usize| {
            for index in self.sequences(task) {
                let shorter = kmers::<u64>(self.solid.codes(index), k);
                repeated.add(shorter.map(|kmer| kmer.canonical(k).mixed()));
            }
            Ok(())
        };
        parallel::run(threads, self.task_ends.len(), || (), work, |_| {}).map(|_| ())
    }

    fn sequences(&self, task: usize) -> std::ops::Range<usize> {
        let start = if task == 0 { 0 } else { self.task_ends[task - 1] };
        start..self.task_ends[task]
    }
}

/// Returns the bases of a contig to which reads are aligned; empty for a bridge, whose k-mers may
/// also be those of contigs, and for a sequence without k-mers.
fn contig<'s>(solid: &'s SolidSequences<'_>, index: usize, k: usize) -> &'s [Base] {
    let codes = solid.codes(index);
    if solid.facts(index).kind != SolidKind::Contig || codes.len() < k { &[] } else { codes }
}

fn task_ends(solid: &SolidSequences<'_>) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut bases = 0;
    for index in 0..solid.len() {
        bases += solid.codes(index).len();
        if bases >= TASK_BASES || index + 1 == solid.len() {
            ends.push(index + 1);
            bases = 0;
        }
    }
    ends
}

/// Puts the k-mers of a solid sequence into buckets.
pub fn add_solid(
    solid: &SolidSequences<'_>,
    index: usize,
    scanner: &mut Scanner,
    sink: &mut BucketWriter<'_, '_>,
) {
    let weight = solid.facts(index).weight;
    let mut emit = |part: &SuperKmer<'_>| sink.add_solid(part, weight);
    scanner.take_codes(solid.codes(index), &mut emit);
    scanner.flush(&mut emit);
}
