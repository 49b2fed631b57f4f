//! Joins sequences whose ends belong together, each end to one other at most.

use std::hint::black_box;

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use crate::kernel::internal;
use crate::kernel::kmer::{Base, Kmer};
use crate::kernel::sequences::{
    Fragments, PathSummary, Paths, Sequences, orient, reverse_complement, rotate,
};

/// The left end of sequence `i` is `2 i`, the right end `2 i + 1`.
pub type End = u32;
/// No end.
pub const NOWHERE: End = End::MAX;
/// Most sequences whose ends have numbers.
pub const SEQUENCES_MAX: usize = (End::MAX / 2) as usize;

/// Sequences of a chain whose bases are asked of memory together.
const TOGETHER: usize = 16;

/// A sequence in a chain, and whether it is read backwards.
pub type Link = (usize, bool);

/// Calls `found` for each chain of sequences, with whether it is a circle. `partner` has the end
/// that each end is joined to; sequences for which `alive` is false are passed over.
pub fn chains(
    partner: &[End],
    alive: impl Fn(usize) -> bool,
    mut found: impl FnMut(&[Link], bool) -> Result<()>,
) -> Result<()> {
    let count = partner.len() / 2;
    let mut seen = vec![false; count];
    let mut chain = Vec::new();
    for circles in [false, true] {
        for start in 0..count {
            if seen[start] || !alive(start) {
                continue;
            }
            let free = |side: usize| partner[2 * start + side] == NOWHERE;
            if !circles && !free(0) && !free(1) {
                continue;
            }
            chain.clear();
            let (mut at, mut turned) = (start, !circles && !free(0));
            loop {
                seen[at] = true;
                chain.push((at, turned));
                let next = partner[2 * at + usize::from(!turned)];
                if next == NOWHERE || (next / 2) as usize == start {
                    break;
                }
                (at, turned) = ((next / 2) as usize, next % 2 == 1);
                if seen[at] {
                    return Err(internal("two chains meet"));
                }
            }
            found(&chain, circles)?;
        }
    }
    Ok(())
}

/// The bases of a chain whose neighbours share `overlap` bases; of a circle as many as it has
/// k-mers, then its first k - 1 again. In the one form that either strand gives.
fn joined<T>(
    from: &Sequences<'_, T>,
    chain: &[Link],
    (overlap, k, circular): (usize, usize, bool),
    codes: &mut Vec<Base>,
) {
    codes.clear();
    for links in chain.chunks(TOGETHER) {
        // They come at once then, and not one after the other.
        black_box(links.iter().fold(0, |all, &(index, _)| all ^ from.codes(index)[0]));
        for &(index, turned) in links {
            let piece = from.codes(index);
            let skip = if codes.is_empty() { 0 } else { overlap };
            if turned {
                codes.extend(reverse_complement(piece).skip(skip));
            } else {
                codes.extend_from_slice(&piece[skip..]);
            }
        }
    }
    if circular {
        codes.truncate(codes.len() - overlap);
        close(codes, k);
    } else {
        orient(codes);
    }
}

/// Turns the bases of a circle into its one form, and repeats its first k - 1.
fn close(codes: &mut Vec<Base>, k: usize) {
    rotate(codes);
    let count = codes.len();
    for place in 0..k - 1 {
        codes.push(codes[place % count]);
    }
}

/// Whether a fragment is the end of a chain whose other end is not before it; fills `chain`.
///
/// # Errors
/// A defect, where `partner` is not mutual.
pub fn is_first_of_chain(partner: &[End], start: usize, chain: &mut Vec<Link>) -> Result<bool> {
    let free = |side: usize| partner[2 * start + side] == NOWHERE;
    chain.clear();
    if !free(0) && !free(1) {
        return Ok(false);
    }
    let (mut at, mut turned) = (start, !free(0));
    loop {
        chain.push((at, turned));
        let next = partner[2 * at + usize::from(!turned)];
        if next == NOWHERE {
            return Ok(at >= start);
        }
        (at, turned) = ((next / 2) as usize, next % 2 == 1);
        if chain.len() > partner.len() {
            return Err(internal("two chains meet"));
        }
    }
}

/// Adds the unitig of a chain of fragments; neighbours share a k-mer.
///
/// # Errors
/// `Input` when it does not fit in the budget.
pub fn push_unitig(
    fragments: &Fragments<'_>,
    (chain, closed): (&[Link], bool),
    (k, codes): (usize, &mut Vec<Base>),
    paths: &mut Paths<'_>,
) -> Result<()> {
    let circular = closed || (chain.len() == 1 && fragments.facts(chain[0].0).circular);
    let overlap = if closed { k } else { k - 1 };
    if circular && !closed {
        joined(fragments, chain, (overlap, k, true), codes);
    } else {
        joined(fragments, chain, (k, k, circular), codes);
    }
    let joints = if closed { chain.len() } else { chain.len() - 1 };
    let twice: u64 = chain[..joints]
        .iter()
        .map(|&(index, turned)| {
            let piece = fragments.facts(index);
            u64::from(if turned { piece.first_count } else { piece.last_count })
        })
        .sum();
    let sum: u64 = chain.iter().map(|&(index, _)| fragments.facts(index).count_sum).sum();
    let merges = chain.iter().map(|&(index, _)| fragments.facts(index).merges).sum();
    paths.push(PathSummary { count_sum: sum - twice, circular, merges }, |all| {
        all.extend_from_slice(codes)
    })
}

/// Calls `take` for each open end of a fragment with the k-mer there.
pub fn open_ends<K: Kmer>(
    (fragments, index): (&Fragments<'_>, usize),
    k: usize,
    mut take: impl FnMut(K, End),
) {
    let (piece, codes) = (fragments.facts(index), fragments.codes(index));
    if piece.left_open {
        take(K::of(codes, k).canonical(k), 2 * index as End);
    }
    if piece.right_open {
        let last = &codes[codes.len() - k..];
        take(K::of(last, k).canonical(k), 2 * index as End + 1);
    }
}

/// Calls `take` for each two ends that are open at the same k-mer; sorts them.
///
/// # Errors
/// A defect, where an end is alone, or three are together.
pub fn pair_up<K: Kmer>(open: &mut [(K, End)], mut take: impl FnMut(End, End)) -> Result<()> {
    open.sort_unstable();
    for pair in open.chunks(2) {
        match *pair {
            [(one_kmer, one), (two_kmer, two)] if one_kmer == two_kmer => take(one, two),
            _ => return Err(internal("an open end has no counterpart")),
        }
    }
    Ok(())
}

/// Joins paths that share k - 1 bases, where `partner` says so; those not `alive` are left out.
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
    let mut codes = Vec::new();
    chains(
        partner,
        |index| alive[index],
        |chain, closed| {
            let alone = chain.len() == 1 && !closed;
            let circular = closed || paths.facts(chain[0].0).circular;
            if alone {
                codes.clear();
                codes.extend_from_slice(paths.codes(chain[0].0));
            } else {
                joined(paths, chain, (k - 1, k, closed), &mut codes);
            }
            let count_sum = chain.iter().map(|&(index, _)| paths.facts(index).count_sum).sum();
            let merges = chain.iter().map(|&(index, _)| paths.facts(index).merges).sum();
            merged.push(PathSummary { count_sum, circular, merges }, |all| {
                all.extend_from_slice(&codes)
            })
        },
    )?;
    Ok(merged)
}
