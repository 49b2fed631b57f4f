//! Joins sequences at their ends; an end has at most one partner.

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::cpu::prefetch;

use crate::kernel::fragments::Fragments;
use crate::kernel::internal;
use crate::kernel::kmer::{Base, Kmer};
use crate::kernel::sequences::{
    PathSummary, Paths, SequenceSource, orient, reverse_complement, rotate,
};

/// An end of a sequence: the left end of sequence `i` is `2 i`, its right end `2 i + 1`.
pub type End = u32;
/// No end.
pub const NOWHERE: End = End::MAX;
/// Most sequences whose ends can be numbered.
pub const SEQUENCES_MAX: usize = (End::MAX / 2) as usize;

/// Sequences of a chain whose bases are prefetched together.
const TOGETHER: usize = 16;

/// A sequence in a chain, and whether it is reversed.
pub type Link = (usize, bool);

/// Calls `take` for each chain of sequences, with whether it is circular. `partner` maps each end
/// to the end that it is joined to; sequences for which `alive` is false are skipped.
pub fn chains(
    partner: &[End],
    alive: impl Fn(usize) -> bool,
    mut take: impl FnMut(&[Link], bool) -> Result<()>,
) -> Result<()> {
    let count = partner.len() / 2;
    let mut visited = vec![false; count];
    let mut chain = Vec::new();
    for circles in [false, true] {
        for start in 0..count {
            if visited[start] || !alive(start) {
                continue;
            }
            let free = |side: usize| partner[2 * start + side] == NOWHERE;
            if !circles && !free(0) && !free(1) {
                continue;
            }
            chain.clear();
            let (mut at, mut turned) = (start, !circles && !free(0));
            loop {
                visited[at] = true;
                chain.push((at, turned));
                let next = partner[2 * at + usize::from(!turned)];
                if next == NOWHERE || (next / 2) as usize == start {
                    break;
                }
                (at, turned) = ((next / 2) as usize, next % 2 == 1);
                if visited[at] {
                    return Err(internal("two chains meet"));
                }
            }
            take(&chain, circles)?;
        }
    }
    Ok(())
}

/// Buffers for the bases of a chain and of one of its sequences.
#[derive(Default)]
pub struct ChainCodes {
    all: Vec<Base>,
    sequence: Vec<Base>,
}

/// A chain, and whether its last sequence is joined to its first one.
type Chain<'l> = (&'l [Link], bool);

/// Fills `codes` with the bases of a chain whose neighbours share `overlap` bases, in the canonical
/// form that does not depend on the strand. A circle has as many bases as k-mers, followed by its
/// first k - 1 bases again.
fn joined(
    from: &impl SequenceSource,
    (chain, closed): Chain<'_>,
    (overlap, k): (usize, usize),
    codes: &mut ChainCodes,
) -> Result<PathSummary> {
    let ChainCodes { all, sequence } = codes;
    all.clear();
    let (mut path, mut last_count) =
        (PathSummary { circular: closed, ..PathSummary::default() }, 0);
    let mut first_count = 0;
    for links in chain.chunks(TOGETHER) {
        // Prefetched together, their cache misses overlap.
        for &(index, _) in links {
            from.prefetch(index);
        }
        for &(index, turned) in links {
            sequence.clear();
            let piece = from.read(index, sequence)?;
            path.count_sum += piece.count_sum;
            path.merges += piece.merges;
            let piece = if turned { piece.turned() } else { piece };
            let skip = if all.is_empty() {
                first_count = piece.first_count;
                path.circular |= piece.circular;
                0
            } else {
                // The shared k-mer is counted in both sequences.
                path.count_sum -= u64::from(last_count);
                overlap
            };
            last_count = piece.last_count;
            if turned {
                all.extend(reverse_complement(sequence).skip(skip));
            } else {
                all.extend_from_slice(&sequence[skip..]);
            }
        }
    }
    if closed {
        path.count_sum -= u64::from(first_count);
        all.truncate(all.len() - overlap);
        close(all, k);
    } else if path.circular {
        all.truncate(all.len() + 1 - k);
        close(all, k);
    } else {
        orient(all);
    }
    Ok(path)
}

/// Rotates the bases of a circle into its canonical form, and appends its first k - 1 bases.
fn close(codes: &mut Vec<Base>, k: usize) {
    rotate(codes);
    repeat_first(codes, k);
}

/// Appends the first k - 1 bases of a circle.
pub fn repeat_first(codes: &mut Vec<Base>, k: usize) {
    let count = codes.len();
    for place in 0..k - 1 {
        codes.push(codes[place % count]);
    }
}

/// Fills `chains` with the chains that start at `starts`, sequences with a free end. All chains
/// grow by a link at a time, so that their cache misses overlap. A chain whose other end has a
/// smaller number is left empty: it starts there.
///
/// # Errors
/// A defect, where `partner` is not mutual.
pub fn chains_from(partner: &[End], starts: &[usize], chains: &mut Vec<Vec<Link>>) -> Result<()> {
    chains.resize_with(starts.len(), Vec::new);
    for (chain, &start) in chains.iter_mut().zip(starts) {
        chain.clear();
        chain.push((start, partner[2 * start] != NOWHERE));
    }
    let mut growing: Vec<usize> = (0..starts.len()).collect();
    let mut links = 0;
    while !growing.is_empty() {
        growing.retain(|&index| {
            let chain = &mut chains[index];
            let (at, turned) = chain[chain.len() - 1];
            let next = partner[2 * at + usize::from(!turned)];
            if next == NOWHERE {
                if at < starts[index] {
                    chain.clear();
                }
                return false;
            }
            chain.push(((next / 2) as usize, next % 2 == 1));
            prefetch(partner, next as usize);
            true
        });
        links += 1;
        if links > partner.len() {
            return Err(internal("two chains meet"));
        }
    }
    Ok(())
}

/// Adds the unitig of a chain of fragments; neighbours share a k-mer.
///
/// # Errors
/// `Input` when the unitig does not fit in the budget.
pub fn push_unitig(
    fragments: &Fragments<'_>,
    chain: Chain<'_>,
    (k, codes): (usize, &mut ChainCodes),
    paths: &mut Paths<'_>,
) -> Result<()> {
    let path = joined(fragments, chain, (k, k), codes)?;
    paths.push(path, |all| all.extend_from_slice(&codes.all))
}

/// Calls `take` for each open end of a fragment with the k-mer at that end.
///
/// # Errors
/// A defect, where the fragment has no k-mer.
pub fn open_ends<K: Kmer>(
    (fragments, index): (&Fragments<'_>, usize),
    (k, codes): (usize, &mut Vec<Base>),
    mut take: impl FnMut(K, End),
) -> Result<()> {
    let piece = fragments.ends(index, k, codes)?;
    if piece.left_open {
        take(K::of(codes, k).canonical(k), 2 * index as End);
    }
    if piece.right_open {
        take(K::of(&codes[codes.len() - k..], k).canonical(k), 2 * index as End + 1);
    }
    Ok(())
}

/// Sorts `open` and calls `take` for each two ends that are open at the same k-mer.
///
/// # Errors
/// A defect, where an end has no counterpart, or three share a k-mer.
pub fn pair_up<K: Kmer>(open: &mut [(K, End)], mut take: impl FnMut(End, End)) -> Result<()> {
    open.sort_unstable();
    for pair in open.chunks(2) {
        match *pair {
            [(first_kmer, first), (second_kmer, second)] if first_kmer == second_kmer => {
                take(first, second)
            }
            _ => return Err(internal("an open end has no counterpart")),
        }
    }
    Ok(())
}

/// Joins paths that share k - 1 bases at the ends in `partner`; paths not `alive` are left out.
///
/// # Errors
/// `Input` when the new paths do not fit in the budget.
pub fn merge<'a>(
    paths: &Paths<'_>,
    partner: &[End],
    alive: &[bool],
    (k, budget): (usize, &'a Budget),
) -> Result<Paths<'a>> {
    let mut merged = Paths::new(budget, "the contigs");
    merged.reserve(paths.len(), paths.bases());
    let mut codes = ChainCodes::default();
    chains(
        partner,
        |index| alive[index],
        |chain, closed| match *chain {
            [(alone, _)] if !closed => merged.push(*paths.facts(alone), |all| {
                all.extend_from_slice(paths.codes(alone));
            }),
            _ => {
                let path = joined(paths, (chain, closed), (k - 1, k), &mut codes)?;
                merged.push(path, |all| all.extend_from_slice(&codes.all))
            }
        },
    )?;
    Ok(merged)
}
