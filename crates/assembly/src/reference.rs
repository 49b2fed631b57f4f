//! Unitigs by their definition, from one map of all solid k-mers: the reference for tests of the
//! fast implementation.

use std::collections::HashSet;

use crate::kernel::kmer::{Base, Kmer, KmerMap, KmerSet};
use crate::kernel::sequences::{orient, reverse_complement, rotate};

/// A unitig: its bases in canonical form, the sum of the counts of its k-mers, and whether it is a
/// circle.
pub type Unitig = (Vec<Base>, u64, bool);

/// The solid k-mers of a graph with their counts, in canonical form.
pub type Solid<K> = KmerMap<K, u32>;

/// Returns all unitigs, in the order of their bases.
pub fn unitigs<K: Kmer>(solid: &Solid<K>, k: usize) -> Vec<Unitig> {
    let is_solid = |kmer: &K| solid.contains_key(&kmer.canonical(k));
    let mut visited = KmerSet::default();
    let mut unitigs = Vec::new();
    for &start in solid.keys() {
        if visited.contains(&start) {
            continue;
        }
        let mut path = vec![start];
        let mut circular = false;
        while let Some(next) = only_after(is_solid, path[path.len() - 1], k) {
            circular = next == start;
            if circular {
                break;
            }
            path.push(next);
        }
        if !circular {
            let turned = |kmer: &K| kmer.reverse_complement(k);
            path = path.iter().rev().map(turned).collect();
            while let Some(next) = only_after(is_solid, path[path.len() - 1], k) {
                path.push(next);
            }
        }
        visited.extend(path.iter().map(|kmer| kmer.canonical(k)));
        let sum = path.iter().map(|kmer| u64::from(solid[&kmer.canonical(k)])).sum();
        unitigs.push((spelled(&path, k, circular), sum, circular));
    }
    unitigs.sort();
    unitigs
}

/// Returns the bases of a path in canonical form.
fn spelled<K: Kmer>(path: &[K], k: usize, circular: bool) -> Vec<Base> {
    let mut codes: Vec<Base> = path.iter().map(|kmer| kmer.last_but(k - 1)).collect();
    if circular {
        rotate(&mut codes);
        let count = codes.len();
        (0..k - 1).for_each(|place| codes.push(codes[place % count]));
    } else {
        let last = path[path.len() - 1];
        codes.extend((0..k - 1).rev().map(|index| last.last_but(index)));
        orient(&mut codes);
    }
    codes
}

/// Returns the k-mer that follows if it is the only one, and if no other k-mer comes before it.
pub fn only_after<K: Kmer>(is_solid: impl Fn(&K) -> bool, kmer: K, k: usize) -> Option<K> {
    let junction = kmer.suffix(k);
    if junction == junction.reverse_complement(k - 1) {
        return None;
    }
    let mut after = (0..4).map(|base| kmer.append(base, k)).filter(&is_solid);
    let next = after.next()?;
    if after.next().is_some() {
        return None;
    }
    let before = (0..4).map(|base| next.prepend(base, k)).filter(&is_solid).count();
    (before == 1).then_some(next)
}

/// Returns the links of paths that share k - 1 bases, by comparing all pairs of ends: for tests.
pub fn links(paths: &[Vec<Base>], k: usize) -> HashSet<(usize, usize)> {
    let out = |end: usize| -> Vec<Base> {
        let codes = &paths[end / 2];
        if end % 2 == 1 {
            codes[codes.len() + 1 - k..].to_vec()
        } else {
            reverse_complement(&codes[..k - 1]).collect()
        }
    };
    let mut links = HashSet::new();
    for left in 0..2 * paths.len() {
        for entered in 0..2 * paths.len() {
            if out(left) == reverse_complement(&out(entered)).collect::<Vec<_>>() {
                links.insert((left, entered));
            }
        }
    }
    links
}
