//! Check of the positions where k-mers meet: each (k-1)-mer inside a unitig must occur only once
//! among the ends of all k-mers, and no two ends of unitigs may be the only ones that meet in a
//! (k-1)-mer.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::progress::Progress;
use cuesta_runtime::parallel;

use super::evidence::{Adder, SuperKmerStore};
use super::faults::{Fault, Faults};
use super::grouped;
use super::judge::share;
use super::packed::Alignment;
use super::text::Text;
use crate::kernel::internal;
use crate::kernel::kmer::Kmer;

/// Most parts into which a bucket is divided by hash, if it has to be sorted in parts.
const PARTS_MAX: u64 = 1 << 24;
/// Part of the free memory in which all threads sort.
const SORTED_PART: u64 = 2;
const SORTED_BYTES_MIN: u64 = 64 << 10;
const SORTED_BYTES_MAX: u64 = 64 << 20;
/// Additional memory, as a part of that, in which (k-1)-mers are divided into groups.
const SPARE_PART: u64 = 16;

/// The (k-1)-mers of unitigs by bucket: inside the unitigs, and at their ends.
pub struct Joints<'j, 'a> {
    /// The (k-1)-mers between two k-mers of a unitig.
    pub inside: &'j SuperKmerStore<'a>,
    /// The (k-1)-mers at the ends of unitigs.
    pub outside: &'j SuperKmerStore<'a>,
    /// The unitigs.
    pub text: &'j Text<'a>,
    /// Bases in a k-mer.
    pub k: usize,
    /// Faults that are found.
    pub faults: &'j Faults,
}

impl<'j, 'a> Joints<'j, 'a> {
    /// Puts all (k-1)-mers into buckets, and checks that circles are circles.
    ///
    /// # Errors
    /// `Input` when one block per bucket does not fit in the budget; `System`; `Cancelled`.
    pub fn divide(&self, threads: usize, (progress, amount): (&Progress, u64)) -> Result<()> {
        let tasks = self.text.tasks(self.text.end());
        let work = |adders: &mut Option<[Adder<'j, 'a>; 2]>, task: usize| {
            let [inside, outside] = match adders {
                Some(adders) => adders,
                None => adders.insert([self.inside.open()?, self.outside.open()?]),
            };
            self.text.each_in_task((task, self.text.end()), |unitig, places| {
                let (start, end) = self.text.range(unitig);
                // From the first (k-1)-mer to the position after the last.
                let (left, right) = (start, end + 2 - self.k);
                let is_circle = self.text.claim(unitig).is_marked;
                let first = if is_circle { left } else { left + 1 };
                let within = places.start.max(first)..places.end.min(right - 1);
                inside.add(self.text.words(), (within.start, within.end));
                if places.start > left {
                    return Ok(());
                }
                if is_circle {
                    self.check_circle((start, end));
                } else {
                    outside.add(self.text.words(), (left, left + 1));
                    outside.add(self.text.words(), (right - 1, right));
                }
                Ok(())
            })?;
            inside.check()?;
            outside.check()?;
            progress.advance(share(amount, task, tasks))
        };
        let adders = parallel::run(threads, tasks, || None, work, |_| {})?;
        adders.into_iter().flatten().flatten().try_for_each(Adder::finish)
    }

    /// Checks that a circle ends with the k - 1 bases with which it begins.
    fn check_circle(&self, (start, end): (usize, usize)) {
        let (words, bases) = (self.text.words(), self.k - 1);
        let end = end - bases;
        let itself = Alignment { origin: end as i64 - start as i64, is_turned: false };
        if itself.same_ahead(words, words, start, bases) < bases {
            self.faults.add(Fault::NoCircle);
        }
    }

    /// Checks all buckets.
    ///
    /// # Errors
    /// `Input` when the (k-1)-mers of a bucket do not fit in the budget; `System`; `Cancelled`.
    pub fn judge<'b, K: Kmer>(
        &self,
        (budget, threads): (&'b Budget, usize),
        (progress, amount): (&Progress, u64),
    ) -> Result<()> {
        let each = budget.free_bytes() / SORTED_PART / threads as u64;
        let most_bytes = each.clamp(SORTED_BYTES_MIN, SORTED_BYTES_MAX);
        let spare_bytes = most_bytes / SPARE_PART;
        let buckets = self.inside.buckets().count();
        let work = |worker: &mut Option<Worker<'b, K>>, bucket: usize| {
            let worker = match worker {
                Some(worker) => worker,
                None => worker.insert(Worker {
                    most: most_bytes as usize / size_of::<K>() / 2,
                    inside: Vec::new(),
                    outside: Vec::new(),
                    spare: Vec::with_capacity(spare_bytes as usize / size_of::<K>()),
                    buffer: Vec::new(),
                    _lease: budget.take(most_bytes + spare_bytes, "sorting (k-1)-mers")?,
                }),
            };
            self.bucket(worker, bucket)?;
            progress.advance(share(amount, bucket, buckets))
        };
        parallel::run(threads, buckets, || None, work, |_| {})?;
        Ok(())
    }

    fn bucket<K: Kmer>(&self, worker: &mut Worker<'_, K>, bucket: usize) -> Result<()> {
        let mut parts = vec![(0, 1)];
        while let Some((which, of)) = parts.pop() {
            let Worker { inside, outside, spare, buffer, most, .. } = worker;
            let mut fits = true;
            for (store, kmers) in [(self.inside, &mut *inside), (self.outside, &mut *outside)] {
                kmers.clear();
                store.each_kmer(bucket, buffer, |kmer: K| {
                    if fits && (of == 1 || (kmer.mixed() >> 24) % of == which) {
                        kmers.push(kmer);
                        fits = kmers.len() <= *most / 2;
                    }
                    Ok(())
                })?;
            }
            if fits {
                self.sorted((inside, outside), spare);
            } else if of < PARTS_MAX {
                parts.extend([(which, 2 * of), (which + of, 2 * of)]);
            } else {
                return Err(internal("a part of a bucket of (k-1)-mers does not fit"));
            }
        }
        self.inside.clear(bucket);
        self.outside.clear(bucket);
        Ok(())
    }

    /// Checks that all (k-1)-mers inside differ from each other, from their reverse complements,
    /// and from those outside.
    fn sorted<K: Kmer>(&self, (inside, outside): (&mut [K], &mut [K]), spare: &mut Vec<K>) {
        for kmers in [&mut *inside, &mut *outside] {
            grouped::sort((kmers, &mut *spare), self.k - 1, |&kmer| kmer);
        }
        let mut outside = outside.iter().peekable();
        let mut before = None;
        for &kmer in inside.iter() {
            while outside.next_if(|&&other| other < kmer).is_some() {}
            if before.replace(kmer) == Some(kmer)
                || outside.peek() == Some(&&kmer)
                || kmer == kmer.reverse_complement(self.k - 1)
            {
                self.faults.add(Fault::Branches);
            }
        }
    }
}

/// Buffers in which a thread sorts.
struct Worker<'a, K> {
    inside: Vec<K>,
    outside: Vec<K>,
    spare: Vec<K>,
    buffer: Vec<u8>,
    most: usize,
    _lease: Lease<'a>,
}
