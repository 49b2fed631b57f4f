//! Proof of the unitigs of one size of k-mers: reads are aligned to them, unaligned k-mers are
//! counted in buckets, then the k-mers of the unitigs and the positions where they meet are
//! checked.

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
use super::reader::{self, EvidenceReader, ReadNumbers};
use super::reads::{ReadBlock, ReadSource};
use super::repeats::RepeatFilter;
use super::text::{Text, trusted_claim, unitig_claim};
use crate::buckets::open::bucket_bits_max;
use crate::kernel::kmer::Kmer;
use crate::kernel::table::COUNT_MAX;
use cuesta_input::reads::trim::TrimCounts;
use cuesta_input::reads::{Pairing, input_bytes};

/// Bytes of input per bucket: its unaligned k-mers fit in a cache.
const BUCKET_BYTES: u64 = 512 << 10;
const BUCKET_BITS_MIN: u32 = 4;
const BUCKET_BITS_MAX: u32 = 12;
/// Part of the memory for the open blocks of all threads together.
const OPEN_PART: u64 = 8;
/// Part of the memory that stays free when super-k-mers go to scratch.
const KEEP_FREE_PART: u64 = 3;
/// Part of the memory for the blocks of text that threads read.
const BLOCK_PART: u64 = 16;
const BLOCK_BYTES_MIN: u64 = 32 << 10;
const BLOCK_BYTES_MAX: u64 = 1 << 20;
/// Blocks per thread: one that it reads, and the rest of one in its stream.
const BLOCKS: u64 = 2;
/// Part of the free memory for aligning reads to the answer.
const INDEX_PART: u64 = 2;

/// Inputs of the proof of a level of the answer.
pub struct LevelCheck<'l, 'a> {
    /// Request, for inputs, threads and scratch.
    pub request: &'l Request,
    /// Budget.
    pub budget: &'a Budget,
    /// Receiver of progress.
    pub progress: &'l Progress,
    /// Progress that the level makes in all.
    pub amount: u64,
    /// Bases in a k-mer.
    pub k: usize,
    /// Least count of a solid k-mer.
    pub min_count: u32,
    /// Whether a sample determines that count.
    pub with_sample: bool,
    /// Whether reads with ambiguous letters are dropped.
    pub drop_ambiguous: bool,
    /// Pairing of the reads, by which they are trimmed.
    pub pairing: Pairing,
    /// Buckets that are verified.
    pub chosen: Chosen,
    /// File of the unitigs.
    pub unitigs: PathBuf,
    /// File of sequences whose k-mers are solid whatever their count.
    pub trusted: Option<PathBuf>,
    /// Whether all k-mers come from these sequences.
    pub only_solid: bool,
    /// Filter of repeated k-mers, which the first size fills and later sizes query.
    pub repeats: Option<&'l RepeatFilter<'a>>,
    /// Cache of the reads, where more than one size counts them.
    pub packed: Option<&'l PackedReads<'a>>,
}

/// Results of aligning the reads to the unitigs.
struct AlignedReads<'a> {
    /// Counts of the k-mers of the unitigs.
    counts: Counts<'a>,
    /// Numbers of the reads.
    reads: ReadNumbers,
}

/// A proven level.
pub struct Proven<'a> {
    /// The unitigs.
    pub text: Text<'a>,
    /// Sum of the counts of the k-mers of each unitig.
    pub sums: Vec<u64>,
    /// Links between unitigs.
    pub links: SequenceLinks<'a>,
    /// Spectra of the k-mers.
    pub spectra: Spectra,
    /// Numbers of the reads; none where all k-mers come from contigs and bridges.
    pub reads: ReadNumbers,
    _lease: Lease<'a>,
}

impl<'a> LevelCheck<'_, 'a> {
    /// Proves the unitigs; adds their faults to `faults`.
    ///
    /// # Errors
    /// `Input` where a file cannot be read or does not fit in the budget; `System`; `Cancelled`.
    pub fn prove<K: Kmer>(&self, faults: &Faults) -> Result<Proven<'a>> {
        let text = Text::read(&self.unitigs, self.budget, unitig_claim)?;
        if (0..text.len()).any(|unitig| text.length(unitig) < self.k) {
            let (path, k) = (self.unitigs.display(), self.k);
            let message = format!("{path} has less than {k} bases in a row");
            return Err(Error::input(OPERATION, message));
        }
        let _lease = self.budget.take(16 * text.len() as u64, "the counts of unitigs")?;
        let sums: Vec<AtomicU64> = (0..text.len()).map(|_| AtomicU64::default()).collect();
        let shape = self.shape(self.k)?;
        let reads = SuperKmerStore::new(&shape, "verify-reads");
        let claimed = SuperKmerStore::new(&shape, "verify-claims");
        let trusted = self.trusted.as_ref().map(|_| SuperKmerStore::new(&shape, "verify-trusted"));
        let aligned = if self.only_solid { None } else { Some(self.align(&text, &reads)?) };
        let counts = aligned.as_ref().map(|aligned| &aligned.counts);
        self.claim((&text, counts), &claimed, &sums)?;
        let numbers = aligned.map(|aligned| aligned.reads).unwrap_or_default();
        if let (Some(path), Some(store)) = (&self.trusted, &trusted) {
            self.trust(path, store)?;
        }
        let judge = Judge {
            reads: &reads,
            claimed: &claimed,
            trusted: trusted.as_ref(),
            min_count: self.min_count,
            sums: &sums,
            repeats: self.repeats.filter(|_| self.trusted.is_none()),
            faults,
        };
        let resources = (self.budget, self.request.threads);
        let mut spectra = judge.all::<K>(resources, (self.progress, self.amount / 4))?;
        spectra.all.add_many(1, numbers.singles);
        drop((reads, claimed, trusted));
        self.joints::<K>(&text, faults)?;
        let links = SequenceLinks::find::<K>(&text, self.k, (self.budget, faults))?;
        let sums = sums.into_iter().map(AtomicU64::into_inner).collect();
        Ok(Proven { text, sums, links, spectra, reads: numbers, _lease })
    }

    /// Returns the settings of stores of k-mers of `k` bases.
    fn shape(&self, k: usize) -> Result<EvidenceSettings<'a, '_>> {
        let limit = self.budget.limit_bytes();
        let open_bytes = limit / OPEN_PART / self.request.threads as u64;
        let bits = (input_bytes(&self.request.inputs)? / BUCKET_BYTES).max(1).ilog2();
        let bits = bits.min(bucket_bits_max(open_bytes)).clamp(BUCKET_BITS_MIN, BUCKET_BITS_MAX);
        Ok(EvidenceSettings {
            k,
            buckets: BucketLayout { bits, with_sample: self.with_sample && k == self.k },
            chosen: if k == self.k { self.chosen } else { Chosen::ALL },
            memory: (self.budget, limit / KEEP_FREE_PART),
            open_bytes: open_bytes as usize,
            scratch: &self.request.scratch,
        })
    }

    /// Adds trusted k-mers to the filter of repeated ones, if single k-mers need no counting.
    fn repeat_filter(&self) -> Result<Option<&RepeatFilter<'a>>> {
        let (Some(filter), Some(path)) = (self.repeats, &self.trusted) else { return Ok(None) };
        if self.min_count < 2 {
            return Ok(None);
        }
        let trusted = Text::read(path, self.budget, trusted_claim)?;
        filter.add_text(&trusted, self.request.threads)?;
        Ok(Some(filter))
    }

    /// Aligns the reads to the unitigs. Other k-mers that may be repeated go to `unaligned`.
    fn align<'s>(
        &'s self,
        text: &Text<'a>,
        unaligned: &'s SuperKmerStore<'a>,
    ) -> Result<AlignedReads<'a>> {
        let (budget, threads) = (self.budget, self.request.threads);
        let filter = self.repeat_filter()?.map(|filter| (filter, self.k));
        let block_bytes = (budget.limit_bytes() / BLOCK_PART / BLOCKS / threads as u64)
            .clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let _blocks = budget.take(block_bytes * BLOCKS * threads as u64, "reading the input")?;
        let most_bytes = budget.free_bytes() / INDEX_PART;
        let memory = (budget, most_bytes, counts::EACH_BYTES);
        let index = Index::new(text, self.k, memory, threads)?;
        let counts = Counts::new(index.end(), budget)?;
        let aligner = TextAligner { text, index: &index, counts: &counts, k: self.k };
        let mut trimmed = TrimCounts::default();
        let readers = match self.packed.and_then(PackedReads::groups) {
            Some(groups) => {
                let open = || Ok(EvidenceReader::new(unaligned.open()?, filter, None));
                self.align_cached(groups, &aligner, open)?
            }
            None => {
                let packed = self.packed.filter(|packed| packed.is_open());
                let open = || Ok(EvidenceReader::new(unaligned.open()?, filter, packed));
                let source = self.source(block_bytes as usize)?;
                let readers = self.read(&aligner, &source, open)?;
                trimmed = source.trimmed();
                readers
            }
        };
        let reads = ReadNumbers { trimmed, ..reader::finished(readers)? };
        drop(index);
        Ok(AlignedReads { counts, reads })
    }

    /// Opens the reads.
    fn source(&self, block_bytes: usize) -> Result<ReadSource> {
        let overlap = (!self.drop_ambiguous).then_some(self.k - 1);
        ReadSource::open((&self.request.inputs, self.pairing), block_bytes, overlap)
    }

    /// Aligns the reads of the files to the unitigs.
    fn read<'s>(
        &self,
        aligner: &TextAligner<'_, '_, '_>,
        source: &ReadSource,
        open: impl Fn() -> Result<EvidenceReader<'s, 'a>> + Sync,
    ) -> Result<Vec<Option<EvidenceReader<'s, 'a>>>> {
        let threads = self.request.threads;
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
                    // The overlap of two parts of a sequence depends on the size of k-mers.
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

    /// Aligns cached reads to the unitigs.
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

    /// Puts the k-mers of the unitigs into buckets, with their counts along the unitigs.
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
                let sum =
                    adder.add_counted((text, unitig), kmers.clone(), |kmer_counts| match counts {
                        Some(counts) => counts.append(kmers, (before, COUNT_MAX), kmer_counts),
                        None => kmer_counts.resize(kmers.len(), 0),
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

    /// Returns for each task the count of the k-mer before its positions, in the same unitig.
    fn counts_before(&self, text: &Text<'a>, counts: &Counts<'a>) -> Result<Vec<i64>> {
        let tasks = text.tasks(text.end());
        // Rise of counts in the last unitig of a task, and whether the unitig begins in the task.
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

    /// Puts the k-mers of trusted sequences into buckets, with their weights.
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

    /// Checks the positions where the k-mers of the unitigs meet.
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

/// Returns the bytes of the input files as stored.
///
/// # Errors
/// `System`.
fn file_bytes(request: &Request) -> Result<u64> {
    let size = |path: &PathBuf| {
        let metadata = storage::metadata(path)
            .map_err(|cause| Error::system(OPERATION, "reading", path, &cause))?;
        Ok(metadata.size_bytes)
    };
    request.inputs.iter().map(size).sum()
}
