//! The solid k-mers of the reads, by sorting all k-mers, some of them at a time.

use cuesta_core::Result;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_input::parallel;

use crate::kmer::{Base, Kmer, KmerSet};
use crate::reads::{Batch, Pairing, Reads};
use crate::reference::{Solid, kmers};
use crate::scan;

/// Parts of a pass, each sorted by one thread.
const PARTS: usize = 16;
/// Lists of k-mers have room to grow, up to so many times what they hold.
const ROOM: u64 = 2;
/// Bytes that everything but k-mers takes, and the part of the memory that a pass has at least.
const OTHER_BYTES: u64 = 64 << 20;
const LEAST_PART: u64 = 8;
/// A k-mer has so many bytes of FASTQ at least: its base and the quality.
const BYTES_A_KMER: u64 = 2;

/// Which reads, k-mers and counts.
pub struct Wanted<'a> {
    /// Inputs, threads and memory.
    pub request: &'a Request,
    /// Size of k-mers.
    pub k: usize,
    /// Count from which on a k-mer is solid.
    pub min_count: u32,
    /// How many solid k-mers the answer claims, for which there is room from the beginning.
    pub claimed: usize,
    /// Whether reads with ambiguous letters are left out.
    pub drop_ambiguous: bool,
}

/// Counts all k-mers and keeps those that are solid or trusted.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn solid<K: Kmer>(
    wanted: &Wanted<'_>,
    trusted: &KmerSet<K>,
    progress: &Progress,
) -> Result<Solid<K>> {
    let kmers = crate::run::input_bytes(&wanted.request.inputs)? / BYTES_A_KMER;
    let all_bytes = kmers * size_of::<K>() as u64;
    let memory_bytes = wanted.request.memory_bytes;
    let claimed = (wanted.claimed as u64).min(kmers) as usize;
    let map_bytes = (claimed * 8 / 7).next_power_of_two() * (size_of::<(K, u32)>() + 1);
    let free = memory_bytes.saturating_sub(map_bytes as u64 + OTHER_BYTES);
    let passes = (all_bytes * ROOM).div_ceil(free.max(memory_bytes / LEAST_PART)).max(1);
    let mut solid = Solid::<K>::with_capacity_and_hasher(claimed, Default::default());
    solid.extend(trusted.iter().map(|&kmer| (kmer, 0)));
    for pass in 0..passes {
        let parts = collect::<K>(wanted, (pass, passes), progress)?;
        let work = |kept: &mut Vec<(K, u32)>, part: usize| {
            let mut kmers: Vec<K> = parts.iter().flat_map(|one| &one[part]).copied().collect();
            kmers.sort_unstable();
            for same in kmers.chunk_by(|one, two| one == two) {
                if same.len() >= wanted.min_count as usize || trusted.contains(&same[0]) {
                    kept.push((same[0], same.len() as u32));
                }
            }
            progress.advance(0)
        };
        let kept = parallel::run(wanted.request.threads, PARTS, Vec::new, work, |_| {})?;
        solid.extend(kept.into_iter().flatten());
    }
    Ok(solid)
}

/// How often the reads have each of some canonical k-mers.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn counts<K: Kmer>(
    wanted: &Wanted<'_>,
    some: &KmerSet<K>,
    progress: &Progress,
) -> Result<Solid<K>> {
    let count = |found: &mut Solid<K>, kmer: K| {
        if some.contains(&kmer) {
            *found.entry(kmer).or_insert(0) += 1;
        }
    };
    let mut all = Solid::default();
    for found in each_kmer(wanted, progress, Solid::default, count)? {
        found.into_iter().for_each(|(kmer, count)| *all.entry(kmer).or_insert(0) += count);
    }
    Ok(all)
}

/// The canonical k-mers of a pass, by thread and part.
fn collect<K: Kmer>(
    wanted: &Wanted<'_>,
    (pass, passes): (u64, u64),
    progress: &Progress,
) -> Result<Vec<Vec<Vec<K>>>> {
    let keep = |parts: &mut Vec<Vec<K>>, kmer: K| {
        let mixed = kmer.mixed() >> 20;
        if mixed / PARTS as u64 % passes == pass {
            parts[mixed as usize % PARTS].push(kmer);
        }
    };
    each_kmer(wanted, progress, || vec![Vec::new(); PARTS], keep)
}

/// Calls `take` for every canonical k-mer of the reads, with what its thread has found so far;
/// returns what each thread found.
fn each_kmer<K: Kmer, T: Send>(
    wanted: &Wanted<'_>,
    progress: &Progress,
    make: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, K) + Sync,
) -> Result<Vec<T>> {
    let reads = Reads::open(&wanted.request.inputs, Pairing::None)?;
    let work = |found: &mut T, _: usize| {
        let mut batch = Batch::default();
        let mut codes = Vec::new();
        while reads.next(&mut batch)? {
            for read in batch.reads() {
                for stretch in stretches(read, wanted, &mut codes) {
                    kmers::<K>(stretch, wanted.k)
                        .for_each(|kmer| take(found, kmer.canonical(wanted.k)));
                }
            }
            progress.advance(0)?;
        }
        Ok(())
    };
    let threads = wanted.request.threads;
    parallel::run(threads, threads, make, work, |_| {})
}

/// The parts of a read without ambiguous letters that hold a k-mer.
fn stretches<'c>(
    read: &[u8],
    wanted: &Wanted<'_>,
    codes: &'c mut Vec<Base>,
) -> impl Iterator<Item = &'c [Base]> {
    codes.clear();
    codes.extend(read.iter().map(|&byte| scan::code(byte)));
    let whole = !(wanted.drop_ambiguous && codes.iter().any(|&code| code > 3));
    let k = wanted.k;
    codes.split(|&code| code > 3).filter(move |part| whole && part.len() >= k)
}
