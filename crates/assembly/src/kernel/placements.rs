//! Positions of reads and of pairs of reads on the paths of a graph.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::anchors::{Anchors, Located};
use super::depth::Depth;
use super::glue::End;
use super::kmer::Base;
use super::libraries::{self, Ends, Library, Orientation};
use super::sequences::reverse_complement;
use super::simplify::PathGraph;

/// Fewest bases that two paths share where only pairs show that they meet.
pub const OVERLAP_MIN: usize = 31;
/// A read that begins and ends on one path goes around a circle only if the path is this many times
/// longer than the read.
const AROUND_TIMES: i64 = 2;

/// Reads across two ends, as a multiple of the depth of the paths and by how many more, from which
/// on they are not of these paths alone: each has anchors on both sides, so most of those that lie
/// over a place do not count.
const CROWDED_TIMES: f64 = 1.0;
const CROWDED_MORE: f64 = 10.0;

/// Joint between two consecutive paths: bases that they share, or bases in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Joint {
    /// Number of last bases of the first path that are the first bases of the second.
    Shared(usize),
    /// Bases in between.
    Between(Vec<Base>),
}

/// Reads across two ends, by the joint that they show. The ends are on two paths, or are the end
/// and the start of a circular one.
pub type Spans = HashMap<Ends, HashMap<Joint, u64>>;

/// Evidence of reads and read pairs for joints between paths.
#[derive(Default, Serialize, Deserialize)]
pub struct Placements {
    /// Evidence of pairs, by source until they are [`grouped`](Self::grouped), then by library.
    pub libraries: Vec<Library>,
    /// Evidence of reads that cross from one path to another.
    pub spans: Spans,
}

impl Placements {
    /// Adds a read that crosses from one path to another, if its bases at the joint are theirs. The
    /// positions are that of the read on the first path, and that of its reverse complement on the
    /// second.
    pub fn add_span(
        &mut self,
        (graph, anchors): (&PathGraph<'_>, &Anchors<'_>),
        read: &[Base],
        (first, second): (Located, Located),
    ) {
        let bases = read.len() as i64;
        if first.end / 2 == second.end / 2 {
            let is_around = first.end != second.end
                && anchors.length(first.end / 2) > AROUND_TIMES * bases
                && first.left + second.left <= AROUND_TIMES * bases;
            if !is_around {
                return;
            }
        }
        let gap = bases - first.left - second.left;
        let near = |place: i64| (0..=bases).contains(&place).then_some(place as usize);
        let Some((end, start)) = near(first.left).zip(near(first.left + gap)) else { return };
        let before = end.checked_sub(OVERLAP_MIN).map(|from| &read[from..end]);
        let after = read.get(start..start + OVERLAP_MIN);
        if before != Some(&graph.last(first.end, OVERLAP_MIN))
            || after != Some(&graph.first(second.end, OVERLAP_MIN))
        {
            return;
        }
        let joint = if start <= end {
            Joint::Shared(end - start)
        } else {
            let between = &read[end..start];
            // An ambiguous base in the read leaves the bases of the gap unknown.
            if between.iter().any(|&base| base > 3) {
                return;
            }
            if first.end < second.end {
                Joint::Between(between.to_vec())
            } else {
                Joint::Between(reverse_complement(between).collect())
            }
        };
        let ends = (first.end.min(second.end), first.end.max(second.end));
        *self.spans.entry(ends).or_default().entry(joint).or_insert(0) += 1;
    }

    /// Creates empty evidence for sources of these orientations.
    pub fn of_sources(orientations: &[Orientation]) -> Self {
        let libraries = orientations.iter().copied().map(Library::new).collect();
        Self { libraries, ..Self::default() }
    }

    /// Groups sources that are alike into libraries.
    #[must_use]
    pub fn grouped(mut self) -> Self {
        self.libraries = libraries::grouped(self.libraries);
        self
    }

    /// Adds the evidence of `other`, which has the same libraries in the same order.
    pub fn merge(&mut self, other: Self) {
        for (library, more) in self.libraries.iter_mut().zip(other.libraries) {
            library.merge(more);
        }
        for (ends, joints) in other.spans {
            let all = self.spans.entry(ends).or_default();
            for (joint, reads) in joints {
                *all.entry(joint).or_insert(0) += reads;
            }
        }
    }
}

/// Returns the ends across which far more reads lie than over either path: they are from the copies
/// of a repeat in which both paths end.
pub fn crowded(graph: &PathGraph<'_>, spans: &Spans, depth: Depth) -> BTreeSet<Ends> {
    let of = |end: End| {
        let path = (end / 2) as usize;
        depth.of(graph.paths.facts(path).count_sum, graph.kmers(path))
    };
    let is_crowded = |&(&(left, right), joints): &(&Ends, &HashMap<Joint, u64>)| {
        let reads: u64 = joints.values().sum();
        reads as f64 > CROWDED_TIMES * of(left).max(of(right)) + CROWDED_MORE
    };
    spans.iter().filter(is_crowded).map(|(&ends, _)| ends).collect()
}
