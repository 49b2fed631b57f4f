//! The strongest pairs alone: found first, then written as all pairs are.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::budget::Lease;
use cuesta_core::job::Context;
use cuesta_input::generate::clusters::pairs_of;
use cuesta_input::matrix::GeneMatrix;

use super::job::{PairJob, PairSource, Worker};
use super::{bands_in, on_rows};
use crate::kernel::correlate::{Counts, Match, StrongestPairs};
use crate::params::CorrelateParams;

impl CorrelateParams {
    /// Number of pairs of so many genes that are kept, if not all.
    pub fn strongest_count(&self, genes: usize) -> Option<usize> {
        self.top.map(|top| top.min(pairs_of(genes as u32)).max(1) as usize)
    }
}

/// Reserves the memory of the strongest pairs, if only these are kept.
///
/// # Errors
/// `Input` when the memory does not suffice.
pub fn reserve<'c>(
    context: &Context<'c>,
    params: &CorrelateParams,
    genes: usize,
) -> Result<Option<Lease<'c>>> {
    let Some(count) = params.strongest_count(genes) else { return Ok(None) };
    // A collection for each thread, and that of the answer.
    let collections = context.request.threads as u64 + 1;
    let size_bytes = collections * StrongestPairs::size_bytes(count as u64);
    context.budget.take(size_bytes, "--top").map(Some)
}

/// Returns the pairs whose first gene, from 0, is in `rows`, of pairs in the order of their ranks.
pub(super) fn of_rows<'p>(pairs: &'p [Match], rows: &Range<usize>) -> &'p [Match] {
    let before = |row: usize| pairs.partition_point(|pair| pair.gene1 as usize <= row);
    &pairs[before(rows.start)..before(rows.end)]
}

/// Finds the strongest pairs whose first gene, from 0, is in `rows`.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn in_rows(
    context: &Context<'_>,
    params: &CorrelateParams,
    rows: &Range<usize>,
) -> Result<(Counts, StrongestPairs)> {
    on_rows(context, params, |job| {
        let count = params.strongest_count(job.matrix.genes().len()).unwrap_or(1);
        job.within(rows).strongest(count)
    })
}

/// Writes an answer of these pairs, in the order of their ranks; returns its size in bytes.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn write(
    context: &Context<'_>,
    params: &CorrelateParams,
    matrix: &GeneMatrix,
    pairs: &[Match],
) -> Result<u64> {
    let bands = bands_in(context, matrix)?;
    let job = PairJob { context, matrix, pairs: PairSource::Listed(pairs), bands };
    job.write(params).map(|(_, bytes)| bytes)
}

impl PairJob<'_> {
    /// Finds the `count` strongest pairs that reach the threshold.
    pub(super) fn strongest(&self, count: usize) -> Result<(Counts, StrongestPairs)> {
        let make = || Worker::keeping(count);
        let take = |worker: &mut Worker, _| {
            worker.strongest.extend(worker.matches.drain(..));
            Ok(())
        };
        let workers = self.workers(make, take, |_| {})?;
        let mut counts = Counts::default();
        let mut strongest = StrongestPairs::new(count);
        for worker in workers {
            counts += worker.counts;
            strongest = strongest.merge(worker.strongest);
        }
        Ok((counts, strongest))
    }
}
