//! Search of a graph for paths from one contig to another.

use std::collections::{BTreeSet, HashMap};

use crate::kernel::glue::End;
use crate::kernel::kmer::kmers;
use crate::kernel::kmer::{Base, Kmer, KmerMap};
use crate::kernel::libraries::Ends;
use crate::kernel::placements::{Joint, OVERLAP_MIN, Spans};
use crate::kernel::sequences::reverse_complement;
use crate::kernel::simplify::PathGraph;

/// Steps that a search visits before it gives up.
const STEPS_MAX: usize = 400;
/// Ends that share a k-mer before it counts as a repeat, which would join anything.
const ENDS_MAX: usize = 16;
/// Bytes of a k-mer at an end in the map that finds it.
const PLACE_BYTES: u64 = 40;
/// Reads that must agree how two paths meet whose k-mers do not, and the least part of all reads
/// across both ends that must agree.
const READS_MIN: u64 = 2;
const READS_PART: f64 = 0.7;
/// Like `READS_MIN`, where neither path continues elsewhere or is joined to anything else.
pub const READS_ALONE_MIN: u32 = 1;

/// A path that is entered, and its joint with the path before.
#[derive(Clone, Debug)]
pub struct PathStep {
    /// End by which the path is entered.
    pub entered: End,
    /// Joint with the path before.
    pub joint: Joint,
}

/// Steps that are not links of the graph, by the end that is left.
pub type Steps = KmerMap<End, Vec<PathStep>>;

/// Joins ends without links where reads cross them: too few reads for solid k-mers, but exact ones.
pub fn spanned(graph: &PathGraph<'_>, spans: &Spans) -> Vec<(Ends, Joint)> {
    let mut partners: HashMap<End, usize> = HashMap::new();
    for end in spans.keys().flat_map(|&(first, second)| [first, second]) {
        *partners.entry(end).or_insert(0) += 1;
    }
    let is_dead_end = |end: End| graph.links.after(end).is_empty();
    let mut joined = Vec::new();
    for (&(first, second), joints) in spans {
        let ends = [first, second];
        if !ends.into_iter().any(is_dead_end) {
            continue;
        }
        let is_alone = ends.into_iter().all(|end| is_dead_end(end) && partners[&end] == 1);
        let enough = if is_alone { u64::from(READS_ALONE_MIN) } else { READS_MIN };
        let all: u64 = joints.values().sum();
        let best = joints.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        let Some((joint, &reads)) = best else { continue };
        let agree = reads >= enough && reads as f64 >= READS_PART * all as f64;
        let fits = match joint {
            Joint::Shared(bases) => shares(graph, first, second, *bases),
            Joint::Between(_) => true,
        };
        if agree && fits {
            joined.push(((first, second), joint.clone()));
        }
    }
    joined.sort();
    joined
}

/// Returns whether the last bases of the path left by `left` are the first of the path entered by
/// `entered`.
fn shares(graph: &PathGraph<'_>, left: End, entered: End, bases: usize) -> bool {
    // The bases next to an end, as they read from a left end on.
    let next_to = |end: End| {
        let codes = graph.paths.codes((end / 2) as usize);
        if end.is_multiple_of(2) {
            codes.get(..bases)
        } else {
            codes.get(codes.len().checked_sub(bases)?..)
        }
    };
    let (Some(last), Some(first)) = (next_to(left), next_to(entered)) else { return false };
    // Two ends of one kind are on different strands, since one is left and one is entered.
    if left % 2 == entered % 2 {
        reverse_complement(last).eq(first.iter().copied())
    } else {
        last == first
    }
}

/// Returns the approximate bytes that [`weak`] takes: a map entry for most bases of each end.
pub fn weak_bytes(graph: &PathGraph<'_>) -> u64 {
    (2 * graph.paths.len() * graph.k) as u64 * PLACE_BYTES
}

/// Collects weak steps: those that reads show, in both directions, and overlaps of [`OVERLAP_MIN`]
/// to k - 2 bases, the longest for any two ends.
pub fn weak(graph: &PathGraph<'_>, spanned: &[(Ends, Joint)]) -> Steps {
    let mut all_steps = overlaps(graph);
    for ((first, second), joint) in spanned {
        for (left, entered) in [(*first, *second), (*second, *first)] {
            let joint = match joint {
                Joint::Between(bases) if left != *first => {
                    Joint::Between(reverse_complement(bases).collect())
                }
                other => other.clone(),
            };
            let steps = all_steps.entry(left).or_default();
            steps.retain(|step| step.entered != entered);
            steps.push(PathStep { entered, joint });
        }
    }
    all_steps
}

fn overlaps(graph: &PathGraph<'_>) -> Steps {
    let ends = 0..2 * graph.paths.len() as End;
    // Map from the last k-mer to its ends: smaller than a map of the first k-mers.
    let mut left_by: KmerMap<u64, Vec<End>> = KmerMap::default();
    for end in ends.clone() {
        let last = graph.last(end, OVERLAP_MIN);
        if last.len() == OVERLAP_MIN {
            left_by.entry(u64::of(&last, OVERLAP_MIN)).or_default().push(end);
        }
    }
    let mut steps_by_end: Steps =
        left_by.values().flatten().map(|&end| (end, Vec::new())).collect();
    for entered in ends {
        let first = graph.first(entered, graph.k - 2);
        for (place, kmer) in kmers::<u64>(&first, OVERLAP_MIN).enumerate() {
            let shared = place + OVERLAP_MIN;
            let ends = left_by.get(&kmer).map_or(&[][..], Vec::as_slice);
            for &end in ends.iter().filter(|_| ends.len() <= ENDS_MAX) {
                if entered != end && shares(graph, end, entered, shared) {
                    let steps = steps_by_end.entry(end).or_default();
                    // The step before, if it enters the same end, has a shorter overlap.
                    steps.pop_if(|step| step.entered == entered);
                    if !repeats_itself(&first[..shared]) {
                        steps.push(PathStep { entered, joint: Joint::Shared(shared) });
                    }
                }
            }
        }
    }
    steps_by_end
}

/// Returns whether an overlap also fits with fewer bases: it begins with its last bases, at least
/// [`OVERLAP_MIN`] of them or half of all, as in the copies of a tandem repeat.
pub fn repeats_itself(overlap: &[Base]) -> bool {
    let least = OVERLAP_MIN.min(overlap.len().div_ceil(2));
    (1..=overlap.len() - least).any(|shift| overlap[shift..] == overlap[..overlap.len() - shift])
}

/// A visited step of the search, and the step before it.
struct Visited<'s> {
    before: Option<usize>,
    entered: End,
    /// Joint with the path before; `None` for a link of the graph.
    joint: Option<&'s Joint>,
}

/// Result of a search for paths.
enum SearchResult {
    /// No path is in the range.
    None,
    /// The only path in the range.
    Only(Vec<PathStep>),
    /// Several paths, one that could be several, or more steps than are visited.
    Several,
}

/// Returns the steps from the path that the first end leaves to the one that the second enters.
/// The bases between these two, negative where they overlap, are in the range. By links of the
/// graph; `weak` steps count only where links find nothing. `None` where there is no such way, are
/// several, or the search takes too many steps.
pub fn only_path(
    graph: &PathGraph<'_>,
    weak: &Steps,
    ends: Ends,
    range: (i64, i64),
) -> Option<Vec<PathStep>> {
    let mut result = search(graph, None, ends, range);
    if matches!(result, SearchResult::None) {
        result = search(graph, Some(weak), ends, range);
    }
    match result {
        SearchResult::Only(path) => Some(path),
        _ => None,
    }
}

/// Searches for the paths between two ends, by links and `weak` steps.
fn search(
    graph: &PathGraph<'_>,
    weak: Option<&Steps>,
    (from, to): Ends,
    (least, most): (i64, i64),
) -> SearchResult {
    let mut visited: Vec<Visited<'_>> = Vec::new();
    let mut arrivals: Vec<usize> = Vec::new();
    let mut open: Vec<(Option<usize>, i64)> = vec![(None, 0)];
    while let Some((before, bases)) = open.pop() {
        let left = before.map_or(from, |last| visited[last].entered ^ 1);
        let links = graph.links.after(left).iter().map(|&entered| (entered, None));
        let weak = weak.and_then(|all| all.get(&left)).map_or(&[][..], Vec::as_slice);
        let weak = weak.iter().map(|step| (step.entered, Some(&step.joint)));
        for (entered, joint) in links.chain(weak) {
            if visited.len() == STEPS_MAX {
                return SearchResult::Several;
            }
            let number = visited.len();
            visited.push(Visited { before, entered, joint });
            let bases = bases + joint.map_or(1 - graph.k as i64, bases_of);
            if entered == to && (least..=most).contains(&bases) {
                arrivals.push(number);
            }
            let bases = bases + graph.paths.codes((entered / 2) as usize).len() as i64;
            if bases - graph.k as i64 <= most {
                open.push((Some(number), bases));
            }
        }
    }
    let last = match arrivals[..] {
        [] => return SearchResult::None,
        [only] => only,
        _ => return SearchResult::Several,
    };
    let steps = std::iter::successors(Some(&visited[last]), |step| Some(&visited[step.before?]));
    let mut path: Vec<PathStep> = steps
        .map(|step| PathStep {
            entered: step.entered,
            joint: step.joint.cloned().unwrap_or(Joint::Shared(graph.k - 1)),
        })
        .collect();
    path.reverse();
    if enters_twice(from, &path) { SearchResult::Several } else { SearchResult::Only(path) }
}

/// Returns whether steps from the path left by `from` enter a path twice. They go around a circle
/// of the graph, as the copies of a tandem repeat are, and could do so any number of times.
fn enters_twice(from: End, steps: &[PathStep]) -> bool {
    let Some((last, between)) = steps.split_last() else { return false };
    let entered: BTreeSet<End> = between.iter().map(|step| step.entered).collect();
    entered.len() < between.len()
        || entered.contains(&last.entered)
        || entered.contains(&(from ^ 1))
}

/// Returns the bases that a joint adds; negative where bases are shared.
fn bases_of(joint: &Joint) -> i64 {
    match joint {
        Joint::Shared(bases) => -(*bases as i64),
        Joint::Between(bases) => bases.len() as i64,
    }
}

/// Returns the bases of a path that begins in the path left by `from`, with at most `most` bases of
/// its first and its last path.
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
