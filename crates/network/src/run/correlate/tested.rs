//! Counts of all pairs that have a score, by samples and score: their q-values follow from these.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::budget::Lease;
use cuesta_core::job::Context;
use cuesta_core::score_counts::ScoreCounts;
use cuesta_input::matrix::GeneMatrix;
use cuesta_runtime::parallel::lock;

use super::job::{PairJob, PairSource, Worker};
use super::{Presence, bands_in, memory_bytes};
use crate::kernel::correlate::{Match, PreparedGenes};
use crate::params::CorrelateParams;

/// Purpose of the memory of the counts, for messages.
const PURPOSE: &str = "the count of all scores, for --p-values,";
/// Pairs that are counted at a time.
const PAIRS_AT_A_TIME: usize = 1 << 12;

/// Counts of the pairs of a matrix that have a score.
pub struct TestedPairs<'a> {
    /// Numbers of pairs, by samples and score.
    pub counts: ScoreCounts,
    leases: Vec<Lease<'a>>,
    /// Bytes of the leases.
    leased_bytes: u64,
}

impl<'a> TestedPairs<'a> {
    /// Scores all pairs of a matrix, and counts those that have a score. The counts take a few
    /// megabytes for each number of samples that pairs have in common.
    ///
    /// # Errors
    /// `Input` when the memory does not suffice; `Cancelled`.
    pub fn of(
        context: &Context<'a>,
        params: &CorrelateParams,
        matrix: &GeneMatrix,
    ) -> Result<Self> {
        let _lease = context.budget.take(memory_bytes(matrix), "the matrix made ready")?;
        let all = CorrelateParams { min_abs_score: 0.0, top: None, ..params.clone() };
        let kernel = all.kernel(matrix.samples().len());
        let prepared = PreparedGenes::new(matrix, &kernel, context.request.threads)?;
        let bands = bands_in(context, matrix)?;
        let job = PairJob { context, matrix, pairs: PairSource::Computed(&prepared), bands };
        let presence = Presence::of(matrix);
        let counts = ScoreCounts::of_millionths();
        let tested = Mutex::new(Self { counts, leases: Vec::new(), leased_bytes: 0 });
        let take = |worker: &mut Worker, _| {
            let mut parts = worker.matches.chunks(PAIRS_AT_A_TIME);
            parts.try_for_each(|pairs| {
                let common = |pair: &Match| presence.common(pair.gene1, pair.gene2);
                let common: Vec<u32> = pairs.iter().map(common).collect();
                lock(&tested).add(context, pairs, &common)
            })
        };
        job.workers(Worker::default, take, |_| {})?;
        Ok(tested.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Counts pairs with these numbers of common samples.
    fn add(&mut self, context: &Context<'a>, pairs: &[Match], common: &[u32]) -> Result<()> {
        for (pair, samples) in pairs.iter().zip(common) {
            self.counts.of_samples(*samples as usize).add_millionths(pair.micro);
        }
        let more_bytes = self.counts.size_bytes() - self.leased_bytes;
        if more_bytes > 0 {
            self.leases.push(context.budget.take(more_bytes, PURPOSE)?);
            self.leased_bytes += more_bytes;
        }
        Ok(())
    }
}
