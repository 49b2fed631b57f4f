//! One size of k-mers: partition, compact, glue, simplify.

use cuesta_core::Result;
use cuesta_core::job::{Context, Response, timed};
use cuesta_input::parallel;

use crate::bridge::Trusted;
use crate::buckets::{Buckets, Sink};
use crate::compact::Compactor;
use crate::glue;
use crate::kmer::Kmer;
use crate::packed::LEFT_INSIDE;
use crate::params::{Plan, Profile};
use crate::reads::{Batch, Reads};
use crate::run::{Level, input_bytes};
use crate::scan::{Scanner, SuperKmer, TRUSTED};
use crate::sequences::Fragments;
use crate::simplify::{Graph, Rules};
use crate::spectrum::Spectrum;
use crate::table::Table;
use crate::write;

/// Bases of a bucket: its table fits in a second-level cache.
const BUCKET_BASES: u64 = 256 << 10;
const BUCKET_BITS_MIN: u32 = 6;
const BUCKET_BITS_MAX: u32 = 13;
/// One bucket in so many is looked at to choose the smallest count.
const SAMPLE: usize = 16;
/// Part of the budget that is left for tables and graphs.
const KEEP_FREE: u64 = 2;
/// Smallest count at sizes of k-mers but the first: contigs speak for what is seen less often.
const LATER_MIN_COUNT: u32 = 2;

/// A size of k-mers.
pub struct Stage<'c> {
    /// What to run with.
    pub context: &'c Context<'c>,
    /// Parameters.
    pub plan: &'c Plan,
    /// The size.
    pub k: usize,
    /// K-mers come from what is trusted, not from reads; nothing is taken out then.
    pub only_trusted: bool,
}

impl<'c> Stage<'c> {
    /// The simplified graph, and what is told about it.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    pub fn run<K: Kmer>(
        &self,
        trusted: Option<Trusted<'c>>,
        response: &mut Response,
    ) -> Result<(Graph<'c>, Level)> {
        let (k, budget) = (self.k, self.context.budget);
        let buckets = self.partition(trusted, response)?;
        let (fragments, spectrum, min_count) = timed(response, "compact", || {
            let found = self.compact::<K>(&buckets)?;
            Ok((found, buckets.bytes(), buckets.count() as u64))
        })?;
        let bucket_bytes = buckets.bytes();
        drop(buckets);
        let mut graph = timed(response, "glue", || {
            let count = fragments.len() as u64;
            let unitigs = glue::unitigs::<K>(&fragments, k, budget)?;
            drop(fragments);
            let graph = Graph::new::<K>(unitigs.sorted(budget)?, k, budget)?;
            Ok((graph, 0, count))
        })?;
        let mut level = Level {
            k,
            min_count,
            fit: spectrum.fit(k),
            distinct: spectrum.distinct(1),
            solid: spectrum.distinct(min_count),
            bucket_bytes,
            unitigs: graph.paths.len(),
            rounds: Vec::new(),
            mates: None,
        };
        let output = &self.context.request.output;
        timed(response, "write", || {
            let mut bytes = write::unitigs(output, &graph)?;
            if k == self.plan.kmer_sizes[0] {
                bytes += write::spectrum(output, &spectrum)?;
            }
            Ok(((), bytes, graph.paths.len() as u64))
        })?;
        timed(response, "simplify", || {
            let rules = match self.plan.given.profile {
                _ if self.only_trusted => None,
                Profile::Default => Some(Rules::default_for(k)),
                Profile::Paper => Some(Rules::of_the_paper(k)),
                Profile::None => None,
            };
            if let Some(rules) = rules {
                level.rounds = graph.simplify::<K>(&rules)?;
            }
            Ok(((), 0, level.unitigs as u64))
        })?;
        Ok((graph, level))
    }

    /// Puts the super-k-mers of reads and of what is trusted into buckets.
    fn partition(
        &self,
        trusted: Option<Trusted<'c>>,
        response: &mut Response,
    ) -> Result<Buckets<'c>> {
        let (request, budget) = (self.context.request, self.context.budget);
        let input_bytes = input_bytes(&request.inputs)?;
        let bits =
            (input_bytes / BUCKET_BASES).max(1).ilog2().clamp(BUCKET_BITS_MIN, BUCKET_BITS_MAX);
        let keep_free = budget.limit_bytes() / KEEP_FREE;
        let buckets = Buckets::new(self.k, 1 << bits, (budget, keep_free), &request.scratch);
        let inputs = if self.only_trusted { &[] } else { &request.inputs[..] };
        let reads = Reads::open(inputs, self.plan.given.pairs)?;
        self.context.progress.expect(input_bytes);
        let work = |_: &mut (), task: usize| {
            let _lease = budget.take(buckets.sink_bytes(), "a block a bucket for each thread")?;
            let mut sink = buckets.sink();
            let mut scanner = Scanner::new(self.k, bits, self.plan.given.drop_reads_with_n);
            if let Some(trusted) = trusted.as_ref().filter(|_| task == 0) {
                add_trusted(trusted, &mut scanner, &mut sink);
            }
            self.add_reads(&reads, &mut scanner, &mut sink)?;
            sink.finish()
        };
        timed(response, "partition", || {
            parallel::run(request.threads, request.threads, || (), work, |_| {})?;
            Ok(((), input_bytes, reads.given()))
        })?;
        Ok(buckets)
    }

    fn add_reads(
        &self,
        reads: &Reads,
        scanner: &mut Scanner,
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        let mut batch = Batch::default();
        while reads.next(&mut batch)? {
            let mut emit = |part: &SuperKmer<'_>| sink.add(part);
            for (index, read) in batch.reads().enumerate() {
                scanner
                    .take(read, &mut emit)
                    .map_err(|place| reads.no_base(&batch, index, place, read[place]))?;
            }
            scanner.flush(&mut emit);
            sink.check()?;
            self.context.progress.advance(batch.bases() as u64)?;
        }
        Ok(())
    }

    /// Counts the k-mers of all buckets and finds their fragments.
    fn compact<K: Kmer>(&self, buckets: &Buckets<'c>) -> Result<(Fragments<'c>, Spectrum, u32)> {
        let (threads, budget) = (self.context.request.threads, self.context.budget);
        let make = || Worker::<K> {
            table: Table::new(budget),
            buffer: Vec::new(),
            spectrum: Spectrum::default(),
            solid: Vec::new(),
            fragments: Fragments::new(budget, "the fragments of unitigs"),
        };
        let min_count = match self.plan.given.min_count {
            Some(min_count) => min_count,
            None if self.k != self.plan.kmer_sizes[0] => LATER_MIN_COUNT,
            None => {
                let count = |worker: &mut Worker<'_, K>, bucket: usize| {
                    worker.count(buckets, bucket, (self.k, u32::MAX))
                };
                let sampled = buckets.count() / SAMPLE;
                let workers = parallel::run(threads, sampled, make, count, |_| {})?;
                all_spectra(&workers).fit(self.k).min_count
            }
        };
        let work = |worker: &mut Worker<'c, K>, bucket: usize| {
            worker.count(buckets, bucket, (self.k, min_count))?;
            buckets.clear(bucket);
            self.context.progress.advance(0)?;
            Compactor::new(&mut worker.table, self.k, min_count)
                .run(&worker.solid, &mut worker.fragments)
        };
        let workers = parallel::run(threads, buckets.count(), make, work, |_| {})?;
        let spectrum = all_spectra(&workers);
        let mut workers = workers.into_iter().map(|worker| worker.fragments);
        let mut fragments =
            workers.next().unwrap_or_else(|| Fragments::new(budget, "the fragments of unitigs"));
        workers.try_for_each(|more| fragments.append(more))?;
        Ok((fragments, spectrum, min_count))
    }
}

fn add_trusted(trusted: &Trusted<'_>, scanner: &mut Scanner, sink: &mut Sink<'_, '_>) {
    for index in 0..trusted.len() {
        let weight = trusted.facts(index).weight;
        let mut emit = |part: &SuperKmer<'_>| sink.add_trusted(part, weight);
        scanner.take_codes(trusted.codes(index), &mut emit);
        scanner.flush(&mut emit);
    }
}

struct Worker<'a, K> {
    table: Table<'a, K>,
    buffer: Vec<u8>,
    spectrum: Spectrum,
    solid: Vec<usize>,
    fragments: Fragments<'a>,
}

impl<K: Kmer> Worker<'_, K> {
    fn count(
        &mut self,
        buckets: &Buckets<'_>,
        bucket: usize,
        (k, min_count): (usize, u32),
    ) -> Result<()> {
        let table = &mut self.table;
        table.clear()?;
        buckets.each(bucket, &mut self.buffer, |record| {
            table.reserve(record.kmers)?;
            if record.flags & TRUSTED == 0 {
                record.each(k, |one: K, two: K, inside| {
                    let (key, inside) = canonical(one, two, inside);
                    table.add(key, inside);
                });
            } else {
                record.each(k, |one: K, two: K, inside| {
                    let (key, inside) = canonical(one, two, inside);
                    table.trust(key, inside, u32::from(record.weight));
                });
            }
            Ok(())
        })?;
        // A k-mer of two buckets counts in that of its left end.
        self.solid.clear();
        for slot in table.slots() {
            if table.inside(slot) & LEFT_INSIDE != 0 && table.count(slot) > 0 {
                self.spectrum.add(table.count(slot));
            }
            if table.solid(slot, min_count) {
                self.solid.push(slot);
            }
        }
        Ok(())
    }
}

/// The canonical form of a k-mer, and its ends inside as that form has them.
#[inline(always)]
fn canonical<K: Kmer>(one: K, two: K, inside: u32) -> (K, u32) {
    if one <= two { (one, inside) } else { (two, inside >> 1 | (inside & 1) << 1) }
}

fn all_spectra<K>(workers: &[Worker<'_, K>]) -> Spectrum {
    let mut all = Spectrum::default();
    workers.iter().for_each(|worker| all.merge(&worker.spectrum));
    all
}
