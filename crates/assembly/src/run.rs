//! Runs the stages: partition, compact, glue, simplify for each size of k-mers, then write.

use std::path::Path as FilePath;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Context, Request, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::parallel;
use serde::Serialize;

use crate::buckets::Buckets;
use crate::compact::Compactor;
use crate::glue;
use crate::kmer::{Kmer, Wide};
use crate::packed::LEFT_INSIDE;
use crate::params::{AssembleParams, Plan, Profile};
use crate::reads::{Batch, Reads};
use crate::scan::{Scanner, SuperKmer, TRUSTED};
use crate::sequences::{Fragments, Paths};
use crate::simplify::{Graph, Removed, Rules};
use crate::spectrum::{Fit, Spectrum};
use crate::table::Table;
use crate::write;

/// Bases of a bucket: its table fits in a second-level cache.
const BUCKET_BASES: u64 = 256 << 10;
const BUCKET_BITS_MIN: u32 = 6;
const BUCKET_BITS_MAX: u32 = 13;
/// One bucket in so many is looked at to choose the smallest count.
const SAMPLE: usize = 16;
/// Of gzipped reads a byte stands for about so many.
const GZIP_TIMES: u64 = 4;
/// Part of the budget that is left for tables and graphs.
const KEEP_FREE: u64 = 2;
/// Smallest count at sizes of k-mers but the first: contigs speak for what is seen less often.
const LATER_MIN_COUNT: u32 = 2;
const LETTERS: [u8; 4] = *b"ACGT";

/// What was found for one size of k-mers.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// The size.
    pub k: usize,
    /// The count from which on a k-mer was taken for real.
    pub min_count: u32,
    /// What the spectrum says.
    pub fit: Fit,
    /// Distinct k-mers of the reads.
    pub distinct: u64,
    /// Of these, taken for real.
    pub solid: u64,
    /// Bytes of super-k-mers.
    pub bucket_bytes: u64,
    /// Unitigs before errors are taken out.
    pub unitigs: usize,
    /// What each round took out.
    pub rounds: Vec<Removed>,
}

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    request.require_inputs()?;
    let budget = Budget::new(request.memory_bytes);
    let context = Context { request, budget: &budget, progress };
    let typical = typical_read(&request.inputs)?;
    let plan = context.parameters::<AssembleParams>()?.check(typical)?;
    let mut response = Response::default();
    let mut levels = Vec::new();
    let mut contigs: Option<Paths<'_>> = None;
    for (place, &k) in plan.kmer_sizes.iter().enumerate() {
        let stage =
            Stage { context: &context, plan: &plan, k, last: place + 1 == plan.kmer_sizes.len() };
        let (found, level) = match k {
            0..=31 => stage.run::<u64>(contigs, &mut response),
            32..=63 => stage.run::<u128>(contigs, &mut response),
            _ => stage.run::<Wide>(contigs, &mut response),
        }?;
        contigs = Some(found);
        levels.push(level);
    }
    let contigs = contigs.unwrap_or_else(|| Paths::new(&budget, "the contigs"));
    let min_contig = plan.given.min_contig;
    response.counts = write::stats(&request.output, &contigs, &levels, min_contig)?;
    Ok(response)
}

/// The length of the longest of the first reads.
fn typical_read(paths: &[std::path::PathBuf]) -> Result<usize> {
    let mut batch = Batch::default();
    let mut longest = 0;
    for path in paths {
        let reads = Reads::open(std::slice::from_ref(path))?;
        reads.next(&mut batch)?;
        longest = batch.reads().map(<[u8]>::len).max().unwrap_or(0).max(longest);
    }
    Ok(longest)
}

struct Stage<'c> {
    context: &'c Context<'c>,
    plan: &'c Plan,
    k: usize,
    last: bool,
}

impl<'c> Stage<'c> {
    fn run<K: Kmer>(
        &self,
        contigs: Option<Paths<'c>>,
        response: &mut Response,
    ) -> Result<(Paths<'c>, Level)> {
        let (k, budget) = (self.k, self.context.budget);
        if let Some(contigs) = contigs.as_ref().filter(|_| self.last) {
            write::before(&self.context.request.output, contigs)?;
        }
        let buckets = self.partition(contigs, response)?;
        let (fragments, spectrum, min_count) = timed(response, format!("compact {k}"), || {
            let found = self.compact::<K>(&buckets)?;
            Ok((found, buckets.bytes(), buckets.count() as u64))
        })?;
        let bucket_bytes = buckets.bytes();
        drop(buckets);
        let mut graph = timed(response, format!("glue {k}"), || {
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
        };
        let output: &FilePath = &self.context.request.output;
        if self.last {
            timed(response, "write unitigs", || {
                let bytes =
                    write::unitigs(output, &graph, k)? + write::spectrum(output, &spectrum)?;
                Ok(((), bytes, graph.paths.len() as u64))
            })?;
        }
        timed(response, format!("simplify {k}"), || {
            let rules = match self.plan.given.profile {
                Profile::Default => Some(Rules::default_for(k)),
                Profile::Paper => Some(Rules::of_the_paper(k)),
                Profile::None => None,
            };
            if let Some(rules) = rules {
                level.rounds = graph.simplify::<K>(&rules)?;
            }
            Ok(((), 0, level.unitigs as u64))
        })?;
        if self.last {
            timed(response, "write contigs", || {
                let bytes = write::contigs(output, &graph, k, self.plan.given.min_contig)?;
                Ok(((), bytes, graph.paths.len() as u64))
            })?;
        }
        Ok((graph.paths, level))
    }

    /// Puts the super-k-mers of reads and contigs into buckets.
    fn partition(
        &self,
        contigs: Option<Paths<'c>>,
        response: &mut Response,
    ) -> Result<Buckets<'c>> {
        let (request, budget) = (self.context.request, self.context.budget);
        let input_bytes = input_bytes(&request.inputs)?;
        let bits =
            (input_bytes / BUCKET_BASES).max(1).ilog2().clamp(BUCKET_BITS_MIN, BUCKET_BITS_MAX);
        let keep_free = budget.limit_bytes() / KEEP_FREE;
        let buckets = Buckets::new(self.k, 1 << bits, (budget, keep_free), &request.scratch);
        let reads = Reads::open(&request.inputs)?;
        self.context.progress.expect(input_bytes);
        let work = |_: &mut (), task: usize| {
            let _lease = budget.take(buckets.sink_bytes(), "a block a bucket for each thread")?;
            let mut sink = buckets.sink();
            let mut scanner = Scanner::new(self.k, bits, self.plan.given.drop_reads_with_n);
            if let Some(contigs) = contigs.as_ref().filter(|_| task == 0) {
                let mut letters = Vec::new();
                for index in 0..contigs.len() {
                    letters.clear();
                    letters.extend(contigs.codes(index).iter().map(|&base| LETTERS[base as usize]));
                    let _ = scanner.take(&letters, &mut |part| sink.add(part, TRUSTED));
                }
                scanner.flush(&mut |part| sink.add(part, TRUSTED));
            }
            let mut batch = Batch::default();
            while reads.next(&mut batch)? {
                let mut emit = |part: &SuperKmer<'_>| sink.add(part, 0);
                for (index, read) in batch.reads().enumerate() {
                    scanner
                        .take(read, &mut emit)
                        .map_err(|place| reads.no_base(&batch, index, place, read[place]))?;
                }
                scanner.flush(&mut emit);
                sink.check()?;
                self.context.progress.advance(batch.bases() as u64)?;
            }
            sink.finish()
        };
        timed(response, format!("partition {}", self.k), || {
            parallel::run(request.threads, request.threads, || (), work, |_| {})?;
            self.check_mates(&reads)?;
            Ok(((), input_bytes, reads.given().iter().sum()))
        })?;
        Ok(buckets)
    }

    fn check_mates(&self, reads: &Reads) -> Result<()> {
        if !self.plan.given.pairs {
            return Ok(());
        }
        let (given, paths) = (reads.given(), &self.context.request.inputs);
        for (counts, files) in given.chunks(2).zip(paths.chunks(2)) {
            let ([one, two], [first, second]) = (counts, files) else {
                let text = format!("{} has no mate; give the files two by two", files[0].display());
                return Err(Error::input("assemble", text));
            };
            if one != two {
                let text = format!(
                    "{} has {one} reads, its mate {} has {two}; obtain the shorter one again",
                    first.display(),
                    second.display()
                );
                return Err(Error::input("assemble", text));
            }
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

/// Bytes of the reads, those of gzipped files as they may be once unpacked.
///
/// # Errors
/// `System`.
pub fn input_bytes(paths: &[std::path::PathBuf]) -> Result<u64> {
    let size = |path: &std::path::PathBuf| {
        let found = std::fs::metadata(path)
            .map_err(|cause| Error::system("input.reads", "opening", path, &cause))?;
        let gzipped = path.extension().is_some_and(|suffix| suffix == "gz");
        Ok(found.len() * if gzipped { GZIP_TIMES } else { 1 })
    };
    paths.iter().map(size).sum()
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
                    table.trust(key, inside);
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
