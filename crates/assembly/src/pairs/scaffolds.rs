//! Scaffolds: contigs in the order that read pairs show, with the path of the graph between two of
//! them, or a gap of the length that the pairs imply.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuesta_core::Result;
use cuesta_core::job::Context;

use super::PAIRS_MIN;
use super::inserts::Inserts;
use crate::kernel::depth::Depth;
use crate::kernel::glue::End;
use crate::kernel::kmer::Base;
use crate::kernel::libraries::{Ends, Library, LibraryFacts};
use crate::kernel::path_search::{self, PathStep, Steps};
use crate::kernel::placements::{self, Joint, Placements};
use crate::kernel::sequences::{reverse_complement, rotate};
use crate::kernel::simplify::{PathGraph, REAL_PART};
use crate::kernel::single_copy::GraphDepth;
use crate::params::Profile;

/// Fewest pairs that join two contigs, and the fewest as a part of those to be expected.
const SUPPORT_MIN: u64 = 5;
const EXPECTED_PART: f64 = 0.2;
/// Least ratio of these pairs to the pairs of rival contigs at the same end.
const TIMES: u64 = 4;
/// Largest ratio of the depths of two joined contigs.
const DEEPER_MAX: f64 = 1.6;
/// Shortest gap that is written, in bases.
const GAP_MIN: i64 = 10;
/// A joined contig is longer than this quantile of the insert sizes.
const LONG_PART: f64 = 0.999;
/// Code of a base in a gap.
pub const ANY: Base = 4;

/// Connection of a contig of a scaffold with the one before.
#[derive(Clone, Debug)]
pub enum Seam {
    /// A joint of the graph.
    Joint(Joint),
    /// A gap of this many unknown bases.
    Gap(usize),
}

/// A contig of a scaffold.
#[derive(Clone, Debug)]
pub struct Part {
    /// End by which it is entered.
    pub entered: End,
    /// Connection with the contig before; `None` for the first one.
    pub joined: Option<Seam>,
    /// Whether it is on the path between two contigs that pairs join.
    pub is_between: bool,
}

/// A chain of contigs.
#[derive(Clone, Debug)]
pub struct Scaffold {
    /// The contigs.
    pub parts: Vec<Part>,
    /// Whether the last contig is followed by the first.
    pub circular: bool,
    /// Joint of the last contig with the first, for a circle of contigs that are not circles.
    pub closing: Option<Joint>,
}

/// Scaffolds of a graph.
pub struct Scaffolds {
    /// Scaffolds of more than one contig, and circles.
    pub chains: Vec<Scaffold>,
    /// Libraries from whose pairs they are made.
    pub libraries: Vec<LibraryFacts>,
}

/// A route from one contig to the next: the contigs in between, and the next one.
type Route = Vec<Part>;

/// Routes between contigs.
#[derive(Default)]
struct Routes {
    /// Routes by the end that they leave.
    by_end: BTreeMap<End, Route>,
    /// Ends with a route, and the paths to which other pairs lead from there, as many as from what
    /// the genome has once.
    elsewhere: BTreeSet<(End, usize)>,
}

impl Routes {
    /// Returns whether links or pairs lead out of a circle of these parts to a path that is as deep
    /// as what the genome has once. It would be one copy of a tandem repeat.
    fn leads_out(&self, graph: &PathGraph<'_>, parts: &[Part]) -> bool {
        let inside: BTreeSet<usize> =
            parts.iter().map(|part| (part.entered / 2) as usize).collect();
        let least = REAL_PART * graph.depth().single;
        let contigs = parts.iter().filter(|part| !part.is_between);
        contigs.flat_map(|part| [part.entered, part.entered ^ 1]).any(|end| {
            let linked = graph.links.after(end).iter().map(|&next| (next / 2) as usize);
            let by_pairs = self.elsewhere.range((end, 0)..(end + 1, 0)).map(|&(_, path)| path);
            let linked = linked.filter(|&path| graph.coverage(path) >= least);
            linked.chain(by_pairs).any(|path| !inside.contains(&path))
        })
    }
}

/// Finds the scaffolds of a graph from the pairs of all libraries, of which those with short
/// inserts come first; `None` where there are too few pairs.
///
/// # Errors
/// `Input` when the search does not fit in the budget.
pub fn find(
    context: &Context<'_>,
    graph: &PathGraph<'_>,
    mut placements: Placements,
    (profile, depth, repeats): (Profile, Depth, &BTreeSet<End>),
) -> Result<Option<Scaffolds>> {
    let crowded = placements::crowded(graph, &placements.spans, depth);
    placements.spans.retain(|ends, _| !crowded.contains(ends));
    placements.libraries.retain(|library| library.pairs() >= PAIRS_MIN);
    if placements.libraries.is_empty() {
        return Ok(None);
    }
    let spanned = path_search::spanned(graph, &placements.spans);
    let bytes = path_search::weak_bytes(graph);
    let _lease = context.budget.take(bytes, "where contigs may overlap")?;
    let mut weak = path_search::weak(graph, &spanned);
    for end in repeats {
        // Reads and overlaps are those of any two copies.
        if let Some(steps) = weak.get_mut(end) {
            steps.retain(|step| !repeats.contains(&step.entered));
        }
    }
    let is_even = profile != Profile::Metagenome;
    let (mut routes, depth) = (Routes::default(), graph.depth());
    for library in &placements.libraries {
        let inserts = Inserts::of(library, graph);
        let search = Search { graph, weak: &weak, crowded: &crowded, inserts, is_even, depth };
        search.add_routes(library, &mut routes);
    }
    let libraries = placements.libraries.iter().map(Library::facts).collect();
    Ok(Some(Scaffolds { chains: chains(graph, &routes), libraries }))
}

/// Search for the routes between contigs.
struct Search<'s, 'g> {
    graph: &'s PathGraph<'g>,
    weak: &'s Steps,
    /// Ends across which more reads lie than over the paths.
    crowded: &'s BTreeSet<Ends>,
    inserts: Inserts,
    /// Whether all contigs are about equally deep.
    is_even: bool,
    depth: GraphDepth,
}

impl Search<'_, '_> {
    /// Adds routes between ends of contigs, in both directions, where each is the only one at both
    /// ends; of two routes the one with more pairs. Ends with a route retain it.
    fn add_routes(&self, library: &Library, routes: &mut Routes) {
        let longest = library.quantile(LONG_PART) as usize;
        let is_long = |end: End| self.graph.paths.codes((end / 2) as usize).len() > longest;
        let mut across: Across = HashMap::new();
        for (&(left, right), &sums) in &library.across {
            across.entry(left).or_default().insert(right, sums);
            across.entry(right).or_default().insert(left, sums);
        }
        let mut candidates: Vec<(Ends, Sums)> = library
            .across
            .iter()
            .map(|(&ends, &sums)| (ends, sums))
            .filter(|&((left, right), (pairs, _))| {
                pairs >= SUPPORT_MIN
                    && is_long(left)
                    && is_long(right)
                    && self.are_alike(left, right)
                    && !self.crowded.contains(&(left, right))
            })
            .collect();
        candidates.sort_unstable_by_key(|&(ends, (pairs, _))| (Reverse(pairs), ends));
        for ((left, right), sums) in candidates {
            if [left, right].iter().any(|end| routes.by_end.contains_key(end)) {
                continue;
            }
            let Some(route) = self.route((left, right), sums) else { continue };
            let both = [(left, right), (right, left)];
            let rivals = both.map(|ends| rivals(&across, ends, &route));
            let pairs = |rivals: &Vec<(End, Sums)>| -> u64 {
                rivals.iter().map(|(_, (pairs, _))| pairs).sum()
            };
            if rivals.iter().all(|rivals| sums.0 >= TIMES * pairs(rivals)) {
                for ((end, _), rivals) in both.into_iter().zip(&rivals) {
                    let single = rivals
                        .iter()
                        .filter(|(rival, sums)| self.is_single_copy((end, *rival), *sums));
                    let elsewhere = single.map(|(rival, _)| (end, (rival / 2) as usize));
                    routes.elsewhere.extend(elsewhere);
                }
                routes.by_end.insert(right, turned(left, &route));
                routes.by_end.insert(left, route);
            }
        }
    }

    /// Returns whether as many pairs lead from one end to the other one as in a single copy of the
    /// genome.
    fn is_single_copy(&self, ends: Ends, (pairs, bases): Sums) -> bool {
        let shared = Inserts::shared(self.graph, ends);
        let gap = self.inserts.gap(bases as f64 / pairs as f64, shared);
        let expected = self.inserts.expected(gap, shared) * self.depth.single / self.depth.mean;
        pairs >= SUPPORT_MIN && pairs as f64 >= EXPECTED_PART * expected
    }

    /// Returns the expected number of pairs across a gap between two ends.
    fn expected(&self, (left, right): Ends, gap: i64, shared: [i64; 2]) -> f64 {
        let expected = self.inserts.expected(gap, shared);
        if self.is_even {
            return expected;
        }
        let [left, right] = [left, right].map(|end| self.graph.coverage((end / 2) as usize));
        expected * left.min(right) / self.depth.mean
    }

    /// Returns whether two contigs are about equally deep, so that neither is a repeat.
    fn are_alike(&self, left: End, right: End) -> bool {
        let [left, right] = [left, right].map(|end| self.graph.coverage((end / 2) as usize));
        left.max(right) <= DEEPER_MAX * left.min(right)
    }

    /// Returns the route between two ends, from the number of pairs and the sum of their bases to
    /// the ends.
    fn route(&self, (left, right): Ends, (pairs, bases): Sums) -> Option<Route> {
        let shared = Inserts::shared(self.graph, (left, right));
        let gap = self.inserts.gap(bases as f64 / pairs as f64, shared);
        if (pairs as f64) < EXPECTED_PART * self.expected((left, right), gap, shared) {
            return None;
        }
        let deviation = self.inserts.deviation;
        let slack = (deviation / 2.0 + 3.0 * deviation / (pairs as f64).sqrt()) as i64 + 5;
        let range = (gap - slack, gap + slack);
        match path_search::only_path(self.graph, self.weak, (left, right), range) {
            Some(path) => {
                let last = path.len() - 1;
                let part = |(place, step)| Part::of(step, place < last);
                Some(path.into_iter().enumerate().map(part).collect())
            }
            None if gap + slack < 0 => None,
            None => {
                let joined = Some(Seam::Gap(gap.max(GAP_MIN) as usize));
                Some(vec![Part { entered: right, joined, is_between: false }])
            }
        }
    }
}

impl Part {
    fn first(entered: End) -> Self {
        Self { entered, joined: None, is_between: false }
    }

    fn of(step: PathStep, is_between: bool) -> Self {
        Self { entered: step.entered, joined: Some(Seam::Joint(step.joint)), is_between }
    }
}

/// Pairs across two ends, and the sum of their bases to these.
type Sums = (u64, i64);

/// Pairs by both ends.
type Across = HashMap<End, BTreeMap<End, Sums>>;

/// Returns the pairs at the end `left` with each of the contigs that are neither on the route to
/// `right` nor, as far as pairs show, in the gap before it.
fn rivals(across: &Across, (left, right): Ends, route: &[Part]) -> Vec<(End, Sums)> {
    let is_inside = |rival: End| {
        route.iter().any(|part| part.entered / 2 == rival / 2)
            || across.get(&(rival ^ 1)).is_some_and(|after| after.contains_key(&right))
    };
    let rivals = across.get(&left).into_iter().flatten();
    let rivals = rivals.filter(|&(&end, _)| end != right && !is_inside(end));
    rivals.map(|(&end, &sums)| (end, sums)).collect()
}

/// Returns the reverse of a route that leaves `from`.
fn turned(from: End, route: &[Part]) -> Route {
    let before = |place: usize| if place == 0 { from } else { route[place - 1].entered ^ 1 };
    let turned = |joined: &Seam| match joined {
        Seam::Joint(Joint::Between(bases)) => {
            Seam::Joint(Joint::Between(reverse_complement(bases).collect()))
        }
        same => same.clone(),
    };
    (0..route.len())
        .rev()
        .map(|place| Part {
            entered: before(place),
            joined: route[place].joined.as_ref().map(turned),
            is_between: place > 0,
        })
        .collect()
}

/// Assembles scaffolds from the routes by the end that they leave; circles come after linear
/// scaffolds.
fn chains(graph: &PathGraph<'_>, all: &Routes) -> Vec<Scaffold> {
    let routes = &all.by_end;
    let mut is_done = std::collections::HashSet::new();
    let mut scaffolds = Vec::new();
    for is_circle in [false, true] {
        for &left in routes.keys() {
            let start = left ^ 1;
            if is_done.contains(&(start / 2)) || !is_circle && routes.contains_key(&start) {
                continue;
            }
            let mut parts = vec![Part::first(start)];
            let mut entered = start;
            let (mut circular, mut closing) = (false, None);
            is_done.insert(start / 2);
            while let Some(route) = routes.get(&(entered ^ 1)) {
                let Some(last) = route.last() else { break };
                entered = last.entered;
                if entered == start {
                    circular = !route.iter().any(|part| matches!(part.joined, Some(Seam::Gap(_))))
                        && !all.leads_out(graph, &[&parts[..], route].concat());
                    if circular {
                        parts.extend_from_slice(&route[..route.len() - 1]);
                        if let Some(Seam::Joint(joint)) = &last.joined {
                            closing = Some(joint.clone());
                        }
                    }
                    break;
                }
                is_done.insert(entered / 2);
                parts.extend_from_slice(route);
            }
            scaffolds.push(Scaffold { parts, circular, closing });
        }
    }
    scaffolds
}

impl Scaffold {
    /// Creates a scaffold of a single contig.
    pub fn alone(path: usize, circular: bool) -> Self {
        let parts = vec![Part::first(2 * path as End)];
        Self { parts, circular, closing: None }
    }

    /// Returns its bases, with [`ANY`] in gaps; a circle once around, in its canonical rotation.
    pub fn spelled(&self, graph: &PathGraph<'_>) -> Vec<Base> {
        let mut codes = Vec::new();
        for part in &self.parts {
            let mut shared = 0;
            match &part.joined {
                None => {}
                Some(Seam::Joint(Joint::Shared(bases))) => shared = *bases,
                Some(Seam::Joint(Joint::Between(bases))) => codes.extend_from_slice(bases),
                Some(Seam::Gap(bases)) => codes.resize(codes.len() + bases, ANY),
            }
            let next = graph.first(part.entered, usize::MAX);
            codes.extend_from_slice(&next[shared.min(next.len())..]);
        }
        if self.circular {
            match &self.closing {
                None => codes.truncate(codes.len() + 1 - graph.k),
                Some(Joint::Shared(bases)) => codes.truncate(codes.len().saturating_sub(*bases)),
                Some(Joint::Between(bases)) => codes.extend_from_slice(bases),
            }
            rotate(&mut codes);
        }
        codes
    }
}

/// Returns all sequences of `scaffolds.fa` with their bases: scaffolds, and contigs that are in
/// none, sorted by length, the longest first, then by bases.
pub fn with_contigs(graph: &PathGraph<'_>, scaffolds: &[Scaffold]) -> Vec<(Scaffold, Vec<Base>)> {
    let inside: std::collections::HashSet<End> = scaffolds
        .iter()
        .flat_map(|scaffold| &scaffold.parts)
        .map(|part| part.entered / 2)
        .collect();
    let alone = (0..graph.paths.len())
        .filter(|&path| !inside.contains(&(path as End)))
        .map(|path| Scaffold::alone(path, graph.paths.facts(path).circular));
    let mut all: Vec<(Scaffold, Vec<Base>)> = scaffolds
        .iter()
        .cloned()
        .chain(alone)
        .map(|scaffold| {
            let codes = scaffold.spelled(graph);
            (scaffold, codes)
        })
        .collect();
    all.sort_by(|(_, left), (_, right)| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
    all
}
