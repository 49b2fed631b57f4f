//! Sampling of reads that are deeper than requested: the size of the genome comes from a sample of
//! its k-mers, and a counter takes the part of the reads that gives the depth.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::digest::mix;
use cuesta_core::job::Context;
use cuesta_input::reads::{Pairing, ReadBatch, Reads, Sampling, input_bytes};
use cuesta_runtime::parallel::{self, lock};
use serde::{Deserialize, Serialize};

use crate::buckets::cut::check;
use crate::kernel::kmer::KmerMap;
use crate::kernel::scan::code;
use crate::kernel::spectrum::Spectrum;

/// Bases of the k-mers that are sampled.
pub const K: usize = 31;
/// Most k-mers that are sampled, on average.
const SAMPLED_KMERS: u64 = 1 << 21;
/// Bytes of memory of a k-mer in a table, at most.
const KMER_BYTES: u64 = 40;

/// Facts of reads that were sampled to a depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledReads {
    /// All reads.
    pub reads: u64,
    /// Their letters.
    pub letters: u64,
    /// Estimated bases of the genome; 0 if the spectrum of k-mers has no peak.
    pub genome: u64,
    /// Reads that were taken.
    pub taken: u64,
}

/// Counts of all reads, from which the part that is taken follows.
#[derive(Debug, Default)]
pub struct ReadSums {
    /// Groups of each source: pairs, or reads without a mate.
    pub groups: Vec<u64>,
    /// Reads of a group of each source.
    pub group_reads: Vec<u64>,
    /// Letters of all reads.
    pub letters: u64,
}

impl ReadSums {
    /// Returns which reads give a depth of `depth`, and their facts, by the spectrum of one in
    /// `divisor` of the k-mers.
    pub fn sampled(
        &self,
        depth: u64,
        (spectrum, divisor): (&Spectrum, u64),
    ) -> (Sampling, SampledReads) {
        let fit = spectrum.fit(K);
        let kmers = if fit.depth > 0.0 { spectrum.distinct(fit.min_count) } else { 0 };
        let genome = kmers.saturating_mul(divisor);
        let sampling = match genome {
            0 => Sampling::ALL,
            _ => Sampling::new(depth.saturating_mul(genome), self.letters),
        };
        let each = || self.groups.iter().zip(&self.group_reads);
        let facts = SampledReads {
            reads: each().map(|(groups, reads)| groups * reads).sum(),
            letters: self.letters,
            genome,
            taken: each().map(|(&groups, reads)| sampling.count(groups) * reads).sum(),
        };
        (sampling, facts)
    }
}

/// Returns the number of k-mers of which one is sampled: a power of two, by the bytes of the input.
pub fn divisor(text_bytes: u64) -> u64 {
    (text_bytes / SAMPLED_KMERS).max(1).next_power_of_two()
}

/// Whether a k-mer, the smaller of both strands, is in the sample.
#[inline(always)]
pub fn is_sampled(kmer: u64, divisor: u64) -> bool {
    mix(!kmer) & (divisor - 1) == 0
}

/// Reads all reads; returns which of them give a depth of `depth`, and their facts.
///
/// # Errors
/// `Input` naming the file and the record, or for too little memory; `System`; `Cancelled`.
pub fn sample(
    context: &Context<'_>,
    (pairing, depth): (Pairing, u64),
) -> Result<(Sampling, SampledReads)> {
    let inputs = &context.request.inputs;
    let pairing = Pairing { is_trimmed: false, sampling: Sampling::ALL, ..pairing };
    let reads = Reads::open(inputs, pairing)?;
    let text_bytes = input_bytes(inputs)?;
    let divisor = divisor(text_bytes);
    let group_reads: Vec<u64> = pairing
        .sources(inputs)
        .map(|(files, pairing)| (files.len() * pairing.reads_per_file()) as u64)
        .collect();
    let sums = Mutex::new(ReadSums { groups: vec![0; group_reads.len()], group_reads, letters: 0 });
    let work = |counts: &mut KmerMap<u64, u32>, _: usize| {
        let mut batch = ReadBatch::default();
        while reads.next(&mut batch)? {
            check(&reads, &batch)?;
            let mut letters = 0;
            for read in batch.reads() {
                letters += read.len() as u64;
                add_kmers(read, divisor, |kmer| *counts.entry(kmer).or_default() += 1);
            }
            let mut sums = lock(&sums);
            sums.letters += letters;
            let source = batch.source();
            let groups = batch.len() as u64 / sums.group_reads[source];
            sums.groups[source] += groups;
            context.progress.advance(0)?;
        }
        Ok(())
    };
    let threads = context.request.threads;
    let _tables = context.budget.take(text_bytes / divisor * KMER_BYTES, "estimating the depth")?;
    let mut tables = parallel::run(threads, threads, KmerMap::default, work, |_| {})?.into_iter();
    let mut counts = tables.next().unwrap_or_default();
    for (kmer, count) in tables.flatten() {
        let sum = counts.entry(kmer).or_default();
        *sum = u32::saturating_add(*sum, count);
    }
    let mut spectrum = Spectrum::default();
    counts.values().for_each(|&count| spectrum.add(count));
    let sums = lock(&sums);
    Ok(sums.sampled(depth, (&spectrum, divisor)))
}

/// Calls `add` with the sampled k-mers of a read, each as the smaller of both strands.
fn add_kmers(read: &[u8], divisor: u64, mut add: impl FnMut(u64)) {
    const MASK: u64 = (1 << (2 * K)) - 1;
    let (mut forward, mut backward, mut bases) = (0_u64, 0_u64, 0);
    for &letter in read {
        let code = u64::from(code(letter));
        if code > 3 {
            bases = 0;
            continue;
        }
        forward = (forward << 2 | code) & MASK;
        backward = backward >> 2 | (3 - code) << (2 * (K - 1));
        bases += 1;
        let kmer = forward.min(backward);
        if bases >= K && is_sampled(kmer, divisor) {
            add(kmer);
        }
    }
}
