//! Reads placed on what an answer claims, and the k-mers beside it counted by sorting.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_input::parallel;

use super::claims::{Claims, Follower, strands};
use crate::blocks::{Blocks, Open, PADDING};
use crate::kmer::{Base, Kmer};
use crate::reads::{Batch, Pairing, Reads};
use crate::run::input_bytes;
use crate::scan;

/// Parts of the k-mers beside the claims, each sorted by one thread.
const PARTS: usize = 64;
const PARTS_MAX: usize = 4096;
/// Name of the scratch file.
const FILE: &str = "k-mers";
/// A k-mer has so many bytes of FASTQ at least: its base and the quality.
const BYTES_A_KMER: u64 = 2;
/// The part of the memory in which k-mers are held, and that of what is sorted at a time. The rest
/// is for the answer, and for what the run before has left in pieces.
const HELD: u64 = 4;
const SORTED: u64 = 16;
/// Stretches of reads that are followed at a time.
const STRETCHES: usize = 32;

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

/// Counts the k-mers of the reads that are claimed, which are few: each is looked for.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn count_few<K: Kmer>(
    wanted: &Wanted<'_>,
    claims: &Claims<K>,
    progress: &Progress,
) -> Result<()> {
    let take = |_: &mut (), stretches: &[&[Base]]| {
        for both in stretches.iter().flat_map(|stretch| strands(stretch, wanted.k)) {
            if let Some(place) = claims.find(both) {
                claims.add(place, 1);
            }
        }
        Ok(())
    };
    each_stretch(wanted, progress, || Ok(()), take)?;
    Ok(())
}

/// Counts the k-mers of the reads that are claimed; whether all others are seen too seldom to be
/// solid. Reads are followed along the claims; k-mers beside them are sorted. Where these do not
/// fit in the memory they go to scratch.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn count_all<K: Kmer>(
    wanted: &Wanted<'_>,
    claims: &Claims<K>,
    progress: &Progress,
) -> Result<bool> {
    let budget = Budget::new(wanted.request.memory_bytes);
    let _claimed = budget.take(claims.size_bytes(), "the k-mers of the unitigs")?;
    let all_bytes = input_bytes(&wanted.request.inputs)? / BYTES_A_KMER * size_of::<K>() as u64;
    let sorted_bytes = budget.limit_bytes() / SORTED / wanted.request.threads as u64;
    let parts = (all_bytes / sorted_bytes.max(1)) as usize;
    let beside = Blocks::new(
        "verify",
        parts.clamp(PARTS, PARTS_MAX),
        (&budget, budget.limit_bytes() - budget.limit_bytes() / HELD),
        wanted.request.scratch.join(FILE),
    );
    let make = || beside.open();
    let take = |open: &mut Open<'_, '_>, stretches: &[&[Base]]| {
        // What the first k-mers of all need comes from memory at once, not one after the other.
        let firsts = stretches.iter().filter_map(|stretch| strands(stretch, wanted.k).next());
        black_box(firsts.filter_map(|both| claims.find(both)).map(|at| claims.count(at)).max());
        for stretch in stretches {
            let mut follower = Follower::default();
            for both in strands(stretch, wanted.k) {
                if let Some(place) = follower.next(claims, both) {
                    claims.add(place, 1);
                    continue;
                }
                let kmer = both.0.min(both.1);
                let part = part(kmer) % beside.count();
                open.append(part, size_of::<K>(), |block| kmer.put(block));
            }
        }
        open.check()
    };
    for open in each_stretch(wanted, progress, make, take)? {
        open.finish()?;
    }
    Sorted { wanted, claims, beside, budget: &budget }.are_seldom(progress)
}

/// A number that is the same for the same k-mer.
fn part<K: Kmer>(kmer: K) -> usize {
    (kmer.mixed() >> 20) as usize
}

/// K-mers that were not found by following, which may be claimed all the same.
struct Sorted<'a, K> {
    wanted: &'a Wanted<'a>,
    claims: &'a Claims<K>,
    beside: Blocks<'a>,
    budget: &'a Budget,
}

impl<K: Kmer> Sorted<'_, K> {
    /// Counts those that are claimed; whether no other is there as often as one that is solid.
    fn are_seldom(&self, progress: &Progress) -> Result<bool> {
        let all_seldom = AtomicBool::new(true);
        let parts = self.beside.count();
        let places_bytes = (2 * size_of::<u32>() * self.claims.len()) as u64;
        let _places = self.budget.take(places_bytes, "the k-mers of the unitigs by part")?;
        let places = self.claims.by_part(parts, |kmer| part(kmer) % parts);
        let work = |_: &mut (), part: usize| {
            let with_kmer = |&place: &u32| (self.claims.kmer(place), place);
            let mut claimed: Vec<(K, u32)> = places[part].iter().map(with_kmer).collect();
            claimed.sort_unstable();
            if !self.merge(&mut self.kmers(part)?, &claimed) {
                all_seldom.store(false, Ordering::Relaxed);
            }
            progress.advance(0)
        };
        parallel::run(self.wanted.request.threads, parts, || (), work, |_| {})?;
        Ok(all_seldom.into_inner())
    }

    /// The k-mers of a part, which is empty afterwards.
    fn kmers(&self, part: usize) -> Result<Vec<K>> {
        let size_bytes = self.beside.bucket_bytes(part);
        let _lease = self.budget.take(size_bytes as u64, "sorting a part of the k-mers")?;
        let mut kmers = Vec::with_capacity(size_bytes / size_of::<K>());
        self.beside.each(part, &mut Vec::new(), |block| {
            let block = &block[..block.len() - PADDING];
            kmers.extend(block.chunks_exact(size_of::<K>()).map(K::take));
            Ok(())
        })?;
        self.beside.clear(part);
        Ok(kmers)
    }

    fn merge(&self, kmers: &mut [K], claimed: &[(K, u32)]) -> bool {
        kmers.sort_unstable();
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

/// Calls `take` for the stretches of the reads that have k-mers, some at a time, with what its
/// thread has found so far; returns what each thread found.
fn each_stretch<T: Send>(
    wanted: &Wanted<'_>,
    progress: &Progress,
    make: impl Fn() -> Result<T> + Sync,
    take: impl Fn(&mut T, &[&[Base]]) -> Result<()> + Sync,
) -> Result<Vec<T>> {
    let reads = Reads::open(&wanted.request.inputs, Pairing::None)?;
    let threads = wanted.request.threads;
    let work = |found: &mut Option<T>, _: usize| {
        let mut batch = Batch::default();
        // A thread that comes late finds that another one has done its task too.
        let found = match found {
            Some(found) => found,
            None => found.insert(make()?),
        };
        let mut codes = Vec::new();
        while reads.next(&mut batch)? {
            codes.clear();
            for read in batch.reads() {
                let start = codes.len();
                codes.extend(read.iter().map(|&byte| scan::code(byte)));
                if wanted.drop_ambiguous && codes[start..].iter().any(|&code| code > 3) {
                    codes.truncate(start);
                }
                codes.push(Base::MAX);
            }
            let stretches: Vec<&[Base]> =
                codes.split(|&code| code > 3).filter(|stretch| stretch.len() >= wanted.k).collect();
            stretches.chunks(STRETCHES).try_for_each(|some| take(found, some))?;
            progress.advance(0)?;
        }
        Ok(())
    };
    let found = parallel::run(threads, threads, || None, work, |_| {})?;
    Ok(found.into_iter().flatten().collect())
}
