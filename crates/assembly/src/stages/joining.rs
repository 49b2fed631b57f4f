//! Joining of fragments into unitigs, with the threads of this process.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::pages::in_large_pages;
use cuesta_runtime::parallel::{self, lock};

use crate::kernel::fragments::Fragments;
use crate::kernel::glue::{self, ChainCodes, End, Link, NOWHERE};
use crate::kernel::internal;
use crate::kernel::kmer::{Base, Kmer, with_kmer};
use crate::kernel::sequences::Paths;
use crate::kernel::simplify::PathGraph;

/// Approximate number of tasks into which fragments are divided, and the least and most fragments
/// of each.
const TASKS: usize = 256;
const TASK_FRAGMENTS_MIN: usize = 16;
const TASK_FRAGMENTS_MAX: usize = 4096;
const PURPOSE: &str = "the unitigs";
/// Chains that a thread follows at the same time.
const CHAINS: usize = 32;
/// Parts of the open ends; a thread sorts a part at a time.
const PARTS: usize = 64;
/// Part of the free memory in which ends are sorted: all ends at once if they fit, else in passes.
const SORTED: u64 = 4;

/// Returns the graph of the unitigs of fragments.
///
/// # Errors
/// As for its parts: `Input` when they do not fit in the budget; `Defect`.
pub fn graph<'a>(
    fragments: Fragments<'_>,
    k: usize,
    (budget, threads): (&'a Budget, usize),
) -> Result<PathGraph<'a>> {
    with_kmer!(k, K => {
        let unitigs = unitigs::<K>(&fragments, k, (budget, threads))?;
        drop(fragments);
        PathGraph::new::<K>(unitigs.sorted(k, budget)?, k, budget)
    })
}

/// Joins fragments into unitigs: two fragments that are open at the same k-mer share it.
///
/// A chain is followed from the one of its two ends that comes first, and chains are added in the
/// order of these ends, so the result is the same for any number of threads.
///
/// # Errors
/// `Input` when the unitigs do not fit in the budget.
fn unitigs<'a, K: Kmer>(
    fragments: &Fragments<'_>,
    k: usize,
    (budget, threads): (&'a Budget, usize),
) -> Result<Paths<'a>> {
    let each_bytes = 2 * size_of::<End>() + size_of::<AtomicBool>();
    let purpose = "joining the fragments of unitigs";
    let _lease = budget.take((fragments.len() * each_bytes) as u64, purpose)?;
    let ends_bytes = (2 * fragments.len() * size_of::<(K, End)>()) as u64;
    let passes = ends_bytes.div_ceil((budget.free_bytes() / SORTED).max(1)).clamp(1, PARTS as u64);
    let partner = {
        let _lease = budget.take(ends_bytes / passes, purpose)?;
        partners::<K>(fragments, (k, passes as usize), threads)?
    };
    let visited = in_large_pages(fragments.len(), || AtomicBool::new(false));
    let tasks = fragments.len().div_ceil(task_fragments(fragments));
    let parts: Vec<Mutex<Option<Paths<'a>>>> = (0..tasks).map(|_| Mutex::default()).collect();
    let work = |worker: &mut (Vec<usize>, Vec<Vec<Link>>, ChainCodes), task: usize| {
        let (starts, chains, codes) = worker;
        let mut paths = Paths::part(budget, PURPOSE, tasks);
        // Most chains have been followed from their first end before.
        let mut all = fragments_of(task, fragments).filter(|&start| {
            let is_end = partner[2 * start] == NOWHERE || partner[2 * start + 1] == NOWHERE;
            is_end && !visited[start].load(Ordering::Relaxed)
        });
        loop {
            starts.clear();
            starts.extend(all.by_ref().take(CHAINS));
            if starts.is_empty() {
                break;
            }
            glue::chains_from(&partner, starts, chains)?;
            for chain in chains.iter().filter(|chain| !chain.is_empty()) {
                chain.iter().for_each(|&(index, _)| visited[index].store(true, Ordering::Relaxed));
                glue::push_unitig(fragments, (chain, false), (k, codes), &mut paths)?;
            }
        }
        *lock(&parts[task]) = Some(paths);
        Ok(())
    };
    parallel::run(threads, tasks, Default::default, work, |_| {})?;
    let parts: Vec<Paths<'a>> = parts.iter().filter_map(|part| lock(part).take()).collect();
    let mut paths = Paths::new(budget, PURPOSE);
    paths.reserve(parts.iter().map(Paths::len).sum(), parts.iter().map(Paths::bases).sum());
    parts.into_iter().try_for_each(|part| paths.append(part))?;
    // The remaining fragments are in circles.
    let is_remaining = |index: usize| !visited[index].load(Ordering::Relaxed);
    let mut codes = ChainCodes::default();
    glue::chains(&partner, is_remaining, |chain, closed| {
        glue::push_unitig(fragments, (chain, closed), (k, &mut codes), &mut paths)
    })?;
    Ok(paths)
}

fn fragments_of(task: usize, fragments: &Fragments<'_>) -> std::ops::Range<usize> {
    let first = task * task_fragments(fragments);
    first..fragments.len().min(first + task_fragments(fragments))
}

fn task_fragments(fragments: &Fragments<'_>) -> usize {
    (fragments.len() / TASKS).clamp(TASK_FRAGMENTS_MIN, TASK_FRAGMENTS_MAX)
}

/// Finds for each open end the end that is open at the same k-mer, in `passes` passes.
fn partners<K: Kmer>(
    fragments: &Fragments<'_>,
    (k, passes): (usize, usize),
    threads: usize,
) -> Result<Vec<End>> {
    if fragments.len() > glue::SEQUENCES_MAX {
        return Err(internal("more fragments than can be numbered"));
    }
    // All ends that are open at the same k-mer are in one part.
    let parts: Vec<Mutex<Vec<(K, End)>>> = (0..PARTS).map(|_| Mutex::default()).collect();
    let partner = in_large_pages(2 * fragments.len(), || AtomicU32::new(NOWHERE));
    let pairing = |_: &mut (), part: usize| {
        let mut open = std::mem::take(&mut *lock(&parts[part]));
        glue::pair_up(&mut open, |left, right| {
            partner[left as usize].store(right, Ordering::Relaxed);
            partner[right as usize].store(left, Ordering::Relaxed);
        })
    };
    let tasks = fragments.len().div_ceil(task_fragments(fragments));
    for pass in 0..passes {
        let dividing = |(open_ends, codes): &mut (Vec<Vec<_>>, Vec<Base>), task: usize| {
            open_ends.resize_with(PARTS, Vec::new);
            for index in fragments_of(task, fragments) {
                glue::open_ends((fragments, index), (k, codes), |kmer: K, end| {
                    let part = (kmer.mixed() >> 40) as usize % PARTS;
                    if part % passes == pass {
                        open_ends[part].push((kmer, end));
                    }
                })?;
            }
            open_ends
                .iter_mut()
                .zip(&parts)
                .for_each(|(open_ends, part)| lock(part).append(open_ends));
            Ok(())
        };
        parallel::run(threads, tasks, Default::default, dividing, |_| {})?;
        parallel::run(threads, PARTS, || (), pairing, |_| {})?;
    }
    Ok(partner.into_iter().map(AtomicU32::into_inner).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::{
        FragmentSummary, PathSummary, orient, reverse_complement, rotate,
    };
    use cuesta_core::random::Stream;

    const K: usize = 21;

    /// Returns sequences of random bases, and their fragments on either strand in random order.
    fn drawn(budget: &Budget, count: usize, seed: u64) -> (Vec<Vec<Base>>, Fragments<'_>) {
        let stream = Stream::new(seed, 0);
        let mut draws = 0;
        let mut draw = |bound| {
            draws += 1;
            stream.below(draws, bound)
        };
        let (mut sequences, mut pieces) = (Vec::new(), Vec::new());
        for index in 0..count {
            let is_circle = index % 5 == 4;
            let bases = 60 + draw(900) as usize;
            let mut codes: Vec<Base> = (0..bases).map(|_| draw(4) as Base).collect();
            let mut form = codes.clone();
            if is_circle {
                rotate(&mut form);
                form.extend_from_within(..K - 1);
                codes.extend_from_within(..K);
            } else {
                orient(&mut form);
            }
            sequences.push(form);
            let mut start = 0;
            while start + K < codes.len() || start == 0 {
                let next = (start + 1 + draw(60) as usize).min(codes.len() - K);
                let kmers = next - start + 1;
                let piece = FragmentSummary {
                    count_sum: kmers as u64,
                    first_count: 1,
                    last_count: 1,
                    left_open: is_circle || start > 0,
                    right_open: is_circle || next + K < codes.len(),
                    ..FragmentSummary::default()
                };
                pieces.push((draw(u64::MAX), piece, codes[start..next + K].to_vec()));
                start = next;
            }
        }
        pieces.sort_by_key(|piece| piece.0);
        let mut fragments = Fragments::none(budget);
        for (order, piece, codes) in pieces {
            if order % 2 == 0 {
                fragments.push(piece, |all| all.extend_from_slice(&codes)).unwrap();
            } else {
                let turned = reverse_complement(&codes);
                fragments.push(piece.turned(), |all| all.extend(turned)).unwrap();
            }
        }
        (sequences, fragments)
    }

    #[test]
    fn fragments_become_their_sequences_in_the_same_order_for_any_threads() {
        let budget = Budget::new(1 << 30);
        for (seed, count) in [(1, 0), (2, 1), (3, 5), (4, 200)] {
            let (mut sequences, fragments) = drawn(&budget, count, seed);
            let mut before: Option<Vec<(Vec<Base>, PathSummary)>> = None;
            for threads in [1, 2, 7] {
                let unitigs = super::unitigs::<u64>(&fragments, K, (&budget, threads)).unwrap();
                let paths: Vec<_> = (0..unitigs.len())
                    .map(|path| (unitigs.codes(path).to_vec(), *unitigs.facts(path)))
                    .collect();
                for (codes, facts) in &paths {
                    assert_eq!(facts.count_sum as usize, codes.len() + 1 - K);
                }
                assert!(before.replace(paths.clone()).is_none_or(|before| before == paths));
            }
            for passes in [2, 5, PARTS] {
                let partner = |passes| partners::<u64>(&fragments, (K, passes), 2).unwrap();
                assert_eq!(partner(passes), partner(1));
            }
            let mut paths: Vec<_> = before.unwrap().into_iter().map(|(codes, _)| codes).collect();
            paths.sort();
            sequences.sort();
            assert_eq!(paths, sequences);
        }
    }
}
