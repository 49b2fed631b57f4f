//! Searches a graph for paths from one contig to another.

use std::collections::HashMap;

use crate::kernel::glue::End;
use crate::kernel::kmer::kmers;
use crate::kernel::kmer::{Base, Kmer, KmerMap};
use crate::kernel::placements::{Ends, Joint, OVERLAP_MIN, Spans};
use crate::kernel::sequences::reverse_complement;
use crate::kernel::simplify::PathGraph;

/// Paths that are looked at for a way before it is given up.
const STEPS_MAX: usize = 400;
/// Bytes of a k-mer at an end and of the map that finds it.
const PLACE_BYTES: u64 = 40;
/// Reads that show how two paths meet whose k-mers do not, and their part of all that join both.
const READS_MIN: u64 = 2;
const READS_PART: f64 = 0.7;
/// The same where both paths go on nowhere, and are joined to nothing else.
pub const READS_ALONE_MIN: u32 = 1;

/// A path that is entered, and how it meets the one before.
#[derive(Clone, Debug)]
pub struct PathStep {
    /// The end by which it is entered.
    pub entered: End,
    /// How it meets the path before.
    pub joint: Joint,
}

impl PathStep {
    /// Bases that this joint adds.
    fn bases(&self) -> i64 {
        match &self.joint {
            Joint::Shared(bases) => -(*bases as i64),
            Joint::Between(bases) => bases.len() as i64,
        }
    }
}

/// By the end that is left, steps that are no links of the graph.
pub type Steps = HashMap<End, Vec<PathStep>>;

/// Where a path that no link leaves goes on by what reads say: too few for k-mers, but exact.
pub fn spanned(graph: &PathGraph<'_>, spans: &Spans) -> Vec<(Ends, Joint)> {
    let mut partners: HashMap<End, usize> = HashMap::new();
    for end in spans.keys().flat_map(|&(one, two)| [one, two]) {
        *partners.entry(end).or_insert(0) += 1;
    }
    let goes_nowhere = |end: End| graph.links.after(end).is_empty();
    let mut found = Vec::new();
    for (&(one, two), joints) in spans {
        let ends = [one, two];
        if !ends.into_iter().any(goes_nowhere) {
            continue;
        }
        let is_alone = ends.into_iter().all(|end| goes_nowhere(end) && partners[&end] == 1);
        let enough = if is_alone { u64::from(READS_ALONE_MIN) } else { READS_MIN };
        let all: u64 = joints.values().sum();
        let best = joints.iter().max_by(|one, two| one.1.cmp(two.1).then(two.0.cmp(one.0)));
        let Some((joint, &reads)) = best else { continue };
        let agree = reads >= enough && reads as f64 >= READS_PART * all as f64;
        let fits = match joint {
            Joint::Shared(bases) => shares(graph, one, two, *bases),
            Joint::Between(_) => true,
        };
        if agree && fits {
            found.push(((one, two), joint.clone()));
        }
    }
    found.sort();
    found
}

/// Whether the last bases of the path left by `left` are the first of the one entered by `entered`.
fn shares(graph: &PathGraph<'_>, left: End, entered: End, bases: usize) -> bool {
    let last = graph.last(left, bases);
    last.len() == bases && last == graph.first(entered, bases)
}

/// Bytes that [`weak`] takes, about: a place in a map for most bases of every end.
pub fn weak_bytes(graph: &PathGraph<'_>) -> u64 {
    (2 * graph.paths.len() * graph.k) as u64 * PLACE_BYTES
}

/// Steps by what reads say, in both directions, and by overlaps of [`OVERLAP_MIN`] to k - 2 bases,
/// of two ends the longest one.
pub fn weak(graph: &PathGraph<'_>, spanned: &[(Ends, Joint)]) -> Steps {
    let mut found = overlaps(graph);
    for ((one, two), joint) in spanned {
        for (left, entered) in [(*one, *two), (*two, *one)] {
            let joint = match joint {
                Joint::Between(bases) if left != *one => {
                    Joint::Between(reverse_complement(bases).collect())
                }
                other => other.clone(),
            };
            let steps = found.entry(left).or_default();
            steps.retain(|step| step.entered != entered);
            steps.push(PathStep { entered, joint });
        }
    }
    found
}

fn overlaps(graph: &PathGraph<'_>) -> Steps {
    let ends = 0..2 * graph.paths.len() as End;
    // Of each end the k-mer that is left last: fewer than those with which others begin.
    let mut left_by: KmerMap<u64, Vec<End>> = KmerMap::default();
    for end in ends.clone() {
        let last = graph.last(end, OVERLAP_MIN);
        if last.len() == OVERLAP_MIN {
            left_by.entry(u64::of(&last, OVERLAP_MIN)).or_default().push(end);
        }
    }
    let mut found: Steps = left_by.values().flatten().map(|&end| (end, Vec::new())).collect();
    for entered in ends {
        let first = graph.first(entered, graph.k - 2);
        for (place, kmer) in kmers::<u64>(&first, OVERLAP_MIN).enumerate() {
            let shared = place + OVERLAP_MIN;
            for &end in left_by.get(&kmer).map_or(&[][..], Vec::as_slice) {
                if entered != end && shares(graph, end, entered, shared) {
                    let steps = found.entry(end).or_default();
                    // One of fewer bases was found just before.
                    steps.retain(|step| step.entered != entered);
                    steps.push(PathStep { entered, joint: Joint::Shared(shared) });
                }
            }
        }
    }
    found
}

/// The one way from the path left by `from` to the one entered by `to` whose paths in between have
/// `range` bases more than they share with their neighbours; none where there are several.
pub fn only_path(
    graph: &PathGraph<'_>,
    weak: Option<&Steps>,
    (from, to): Ends,
    (least, most): (i64, i64),
) -> Option<Vec<PathStep>> {
    let mut found: Vec<Vec<PathStep>> = Vec::new();
    let mut visited = 0;
    let mut open: Vec<(Vec<PathStep>, i64)> = vec![(Vec::new(), 0)];
    while let Some((path, bases)) = open.pop() {
        let left = path.last().map_or(from, |step| step.entered ^ 1);
        let link = |&entered: &End| PathStep { entered, joint: Joint::Shared(graph.k - 1) };
        let weak = weak.and_then(|all| all.get(&left)).map_or(&[][..], Vec::as_slice);
        for step in graph.links.after(left).iter().map(link).chain(weak.iter().cloned()) {
            visited += 1;
            if visited > STEPS_MAX {
                return None;
            }
            let entered = step.entered;
            let bases = bases + step.bases();
            let mut further = path.clone();
            further.push(step);
            if entered == to && (least..=most).contains(&bases) {
                found.push(further.clone());
            }
            let bases = bases + graph.paths.codes((entered / 2) as usize).len() as i64;
            if bases - graph.k as i64 <= most {
                open.push((further, bases));
            }
        }
    }
    found.sort_by_key(Vec::len);
    match &found[..] {
        [_] => found.pop(),
        [one, two, ..] if one.len() < two.len() && one.len() == 1 => Some(found.swap_remove(0)),
        _ => None,
    }
}

/// The bases of a way that begins in the path left by `from`, of its first and last path at most
/// `most` each.
pub fn spelled(graph: &PathGraph<'_>, from: End, path: &[PathStep], most: usize) -> Vec<Base> {
    let mut codes = graph.last(from, most);
    for (place, step) in path.iter().enumerate() {
        let most = if place + 1 == path.len() { most } else { usize::MAX };
        let next = graph.first(step.entered, most);
        let start = match &step.joint {
            Joint::Shared(bases) => *bases,
            Joint::Between(bases) => {
                codes.extend_from_slice(bases);
                0
            }
        };
        codes.extend_from_slice(&next[start.min(next.len())..]);
    }
    codes
}
