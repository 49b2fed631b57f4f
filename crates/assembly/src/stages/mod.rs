//! Stages of one size of k-mers: fragments by the workers, then joining and simplification.

pub mod checkpoint;
mod indexed_contigs;
mod joining;
pub mod level;
pub mod local;
mod programs;
pub mod scaffold_rows;
pub mod short_contigs;
pub mod wire;
pub mod workers;
pub mod write;

use cuesta_core::Result;
use cuesta_core::job::{Context, Response, timed};

use crate::buckets::open::bucket_bits_max;
use crate::pairs::SolidSequences;
use checkpoint::stage::StageCheckpoint;
use level::Level;
use workers::{LevelParams, WorkerResults, Workers};

use crate::kernel::compact::Grain;
use crate::kernel::kmer::with_kmer;
use crate::kernel::simplify::{PathGraph, Rules};
use crate::kernel::supersteps::program::{Control, VertexProgram, add_traffic};
use crate::method::Method;
use crate::params::Plan;
use cuesta_input::reads::input_bytes;

/// Bases in a bucket: its table fits in a second-level cache.
const BUCKET_BASES: u64 = 256 << 10;
const BUCKET_BITS_MIN: u32 = 6;
const BUCKET_BITS_MAX: u32 = 16;
/// Number of buckets, as a power of two, from which on the open blocks of all threads take at most
/// this part of the memory.
const BUCKET_BITS: u32 = 13;
const OPEN_PART: u64 = 8;
/// Cutoff at all sizes of k-mers but the first: contigs provide the k-mers with lower counts.
const LATER_MIN_COUNT: u32 = 2;

/// Stage of a run: a single size of k-mers.
pub struct Stage<'p, 'c, M> {
    /// Context of the run.
    pub context: &'c Context<'c>,
    /// Plan of the run.
    pub plan: &'p Plan,
    /// Method of the run.
    pub method: &'p M,
    /// Bases in a k-mer.
    pub k: usize,
    /// Whether all k-mers come from solid sequences; no errors are removed then.
    pub only_solid: bool,
    /// Checkpoint of this size.
    pub checkpoint: Option<StageCheckpoint<'p>>,
}

impl<'c, M: Method> Stage<'_, 'c, M> {
    /// Returns the simplified graph, and the report on this size.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    pub fn run(
        &self,
        workers: &impl Workers<'c>,
        solid: Option<SolidSequences<'c>>,
        response: &mut Response,
    ) -> Result<(PathGraph<'c>, Level)> {
        let (k, budget, threads) = (self.k, self.context.budget, self.context.request.threads);
        let params = self.params()?;
        let WorkerResults { fragments, spectrum, min_count, tally, traffic, .. } =
            self.results(workers, &params, solid, response)?;
        let graph = timed(response, "glue", || {
            let count = fragments.len() as u64;
            Ok((joining::graph(fragments, k, (budget, threads))?, 0, count))
        })?;
        let joined = if M::GRAIN == Grain::Kmer { Some(extended(&graph)?) } else { None };
        let unitigs = joined.as_ref().unwrap_or(&graph);
        let is_first = k == self.plan.kmer_sizes[0];
        let common_stretch = self.plan.common_stretch(tally.longest, tally.stretches.half());
        let level = Level {
            k,
            min_count,
            fit: spectrum.fit(k),
            distinct: spectrum.distinct(1),
            solid: spectrum.distinct(min_count),
            read_bases: tally.bases,
            longest_read: (self.plan.is_chosen && is_first).then_some(tally.longest),
            common_stretch: common_stretch.filter(|_| is_first),
            trimmed: (self.plan.options.trims() && is_first).then_some(tally.trimmed),
            sampled: self.plan.sampled.filter(|_| is_first),
            facts: self.method.facts(k, &tally),
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
        let rules = self.plan.rules(k);
        let program = self.method.simplifying(k, rules);
        if self.only_solid || program.is_none() && rules.is_none() {
            return Ok((graph, level));
        }
        if let Some(checkpoint) = &self.checkpoint
            && let Some((paths, level)) = checkpoint.load_paths(budget)?
        {
            return Ok((with_kmer!(k, K => PathGraph::new::<K>(paths, k, budget))?, level));
        }
        let (graph, level) = match (program, rules) {
            (Some(program), _) => {
                let control = Control::new(k, program);
                self.simplified(workers, control, (graph, level), response)?
            }
            (None, Some(rules)) => simplified_locally(&rules, (graph, level), response)?,
            (None, None) => (graph, level),
        };
        if let Some(checkpoint) = &self.checkpoint {
            timed(response, "checkpoint", || {
                Ok((checkpoint.save_paths(&graph.paths, &level)?, 0, 0))
            })?;
        }
        Ok((graph, level))
    }

    /// Returns the results of the workers, from the checkpoint if it has them.
    fn results(
        &self,
        workers: &impl Workers<'c>,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        response: &mut Response,
    ) -> Result<WorkerResults<'c>> {
        let checkpoint = self.checkpoint.as_ref();
        if let Some(checkpoint) = checkpoint
            && let Some(results) = checkpoint.load_results(self.context.budget)?
        {
            return Ok(results);
        }
        let mut results = workers.fragments(params, solid, checkpoint, response)?;
        if let Some(program) = self.method.joining(self.k) {
            let mut control = Control::new(self.k, program);
            results.fragments =
                workers.joined(&mut control, params, results.fragments, response)?;
            results.traffic = Some(control.traffic);
        }
        if let Some(checkpoint) = checkpoint {
            timed(response, "checkpoint", || Ok((checkpoint.save_results(&results)?, 0, 0)))?;
        }
        Ok(results)
    }

    /// Simplifies the graph with workers, in supersteps.
    fn simplified(
        &self,
        workers: &impl Workers<'c>,
        mut control: Control<M::Program>,
        (graph, mut level): (PathGraph<'c>, Level),
        response: &mut Response,
    ) -> Result<(PathGraph<'c>, Level)> {
        let remaining = workers.simplified(&mut control, graph.paths, response)?;
        let resources = (self.context.budget, self.context.request.threads);
        let graph = joining::graph(remaining, self.k, resources)?;
        level.rounds = control.program.rounds().to_vec();
        add_traffic(level.traffic.get_or_insert_default(), &control.traffic);
        Ok((graph, level))
    }

    fn params(&self) -> Result<LevelParams> {
        let input_bytes = input_bytes(&self.context.request.inputs)?;
        let options = &self.plan.options;
        let first = self.k == self.plan.kmer_sizes[0];
        let thread_part = OPEN_PART * self.context.request.threads as u64;
        let bits_max = bucket_bits_max(self.context.budget.limit_bytes() / thread_part);
        let bits_max = bits_max.clamp(BUCKET_BITS, BUCKET_BITS_MAX);
        let bits = (input_bytes / BUCKET_BASES).max(1).ilog2();
        Ok(LevelParams {
            k: self.k,
            bits: bits.clamp(BUCKET_BITS_MIN, bits_max),
            min_count: options.min_count.or((!first).then_some(LATER_MIN_COUNT)),
            drop_reads_with_n: options.drop_reads_with_n,
            only_solid: self.only_solid,
            is_followed: self.plan.kmer_sizes.iter().any(|&size| size > self.k),
            pairing: options.pairing(),
            input_bytes,
            grain: M::GRAIN,
            has_program: self.method.joining(self.k).is_some(),
        })
    }
}

/// Returns the graph whose chains extend up to branches.
fn extended<'c>(graph: &PathGraph<'c>) -> Result<PathGraph<'c>> {
    with_kmer!(graph.k, K => graph.joined::<K>())
}

/// Simplifies the graph with one thread.
fn simplified_locally<'c>(
    rules: &Rules,
    (mut graph, mut level): (PathGraph<'c>, Level),
    response: &mut Response,
) -> Result<(PathGraph<'c>, Level)> {
    timed(response, "simplify", || {
        level.rounds = with_kmer!(graph.k, K => graph.simplify::<K>(rules))?;
        Ok(((), 0, level.unitigs as u64))
    })?;
    Ok((graph, level))
}
