//! Fragments by the threads of this process.

use cuesta_core::Result;
use cuesta_core::job::{Context, Response, timed};
use cuesta_runtime::parallel;

use super::programs;
use crate::buckets::counting::{BucketCounts, Counting};
use crate::buckets::cut::cut;
use crate::buckets::{BucketWriter, Buckets};
use crate::kernel::scan::{ReadCounts, Scanner, SuperKmer};
use crate::kernel::sequences::{FragmentSummary, Fragments, Paths, Sequences};
use crate::kernel::supersteps::control::Control;
use crate::pairs::SolidSequences;
use crate::stages::ask::{Ask, WorkerResults, Workers};
use crate::stages::checkpoint::stage::StageCheckpoint;
use cuesta_input::reads::{ReadBatch, Reads};

/// Part of the budget that is left for tables and graphs.
const KEEP_FREE: u64 = 2;

/// The threads of this process.
pub struct Local<'c> {
    /// What to run with.
    pub context: &'c Context<'c>,
}

impl<'c> Workers<'c> for Local<'c> {
    fn fragments(
        &self,
        ask: &Ask,
        solid: Option<SolidSequences<'c>>,
        checkpoint: Option<&StageCheckpoint<'_>>,
        response: &mut Response,
    ) -> Result<WorkerResults<'c>> {
        let (buckets, mut tally) = self.filled(ask, solid, checkpoint, response)?;
        let mine: Vec<usize> = (0..buckets.blocks.count()).collect();
        let bucket_bytes = buckets.blocks.bytes();
        let (counted, min_count) = timed(response, "compact", || {
            let counting = Counting {
                buckets: &buckets,
                mine: &mine,
                k: ask.k,
                threads: self.context.request.threads,
                budget: self.context.budget,
                progress: self.context.progress,
                text_bytes: if ask.only_solid { 0 } else { ask.input_bytes },
            };
            let min_count = match ask.min_count {
                Some(min_count) => min_count,
                None => counting.sample()?.fit(ask.k).min_count,
            };
            let counted = counting.fragments(min_count, ask.grain())?;
            Ok(((counted, min_count), bucket_bytes, mine.len() as u64))
        })?;
        let BucketCounts { fragments, spectrum, tally: edges } = counted;
        tally.add(&edges);
        drop(buckets);
        let mut found =
            WorkerResults { fragments, spectrum, min_count, bucket_bytes, tally, traffic: None };
        if let Some(program) = ask.program {
            let mut control = Control::new(ask.k, program);
            let vertices = (found.fragments, |piece: &FragmentSummary| *piece);
            found.fragments = self.program(&mut control, vertices, response)?;
            found.traffic = Some(control.traffic);
        }
        Ok(found)
    }

    fn supersteps(
        &self,
        control: &mut Control,
        paths: Paths<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        self.program(control, (paths, FragmentSummary::of), response)
    }
}

impl<'c> Local<'c> {
    fn program<T>(
        &self,
        control: &mut Control,
        vertices: (Sequences<'c, T>, impl Fn(&T) -> FragmentSummary),
        response: &mut Response,
    ) -> Result<Fragments<'c>> {
        timed(response, "supersteps", || {
            let left = programs::all(self.context, control, vertices)?;
            Ok((left, control.traffic.values().map(|one| one.bytes).sum(), 0))
        })
    }

    /// Buckets with all super-k-mers, new or kept.
    fn filled(
        &self,
        ask: &Ask,
        solid: Option<SolidSequences<'c>>,
        checkpoint: Option<&StageCheckpoint<'_>>,
        response: &mut Response,
    ) -> Result<(Buckets<'c>, ReadCounts)> {
        let (request, budget) = (self.context.request, self.context.budget);
        let keep_free = budget.limit_bytes() / KEEP_FREE;
        let mut buckets = Buckets::new(ask.k, ask.buckets(), (budget, keep_free), &request.scratch);
        let Some(checkpoint) = checkpoint else {
            let tally = self.partition(ask, solid, &buckets, response)?;
            return Ok((buckets, tally));
        };
        buckets.blocks = buckets.blocks.kept_in(checkpoint.buckets_path());
        if let Some(tally) = checkpoint.restore(&buckets.blocks)? {
            return Ok((buckets, tally));
        }
        let tally = self.partition(ask, solid, &buckets, response)?;
        timed(response, "checkpoint", || {
            Ok((checkpoint.save(&buckets.blocks, &tally)?, buckets.blocks.bytes(), 0))
        })?;
        Ok((buckets, tally))
    }

    /// Puts the super-k-mers of reads and of what is solid into buckets.
    fn partition(
        &self,
        ask: &Ask,
        solid: Option<SolidSequences<'c>>,
        buckets: &Buckets<'c>,
        response: &mut Response,
    ) -> Result<ReadCounts> {
        let request = self.context.request;
        let inputs = if ask.only_solid { &[] } else { &request.inputs[..] };
        let reads = Reads::open(inputs, ask.pairing)?;
        let work = |tally: &mut ReadCounts, task: usize| {
            let mut sink = buckets.sink()?;
            let mut scanner = Scanner::new(ask.k, ask.bits, ask.drop_reads_with_n);
            if let Some(solid) = solid.as_ref().filter(|_| task == 0) {
                add_solid(solid, &mut scanner, &mut sink);
            }
            add_reads(&reads, &mut scanner, &mut sink, self.context)?;
            tally.add(&scanner.tally);
            sink.open.finish()
        };
        let (before, _) = self.context.progress.state();
        timed(response, "partition", || {
            let found =
                parallel::run(request.threads, request.threads, ReadCounts::default, work, |_| {})?;
            if !ask.only_solid {
                self.context.progress.reach(before + ask.input_bytes);
            }
            let mut tally = ReadCounts::default();
            found.iter().for_each(|one| tally.add(one));
            Ok((tally, ask.input_bytes, reads.given()))
        })
    }
}

fn add_reads(
    reads: &Reads,
    scanner: &mut Scanner,
    sink: &mut BucketWriter<'_, '_>,
    context: &Context<'_>,
) -> Result<()> {
    let mut batch = ReadBatch::default();
    while reads.next(&mut batch)? {
        cut(reads, &batch, scanner, &mut |part| sink.add(part))?;
        sink.open.check()?;
        context.progress.advance(batch.text_bytes())?;
    }
    Ok(())
}

fn add_solid(solid: &SolidSequences<'_>, scanner: &mut Scanner, sink: &mut BucketWriter<'_, '_>) {
    for index in 0..solid.len() {
        let weight = solid.facts(index).weight;
        let mut emit = |part: &SuperKmer<'_>| sink.add_solid(part, weight);
        scanner.take_codes(solid.codes(index), &mut emit);
        scanner.flush(&mut emit);
    }
}
