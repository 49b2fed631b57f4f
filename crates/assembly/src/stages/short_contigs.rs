//! Contigs that are shorter than the last k-mers, so that the last graph lacks them: they are added
//! to the output, unless longer contigs contain all of their k-mers.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use cuesta_core::budget::Budget;
use cuesta_core::{Error, Result};

use super::write::{before_file, sign};
use crate::kernel::depth::Depth;
use crate::kernel::glue::End;
use crate::kernel::kmer::{Base, Kmer, KmerMap, kmers, with_kmer};
use crate::kernel::links::Links;
use crate::kernel::scan;
use crate::kernel::sequences::{PathSummary, Paths};
use crate::kernel::simplify::PathGraph;
use crate::pairs::SolidKind;

/// Approximate bytes of a k-mer of a short contig in a map.
const KMER_BYTES: u64 = 64;

/// A contig of the size of k-mers before the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortContig {
    /// Its bases.
    pub codes: Vec<Base>,
    /// Its depth.
    pub weight: u64,
}

/// Ratio of depths from which on a contig is in more copies than a path: between one and two.
const COPIES_TIMES: f64 = 1.4;

/// Short contigs that are written after the paths of the last graph, and their links.
#[derive(Debug, Default)]
pub struct ShortContigs {
    /// Bases in a k-mer of the size before the last.
    pub k: usize,
    /// Short contigs, the longest first.
    pub all: Vec<ShortContig>,
    /// End that is left and end that is entered by each link; short contigs are numbered after
    /// paths.
    links: Vec<(End, End)>,
}

impl ShortContig {
    /// Returns its depth and the sum of the counts of its k-mers, of the size before the last. As
    /// for paths of the last graph, the count of a k-mer is the depth of its contig.
    pub fn measures(&self, k: usize) -> (f64, u64) {
        let kmers = self.codes.len() + 1 - k;
        let count_sum = self.weight.saturating_mul(kmers as u64);
        (Depth::counted().of(count_sum, kmers), count_sum)
    }
}

impl ShortContigs {
    /// Finds the short contigs for a graph; `folder` has the solid sequences, `k` is the size of
    /// k-mers before.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget; `System`.
    pub fn find(
        graph: &PathGraph<'_>,
        (folder, k): (&Path, usize),
        budget: &Budget,
    ) -> Result<Self> {
        let mut all = shorter(&folder.join(before_file(graph.k)), graph.k)?;
        let bytes: u64 = all.iter().map(|contig| contig.codes.len() as u64 * KMER_BYTES).sum();
        let _lease = budget.take(bytes, "contigs shorter than the last k-mers")?;
        let links = with_kmer!(k, K => {
            retain_absent::<K>(graph, &mut all, k);
            links::<K>(graph, &all, (k, budget))?
        });
        Ok(Self { k, all, links })
    }

    /// Returns the ends of paths of the graph that are linked to a short contig in more copies than
    /// the path: a repeat follows there, though the graph does not have it.
    pub fn ends_in_repeats(&self, graph: &PathGraph<'_>, depth: Depth) -> BTreeSet<End> {
        let paths = graph.paths.len();
        let both = self.links.iter().flat_map(|&(left, right)| [(left, right), (right, left)]);
        let is_repeat = |&(end, short): &(End, End)| {
            let [path, short] = [end, short].map(|end| (end / 2) as usize);
            path < paths && short >= paths && {
                let path = depth.of(graph.paths.facts(path).count_sum, graph.kmers(path));
                self.all[short - paths].weight as f64 > COPIES_TIMES * path
            }
        };
        both.filter(is_repeat).map(|(end, _)| end).collect()
    }

    /// Returns the lines of their links in `graph.gfa`.
    pub fn link_lines(&self) -> impl Iterator<Item = String> {
        self.links.iter().map(|&(left, entered)| {
            format!(
                "L\tcontig_{}\t{}\tcontig_{}\t{}\t{}M\n",
                left / 2 + 1,
                sign(left, true),
                entered / 2 + 1,
                sign(entered, false),
                self.k - 1
            )
        })
    }
}

/// Reads the contigs of a file that have less than `longest` bases.
///
/// # Errors
/// `Input` naming a record that is not a contig; `System`.
fn shorter(path: &Path, longest: usize) -> Result<Vec<ShortContig>> {
    let failed = |cause| Error::system("answer", "reading", path, &cause);
    let mut lines = BufReader::new(File::open(path).map_err(failed)?).lines();
    let mut contigs = Vec::new();
    while let Some(head) = lines.next().transpose().map_err(failed)? {
        let bases = lines.next().transpose().map_err(failed)?.unwrap_or_default();
        let is_contig = ![SolidKind::Bridge, SolidKind::Continuation]
            .iter()
            .any(|kind| head.ends_with(kind.mark()));
        if bases.len() >= longest || !is_contig {
            continue;
        }
        let weight = head.split(" weight=").nth(1).and_then(|weight| weight.parse().ok());
        let codes: Vec<Base> = bases.bytes().map(scan::code).collect();
        match weight {
            Some(weight) if codes.iter().all(|&code| code < 4) => {
                contigs.push(ShortContig { codes, weight });
            }
            _ => {
                let text = format!("{}: {head:?} is no contig", path.display());
                return Err(Error::input("answer", text));
            }
        }
    }
    Ok(contigs)
}

/// Retains the contigs that have a k-mer which no path of the graph has.
fn retain_absent<K: Kmer>(graph: &PathGraph<'_>, all: &mut Vec<ShortContig>, k: usize) {
    all.retain(|contig| contig.codes.len() >= k);
    let canonical = |kmer: K| kmer.canonical(k);
    let mut is_in_graph: KmerMap<K, bool> = KmerMap::default();
    for kmer in all.iter().flat_map(|contig| kmers::<K>(&contig.codes, k)) {
        is_in_graph.insert(canonical(kmer), false);
    }
    if is_in_graph.is_empty() {
        return;
    }
    for path in 0..graph.paths.len() {
        for kmer in kmers::<K>(graph.paths.codes(path), k) {
            if let Some(is_present) = is_in_graph.get_mut(&canonical(kmer)) {
                *is_present = true;
            }
        }
    }
    all.retain(|contig| kmers::<K>(&contig.codes, k).any(|kmer| !is_in_graph[&canonical(kmer)]));
}

/// Finds the links of short contigs to each other and to the ends of paths.
fn links<K: Kmer>(
    graph: &PathGraph<'_>,
    all: &[ShortContig],
    (k, budget): (usize, &Budget),
) -> Result<Vec<(End, End)>> {
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let mut ends = Paths::new(budget, "the ends of contigs");
    for path in 0..graph.paths.len() {
        let codes = graph.paths.codes(path);
        ends.push(PathSummary::default(), |into| {
            into.extend_from_slice(&codes[..k]);
            into.extend_from_slice(&codes[codes.len() - k..]);
        })?;
    }
    for contig in all {
        ends.push(PathSummary::default(), |into| into.extend_from_slice(&contig.codes))?;
    }
    let first = graph.paths.len();
    let is_short = |end: End| (end / 2) as usize >= first;
    let is_open = |end: End| is_short(end) || !graph.paths.facts((end / 2) as usize).circular;
    let mut links = Vec::new();
    Links::find::<K>(&ends, k, budget)?.each(|left, entered| {
        let is_wanted = is_short(left) || is_short(entered);
        if is_wanted && is_open(left) && is_open(entered) {
            links.push((left, entered));
        }
    });
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::reverse_complement;
    use cuesta_core::random::Stream;

    #[test]
    fn contigs_within_longer_ones_are_dropped_and_the_rest_is_linked() {
        let stream = Stream::new(3, 0);
        let drawn: Vec<Base> = (0..400).map(|place| (stream.bits(place) & 3) as Base).collect();
        let letters = |codes: &[Base]| -> String {
            codes.iter().map(|&base| char::from(b"ACGT"[usize::from(base)])).collect()
        };
        let folder = tempfile::tempdir().unwrap();
        // Bases 100 to 150 follow the only path; 20 to 60 are in it, on the reverse strand.
        let inside: Vec<Base> = reverse_complement(&drawn[20..60]).collect();
        let text = format!(
            ">0 weight=9\n{}\n>1 weight=7\n{}\n>2 weight=5\n{}\n>3 weight=5 bridge\n{}\n",
            letters(&drawn[0..120]),
            letters(&drawn[100..150]),
            letters(&inside),
            letters(&drawn[200..260]),
        );
        std::fs::write(folder.path().join(before_file(91)), text).unwrap();
        let budget = Budget::new(1 << 20);
        let mut paths = Paths::new(&budget, "a test");
        paths.push(PathSummary::default(), |all| all.extend_from_slice(&drawn[..120])).unwrap();
        let graph = PathGraph::new::<crate::kernel::kmer::Wide<2>>(paths, 91, &budget).unwrap();
        let short = ShortContigs::find(&graph, (folder.path(), 21), &budget).unwrap();
        let expected = ShortContig { codes: drawn[100..150].to_vec(), weight: 7 };
        assert_eq!(short.all, [expected]);
        assert_eq!(short.all[0].measures(21), (7.0, 210));
        let lines: Vec<String> = short.link_lines().collect();
        assert_eq!(lines, ["L\tcontig_1\t+\tcontig_2\t+\t20M\n"]);
    }
}
