//! Judgement of the k-mers of a bucket: counts along the answer, unaligned k-mers of reads, claims
//! of the answer and trusted k-mers are sorted and merged. Most k-mers need no sorting: one whose
//! hash slot no other has occurs only once.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::progress::Progress;
use cuesta_runtime::parallel;

use super::evidence::SuperKmerStore;
use super::faults::{Fault, Faults};
use super::grouped;
use super::repeats::RepeatFilter;
use super::unique_kmers::UniqueKmers;
use crate::kernel::internal;
use crate::kernel::kmer::Kmer;
use crate::kernel::spectrum::Spectrum;
use crate::kernel::table::COUNT_MAX;

/// Least and most bytes in which a thread sorts.
const SORTED_BYTES_MIN: u64 = 64 << 10;
const SORTED_BYTES_MAX: u64 = 64 << 20;
/// Part of the free memory in which all threads sort.
const SORTED_PART: u64 = 2;
/// Part of a thread's memory in which k-mers are divided into groups; the same again for those of
/// the answer, and again for unique k-mers.
const SPARE_PART: usize = 16;
/// Most parts into which a bucket is divided by hash, if it has to be sorted in parts.
const PARTS_MAX: u64 = 1 << 24;

/// Evidence on the k-mers of one size.
pub struct Judge<'j, 'a> {
    /// K-mers of reads that were not found in the answer.
    pub reads: &'j SuperKmerStore<'a>,
    /// K-mers of the answer, with the number of their sequence and their count along it.
    pub claimed: &'j SuperKmerStore<'a>,
    /// K-mers that are solid whatever their count, with the least count that they have.
    pub trusted: Option<&'j SuperKmerStore<'a>>,
    /// Least count of other solid k-mers.
    pub min_count: u32,
    /// For each sequence of the answer the sum of counts of its k-mers that were not found along
    /// it.
    pub sums: &'j [AtomicU64],
    /// Filter to which k-mers are added that occur more than once in the reads, if it is wanted.
    pub repeats: Option<&'j RepeatFilter<'a>>,
    /// Faults that are found.
    pub faults: &'j Faults,
}

/// Spectra of all buckets, and of those of the sample.
#[derive(Default)]
pub struct Spectra {
    /// Spectrum of all k-mers.
    pub all: Spectrum,
    /// Spectrum of the sample.
    pub sample: Spectrum,
}

/// A k-mer that the answer claims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Claim<K> {
    kmer: K,
    sequence: u32,
    count: u32,
}

/// Buffers in which a thread sorts.
struct Worker<'a, K> {
    k: usize,
    claims: Vec<Claim<K>>,
    claims_spare: Vec<Claim<K>>,
    trusted: Vec<(K, u32)>,
    kmers: Vec<K>,
    kmers_spare: Vec<K>,
    counted: Vec<(K, u32)>,
    spare: Vec<(K, u32)>,
    buffer: Vec<u8>,
    unique: UniqueKmers,
    most_bytes: usize,
    statistics: KmerStatistics,
    _lease: Lease<'a>,
}

/// Statistics of the k-mers by their counts.
#[derive(Default)]
struct KmerStatistics {
    spectra: Spectra,
    /// Whether the present k-mers are of the sample.
    is_sampled: bool,
    /// Whether to collect the hashes of repeated k-mers, and these hashes.
    collects_repeats: bool,
    hashes: Vec<u64>,
}

impl KmerStatistics {
    #[inline(always)]
    fn add<K: Kmer>(&mut self, kmer: K, count: u32) {
        if count > 0 {
            self.spectra.all.add(count);
            if self.is_sampled {
                self.spectra.sample.add(count);
            }
        }
        if self.collects_repeats && count > 1 {
            self.hashes.push(kmer.mixed());
        }
    }

    fn add_singles(&mut self, kmers: u64) {
        self.spectra.all.add_many(1, kmers);
        if self.is_sampled {
            self.spectra.sample.add_many(1, kmers);
        }
    }
}

/// Part of the k-mers of a bucket: those whose hash has remainder `which` modulo `of`.
#[derive(Clone, Copy)]
struct Part {
    which: u64,
    of: u64,
}

impl Part {
    #[inline(always)]
    fn has<K: Kmer>(self, kmer: K) -> bool {
        self.of == 1 || (kmer.mixed() >> 24) % self.of == self.which
    }
}

impl Judge<'_, '_> {
    /// Judges all buckets; advances progress by `amount` in all.
    ///
    /// # Errors
    /// `Input` when the k-mers of a bucket do not fit in the budget; `System`; `Cancelled`.
    pub fn all<'b, K: Kmer>(
        &self,
        (budget, threads): (&'b Budget, usize),
        (progress, amount): (&Progress, u64),
    ) -> Result<Spectra> {
        let each = budget.free_bytes() / SORTED_PART / threads as u64;
        let most_bytes = each.clamp(SORTED_BYTES_MIN, SORTED_BYTES_MAX);
        let buckets = self.reads.buckets().count();
        let work = |worker: &mut Option<Worker<'b, K>>, bucket: usize| {
            let worker = match worker {
                Some(worker) => worker,
                None => worker.insert(Worker::new(budget, most_bytes, self.reads.k())?),
            };
            self.bucket(worker, bucket)?;
            progress.advance(share(amount, bucket, buckets))
        };
        let workers = parallel::run(threads, buckets, || None, work, |_| {})?;
        let mut spectra = Spectra::default();
        for worker in workers.into_iter().flatten() {
            spectra.all.merge(&worker.statistics.spectra.all);
            spectra.sample.merge(&worker.statistics.spectra.sample);
        }
        Ok(spectra)
    }

    fn bucket<K: Kmer>(&self, worker: &mut Worker<'_, K>, bucket: usize) -> Result<()> {
        worker.statistics.is_sampled = self.reads.buckets().is_sampled(bucket);
        worker.statistics.collects_repeats = self.repeats.is_some();
        let mut parts = vec![Part { which: 0, of: 1 }];
        while let Some(part) = parts.pop() {
            if self.load(worker, (bucket, part))? {
                self.judge(worker);
            } else if part.of < PARTS_MAX {
                let of = 2 * part.of;
                parts.extend([part.which, part.which + part.of].map(|which| Part { which, of }));
            } else {
                return Err(internal("a part of a bucket of k-mers does not fit"));
            }
        }
        self.claimed.clear(bucket);
        self.reads.clear(bucket);
        if let Some(trusted) = self.trusted {
            trusted.clear(bucket);
        }
        Ok(())
    }

    /// Loads and sorts the k-mers of a part; returns whether they fit.
    fn load<K: Kmer>(
        &self,
        worker: &mut Worker<'_, K>,
        (bucket, part): (usize, Part),
    ) -> Result<bool> {
        worker.clear();
        let mut buffer = std::mem::take(&mut worker.buffer);
        self.claimed.each_counted(bucket, &mut buffer, |kmer, sequence, count| {
            if part.has(kmer) {
                worker.claims.push(Claim { kmer, sequence, count });
            }
            Ok(())
        })?;
        if let Some(trusted) = self.trusted {
            trusted.each_numbered(bucket, &mut buffer, |kmer, weight| {
                if part.has(kmer) {
                    worker.trusted.push((kmer, weight));
                }
                Ok(())
            })?;
            // The last of several weights is the largest.
            worker.trusted.sort_unstable();
        }
        let mut fits = worker.fits();
        self.reads.each_kmer(bucket, &mut buffer, |kmer| {
            if fits && part.has(kmer) {
                worker.kmers.push(kmer);
                if worker.kmers.len() == worker.kmers.capacity() {
                    worker.count();
                    fits = worker.fits();
                }
            }
            Ok(())
        })?;
        worker.buffer = buffer;
        if worker.has_all() {
            self.judge_unique(worker);
        }
        let claims = (&mut worker.claims[..], &mut worker.claims_spare);
        grouped::sort(claims, worker.k, |claim| claim.kmer);
        worker.count();
        Ok(fits && worker.fits())
    }

    /// Judges the k-mers that occur only once for certain, and removes them.
    fn judge_unique<K: Kmer>(&self, worker: &mut Worker<'_, K>) {
        let Worker { claims, trusted, kmers, unique, statistics, .. } = worker;
        if !unique.clear(claims.len() + trusted.len() + kmers.len()) {
            return;
        }
        claims.iter().for_each(|claim| unique.add(claim.kmer));
        trusted.iter().for_each(|&(kmer, _)| unique.add(kmer));
        kmers.iter().for_each(|&kmer| unique.add(kmer));
        claims.retain(|claim| {
            let is_unique = unique.has(claim.kmer);
            if is_unique {
                if claim.count < self.min_count {
                    self.faults.add(Fault::NotSolid);
                }
                statistics.add(claim.kmer, claim.count);
            }
            !is_unique
        });
        let all = kmers.len();
        kmers.retain(|&kmer| !unique.has(kmer));
        let singles = (all - kmers.len()) as u64;
        if singles > 0 && self.min_count <= 1 {
            self.faults.add(Fault::Unclaimed);
        }
        statistics.add_singles(singles);
    }

    fn judge<K: Kmer>(&self, worker: &mut Worker<'_, K>) {
        let Worker { claims, trusted, counted, statistics, .. } = worker;
        let mut add = |(kmer, count): (K, u32)| statistics.add(kmer, count);
        let mut counted = counted.iter().copied().peekable();
        let mut trusted = trusted.chunk_by(|left, right| left.0 == right.0).peekable();
        let mut unclaimed = |(kmer, count): (K, u32)| {
            add((kmer, count));
            if count >= self.min_count {
                self.faults.add(Fault::Unclaimed);
            }
        };
        let mut before: Option<K> = None;
        let mut totals = Vec::new();
        for claim in claims.iter() {
            if before.replace(claim.kmer) == Some(claim.kmer) {
                self.faults.add(Fault::Twice);
                continue;
            }
            while let Some(entry) = counted.next_if(|entry| entry.0 < claim.kmer) {
                unclaimed(entry);
            }
            while trusted.next_if(|same| same[0].0 < claim.kmer).is_some() {
                self.faults.add(Fault::Unclaimed);
            }
            let unaligned =
                counted.next_if(|entry| entry.0 == claim.kmer).map_or(0, |entry| entry.1);
            let trust = trusted.next_if(|same| same[0].0 == claim.kmer);
            let weight = trust.and_then(<[_]>::last).map(|entry| entry.1);
            let observed = claim.count.saturating_add(unaligned).min(COUNT_MAX);
            let total = observed.max(weight.unwrap_or(0));
            if total < self.min_count && weight.is_none() {
                self.faults.add(Fault::NotSolid);
            }
            if total > claim.count {
                let more = u64::from(total - claim.count);
                self.sums[claim.sequence as usize].fetch_add(more, Ordering::Relaxed);
            }
            totals.push((claim.kmer, total));
        }
        counted.for_each(unclaimed);
        totals.into_iter().for_each(add);
        if trusted.next().is_some() {
            self.faults.add(Fault::Unclaimed);
        }
        if let Some(repeats) = self.repeats {
            repeats.add(&mut statistics.hashes);
        }
    }
}

/// Returns part `index` of `count` nearly equal parts of an amount, which sum to the amount.
pub fn share(amount: u64, index: usize, count: usize) -> u64 {
    let upto = |index: usize| (u128::from(amount) * index as u128 / count as u128) as u64;
    upto(index + 1) - upto(index)
}

impl<'a, K: Kmer> Worker<'a, K> {
    fn new(budget: &'a Budget, most_bytes: u64, k: usize) -> Result<Self> {
        let spare_bytes = most_bytes as usize / SPARE_PART;
        Ok(Self {
            k,
            claims: Vec::new(),
            claims_spare: Vec::with_capacity(spare_bytes / size_of::<Claim<K>>()),
            trusted: Vec::new(),
            kmers: Vec::with_capacity(most_bytes as usize / 4 / size_of::<K>()),
            kmers_spare: Vec::with_capacity(spare_bytes / size_of::<K>()),
            counted: Vec::new(),
            spare: Vec::new(),
            buffer: Vec::new(),
            unique: UniqueKmers::new(spare_bytes),
            most_bytes: most_bytes as usize,
            statistics: KmerStatistics::default(),
            _lease: budget.take(most_bytes, "sorting k-mers")?,
        })
    }

    fn clear(&mut self) {
        self.claims.clear();
        self.trusted.clear();
        self.kmers.clear();
        self.counted.clear();
    }

    /// Returns whether the sorted values take at most half of the memory, so that the rest has
    /// room.
    fn fits(&self) -> bool {
        self.fits_with(self.counted.len())
    }

    fn fits_with(&self, counted: usize) -> bool {
        let claims = self.claims.len() * size_of::<Claim<K>>();
        let rest = (self.trusted.len() + 2 * counted) * size_of::<(K, u32)>();
        claims + rest <= self.most_bytes / 2
    }

    /// Returns whether all k-mers are loaded, none is counted yet, and they will fit however many
    /// differ.
    fn has_all(&self) -> bool {
        self.counted.is_empty() && self.fits_with(self.kmers.len())
    }

    /// Counts the loaded k-mers and adds them to the counts so far.
    fn count(&mut self) {
        grouped::sort((&mut self.kmers[..], &mut self.kmers_spare), self.k, |&kmer| kmer);
        let counted = self.kmers.chunk_by(|left, right| left == right).map(|same| {
            (same[0], u32::try_from(same.len()).map_or(COUNT_MAX, |count| count.min(COUNT_MAX)))
        });
        if self.counted.is_empty() {
            self.counted.extend(counted);
            self.kmers.clear();
            return;
        }
        let mut before = self.counted.iter().copied().peekable();
        self.spare.clear();
        for (kmer, count) in counted {
            while let Some(entry) = before.next_if(|entry| entry.0 < kmer) {
                self.spare.push(entry);
            }
            let more = before.next_if(|entry| entry.0 == kmer).map_or(0, |entry| entry.1);
            self.spare.push((kmer, count.saturating_add(more).min(COUNT_MAX)));
        }
        self.spare.extend(before);
        std::mem::swap(&mut self.spare, &mut self.counted);
        self.kmers.clear();
    }
}
