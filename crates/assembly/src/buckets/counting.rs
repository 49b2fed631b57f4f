//! Counting of the k-mers of buckets, and the fragments of unitigs in each.

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_runtime::parallel;

use crate::buckets::{Buckets, KmerList, ListReader};
use crate::kernel::compact::{Compactor, Grain};
use crate::kernel::fragments::Fragments;
use crate::kernel::kmer::{Kmer, with_kmer};
use crate::kernel::packed::{LEFT_INSIDE, PADDING, PackedSuperKmer, RIGHT_INSIDE};
use crate::kernel::repeated::RepeatedKmers;
use crate::kernel::scan::{COUNTED, REPEATED, ReadCounts, SOLID};
use crate::kernel::spectrum::Spectrum;
use crate::kernel::super_counts::SuperKmerCounts;
use crate::kernel::table::KmerTable;

/// Sampling rate for the choice of the cutoff: the first 1 of this many buckets.
const SAMPLE: usize = 16;

/// Returns the number of buckets, the first ones, that are sampled to choose the cutoff.
pub fn sampled(buckets: usize) -> usize {
    buckets / SAMPLE
}

/// Results of counting.
pub struct BucketCounts<'b> {
    /// Fragments of unitigs.
    pub fragments: Fragments<'b>,
    /// Spectrum of the k-mers.
    pub spectrum: Spectrum,
    /// Edges, where they are counted.
    pub tally: ReadCounts,
}

/// Counter of the k-mers of buckets.
pub struct Counting<'a, 's, 'b> {
    /// Super-k-mers by bucket.
    pub buckets: &'a Buckets<'s>,
    /// Numbers of the buckets to count.
    pub bucket_numbers: &'a [usize],
    /// Bases in a k-mer.
    pub k: usize,
    /// Number of threads.
    pub threads: usize,
    /// Budget of tables and fragments.
    pub budget: &'b Budget,
    /// Receiver of progress, which also reports a stop.
    pub progress: &'a Progress,
    /// Bytes of reads by which progress advances in all when these buckets are counted.
    pub text_bytes: u64,
    /// Filter to which k-mers are added that occur more than once in the reads, if it is wanted.
    pub repeated: Option<&'a RepeatedKmers<'b>>,
}

impl<'b> Counting<'_, '_, 'b> {
    /// Returns the spectrum of the k-mers in the sampled buckets.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    pub fn sample(&self) -> Result<Spectrum> {
        with_kmer!(self.k, K => self.sample_of::<K>())
    }

    /// Returns the fragments of the k-mers with a count of at least `min_count`, the spectrum of
    /// all k-mers, and with [`Grain::Kmer`] the number of edges between all. Buckets are empty
    /// afterwards.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    pub fn fragments(&self, min_count: u32, grain: Grain) -> Result<BucketCounts<'b>> {
        with_kmer!(self.k, K => self.fragments_of::<K>((min_count, grain)))
    }

    fn sample_of<K: Kmer>(&self) -> Result<Spectrum> {
        let last = sampled(self.buckets.blocks.count());
        let sampled: Vec<usize> =
            self.bucket_numbers.iter().copied().filter(|&bucket| bucket < last).collect();
        let count = |worker: &mut Worker<'_, K>, index: usize| {
            worker.count(self.buckets, sampled[index], u32::MAX)
        };
        let make = || Worker::new(self.budget, (self.k, Grain::Path));
        let workers = parallel::run(self.threads, sampled.len(), make, count, |_| {})?;
        Ok(all_spectra(&workers))
    }

    fn fragments_of<K: Kmer>(&self, (min_count, grain): (u32, Grain)) -> Result<BucketCounts<'b>> {
        let work = |worker: &mut Worker<'b, K>, index: usize| {
            let bucket = self.bucket_numbers[index];
            worker.count(self.buckets, bucket, min_count)?;
            self.buckets.blocks.clear(bucket);
            if let Some(repeated) = self.repeated {
                repeated.add(worker.hashes.drain(..));
            }
            let Worker { compactor, table, solid, fragments, .. } = worker;
            compactor.run(table, solid, fragments)?;
            self.progress.advance(self.text_bytes / self.bucket_numbers.len() as u64)
        };
        let make = || {
            let notes_repeated = self.repeated.is_some();
            Worker { notes_repeated, ..Worker::new(self.budget, (self.k, grain)) }
        };
        let workers = parallel::run(self.threads, self.bucket_numbers.len(), make, work, |_| {})?;
        let spectrum = all_spectra(&workers);
        let mut tally = ReadCounts::default();
        workers.iter().for_each(|worker| tally.add(&worker.tally));
        let mut workers = workers.into_iter().map(|worker| worker.fragments);
        let mut fragments = workers.next().unwrap_or_else(|| Fragments::none(self.budget));
        workers.for_each(|more| fragments.append(more));
        Ok(BucketCounts { fragments, spectrum, tally })
    }
}

struct Worker<'a, K: Kmer> {
    k: usize,
    grain: Grain,
    table: KmerTable<'a, K>,
    /// Counts of complete super-k-mers, before their k-mers enter the table.
    super_counts: SuperKmerCounts<'a, K::Wider>,
    compactor: Compactor<'a, K>,
    buffer: Vec<u8>,
    spectrum: Spectrum,
    solid: Vec<usize>,
    fragments: Fragments<'a>,
    tally: ReadCounts,
    /// Whether to collect the hashes of k-mers that occur more than once, and these hashes.
    notes_repeated: bool,
    hashes: Vec<u64>,
}

impl<'a, K: Kmer> Worker<'a, K> {
    fn new(budget: &'a Budget, (k, grain): (usize, Grain)) -> Self {
        let table = match grain {
            Grain::Path => KmerTable::new(budget),
            Grain::Kmer => KmerTable::with_edges(budget),
        };
        Self {
            k,
            grain,
            table,
            super_counts: SuperKmerCounts::new(budget),
            compactor: Compactor::new(k, grain, budget),
            tally: ReadCounts::default(),
            buffer: Vec::new(),
            spectrum: Spectrum::default(),
            solid: Vec::new(),
            fragments: Fragments::none(budget),
            notes_repeated: false,
            hashes: Vec::new(),
        }
    }

    fn count(&mut self, buckets: &Buckets<'_>, bucket: usize, min_count: u32) -> Result<()> {
        self.table.clear()?;
        match buckets.lists {
            Some(each) => self.add_lists((buckets, each), bucket)?,
            None => self.add_records(buckets, bucket)?,
        }
        let (followed, edges) = self.table.edges();
        self.tally.add(&ReadCounts { followed, edges, ..ReadCounts::default() });
        self.select(min_count);
        Ok(())
    }

    fn add_lists(
        &mut self,
        (buckets, each): (&Buckets<'_>, ListReader),
        bucket: usize,
    ) -> Result<()> {
        let (table, k) = (&mut self.table, self.k);
        let mut add = |list: &KmerList<'_>| {
            table.reserve(1)?;
            let kmer = K::of(list.codes, k);
            let key = kmer.canonical(k);
            // An adjacency list is in one bucket; the vertices find all k-mers that meet at its
            // ends.
            table.add(key, LEFT_INSIDE | RIGHT_INSIDE, list.count);
            for base in (0..4).filter(|base| list.followers & 1 << base != 0) {
                table.follow(key, kmer == key, base);
            }
            Ok(())
        };
        buckets.blocks.each(bucket, &mut self.buffer, |block| {
            each(&block[..block.len() - PADDING], k, &mut add)
        })
    }

    fn add_records(&mut self, buckets: &Buckets<'_>, bucket: usize) -> Result<()> {
        let Self { k, grain, table, super_counts, buffer, .. } = self;
        let (k, has_edges) = (*k, *grain == Grain::Kmer);
        buckets.each(bucket, buffer, |record| {
            if !has_edges && super_counts.add(record, k) {
                return Ok(());
            }
            table.reserve(record.kmers)?;
            if record.flags & SOLID != 0 {
                record.each(k, |forward: K, backward: K, inside| {
                    let (key, inside) = canonical(forward, backward, inside);
                    table.mark_solid(key, inside, u32::from(record.weight));
                });
            } else if record.flags & COUNTED != 0 {
                add_counted(table, record, k);
            } else if has_edges || record.flags & REPEATED != 0 {
                add_with_edges(table, record, k);
            } else {
                add_often(table, record, (k, 1));
            }
            Ok(())
        })?;
        super_counts.drain(k, |record, count| {
            table.reserve(record.kmers)?;
            add_often(table, record, (k, count));
            Ok(())
        })?;
        table.settle();
        Ok(())
    }

    /// Adds the counts to the spectrum, and selects the solid slots.
    fn select(&mut self, min_count: u32) {
        let table = &self.table;
        table.slots(&mut self.solid);
        let mut solid_count = 0;
        for index in 0..self.solid.len() {
            let slot = self.solid[index];
            // A k-mer in two buckets counts in the bucket of its left end.
            if table.inside(slot) & LEFT_INSIDE != 0 && table.count(slot) > 0 {
                self.spectrum.add(table.count(slot));
                if self.notes_repeated && table.count(slot) > 1 {
                    self.hashes.push(table.key(slot).mixed());
                }
            }
            self.solid[solid_count] = slot;
            solid_count += usize::from(table.solid(slot, min_count));
        }
        self.solid.truncate(solid_count);
    }
}

/// Adds the k-mers of a super-k-mer that occurs `count` times.
#[inline(always)]
fn add_often<K: Kmer>(
    table: &mut KmerTable<'_, K>,
    record: &PackedSuperKmer<'_>,
    (k, count): (usize, u32),
) {
    record.each(k, |forward: K, backward: K, inside| {
        let (key, inside) = canonical(forward, backward, inside);
        table.add_soon(key, inside, count);
    });
}

/// Adds the counts of the k-mers of a contig, except that of a repeated k-mer.
fn add_counted<K: Kmer>(table: &mut KmerTable<'_, K>, record: &PackedSuperKmer<'_>, k: usize) {
    let mut is_repeated = record.flags & REPEATED != 0;
    let mut counts = record.counts();
    record.each(k, |forward: K, backward: K, inside| {
        let (key, inside) = canonical(forward, backward, inside);
        let count = counts.next().unwrap_or(0);
        table.add_solid(key, inside, if std::mem::take(&mut is_repeated) { 0 } else { count });
    });
}

/// Adds the k-mers of a super-k-mer, except a repeated one, and the bases that follow them.
fn add_with_edges<K: Kmer>(table: &mut KmerTable<'_, K>, record: &PackedSuperKmer<'_>, k: usize) {
    let mut is_repeated = record.flags & REPEATED != 0;
    let mut before: Option<(K, bool)> = None;
    record.each(k, |kmer: K, reverse: K, inside| {
        let (key, inside) = canonical(kmer, reverse, inside);
        if !std::mem::take(&mut is_repeated) {
            table.add(key, inside, 1);
        }
        if let Some((before, forward)) = before {
            table.follow(before, forward, kmer.last_but(0));
        }
        before = Some((key, kmer == key));
    });
}

/// Returns the canonical form of a k-mer, and which of the ends of that form are inside.
#[inline(always)]
fn canonical<K: Kmer>(kmer: K, reverse: K, inside: u32) -> (K, u32) {
    if kmer <= reverse { (kmer, inside) } else { (reverse, inside >> 1 | (inside & 1) << 1) }
}

fn all_spectra<K: Kmer>(workers: &[Worker<'_, K>]) -> Spectrum {
    let mut all = Spectrum::default();
    workers.iter().for_each(|worker| all.merge(&worker.spectrum));
    all
}
