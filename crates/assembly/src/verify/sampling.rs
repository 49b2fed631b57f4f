//! Sampling of reads as the verification finds it: by its own parser, and k-mers that are sorted.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_input::reads::{Pairing, Sampling, input_bytes};
use cuesta_runtime::parallel::{self, lock};

use super::reads::{ReadBlock, ReadSource};
use crate::kernel::scan::code;
use crate::kernel::spectrum::Spectrum;
use crate::sampling::{K, ReadSums, SampledReads, divisor, is_sampled};

/// Bytes of memory of a sampled k-mer, while all are put together.
const KMER_BYTES: u64 = 32;
/// Bytes of a block of reads.
const BLOCK_BYTES: usize = 1 << 20;

/// Returns which reads give a depth of `depth`, and their facts.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn sample(
    context: &Context<'_>,
    (pairing, depth): (Pairing, u64),
) -> Result<(Sampling, SampledReads)> {
    let request = context.request;
    let text_bytes = input_bytes(&request.inputs)?;
    let divisor = divisor(text_bytes);
    let _sampled =
        context.budget.take(text_bytes / divisor * KMER_BYTES, "estimating the depth")?;
    let (mut sums, mut kmers) = (ReadSums::default(), Vec::new());
    for (files, pairing) in pairing.sources(&request.inputs) {
        let source = ReadSource::open((files, Pairing::NONE), BLOCK_BYTES, None)?;
        let reads = Mutex::new((0_u64, 0_u64));
        let work = |sampled: &mut Vec<u64>, _: usize| {
            let mut block = ReadBlock::default();
            while source.next(&mut block)? {
                let (mut count, mut letters) = (0, 0);
                block.each_read(|read| {
                    count += 1;
                    letters += read.len() as u64;
                    let stretches = read.split(|&letter| code(letter) > 3);
                    stretches.for_each(|bases| add_kmers(bases, divisor, sampled));
                    Ok(())
                })?;
                let mut sums = lock(&reads);
                *sums = (sums.0 + count, sums.1 + letters);
                context.progress.advance(0)?;
            }
            Ok(())
        };
        let threads = request.threads;
        let sampled = parallel::run(threads, threads, Vec::new, work, |_| {})?;
        kmers.extend(sampled.into_iter().flatten());
        let (count, letters) = *lock(&reads);
        let group_reads = (files.len() * pairing.reads_per_file()) as u64;
        sums.groups.push(count / group_reads);
        sums.group_reads.push(group_reads);
        sums.letters += letters;
    }
    kmers.sort_unstable();
    let mut spectrum = Spectrum::default();
    kmers.chunk_by(|left, right| left == right).for_each(|same| spectrum.add(same.len() as u32));
    Ok(sums.sampled(depth, (&spectrum, divisor)))
}

/// Adds the sampled k-mers of a stretch of bases, a window at a time from its end.
fn add_kmers(bases: &[u8], divisor: u64, sampled: &mut Vec<u64>) {
    if bases.len() < K {
        return;
    }
    let value = |bases: &mut dyn Iterator<Item = u64>| bases.fold(0, |sum, code| sum * 4 + code);
    let codes =
        |start: usize| bases[start..start + K].iter().map(|&letter| u64::from(code(letter)));
    let last = bases.len() - K;
    let mut read = value(&mut codes(last));
    let mut turned = value(&mut codes(last).rev().map(|code| 3 - code));
    let highest = 1 << (2 * (K - 1));
    for start in (0..=last).rev() {
        let kmer = read.min(turned);
        if is_sampled(kmer, divisor) {
            sampled.push(kmer);
        }
        if start > 0 {
            let code = u64::from(code(bases[start - 1]));
            read = read / 4 + code * highest;
            turned = turned % highest * 4 + (3 - code);
        }
    }
}
