//! Fragments by the threads of this process.

use cuesta_core::Result;
use cuesta_core::job::{Context, Response, timed};
use cuesta_input::parallel;

use crate::bridge::Trusted;
use crate::buckets::{Buckets, Sink};
use crate::counting::Counting;
use crate::reads::{Batch, Reads};
use crate::scan::{Scanner, SuperKmer};
use crate::stage::{Ask, Found, Workers};
use crate::supersteps;

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
        trusted: Option<Trusted<'c>>,
        response: &mut Response,
    ) -> Result<Found<'c>> {
        let buckets = self.partition(ask, trusted, response)?;
        let mine: Vec<usize> = (0..buckets.blocks.count()).collect();
        let bucket_bytes = buckets.blocks.bytes();
        let (fragments, spectrum, min_count) = timed(response, "compact", || {
            let counting = Counting {
                buckets: &buckets,
                mine: &mine,
                k: ask.k,
                threads: self.context.request.threads,
                budget: self.context.budget,
                progress: self.context.progress,
            };
            let min_count = match ask.min_count {
                Some(min_count) => min_count,
                None => counting.sample()?.fit(ask.k).min_count,
            };
            let (fragments, spectrum) = counting.fragments(min_count, ask.grain())?;
            Ok(((fragments, spectrum, min_count), bucket_bytes, mine.len() as u64))
        })?;
        drop(buckets);
        if !ask.coin_toss {
            return Ok(Found { fragments, spectrum, min_count, bucket_bytes, traffic: None });
        }
        timed(response, "supersteps", || {
            let (fragments, traffic) = supersteps::all(self.context, ask.k, fragments)?;
            let bytes = traffic.bytes;
            let traffic = Some(traffic);
            Ok((Found { fragments, spectrum, min_count, bucket_bytes, traffic }, bytes, 0))
        })
    }
}

impl<'c> Local<'c> {
    /// Puts the super-k-mers of reads and of what is trusted into buckets.
    fn partition(
        &self,
        ask: &Ask,
        trusted: Option<Trusted<'c>>,
        response: &mut Response,
    ) -> Result<Buckets<'c>> {
        let (request, budget) = (self.context.request, self.context.budget);
        let keep_free = budget.limit_bytes() / KEEP_FREE;
        let buckets = Buckets::new(ask.k, ask.buckets(), (budget, keep_free), &request.scratch);
        let inputs = if ask.only_trusted { &[] } else { &request.inputs[..] };
        let reads = Reads::open(inputs, ask.pairing)?;
        self.context.progress.expect(ask.input_bytes);
        let work = |_: &mut (), task: usize| {
            let mut sink = buckets.sink()?;
            let mut scanner = Scanner::new(ask.k, ask.bits, ask.drop_reads_with_n);
            if let Some(trusted) = trusted.as_ref().filter(|_| task == 0) {
                add_trusted(trusted, &mut scanner, &mut sink);
            }
            add_reads(&reads, &mut scanner, &mut sink, self.context)?;
            sink.open.finish()
        };
        timed(response, "partition", || {
            parallel::run(request.threads, request.threads, || (), work, |_| {})?;
            Ok(((), ask.input_bytes, reads.given()))
        })?;
        Ok(buckets)
    }
}

fn add_reads(
    reads: &Reads,
    scanner: &mut Scanner,
    sink: &mut Sink<'_, '_>,
    context: &Context<'_>,
) -> Result<()> {
    let mut batch = Batch::default();
    while reads.next(&mut batch)? {
        reads.scan(&batch, scanner, &mut |part| sink.add(part))?;
        sink.open.check()?;
        context.progress.advance(batch.bases() as u64)?;
    }
    Ok(())
}

fn add_trusted(trusted: &Trusted<'_>, scanner: &mut Scanner, sink: &mut Sink<'_, '_>) {
    for index in 0..trusted.len() {
        let weight = trusted.facts(index).weight;
        let mut emit = |part: &SuperKmer<'_>| sink.add_trusted(part, weight);
        scanner.take_codes(trusted.codes(index), &mut emit);
        scanner.flush(&mut emit);
    }
}
