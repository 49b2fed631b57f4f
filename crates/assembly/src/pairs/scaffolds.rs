//! Scaffolds: contigs in the order in which read pairs have them, with what the graph has between
//! two of them, or a gap of the length that the pairs want.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use cuesta_core::Result;
use cuesta_core::job::Context;

use super::PAIRS_MIN;
use super::inserts::Inserts;
use crate::kernel::glue::End;
use crate::kernel::kmer::Base;
use crate::kernel::libraries::{Library, LibraryFacts};
use crate::kernel::path_search::{self, PathStep, Steps};
use crate::kernel::placements::{Ends, Joint, Placements};
use crate::kernel::sequences::{reverse_complement, rotate};
use crate::kernel::simplify::PathGraph;
use crate::params::Profile;

/// Pairs that join two contigs, and the part that they are at least of those to be expected.
const SUPPORT_MIN: u64 = 5;
const EXPECTED_PART: f64 = 0.2;
/// How many times the pairs with all others they are at least.
const TIMES: u64 = 4;
/// How much deeper one of two contigs may be.
const DEEPER_MAX: f64 = 1.6;
/// Shortest gap that is written.
const GAP_MIN: i64 = 10;
/// A contig that is joined is longer than what all but this part of the pairs span.
const LONG_PART: f64 = 0.999;
/// Stands for a base in a gap.
pub const ANY: Base = 4;

/// How a contig of a scaffold follows the one before.
#[derive(Clone, Debug)]
pub enum Seam {
    /// They meet.
    Joint(Joint),
    /// So many bases between them are not known.
    Gap(usize),
}

/// A contig of a scaffold, by the end by which it is entered.
#[derive(Clone, Debug)]
pub struct Part {
    /// The end.
    pub entered: End,
    /// How it follows the one before; of the first one, nothing.
    pub joined: Option<Seam>,
}

/// Contigs one after the other.
#[derive(Clone, Debug)]
pub struct Scaffold {
    /// The contigs.
    pub parts: Vec<Part>,
    /// The last one is followed by the first.
    pub circular: bool,
    /// Joint of the last contig and the first, of a circle of contigs that are no circles.
    pub closing: Option<Joint>,
}

/// What pairs make of the contigs of a graph.
pub struct Scaffolds {
    /// Those of more than one contig, and circles.
    pub chains: Vec<Scaffold>,
    /// The libraries whose pairs said so.
    pub libraries: Vec<LibraryFacts>,
}

/// A way from one contig to the next: parts in between, and the next one.
type Way = Vec<Part>;

/// The scaffolds of a graph by where pairs lie, those of all libraries, which span least first;
/// nothing where they say nothing.
///
/// # Errors
/// `Input` when what is searched does not fit in the budget.
pub fn found(
    context: &Context<'_>,
    graph: &PathGraph<'_>,
    mut placements: Placements,
    profile: Profile,
) -> Result<Option<Scaffolds>> {
    placements.libraries.retain(|library| library.pairs() >= PAIRS_MIN);
    if placements.libraries.is_empty() {
        return Ok(None);
    }
    let spanned = path_search::spanned(graph, &placements.spans);
    let bytes = path_search::weak_bytes(graph);
    let _lease = context.budget.take(bytes, "where contigs may overlap")?;
    let weak = path_search::weak(graph, &spanned);
    let is_even = profile != Profile::Metagenome;
    let mut ways = BTreeMap::new();
    for library in &placements.libraries {
        let inserts = Inserts::of(library, graph);
        Search { graph, weak: &weak, inserts, is_even }.add_ways(library, &mut ways);
    }
    let libraries = placements.libraries.iter().map(Library::facts).collect();
    Ok(Some(Scaffolds { chains: chains(&ways), libraries }))
}

/// What joins of contigs are judged by.
struct Search<'s, 'g> {
    graph: &'s PathGraph<'g>,
    weak: &'s Steps,
    inserts: Inserts,
    /// Contigs are about as deep as all are on average.
    is_even: bool,
}

impl Search<'_, '_> {
    /// Adds ways between contigs of which each is the only one at both its ends, in both
    /// directions; of two the one that more pairs show. Ends that have one keep it.
    fn add_ways(&self, library: &Library, found: &mut BTreeMap<End, Way>) {
        let longest = library.quantile(LONG_PART) as usize;
        let is_long = |end: End| self.graph.paths.codes((end / 2) as usize).len() > longest;
        let mut across: HashMap<End, BTreeMap<End, u64>> = HashMap::new();
        for (&(one, two), &(pairs, _)) in &library.across {
            across.entry(one).or_default().insert(two, pairs);
            across.entry(two).or_default().insert(one, pairs);
        }
        let mut wanted: Vec<(Ends, (u64, i64))> = library
            .across
            .iter()
            .map(|(&ends, &sums)| (ends, sums))
            .filter(|&((one, two), (pairs, _))| {
                pairs >= SUPPORT_MIN && is_long(one) && is_long(two) && self.are_alike(one, two)
            })
            .collect();
        wanted.sort_unstable_by_key(|&(ends, (pairs, _))| (Reverse(pairs), ends));
        for ((one, two), sums) in wanted {
            if [one, two].iter().any(|end| found.contains_key(end)) {
                continue;
            }
            let Some(way) = self.way((one, two), sums) else { continue };
            let others = others(&across, (one, two), &way).max(others(&across, (two, one), &way));
            if sums.0 >= TIMES * others {
                found.insert(two, turned(one, &way));
                found.insert(one, way);
            }
        }
    }

    /// Pairs to be expected across a gap between two ends.
    fn expected(&self, (one, two): Ends, gap: i64, shared: [i64; 2]) -> f64 {
        let expected = self.inserts.expected(gap, shared);
        if self.is_even {
            return expected;
        }
        let [one, two] = [one, two].map(|end| self.graph.coverage((end / 2) as usize));
        expected * one.min(two) / self.graph.mean_coverage()
    }

    /// Whether two contigs are about as deep, so that none is a repeat beside the other.
    fn are_alike(&self, one: End, two: End) -> bool {
        let [one, two] = [one, two].map(|end| self.graph.coverage((end / 2) as usize));
        one.max(two) <= DEEPER_MAX * one.min(two)
    }

    /// The way between two ends with so many pairs and bases to the ends.
    fn way(&self, (one, two): Ends, (pairs, bases): (u64, i64)) -> Option<Way> {
        let shared = Inserts::shared(self.graph, (one, two));
        let gap = self.inserts.gap(bases as f64 / pairs as f64, shared);
        if (pairs as f64) < EXPECTED_PART * self.expected((one, two), gap, shared) {
            return None;
        }
        let deviation = self.inserts.deviation;
        let slack = (deviation / 2.0 + 3.0 * deviation / (pairs as f64).sqrt()) as i64 + 5;
        let range = (gap - slack, gap + slack);
        let path = path_search::only_path(self.graph, None, (one, two), range)
            .or_else(|| path_search::only_path(self.graph, Some(self.weak), (one, two), range));
        match path {
            Some(path) => Some(path.into_iter().map(Part::of).collect()),
            None if gap + slack < 0 => None,
            None => {
                let joined = Some(Seam::Gap(gap.max(GAP_MIN) as usize));
                Some(vec![Part { entered: two, joined }])
            }
        }
    }
}

impl Part {
    fn of(step: PathStep) -> Self {
        Self { entered: step.entered, joined: Some(Seam::Joint(step.joint)) }
    }
}

/// Pairs at the end `one` with contigs that are neither on the way to `two` nor, as far as pairs
/// say, in the gap before it.
fn others(across: &HashMap<End, BTreeMap<End, u64>>, (one, two): Ends, way: &[Part]) -> u64 {
    let is_inside = |other: End| {
        way.iter().any(|part| part.entered / 2 == other / 2)
            || across.get(&(other ^ 1)).is_some_and(|after| after.contains_key(&two))
    };
    let met = across.get(&one).into_iter().flatten();
    met.filter(|&(&other, _)| other != two && !is_inside(other)).map(|(_, pairs)| pairs).sum()
}

/// The same way from its end to `from`, by which it was left.
fn turned(from: End, way: &[Part]) -> Way {
    let before = |place: usize| if place == 0 { from } else { way[place - 1].entered ^ 1 };
    let turned = |joined: &Seam| match joined {
        Seam::Joint(Joint::Between(bases)) => {
            Seam::Joint(Joint::Between(reverse_complement(bases).collect()))
        }
        other => other.clone(),
    };
    (0..way.len())
        .rev()
        .map(|place| Part {
            entered: before(place),
            joined: way[place].joined.as_ref().map(turned),
        })
        .collect()
}

/// Scaffolds by the ways from each end that is left; circles after those with ends.
fn chains(ways: &BTreeMap<End, Way>) -> Vec<Scaffold> {
    let mut is_done = std::collections::HashSet::new();
    let mut found = Vec::new();
    for is_circle in [false, true] {
        for &left in ways.keys() {
            let start = left ^ 1;
            if is_done.contains(&(start / 2)) || !is_circle && ways.contains_key(&start) {
                continue;
            }
            let mut parts = vec![Part { entered: start, joined: None }];
            let mut entered = start;
            let (mut circular, mut closing) = (false, None);
            is_done.insert(start / 2);
            while let Some(way) = ways.get(&(entered ^ 1)) {
                let Some(last) = way.last() else { break };
                entered = last.entered;
                if entered == start {
                    circular = !way.iter().any(|part| matches!(part.joined, Some(Seam::Gap(_))));
                    if circular {
                        parts.extend_from_slice(&way[..way.len() - 1]);
                        if let Some(Seam::Joint(joint)) = &last.joined {
                            closing = Some(joint.clone());
                        }
                    }
                    break;
                }
                is_done.insert(entered / 2);
                parts.extend_from_slice(way);
            }
            found.push(Scaffold { parts, circular, closing });
        }
    }
    found
}

impl Scaffold {
    /// A contig alone.
    pub fn alone(path: usize, circular: bool) -> Self {
        let parts = vec![Part { entered: 2 * path as End, joined: None }];
        Self { parts, circular, closing: None }
    }

    /// Its bases, [`ANY`] in gaps; those of a circle once around, in its one form.
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

/// All sequences of `scaffolds.fa` with their bases: scaffolds, and contigs that are in none; the
/// longest first, those of one length in the order of their bases.
pub fn with_contigs(graph: &PathGraph<'_>, scaffolds: &[Scaffold]) -> Vec<(Scaffold, Vec<Base>)> {
    let inside: std::collections::HashSet<End> =
        scaffolds.iter().flat_map(|one| &one.parts).map(|part| part.entered / 2).collect();
    let alone = (0..graph.paths.len())
        .filter(|&path| !inside.contains(&(path as End)))
        .map(|path| Scaffold::alone(path, graph.paths.facts(path).circular));
    let mut all: Vec<(Scaffold, Vec<Base>)> = scaffolds
        .iter()
        .cloned()
        .chain(alone)
        .map(|one| {
            let codes = one.spelled(graph);
            (one, codes)
        })
        .collect();
    all.sort_by(|(_, one), (_, two)| two.len().cmp(&one.len()).then_with(|| one.cmp(two)));
    all
}
