//! Passage of pairs from the kernel, or from a list, to text or to a pair matrix.

use std::ops::Range;
use std::path::Path;

use cuesta_core::Result;
use cuesta_core::fixed::Micro;
use cuesta_core::job::Context;
use cuesta_input::matrix::GeneMatrix;
use cuesta_input::pair_matrix::{ABSENT, Writer};
use cuesta_runtime::ordered::{OrderedFile, Turns};
use cuesta_runtime::parallel;

use super::mask::{Mask, row_of};
use super::{folder_bytes, pairs_in, pairs_options, rank_of_row, strongest, write_genes};
use crate::kernel::correlate::{Counts, Match, PreparedGenes, Scratch, StrongestPairs};
use crate::params::{CorrelateParams, Format};
use crate::run::load::PAIRS_FOLDER;
use crate::run::scan::PAIRS_FILE;

/// Bytes of text that a band collects before it writes them.
const PART_BYTES: usize = 1 << 20;

/// Consumer of the scores of consecutive pairs from a rank on, and of their common samples.
type TakeBand<'a> = dyn Fn(u64, &[Micro], Option<&[u32]>) -> Result<()> + Sync + 'a;

/// Pairs of some bands of rows, on their way to the answer.
pub(super) struct PairJob<'a> {
    pub context: &'a Context<'a>,
    pub matrix: &'a GeneMatrix,
    pub pairs: PairSource<'a>,
    pub bands: Vec<Range<usize>>,
}

/// Source of the pairs that a job writes.
#[derive(Clone, Copy)]
pub(super) enum PairSource<'a> {
    /// All that reach the threshold.
    Computed(&'a PreparedGenes<'a>),
    /// A list, in the order of triangular rank.
    Listed(&'a [Match]),
}

/// State of a thread.
#[derive(Default)]
pub(super) struct Worker {
    scratch: Scratch,
    pub matches: Vec<Match>,
    pub counts: Counts,
    text: Vec<u8>,
    /// The strongest of all matches, if only these are kept.
    pub strongest: StrongestPairs,
}

impl Worker {
    /// Worker that keeps only so many pairs.
    pub fn keeping(count: usize) -> Self {
        Self { strongest: StrongestPairs::new(count), ..Self::default() }
    }
}

impl<'a> PairJob<'a> {
    /// Restricts the job to some rows.
    pub fn within(&self, rows: &Range<usize>) -> PairJob<'a> {
        let inside = |band: &Range<usize>| band.start.max(rows.start)..band.end.min(rows.end);
        let bands = self.bands.iter().map(inside).filter(|band| !band.is_empty()).collect();
        PairJob { bands, ..*self }
    }

    /// Writes the answer; returns the counts of the computed pairs, and the size of the answer.
    pub fn write(&self, params: &CorrelateParams) -> Result<(Counts, u64)> {
        let output = &self.context.request.output;
        match params.format {
            Format::Text => {
                write_genes(self.context, self.matrix)?;
                self.to_text(&output.join(PAIRS_FILE))
            }
            Format::Pairs => self.to_pairs(&output.join(PAIRS_FOLDER)),
        }
    }

    /// Passes the pairs of each band to `take(worker, band)`.
    fn each_band(
        &self,
        take: impl Fn(&mut Worker, usize) -> Result<()> + Sync,
        on_error: impl Fn(usize) + Sync,
    ) -> Result<Counts> {
        let workers = self.workers(Worker::default, take, on_error)?;
        let mut counts = Counts::default();
        workers.iter().for_each(|worker| counts += worker.counts);
        Ok(counts)
    }

    /// As [`PairJob::each_band`], with workers that `make` made, which it returns.
    pub fn workers(
        &self,
        make: impl Fn() -> Worker + Sync,
        take: impl Fn(&mut Worker, usize) -> Result<()> + Sync,
        on_error: impl Fn(usize) + Sync,
    ) -> Result<Vec<Worker>> {
        let progress = self.context.progress;
        progress.expect(self.bands.iter().map(pairs_in).sum());
        let work = |worker: &mut Worker, task: usize| {
            worker.matches.clear();
            let rows = self.bands[task].clone();
            let (scratch, matches) = (&mut worker.scratch, &mut worker.matches);
            match self.pairs {
                PairSource::Computed(prepared) => {
                    worker.counts += prepared.band(rows.clone(), scratch, matches);
                }
                PairSource::Listed(pairs) => {
                    matches.extend_from_slice(strongest::of_rows(pairs, &rows));
                }
            }
            take(worker, task)?;
            progress.advance(pairs_in(&rows))
        };
        parallel::run(self.context.request.threads, self.bands.len(), make, work, on_error)
    }

    pub fn to_text(&self, path: &Path) -> Result<(Counts, u64)> {
        let out = OrderedFile::create(path)?;
        let masks = Mask::of(self.matrix);
        let take = |worker: &mut Worker, task: usize| {
            let mut symbols = vec![b'1'; self.matrix.samples().len()];
            for pair in &worker.matches {
                let missing = masks.fill(pair, &mut symbols);
                row_of(pair, missing, &symbols).append_kinc_v1(&mut worker.text);
                if worker.text.len() >= PART_BYTES {
                    out.write_part(task, &mut worker.text)?;
                }
            }
            out.finish_task(task, &mut worker.text)
        };
        let counts = self.each_band(take, |task| out.fail(task))?;
        Ok((counts, out.close()?))
    }

    fn to_pairs(&self, path: &Path) -> Result<(Counts, u64)> {
        let options = pairs_options(self.context, self.matrix);
        let writer = Writer::create(path, options, self.context.budget)?;
        let counts = self.to_bands(&|first, scores: &[Micro], common: Option<&[u32]>| {
            writer.push_band(first, scores, common)
        })?;
        writer.finish(self.context.progress)?;
        Ok((counts, folder_bytes(path)))
    }

    /// Passes the scores of all pairs to `push`, band after band: see [`Writer::push_band`].
    pub fn to_bands(&self, push: &TakeBand<'_>) -> Result<Counts> {
        let turns = Turns::default();
        let masks = Mask::of(self.matrix);
        let take = |worker: &mut Worker, task: usize| {
            let rows = &self.bands[task];
            let first = rank_of_row(rows.start);
            let (scores, common) = self.dense(&worker.matches, rows, &masks);
            turns.take(task, || match scores.is_empty() {
                true => Ok(()),
                false => push(first, &scores, common.as_deref()),
            })
        };
        self.each_band(take, |task| turns.fail(task))
    }

    /// Returns the scores of all pairs of a band, and their common samples if values are missing.
    fn dense(
        &self,
        matches: &[Match],
        rows: &Range<usize>,
        masks: &Mask,
    ) -> (Vec<Micro>, Option<Vec<u32>>) {
        let count = pairs_in(rows) as usize;
        let samples = self.matrix.samples().len();
        let mut scores = vec![ABSENT; count];
        let mut common = masks.any().then(|| vec![samples as u32; count]);
        let mut symbols = vec![b'1'; samples];
        for pair in matches {
            let rank = rank_of_row(pair.gene1 as usize - 1) + u64::from(pair.gene2 - 1);
            let place = (rank - rank_of_row(rows.start)) as usize;
            scores[place] = pair.micro;
            if let Some(common) = &mut common {
                common[place] = samples as u32 - masks.fill(pair, &mut symbols);
            }
        }
        (scores, common)
    }
}
