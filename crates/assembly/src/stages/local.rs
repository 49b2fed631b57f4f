//! Fragments by the threads of this process.

use std::sync::OnceLock;

use cuesta_core::Result;
use cuesta_core::job::{Context, Response, timed};
use cuesta_runtime::parallel;

use super::indexed_contigs::{IndexedContigs, add_solid};
use super::programs;
use crate::buckets::counting::{BucketCounts, Counting};
use crate::buckets::cut::cut;
use crate::buckets::{BucketWriter, Buckets};
use crate::kernel::fragments::Fragments;
use crate::kernel::placements::Placements;
use crate::kernel::read_aligner::ReadAligner;
use crate::kernel::repeated::RepeatedKmers;
use crate::kernel::scan::{ReadCounts, ReadCutter, Scanner};
use crate::kernel::sequences::{Paths, SequenceSource};
use crate::kernel::simplify::PathGraph;
use crate::kernel::supersteps::program::{Control, VertexProgram};
use crate::pairs::{SolidSequences, place};
use crate::stages::checkpoint::stage::StageCheckpoint;
use crate::stages::workers::{LevelParams, WorkerResults, Workers};
use cuesta_input::reads::cached::CachedReads;
use cuesta_input::reads::trim::TrimCounts;
use cuesta_input::reads::{Pairing, ReadBatch, Reads};

/// Part of the budget that stays free for tables and graphs.
const KEEP_FREE: u64 = 2;
/// Bytes of reads per byte of the filter of repeated k-mers, which is some 15 bits per k-mer of a
/// genome that was read 50 times; and the largest part of the budget for the filter.
const FILTER_TEXT_BYTES: u64 = 32;
const FILTER_PART: u64 = 16;

/// Workers that are the threads of this process.
pub struct Local<'c> {
    context: &'c Context<'c>,
    /// Repeated k-mers of the first size, where further sizes follow.
    repeated: OnceLock<RepeatedKmers<'c>>,
    /// Cache of the reads, where they are read more than once.
    cached: OnceLock<CachedReads<'c>>,
}

impl<'c> Workers<'c> for Local<'c> {
    fn fragments(
        &self,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        checkpoint: Option<&StageCheckpoint<'_>>,
        response: &mut Response,
    ) -> Result<WorkerResults<'c>> {
        let is_first = solid.is_none();
        let (buckets, mut tally) = self.filled(params, solid, checkpoint, response)?;
        let repeated = if is_first { self.filter(params) } else { None };
        let bucket_numbers: Vec<usize> = (0..buckets.blocks.count()).collect();
        let bucket_bytes = buckets.blocks.bytes();
        let (counted, min_count) = timed(response, "compact", || {
            let counting = Counting {
                buckets: &buckets,
                bucket_numbers: &bucket_numbers,
                k: params.k,
                threads: self.context.request.threads,
                budget: self.context.budget,
                progress: self.context.progress,
                text_bytes: if params.only_solid { 0 } else { params.input_bytes },
                repeated,
            };
            let min_count = match params.min_count {
                Some(min_count) => min_count,
                None => counting.sample()?.fit(params.k).min_count,
            };
            let counted = counting.fragments(min_count, params.grain)?;
            Ok(((counted, min_count), bucket_bytes, bucket_numbers.len() as u64))
        })?;
        let BucketCounts { fragments, mut spectrum, tally: edges } = counted;
        spectrum.add_many(1, tally.singles);
        tally.add(&edges);
        drop(buckets);
        Ok(WorkerResults { fragments, spectrum, min_count, bucket_bytes, tally, traffic: None })
    }

    fn place(
        &self,
        graph: &PathGraph<'_>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Placements> {
        timed(response, "pairs", || {
            let inputs = &self.context.request.inputs;
            let reads = match self.cached.get() {
                Some(cached) => cached.open(inputs, pairing)?,
                None => Reads::open(inputs, pairing)?,
            };
            Ok((place::place(self.context, graph, (&reads, pairing))?, 0, 0))
        })
    }

    fn joined<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        _: &LevelParams,
        fragments: Fragments<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        self.program(control, fragments, response)
    }

    fn simplified<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        paths: Paths<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        self.program(control, paths, response)
    }
}

impl<'c> Local<'c> {
    /// Creates the workers.
    pub fn new(context: &'c Context<'c>) -> Self {
        Self { context, repeated: OnceLock::new(), cached: OnceLock::new() }
    }

    /// Opens the reads from which k-mers are counted; caches them where they are read again.
    fn reads(&self, params: &LevelParams) -> Result<Reads> {
        if params.only_solid {
            return Reads::open(&[], params.pairing);
        }
        let cached = self.cached.get_or_init(|| {
            if params.is_followed || params.pairing.has_pairs() {
                CachedReads::new(params.input_bytes, self.context.budget)
            } else {
                CachedReads::none()
            }
        });
        cached.open(&self.context.request.inputs, params.pairing)
    }

    /// Returns a filter for k-mers of the first size, if it is useful and there is memory for it.
    fn filter(&self, params: &LevelParams) -> Option<&RepeatedKmers<'c>> {
        let budget = self.context.budget;
        let size_bytes = params.input_bytes / FILTER_TEXT_BYTES;
        let is_wanted = params.is_followed && params.min_count.is_none_or(|count| count > 1);
        if !is_wanted || size_bytes > budget.limit_bytes() / FILTER_PART {
            return None;
        }
        let filter = RepeatedKmers::new(params.k, size_bytes, budget)?;
        Some(self.repeated.get_or_init(|| filter))
    }

    fn program<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        vertices: impl SequenceSource,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        timed(response, "supersteps", || {
            let remaining = programs::run(self.context, control, vertices)?;
            Ok((remaining, control.traffic.values().map(|traffic| traffic.bytes).sum(), 0))
        })
    }

    /// Returns buckets with all super-k-mers, restored from the checkpoint if it has them.
    fn filled(
        &self,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        checkpoint: Option<&StageCheckpoint<'_>>,
        response: &mut Response,
    ) -> Result<(Buckets<'c>, ReadCounts)> {
        let (request, budget) = (self.context.request, self.context.budget);
        let keep_free = budget.limit_bytes() / KEEP_FREE;
        let mut buckets =
            Buckets::new(params.k, params.buckets(), (budget, keep_free), &request.scratch);
        let Some(checkpoint) = checkpoint else {
            let tally = self.partition(params, solid, &buckets, response)?;
            return Ok((buckets, tally));
        };
        buckets.blocks = buckets.blocks.saved_in(checkpoint.buckets_path());
        if let Some(tally) = checkpoint.restore(&mut buckets.blocks)? {
            return Ok((buckets, tally));
        }
        let tally = self.partition(params, solid, &buckets, response)?;
        timed(response, "checkpoint", || {
            Ok((checkpoint.save(&buckets.blocks, &tally)?, buckets.blocks.bytes(), 0))
        })?;
        Ok((buckets, tally))
    }

    /// Puts the super-k-mers of reads and of solid sequences into buckets.
    fn partition(
        &self,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        buckets: &Buckets<'c>,
        response: &mut Response,
    ) -> Result<ReadCounts> {
        let request = self.context.request;
        let reads = self.reads(params)?;
        let (before, _) = self.context.progress.state();
        timed(response, "partition", || {
            let contigs = match &solid {
                Some(solid) if !params.only_solid => {
                    let blocks_bytes = buckets.blocks.opened_bytes() * request.threads as u64;
                    let resources = (self.context.budget, request.threads, blocks_bytes);
                    IndexedContigs::new(params, solid, self.repeated.get(), resources)?
                }
                _ => None,
            };
            let work = |tally: &mut ReadCounts, task: usize| {
                let mut sink = buckets.sink()?;
                let counted = match (&contigs, &solid) {
                    (Some(contigs), _) => self.align_reads(&reads, params, contigs, &mut sink)?,
                    (None, solid) => {
                        let solid = solid.as_ref().filter(|_| task == 0);
                        self.cut_reads(&reads, params, solid, &mut sink)?
                    }
                };
                tally.add(&counted);
                sink.open.finish()
            };
            let tallies =
                parallel::run(request.threads, request.threads, ReadCounts::default, work, |_| {})?;
            if let Some(contigs) = contigs {
                contigs.add(params, buckets, request.threads)?;
            }
            if !params.only_solid {
                self.context.progress.reach(before + params.input_bytes);
            }
            let mut tally = ReadCounts::default();
            tallies.iter().for_each(|counts| tally.add(counts));
            Ok((tally, params.input_bytes, reads.returned_reads()))
        })
    }

    /// Cuts reads and solid sequences into super-k-mers.
    fn cut_reads(
        &self,
        reads: &Reads,
        params: &LevelParams,
        solid: Option<&SolidSequences<'c>>,
        sink: &mut BucketWriter<'_, 'c>,
    ) -> Result<ReadCounts> {
        let mut scanner = Scanner::new(params.k, params.bits, params.drop_reads_with_n);
        if let Some(solid) = solid {
            (0..solid.len()).for_each(|index| add_solid(solid, index, &mut scanner, sink));
        }
        let trimmed = add_reads(reads, &mut scanner, sink, self.context)?;
        Ok(ReadCounts { trimmed, ..scanner.tally })
    }

    /// Aligns reads to contigs, and cuts their unaligned parts into super-k-mers.
    fn align_reads(
        &self,
        reads: &Reads,
        params: &LevelParams,
        contigs: &IndexedContigs<'_, 'c>,
        sink: &mut BucketWriter<'_, 'c>,
    ) -> Result<ReadCounts> {
        let shape = (params.k, params.bits);
        let mut aligner = ReadAligner::new(contigs.kmers(), shape, params.drop_reads_with_n);
        let trimmed = add_reads(reads, &mut aligner, sink, self.context)?;
        Ok(ReadCounts { trimmed, ..aligner.tally() })
    }
}

/// Adds all reads to a sink; returns their counts as they were trimmed.
fn add_reads(
    reads: &Reads,
    cutter: &mut impl ReadCutter,
    sink: &mut BucketWriter<'_, '_>,
    context: &Context<'_>,
) -> Result<TrimCounts> {
    let (mut batch, mut trimmed) = (ReadBatch::default(), TrimCounts::default());
    while reads.next(&mut batch)? {
        cut(reads, &batch, cutter, &mut |part| sink.add(part))?;
        sink.open.check()?;
        trimmed.add(batch.trimmed());
        context.progress.advance(batch.text_bytes())?;
    }
    Ok(trimmed)
}
