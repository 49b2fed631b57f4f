//! Size of the paper's first stage: its mappers turn reads into text, a k-mer and the next one on a
//! line; its reducers write a line with each k-mer and all that follow it.
//!
//! A run computes these numbers from the tables of its buckets. [`recounted`] sorts all pairs
//! instead.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_assembly::buckets::blocks::BucketBlocks;
use cuesta_assembly::buckets::chunks::BlockMemory;
use cuesta_assembly::buckets::open::OpenBlocks;
use cuesta_assembly::kernel::kmer::{Base, Kmer, kmers, with_kmer};
use cuesta_assembly::kernel::packed::PADDING;
use cuesta_assembly::kernel::scan::{self, ReadCounts};
use cuesta_core::Result;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_input::reads::{Pairing, ReadBatch, Reads, input_bytes};
use cuesta_runtime::parallel;
use serde_json::{Value, json};

/// Number of parts of the pairs; a thread sorts a part at a time.
const PARTS: u64 = 64;
const PARTS_MAX: u64 = 4096;
/// Name of the scratch file.
const FILE: &str = "pairs";
/// Part of the memory in which pairs are held, and of that which is sorted at a time.
const HELD: u64 = 2;
const SORTED: u64 = 16;

/// Lines and bytes of the paper's first stage.
#[derive(Clone, Copy, Debug)]
pub struct FirstStage {
    /// Lines of the mappers.
    pub pairs: u64,
    /// Their bytes.
    pub pair_bytes: u64,
    /// Lines of the reducers.
    pub vertices: u64,
    /// K-mers on these lines that follow the first k-mer.
    pub edges: u64,
    /// Bytes of these lines.
    pub adjacency_bytes: u64,
}

impl FirstStage {
    /// Computes the size from the counts of reads and buckets. A byte follows each k-mer: a tab or
    /// an end of line.
    pub fn of(k: usize, tally: &ReadCounts) -> Self {
        let ReadCounts { pairs, followed: vertices, edges, .. } = *tally;
        let word_bytes = k as u64 + 1;
        Self {
            pairs,
            pair_bytes: 2 * pairs * word_bytes,
            vertices,
            edges,
            adjacency_bytes: (vertices + edges) * word_bytes,
        }
    }

    /// Returns the numbers as in `stats.json`.
    pub fn to_json(&self) -> Value {
        json!({
            "pairs": self.pairs,
            "pair_bytes": self.pair_bytes,
            "vertices": self.vertices,
            "edges": self.edges,
            "adjacency_bytes": self.adjacency_bytes,
        })
    }
}

/// Computes the same numbers from the reads alone, for the verification: each pair is a (k+1)-mer,
/// and all are sorted. Pairs that do not fit in the memory go to scratch.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn recounted(request: &Request, k: usize, progress: &Progress) -> Result<FirstStage> {
    let tally = with_kmer!(k + 1, K => counted::<K>(request, k, progress))?;
    Ok(FirstStage::of(k, &tally))
}

fn counted<K: Kmer>(request: &Request, k: usize, progress: &Progress) -> Result<ReadCounts> {
    let budget = &request.budget;
    let all_bytes = input_bytes(&request.inputs)? * size_of::<K>() as u64;
    let sorted_bytes = (budget.limit_bytes() / SORTED / request.threads as u64).max(1);
    let parts = (all_bytes / sorted_bytes).clamp(PARTS, PARTS_MAX) as usize;
    let free_bytes = budget.limit_bytes() / HELD;
    let room = BlockMemory::Budget(budget, free_bytes);
    let blocks = BucketBlocks::new("verify", parts, room, request.scratch.join(FILE));
    let reads = Reads::open(&request.inputs, Pairing::NONE)?;
    let pairs = AtomicU64::new(0);
    let work = |_: &mut (), _: usize| {
        let mut open = blocks.open()?;
        let mut batch = ReadBatch::default();
        while reads.next(&mut batch)? {
            pairs.fetch_add(add::<K>(&batch, k, (&mut open, parts)), Ordering::Relaxed);
            open.check()?;
            progress.advance(0)?;
        }
        open.finish()
    };
    parallel::run(request.threads, request.threads, || (), work, |_| {})?;
    let sorting = |tally: &mut ReadCounts, part: usize| {
        let size_bytes = blocks.bucket_bytes(part);
        let _lease = budget.take(size_bytes as u64, "sorting a part of the pairs of k-mers")?;
        let mut pairs_of_part: Vec<K> = Vec::with_capacity(size_bytes / size_of::<K>());
        blocks.each(part, &mut Vec::new(), |block| {
            pairs_of_part
                .extend(block[..block.len() - PADDING].chunks_exact(size_of::<K>()).map(K::take));
            Ok(())
        })?;
        pairs_of_part.sort_unstable();
        pairs_of_part.dedup();
        tally.edges += pairs_of_part.len() as u64;
        tally.followed +=
            pairs_of_part.chunk_by(|left, right| left.prefix() == right.prefix()).count() as u64;
        blocks.clear(part);
        progress.advance(0)
    };
    let tallies = parallel::run(request.threads, parts, ReadCounts::default, sorting, |_| {})?;
    let mut all = ReadCounts { pairs: pairs.into_inner(), ..ReadCounts::default() };
    tallies.iter().for_each(|tally| all.add(tally));
    Ok(all)
}

/// Adds the pairs of the reads that consist of A, C, G and T alone; returns their number.
fn add<K: Kmer>(
    batch: &ReadBatch,
    k: usize,
    (open, parts): (&mut OpenBlocks<'_, '_>, usize),
) -> u64 {
    let (mut pairs, mut codes) = (0, Vec::<Base>::new());
    for read in batch.reads() {
        codes.clear();
        codes.extend(read.iter().map(|&letter| scan::code(letter)));
        if codes.iter().any(|&code| code > 3) {
            continue;
        }
        for pair in kmers::<K>(&codes, k + 1) {
            // All followers of a k-mer are in one part.
            let part = (pair.prefix().mixed() >> 20) as usize % parts;
            open.append(part, size_of::<K>(), |block| pair.put(block));
            pairs += 1;
        }
    }
    pairs
}
