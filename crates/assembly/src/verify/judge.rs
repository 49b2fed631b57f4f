//! Judges the k-mers of a bucket: what was counted along the answer, what is beside it, what the
//! answer claims and what is trusted are sorted and laid side by side. Most need not be: a k-mer
//! whose hash no other one has is known by itself.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::progress::Progress;
use cuesta_runtime::parallel;

use super::evidence::SuperKmerStore;
use super::faults::{Fault, Faults};
use super::grouped;
use super::seen_twice::SeenTwice;
use super::unique_kmers::UniqueKmers;
use crate::kernel::internal;
use crate::kernel::kmer::Kmer;
use crate::kernel::spectrum::Spectrum;
use crate::kernel::table::COUNT_MAX;

/// Least and most bytes in which a thread sorts.
const SORTED_BYTES_MIN: u64 = 64 << 10;
const SORTED_BYTES_MAX: u64 = 64 << 20;
/// The part of the free memory that all threads sort in.
const SORTED_PART: u64 = 2;
/// The part of a thread's memory in which k-mers are divided, again for those of the answer, and
/// again for what is alone.
const SPARE_PART: usize = 16;
/// Parts of a bucket by hash, when it must be sorted in parts.
const PARTS_MAX: u64 = 1 << 24;

/// What is known of the k-mers of one size.
pub struct Judge<'j, 'a> {
    /// Of the reads, those that were not found along the answer.
    pub reads: &'j SuperKmerStore<'a>,
    /// Those of the answer, with the number of their sequence and how often they were found along
    /// it.
    pub claimed: &'j SuperKmerStore<'a>,
    /// Those that are solid whatever their count, with the count that they have at least.
    pub trusted: Option<&'j SuperKmerStore<'a>>,
    /// The count from which on others are solid.
    pub min_count: u32,
    /// For each sequence of the answer, the counts of its k-mers that were not found along it,
    /// added up.
    pub sums: &'j [AtomicU64],
    /// Where k-mers go that the reads have twice, if anyone wants to know.
    pub seen_twice: Option<&'j SeenTwice<'a>>,
    /// What is found wrong.
    pub faults: &'j Faults,
}

/// K-mers by count: of all buckets, and of those of the sample.
#[derive(Default)]
pub struct Spectra {
    /// All.
    pub all: Spectrum,
    /// Those of the sample.
    pub sample: Spectrum,
}

/// A k-mer that the answer claims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Claim<K> {
    kmer: K,
    sequence: u32,
    count: u32,
}

/// What a thread sorts in.
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
    alone: UniqueKmers,
    most_bytes: usize,
    noted: Noted,
    _lease: Lease<'a>,
}

/// What is known of k-mers by their counts.
#[derive(Default)]
struct Noted {
    spectra: Spectra,
    /// Whether the k-mers are of the sample.
    is_sampled: bool,
    /// Whether hashes are wanted of what the reads have twice, and these.
    notes_twice: bool,
    hashes: Vec<u64>,
}

impl Noted {
    #[inline(always)]
    fn add<K: Kmer>(&mut self, kmer: K, count: u32) {
        if count > 0 {
            self.spectra.all.add(count);
            if self.is_sampled {
                self.spectra.sample.add(count);
            }
        }
        if self.notes_twice && count > 1 {
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

/// The k-mers of a bucket whose hash leaves `which` when divided by `of`.
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
    /// Judges all buckets; tells of progress as if there were `amount` to do.
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
        let mut found = Spectra::default();
        for worker in workers.into_iter().flatten() {
            found.all.merge(&worker.noted.spectra.all);
            found.sample.merge(&worker.noted.spectra.sample);
        }
        Ok(found)
    }

    fn bucket<K: Kmer>(&self, worker: &mut Worker<'_, K>, bucket: usize) -> Result<()> {
        worker.noted.is_sampled = self.reads.buckets().is_sampled(bucket);
        worker.noted.notes_twice = self.seen_twice.is_some();
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

    /// Sorts the k-mers of a part; whether they fit.
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
            // Of several weights the last one is the most.
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
            self.judge_alone(worker);
        }
        let claims = (&mut worker.claims[..], &mut worker.claims_spare);
        grouped::sort(claims, worker.k, |claim| claim.kmer);
        worker.count();
        Ok(fits && worker.fits())
    }

    /// Judges the k-mers that are there once for certain, and forgets them.
    fn judge_alone<K: Kmer>(&self, worker: &mut Worker<'_, K>) {
        let Worker { claims, trusted, kmers, alone, noted, .. } = worker;
        if !alone.clear(claims.len() + trusted.len() + kmers.len()) {
            return;
        }
        claims.iter().for_each(|claim| alone.add(claim.kmer));
        trusted.iter().for_each(|&(kmer, _)| alone.add(kmer));
        kmers.iter().for_each(|&kmer| alone.add(kmer));
        claims.retain(|claim| {
            let is_alone = alone.has(claim.kmer);
            if is_alone {
                if claim.count < self.min_count {
                    self.faults.add(Fault::NotSolid);
                }
                noted.add(claim.kmer, claim.count);
            }
            !is_alone
        });
        let all = kmers.len();
        kmers.retain(|&kmer| !alone.has(kmer));
        let singles = (all - kmers.len()) as u64;
        if singles > 0 && self.min_count <= 1 {
            self.faults.add(Fault::Unclaimed);
        }
        noted.add_singles(singles);
    }

    fn judge<K: Kmer>(&self, worker: &mut Worker<'_, K>) {
        let Worker { claims, trusted, counted, noted, .. } = worker;
        let mut add = |(kmer, count): (K, u32)| noted.add(kmer, count);
        let mut counted = counted.iter().copied().peekable();
        let mut trusted = trusted.chunk_by(|one, two| one.0 == two.0).peekable();
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
            while let Some(other) = counted.next_if(|one| one.0 < claim.kmer) {
                unclaimed(other);
            }
            while trusted.next_if(|same| same[0].0 < claim.kmer).is_some() {
                self.faults.add(Fault::Unclaimed);
            }
            let beside = counted.next_if(|one| one.0 == claim.kmer).map_or(0, |one| one.1);
            let trust = trusted.next_if(|same| same[0].0 == claim.kmer);
            let weight = trust.and_then(<[_]>::last).map(|one| one.1);
            let seen = claim.count.saturating_add(beside).min(COUNT_MAX);
            let total = seen.max(weight.unwrap_or(0));
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
        if let Some(seen_twice) = self.seen_twice {
            seen_twice.add(&mut noted.hashes);
        }
    }
}

/// What `index` of `count` parts of an amount are, so that all are the whole of it.
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
            alone: UniqueKmers::new(spare_bytes),
            most_bytes: most_bytes as usize,
            noted: Noted::default(),
            _lease: budget.take(most_bytes, "sorting k-mers")?,
        })
    }

    fn clear(&mut self) {
        self.claims.clear();
        self.trusted.clear();
        self.kmers.clear();
        self.counted.clear();
    }

    /// Whether what is sorted takes no more than half of the memory, so that all else has room.
    fn fits(&self) -> bool {
        self.fits_with(self.counted.len())
    }

    fn fits_with(&self, counted: usize) -> bool {
        let claims = self.claims.len() * size_of::<Claim<K>>();
        let others = (self.trusted.len() + 2 * counted) * size_of::<(K, u32)>();
        claims + others <= self.most_bytes / 2
    }

    /// Whether all k-mers are there, none of them counted yet, and will fit however many are new.
    fn has_all(&self) -> bool {
        self.counted.is_empty() && self.fits_with(self.kmers.len())
    }

    /// Counts the k-mers and adds them to those counted before.
    fn count(&mut self) {
        grouped::sort((&mut self.kmers[..], &mut self.kmers_spare), self.k, |&kmer| kmer);
        let counted = self.kmers.chunk_by(|one, two| one == two).map(|same| {
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
            while let Some(one) = before.next_if(|one| one.0 < kmer) {
                self.spare.push(one);
            }
            let more = before.next_if(|one| one.0 == kmer).map_or(0, |one| one.1);
            self.spare.push((kmer, count.saturating_add(more).min(COUNT_MAX)));
        }
        self.spare.extend(before);
        std::mem::swap(&mut self.spare, &mut self.counted);
        self.kmers.clear();
    }
}
