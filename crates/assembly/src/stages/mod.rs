//! One size of k-mers: fragments from whoever finds them, then glue and simplify.

pub mod checkpoint;
pub mod first_stage;
mod joining;
mod known_contigs;
pub mod level;
pub mod local;
mod programs;
pub mod scaffold_rows;
pub mod short_contigs;
pub mod wire;
pub mod workers;
pub mod write;

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, timed};

use crate::buckets::open::bucket_bits_max;
use crate::pairs::SolidSequences;
use checkpoint::stage::StageCheckpoint;
use first_stage::FirstStage;
use level::Level;
use workers::{LevelParams, WorkerResults, Workers};

use crate::kernel::kmer::Kmer;
use crate::kernel::simplify::{PathGraph, Rules};
use crate::kernel::supersteps::control::{Control, add_traffic};
use crate::params::{Plan, Profile};
use cuesta_input::reads::input_bytes;

/// Bases of a bucket: its table fits in a second-level cache.
const BUCKET_BASES: u64 = 256 << 10;
const BUCKET_BITS_MIN: u32 = 6;
const BUCKET_BITS_MAX: u32 = 16;
/// From these on, the open blocks of all threads take at most this part of the memory.
const BUCKET_BITS: u32 = 13;
const OPEN_PART: u64 = 8;
/// Smallest count at sizes of k-mers but the first: contigs speak for what is seen less often.
const LATER_MIN_COUNT: u32 = 2;

/// A size of k-mers.
pub struct Stage<'p, 'c> {
    /// What to run with.
    pub context: &'c Context<'c>,
    /// Parameters.
    pub plan: &'p Plan,
    /// The size.
    pub k: usize,
    /// K-mers come from what is solid, not from reads; nothing is taken out then.
    pub only_solid: bool,
    /// What is kept of it.
    pub checkpoint: Option<StageCheckpoint<'p>>,
}

impl<'c> Stage<'_, 'c> {
    /// The simplified graph, and what is told about it.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    pub fn run<K: Kmer>(
        &self,
        workers: &impl Workers<'c>,
        solid: Option<SolidSequences<'c>>,
        response: &mut Response,
    ) -> Result<(PathGraph<'c>, Level)> {
        let (k, budget, threads) = (self.k, self.context.budget, self.context.request.threads);
        let params = self.params()?;
        let WorkerResults { fragments, spectrum, min_count, tally, traffic, .. } =
            self.found(workers, &params, solid, response)?;
        let graph = timed(response, "glue", || {
            let count = fragments.len() as u64;
            let unitigs = joining::unitigs::<K>(&fragments, k, (budget, threads))?;
            drop(fragments);
            let graph = PathGraph::new::<K>(unitigs.sorted(k, budget)?, k, budget)?;
            Ok((graph, 0, count))
        })?;
        // The paper's chains end before a branch; unitigs do not.
        let joined = if params.is_of_paper() { Some(graph.joined::<K>()?) } else { None };
        let unitigs = joined.as_ref().unwrap_or(&graph);
        let level = Level {
            k,
            min_count,
            fit: spectrum.fit(k),
            distinct: spectrum.distinct(1),
            solid: spectrum.distinct(min_count),
            read_bases: tally.bases,
            longest_read: (self.plan.is_chosen && k == self.plan.kmer_sizes[0])
                .then_some(tally.longest),
            first_stage: params.is_of_paper().then(|| FirstStage::of(k, &tally)),
            traffic,
            unitigs: unitigs.paths.len(),
            rounds: Vec::new(),
            pair_facts: None,
        };
        let output = &self.context.request.output;
        timed(response, "write", || {
            let mut bytes = write::unitigs(output, unitigs)?;
            if k == self.plan.kmer_sizes[0] {
                bytes += write::spectrum(output, &spectrum)?;
            }
            Ok(((), bytes, unitigs.paths.len() as u64))
        })?;
        drop(joined);
        let given = &self.plan.given;
        if self.only_solid || given.profile == Profile::None {
            return Ok((graph, level));
        }
        if let Some(checkpoint) = &self.checkpoint
            && let Some((paths, level)) = checkpoint.load_paths(budget)?
        {
            return Ok((PathGraph::new::<K>(paths, k, budget)?, level));
        }
        let (graph, level) = match given.simplifying(k) {
            Some(program) => {
                let control = Control::new(k, program);
                self.simplified::<K>(workers, control, (graph, level), response)?
            }
            None => match given.rules(k) {
                Some(rules) => simplified_here::<K>(&rules, (graph, level), response)?,
                None => (graph, level),
            },
        };
        if let Some(checkpoint) = &self.checkpoint {
            timed(response, "checkpoint", || {
                Ok((checkpoint.save_paths(&graph.paths, &level)?, 0, 0))
            })?;
        }
        Ok((graph, level))
    }

    /// What workers find, or found before.
    fn found(
        &self,
        workers: &impl Workers<'c>,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        response: &mut Response,
    ) -> Result<WorkerResults<'c>> {
        let Some(checkpoint) = &self.checkpoint else {
            return workers.fragments(params, solid, None, response);
        };
        if let Some(found) = checkpoint.load_results(self.context.budget)? {
            return Ok(found);
        }
        let found = workers.fragments(params, solid, Some(checkpoint), response)?;
        timed(response, "checkpoint", || Ok((checkpoint.save_results(&found)?, 0, 0)))?;
        Ok(found)
    }

    /// Without errors, which workers take out by supersteps.
    fn simplified<K: Kmer>(
        &self,
        workers: &impl Workers<'c>,
        mut control: Control,
        (graph, mut level): (PathGraph<'c>, Level),
        response: &mut Response,
    ) -> Result<(PathGraph<'c>, Level)> {
        let (k, budget) = (self.k, self.context.budget);
        let left = workers.supersteps(&mut control, graph.paths, response)?;
        let threads = self.context.request.threads;
        let paths = joining::unitigs::<K>(&left, k, (budget, threads))?;
        let graph = PathGraph::new::<K>(paths.sorted(k, budget)?, k, budget)?;
        level.rounds = control.rounds;
        add_traffic(level.traffic.get_or_insert_default(), &control.traffic);
        Ok((graph, level))
    }

    fn params(&self) -> Result<LevelParams> {
        let input_bytes = input_bytes(&self.context.request.inputs)?;
        let given = &self.plan.given;
        let first = self.k == self.plan.kmer_sizes[0];
        let Request { memory_bytes, threads, .. } = *self.context.request;
        let bits_max = bucket_bits_max(memory_bytes / OPEN_PART / threads as u64);
        let bits_max = bits_max.clamp(BUCKET_BITS, BUCKET_BITS_MAX);
        let bits = (input_bytes / BUCKET_BASES).max(1).ilog2();
        Ok(LevelParams {
            k: self.k,
            bits: bits.clamp(BUCKET_BITS_MIN, bits_max),
            min_count: given.min_count.or((!first).then_some(LATER_MIN_COUNT)),
            drop_reads_with_n: given.drop_reads_with_n,
            only_solid: self.only_solid,
            is_followed: self.plan.kmer_sizes.iter().any(|&size| size > self.k),
            pairing: given.pairing(),
            input_bytes,
            program: given.joining(self.k),
        })
    }
}

/// Without errors, which one thread takes out.
fn simplified_here<'c, K: Kmer>(
    rules: &Rules,
    (mut graph, mut level): (PathGraph<'c>, Level),
    response: &mut Response,
) -> Result<(PathGraph<'c>, Level)> {
    timed(response, "simplify", || {
        level.rounds = graph.simplify::<K>(rules)?;
        Ok(((), 0, level.unitigs as u64))
    })?;
    Ok((graph, level))
}
