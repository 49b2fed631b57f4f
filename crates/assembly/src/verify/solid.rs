//! Reads placed on what an answer claims, and the k-mers beside it counted by sorting.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cuesta_core::Result;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_input::parallel;

use super::claims::{Claims, Follower, strands};
use crate::kmer::{Base, Kmer};
use crate::reads::{Batch, Pairing, Reads};
use crate::scan;

/// Parts of a pass, each sorted by one thread.
const PARTS: usize = 64;
/// K-mers for which room is made at a time.
const CHUNK: usize = 4096;
/// Bytes that everything but k-mers takes, and the part of the memory that a pass has at least.
const OTHER_BYTES: u64 = 64 << 20;
const LEAST_PART: u64 = 8;

/// Which reads, k-mers and counts.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Inputs, threads and memory.
    pub request: &'a Request,
    /// Size of k-mers.
    pub k: usize,
    /// Count from which on a k-mer is solid.
    pub min_count: u32,
    /// Whether reads with ambiguous letters are left out.
    pub drop_ambiguous: bool,
}

/// Canonical k-mers by part, in chunks.
type Parts<K> = Vec<Vec<Vec<K>>>;

/// What a thread has found.
struct Found<K> {
    beside: Parts<K>,
    beside_count: u64,
}

impl<K: Kmer> Found<K> {
    fn new() -> Self {
        Self { beside: vec![Vec::new(); PARTS], beside_count: 0 }
    }

    /// Keeps a k-mer; whether room was made for more.
    #[inline]
    fn keep(&mut self, kmer: K, part: usize) -> bool {
        let chunks = &mut self.beside[part];
        match chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => {
                chunk.push(kmer);
                false
            }
            None => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(kmer);
                chunks.push(chunk);
                true
            }
        }
    }
}

/// Counts the k-mers of the reads that are claimed, which are few: each is looked for.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn count_few<K: Kmer>(
    wanted: &Wanted<'_>,
    claims: &Claims<K>,
    progress: &Progress,
) -> Result<()> {
    let take = |_: &mut (), stretch: &[Base]| {
        for place in strands(stretch, wanted.k).filter_map(|both| claims.find(both)) {
            claims.add(place, 1);
        }
    };
    each_stretch(wanted, progress, || (), take)?;
    Ok(())
}

/// Counts the k-mers of the reads that are claimed; whether all others are seen too seldom to be
/// solid. Reads are followed along the claims; k-mers beside them are sorted. Where these do not
/// fit in the memory, the reads are read again for some of them at a time.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn count_all<K: Kmer>(
    wanted: &Wanted<'_>,
    claims: &Claims<K>,
    progress: &Progress,
) -> Result<bool> {
    let memory_bytes = wanted.request.memory_bytes;
    let claimed_bytes = (claims.len() * (size_of::<K>() + 3 * size_of::<u64>())) as u64;
    let free_bytes =
        memory_bytes.saturating_sub(claimed_bytes + OTHER_BYTES).max(memory_bytes / LEAST_PART);
    let (held_bytes, is_full) = (AtomicU64::new(0), AtomicBool::new(false));
    let take = |found: &mut Found<K>, stretch: &[Base]| {
        let mut follower = Follower::default();
        for both in strands(stretch, wanted.k) {
            if let Some(place) = follower.next(claims, both) {
                claims.add(place, 1);
                continue;
            }
            found.beside_count += 1;
            if is_full.load(Ordering::Relaxed) {
                found.beside.iter_mut().for_each(|chunks| *chunks = Vec::new());
                continue;
            }
            let kmer = both.0.min(both.1);
            if found.keep(kmer, part(kmer) % PARTS) {
                let chunk_bytes = (CHUNK * size_of::<K>()) as u64;
                let held = held_bytes.fetch_add(chunk_bytes, Ordering::Relaxed) + chunk_bytes;
                is_full.fetch_or(held > free_bytes, Ordering::Relaxed);
            }
        }
    };
    let found = each_stretch(wanted, progress, Found::new, take)?;
    if !is_full.into_inner() {
        return Sorted { wanted, claims, progress }.are_seldom(found);
    }
    let count: u64 = found.iter().map(|one| one.beside_count).sum();
    drop(found);
    let passes = (count * size_of::<K>() as u64 / (free_bytes / 2).max(1)) as usize + 1;
    for pass in 0..passes {
        let take = |found: &mut Found<K>, stretch: &[Base]| {
            let mut follower = Follower::default();
            for both in strands::<K>(stretch, wanted.k) {
                let kmer = both.0.min(both.1);
                let part = part(kmer);
                if follower.next(claims, both).is_none() && part / PARTS % passes == pass {
                    found.keep(kmer, part % PARTS);
                }
            }
        };
        let found = each_stretch(wanted, progress, Found::new, take)?;
        if !(Sorted { wanted, claims, progress }).are_seldom(found)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A number that is the same for the same k-mer.
fn part<K: Kmer>(kmer: K) -> usize {
    (kmer.mixed() >> 20) as usize
}

/// K-mers that were not found by following, which may be claimed all the same.
struct Sorted<'a, K> {
    wanted: &'a Wanted<'a>,
    claims: &'a Claims<K>,
    progress: &'a Progress,
}

impl<K: Kmer> Sorted<'_, K> {
    /// Counts those that are claimed; whether no other is there as often as one that is solid.
    fn are_seldom(&self, found: Vec<Found<K>>) -> Result<bool> {
        let all_seldom = AtomicBool::new(true);
        let places = self.claims.by_part(PARTS, |kmer| part(kmer) % PARTS);
        let work = |_: &mut (), part: usize| {
            let chunks = found.iter().flat_map(|one| &one.beside[part]);
            let mut kmers: Vec<K> = chunks.flatten().copied().collect();
            kmers.sort_unstable();
            let with_kmer = |&place: &u32| (self.claims.kmer(place), place);
            let mut claimed: Vec<(K, u32)> = places[part].iter().map(with_kmer).collect();
            claimed.sort_unstable();
            if !self.merge(&kmers, &claimed) {
                all_seldom.store(false, Ordering::Relaxed);
            }
            self.progress.advance(0)
        };
        parallel::run(self.wanted.request.threads, PARTS, || (), work, |_| {})?;
        Ok(all_seldom.into_inner())
    }

    fn merge(&self, kmers: &[K], claimed: &[(K, u32)]) -> bool {
        let mut claimed = claimed.iter().peekable();
        let mut all_seldom = true;
        for same in kmers.chunk_by(|one, two| one == two) {
            while claimed.next_if(|(kmer, _)| *kmer < same[0]).is_some() {}
            match claimed.next_if(|(kmer, _)| *kmer == same[0]) {
                Some(&(_, place)) => self.claims.add(place as usize, same.len() as u32),
                None => all_seldom &= same.len() < self.wanted.min_count as usize,
            }
        }
        all_seldom
    }
}

/// Calls `take` for every stretch of the reads that has k-mers, with what its thread has found so
/// far; returns what each thread found.
fn each_stretch<T: Send>(
    wanted: &Wanted<'_>,
    progress: &Progress,
    make: impl Fn() -> T + Sync,
    take: impl Fn(&mut T, &[Base]) + Sync,
) -> Result<Vec<T>> {
    let reads = Reads::open(&wanted.request.inputs, Pairing::None)?;
    let threads = wanted.request.threads;
    let work = |found: &mut T, _: usize| {
        let mut batch = Batch::default();
        let mut codes = Vec::new();
        while reads.next(&mut batch)? {
            for read in batch.reads() {
                stretches(read, wanted, &mut codes).for_each(|stretch| take(found, stretch));
            }
            progress.advance(0)?;
        }
        Ok(())
    };
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
