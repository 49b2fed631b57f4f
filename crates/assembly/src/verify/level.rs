//! Proves the unitigs of one size of k-mers: reads are laid along them, what is left of the reads
//! is counted in buckets, then the unitigs' own k-mers and the places where these meet are judged.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::storage;
use cuesta_runtime::parallel;

use super::OPERATION;
use super::align::{Group, TextAligner};
use super::counts::{self, Counts};
use super::cut::BucketLayout;
use super::evidence::{Adder, Chosen, EvidenceSettings, SuperKmerStore};
use super::faults::Faults;
use super::index::Index;
use super::joints::Joints;
use super::judge::{Judge, Spectra, share};
use super::links::SequenceLinks;
use super::packed_reads::PackedReads;
use super::reader::EvidenceReader;
use super::reads::{ReadBlock, ReadSource};
use super::seen_twice::SeenTwice;
use super::text::{Text, trusted_claim, unitig_claim};
use crate::buckets::open::bucket_bits_max;
use crate::kernel::kmer::Kmer;
use crate::kernel::table::COUNT_MAX;
use cuesta_input::reads::input_bytes;

/// Bytes of input for a bucket: what of it is not found along the answer fits in a cache.
const BUCKET_BYTES: u64 = 512 << 10;
const BUCKET_BITS_MIN: u32 = 4;
const BUCKET_BITS_MAX: u32 = 12;
/// The part of the memory that open blocks take, those of all threads together.
const OPEN_PART: u64 = 8;
/// The part of the memory that stays free when super-k-mers go to scratch.
const KEEP_FREE_PART: u64 = 3;
/// The part of the memory for the blocks of text that threads read.
const BLOCK_PART: u64 = 16;
const BLOCK_BYTES_MIN: u64 = 32 << 10;
const BLOCK_BYTES_MAX: u64 = 1 << 20;
/// A thread has a block, and its stream what is left of one.
const BLOCKS: u64 = 2;
/// The part of the free memory that is for laying reads along the answer.
const INDEX_PART: u64 = 2;

/// What a level of the answer is proven from.
pub struct LevelCheck<'l, 'a> {
    /// Inputs, threads, scratch.
    pub request: &'l Request,
    /// Memory.
    pub budget: &'a Budget,
    /// What hears how far it is.
    pub progress: &'l Progress,
    /// How much of the progress is its own.
    pub amount: u64,
    /// Size of k-mers.
    pub k: usize,
    /// The count from which on a k-mer is solid.
    pub min_count: u32,
    /// Whether that count is to be found from a sample.
    pub with_sample: bool,
    /// Whether reads with ambiguous letters are left out.
    pub drop_ambiguous: bool,
    /// The buckets that are looked into.
    pub chosen: Chosen,
    /// The unitigs.
    pub unitigs: PathBuf,
    /// What is solid whatever its count.
    pub trusted: Option<PathBuf>,
    /// K-mers are those of what is trusted alone.
    pub only_solid: bool,
    /// K-mers of the first size that the reads have twice: what is found of them goes there at that
    /// size, and is asked for at others.
    pub seen_twice: Option<&'l SeenTwice<'a>>,
    /// The reads, where they are counted for more than one size.
    pub packed: Option<&'l PackedReads<'a>>,
}

/// What is known of the k-mers of reads that were laid along the unitigs.
struct Laid<'a> {
    /// How often those of the unitigs were seen.
    counts: Counts<'a>,
    /// Bases of all reads.
    bases: u64,
    /// Letters of the longest read.
    longest: u64,
    /// K-mers that the reads have once, and the unitigs have not.
    singles: u64,
}

/// What is known of a level afterwards.
pub struct Proven<'a> {
    /// The unitigs.
    pub text: Text<'a>,
    /// The counts of the k-mers of each, added up.
    pub sums: Vec<u64>,
    /// Where unitigs go on.
    pub links: SequenceLinks<'a>,
    /// K-mers by count.
    pub spectra: Spectra,
    /// Bases of the reads.
    pub read_bases: u64,
    /// Letters of the longest read.
    pub longest_read: u64,
    _lease: Lease<'a>,
}

impl<'a> LevelCheck<'_, 'a> {
    /// Proves the unitigs; what is wrong with them is added to `faults`.
    ///
    /// # Errors
    /// `Input` where a file cannot be read or does not fit in the budget; `System`; `Cancelled`.
    pub fn prove<K: Kmer>(&self, faults: &Faults) -> Result<Proven<'a>> {
        let text = Text::read(&self.unitigs, self.budget, unitig_claim)?;
        if (0..text.len()).any(|unitig| text.length(unitig) < self.k) {
            let (path, k) = (self.unitigs.display(), self.k);
            return Err(Error::input(
                OPERATION,
                format!("{path} has less than {k} bases in a row"),
            ));
        }
        let _lease = self.budget.take(16 * text.len() as u64, "the counts of unitigs")?;
        let sums: Vec<AtomicU64> = (0..text.len()).map(|_| AtomicU64::default()).collect();
        let shape = self.shape(self.k)?;
        let reads = SuperKmerStore::new(&shape, "verify-reads");
        let claimed = SuperKmerStore::new(&shape, "verify-claims");
        let trusted = self.trusted.as_ref().map(|_| SuperKmerStore::new(&shape, "verify-trusted"));
        let laid = if self.only_solid { None } else { Some(self.align(&text, &reads)?) };
        let counts = laid.as_ref().map(|laid| &laid.counts);
        self.claim((&text, counts), &claimed, &sums)?;
        let (read_bases, longest_read, singles) =
            laid.map_or((0, 0, 0), |laid| (laid.bases, laid.longest, laid.singles));
        if let (Some(path), Some(store)) = (&self.trusted, &trusted) {
            self.trust(path, store)?;
        }
        let judge = Judge {
            reads: &reads,
            claimed: &claimed,
            trusted: trusted.as_ref(),
            min_count: self.min_count,
            sums: &sums,
            seen_twice: self.seen_twice.filter(|_| self.trusted.is_none()),
            faults,
        };
        let means = (self.budget, self.request.threads);
        let mut spectra = judge.all::<K>(means, (self.progress, self.amount / 4))?;
        spectra.all.add_many(1, singles);
        drop((reads, claimed, trusted));
        self.joints::<K>(&text, faults)?;
        let links = SequenceLinks::find::<K>(&text, self.k, (self.budget, faults))?;
        let sums = sums.into_iter().map(AtomicU64::into_inner).collect();
        Ok(Proven { text, sums, links, spectra, read_bases, longest_read, _lease })
    }

    /// The shape of stores of k-mers of `k` bases.
    fn shape(&self, k: usize) -> Result<EvidenceSettings<'a, '_>> {
        let limit = self.budget.limit_bytes();
        let open_bytes = limit / OPEN_PART / self.request.threads as u64;
        let wanted = (input_bytes(&self.request.inputs)? / BUCKET_BYTES).max(1).ilog2();
        let bits = wanted.min(bucket_bits_max(open_bytes)).clamp(BUCKET_BITS_MIN, BUCKET_BITS_MAX);
        Ok(EvidenceSettings {
            k,
            buckets: BucketLayout { bits, with_sample: self.with_sample && k == self.k },
            chosen: if k == self.k { self.chosen } else { Chosen::ALL },
            memory: (self.budget, limit / KEEP_FREE_PART),
            open_bytes: open_bytes as usize,
            scratch: &self.request.scratch,
        })
    }

    /// What tells k-mers that the reads have once, and that nothing makes solid.
    fn asked(&self) -> Result<Option<&SeenTwice<'a>>> {
        let (Some(seen), Some(path)) = (self.seen_twice, &self.trusted) else { return Ok(None) };
        if self.min_count < 2 {
            return Ok(None);
        }
        let trusted = Text::read(path, self.budget, trusted_claim)?;
        seen.add_text(&trusted, self.request.threads)?;
        Ok(Some(seen))
    }

    /// Lays the reads along the unitigs. K-mers that are neither there nor known to be in the reads
    /// once go to `beside`.
    fn align<'s>(&'s self, text: &Text<'a>, beside: &'s SuperKmerStore<'a>) -> Result<Laid<'a>> {
        let (budget, threads) = (self.budget, self.request.threads);
        let seen = self.asked()?;
        let block_bytes = (budget.limit_bytes() / BLOCK_PART / BLOCKS / threads as u64)
            .clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let _blocks = budget.take(block_bytes * BLOCKS * threads as u64, "reading the input")?;
        let most_bytes = budget.free_bytes() / INDEX_PART;
        let memory = (budget, most_bytes, counts::EACH_BYTES);
        let index = Index::new(text, self.k, memory, threads)?;
        let counts = Counts::new(index.end(), budget)?;
        let aligner = TextAligner { text, index: &index, counts: &counts, k: self.k };
        let seen = seen.map(|seen| (seen, self.k));
        let readers = match self.packed.and_then(PackedReads::groups) {
            Some(groups) => {
                let open = || Ok(EvidenceReader::new(beside.open()?, seen, None));
                self.align_cached(groups, &aligner, open)?
            }
            None => {
                let packed = self.packed.filter(|packed| packed.is_open());
                let open = || Ok(EvidenceReader::new(beside.open()?, seen, packed));
                self.read(&aligner, block_bytes as usize, open)?
            }
        };
        let (mut bases, mut longest, mut singles) = (0, 0, 0);
        for reader in readers.into_iter().flatten() {
            bases += reader.bases;
            longest = reader.longest.max(longest);
            singles += reader.singles;
            reader.adder.finish()?;
        }
        drop(index);
        Ok(Laid { counts, bases, longest, singles })
    }

    /// Lays the reads of the files along the unitigs.
    fn read<'s>(
        &self,
        aligner: &TextAligner<'_, '_, '_>,
        block_bytes: usize,
        open: impl Fn() -> Result<EvidenceReader<'s, 'a>> + Sync,
    ) -> Result<Vec<Option<EvidenceReader<'s, 'a>>>> {
        let threads = self.request.threads;
        let overlap = (!self.drop_ambiguous).then_some(self.k - 1);
        let source = ReadSource::open(&self.request.inputs, block_bytes, overlap)?;
        let total = file_bytes(self.request)?;
        let work = |worker: &mut Option<EvidenceReader<'s, 'a>>, _: usize| {
            let mut reader = match worker.take() {
                Some(reader) => reader,
                None => open()?,
            };
            let mut block = ReadBlock::default();
            while source.next(&mut block)? {
                block.each_read(|letters| {
                    reader.add(letters, self.drop_ambiguous);
                    if reader.is_full() {
                        reader.align_pending(aligner);
                    }
                    Ok(())
                })?;
                reader.bases -= block.repeated_bases;
                if let Some(packed) = self.packed.filter(|_| block.repeated_bases > 0) {
                    // How much two parts of a sequence share depends on the size of k-mers.
                    packed.refuse();
                }
                reader.adder.check()?;
                let part = u128::from(block.file_bytes) * u128::from(self.amount / 2);
                self.progress.advance((part / u128::from(total.max(1))) as u64)?;
            }
            reader.align_pending(aligner);
            *worker = Some(reader);
            Ok(())
        };
        let readers = parallel::run(threads, threads, || None, work, |_| {})?;
        self.packed.inspect(|packed| packed.finish());
        Ok(readers)
    }

    /// Lays packed reads along the unitigs.
    fn align_cached<'s>(
        &self,
        groups: &[Group],
        aligner: &TextAligner<'_, '_, '_>,
        open: impl Fn() -> Result<EvidenceReader<'s, 'a>> + Sync,
    ) -> Result<Vec<Option<EvidenceReader<'s, 'a>>>> {
        let work = |worker: &mut Option<EvidenceReader<'s, 'a>>, index: usize| {
            let reader = match worker {
                Some(reader) => reader,
                None => worker.insert(open()?),
            };
            reader.align(&groups[index], aligner);
            reader.bases += groups[index].bases();
            reader.adder.check()?;
            self.progress.advance(share(self.amount / 2, index, groups.len()))
        };
        parallel::run(self.request.threads, groups.len(), || None, work, |_| {})
    }

    /// Puts the k-mers of the unitigs into buckets, with the counts that are known.
    fn claim<'s>(
        &self,
        (text, counts): (&Text<'a>, Option<&Counts<'a>>),
        claimed: &'s SuperKmerStore<'a>,
        sums: &[AtomicU64],
    ) -> Result<()> {
        let tasks = text.tasks(text.end());
        let before = match counts {
            Some(counts) => self.counts_before(text, counts)?,
            None => vec![0; tasks],
        };
        let work = |adder: &mut Option<Adder<'s, 'a>>, task: usize| {
            let adder = match adder {
                Some(adder) => adder,
                None => adder.insert(claimed.open()?),
            };
            text.each_in_task((task, text.end()), |unitig, places| {
                let (start, end) = text.range(unitig);
                let before = if places.start > start { before[task] } else { 0 };
                let kmers = places.start..places.end.min(end + 1 - self.k);
                if kmers.is_empty() {
                    return Ok(());
                }
                let sum = adder.add_counted((text, unitig), kmers.clone(), |found| match counts {
                    Some(counts) => counts.append(kmers, (before, COUNT_MAX), found),
                    None => found.resize(kmers.len(), 0),
                });
                sums[unitig].fetch_add(sum, Ordering::Relaxed);
                Ok(())
            })?;
            adder.check()?;
            self.progress.advance(share(self.amount / 8, task, tasks))
        };
        let adders = parallel::run(self.request.threads, tasks, || None, work, |_| {})?;
        adders.into_iter().flatten().try_for_each(Adder::finish)
    }

    /// For each task, how often the k-mer before its places was seen, in the same unitig.
    fn counts_before(&self, text: &Text<'a>, counts: &Counts<'a>) -> Result<Vec<i64>> {
        let tasks = text.tasks(text.end());
        // By how much counts rise in the last unitig of a task, and whether that begins there.
        let rises: Vec<_> =
            (0..tasks).map(|_| (AtomicI64::new(0), AtomicBool::new(false))).collect();
        let work = |_: &mut (), task: usize| {
            let mut last = None;
            text.each_in_task((task, text.end()), |unitig, places| {
                last = Some((unitig, places));
                Ok(())
            })?;
            if let Some((unitig, places)) = last {
                let begins = places.start == text.start(unitig);
                rises[task].1.store(begins, Ordering::Relaxed);
                rises[task].0.store(counts.rise(places), Ordering::Relaxed);
            }
            self.progress.advance(0)
        };
        parallel::run(self.request.threads, tasks, || (), work, |_| {})?;
        let mut count = 0;
        let before = rises.into_iter().map(|(rise, begins)| {
            let before = count;
            count = rise.into_inner() + if begins.into_inner() { 0 } else { before };
            before
        });
        Ok(before.collect())
    }

    /// Puts the k-mers of what is trusted into buckets, each with its weight.
    fn trust<'s>(&self, path: &std::path::Path, store: &'s SuperKmerStore<'a>) -> Result<()> {
        let text = Text::read(path, self.budget, trusted_claim)?;
        let work = |adder: &mut Option<Adder<'s, 'a>>, task: usize| {
            let adder = match adder {
                Some(adder) => adder,
                None => adder.insert(store.open()?),
            };
            text.each_in_task((task, text.end()), |sequence, places| {
                let weight = u32::try_from(text.claim(sequence).count).unwrap_or(COUNT_MAX);
                let (_, end) = text.range(sequence);
                let kmers = places.start..places.end.min((end + 1).saturating_sub(self.k));
                adder.add_numbered(weight.min(COUNT_MAX), &text, kmers);
                Ok(())
            })?;
            adder.check()?;
            self.progress.advance(0)
        };
        let tasks = text.tasks(text.end());
        let adders = parallel::run(self.request.threads, tasks, || None, work, |_| {})?;
        adders.into_iter().flatten().try_for_each(Adder::finish)
    }

    /// Judges where the k-mers of the unitigs meet.
    fn joints<K: Kmer>(&self, text: &Text<'a>, faults: &Faults) -> Result<()> {
        let shape = self.shape(self.k - 1)?;
        let inside = SuperKmerStore::new(&shape, "verify-joints");
        let outside = SuperKmerStore::new(&shape, "verify-ends");
        let joints = Joints { inside: &inside, outside: &outside, text, k: self.k, faults };
        let eighth = (self.progress, self.amount / 16);
        joints.divide(self.request.threads, eighth)?;
        joints.judge::<K>((self.budget, self.request.threads), eighth)
    }
}

/// Bytes of the input files as they are.
///
/// # Errors
/// `System`.
fn file_bytes(request: &Request) -> Result<u64> {
    let size = |path: &PathBuf| {
        let found = storage::metadata(path)
            .map_err(|cause| Error::system(OPERATION, "reading", path, &cause))?;
        Ok(found.size_bytes)
    };
    request.inputs.iter().map(size).sum()
}
