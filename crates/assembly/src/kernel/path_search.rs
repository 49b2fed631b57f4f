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
/// Ends that are left by one k-mer, before it is taken for a repeat, which joins anything.
const ENDS_MAX: usize = 16;
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

/// By the end that is left, steps that are no links of the graph.
pub type Steps = KmerMap<End, Vec<PathStep>>;

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
    // The bases next to an end, which are as they are read from a left end on.
    let next_to = |end: End| {
        let codes = graph.paths.codes((end / 2) as usize);
        if end.is_multiple_of(2) {
            codes.get(..bases)
        } else {
            codes.get(codes.len().checked_sub(bases)?..)
        }
    };
    let (Some(last), Some(first)) = (next_to(left), next_to(entered)) else { return false };
    // One end is left and one is entered, so two ends of one kind are on different strands.
    if left % 2 == entered % 2 {
        reverse_complement(last).eq(first.iter().copied())
    } else {
        last == first
    }
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
            let ends = left_by.get(&kmer).map_or(&[][..], Vec::as_slice);
            for &end in ends.iter().filter(|_| ends.len() <= ENDS_MAX) {
                if entered != end && shares(graph, end, entered, shared) {
                    let steps = found.entry(end).or_default();
                    // One of fewer bases was the last one that was found.
                    steps.pop_if(|step| step.entered == entered);
                    steps.push(PathStep { entered, joint: Joint::Shared(shared) });
                }
            }
        }
    }
    found
}

/// A step that is looked at, and the one before it.
struct Looked<'s> {
    before: Option<usize>,
    entered: End,
    /// Of a link, nothing.
    joint: Option<&'s Joint>,
    /// Steps up to this one.
    steps: usize,
}

/// The one way from the path left by `from` to the one entered by `to` whose paths in between have
/// `range` bases more than they share with their neighbours; none where there are several.
pub fn only_path(
    graph: &PathGraph<'_>,
    weak: Option<&Steps>,
    (from, to): Ends,
    (least, most): (i64, i64),
) -> Option<Vec<PathStep>> {
    let mut looked: Vec<Looked<'_>> = Vec::new();
    let mut found: Vec<usize> = Vec::new();
    let mut open: Vec<(Option<usize>, i64)> = vec![(None, 0)];
    while let Some((before, bases)) = open.pop() {
        let (left, steps) = before.map_or((from, 1), |last| {
            let step = &looked[last];
            (step.entered ^ 1, step.steps + 1)
        });
        let links = graph.links.after(left).iter().map(|&entered| (entered, None));
        let weak = weak.and_then(|all| all.get(&left)).map_or(&[][..], Vec::as_slice);
        let weak = weak.iter().map(|step| (step.entered, Some(&step.joint)));
        for (entered, joint) in links.chain(weak) {
            if looked.len() == STEPS_MAX {
                return None;
            }
            let number = looked.len();
            looked.push(Looked { before, entered, joint, steps });
            let bases = bases + joint.map_or(1 - graph.k as i64, bases_of);
            if entered == to && (least..=most).contains(&bases) {
                found.push(number);
            }
            let bases = bases + graph.paths.codes((entered / 2) as usize).len() as i64;
            if bases - graph.k as i64 <= most {
                open.push((Some(number), bases));
            }
        }
    }
    found.sort_by_key(|&last| looked[last].steps);
    let last = match found[..] {
        [one] => one,
        [one, two, ..] if looked[one].steps == 1 && looked[two].steps > 1 => one,
        _ => return None,
    };
    let steps = std::iter::successors(Some(&looked[last]), |step| Some(&looked[step.before?]));
    let mut path: Vec<PathStep> = steps
        .map(|step| PathStep {
            entered: step.entered,
            joint: step.joint.cloned().unwrap_or(Joint::Shared(graph.k - 1)),
        })
        .collect();
    path.reverse();
    Some(path)
}

/// Bases that a joint adds.
fn bases_of(joint: &Joint) -> i64 {
    match joint {
        Joint::Shared(bases) => -(*bases as i64),
        Joint::Between(bases) => bases.len() as i64,
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
