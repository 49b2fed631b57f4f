//! Bridges between contigs. Where a read, or the two reads of a pair, are on different contigs, and
//! exactly one path between these is as long as the insert, that path is a bridge. Contigs and
//! bridges then make a graph of longer k-mers than reads have.

mod continuations;
pub mod inserts;
pub mod joins;
pub mod place;
pub mod scaffolds;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::Context;
use cuesta_runtime::parallel;
use serde::{Deserialize, Serialize};

use self::inserts::Inserts;
use crate::kernel::depth::Depth;
use crate::kernel::glue::End;
use crate::kernel::libraries::{Ends, Library};
use crate::kernel::path_search::{self, PathStep, Steps};
use crate::kernel::placements::Placements;
use crate::kernel::sequences::Sequences;
use crate::kernel::simplify::PathGraph;

/// Fewest pairs from which the insert size is taken.
const PAIRS_MIN: u64 = 1000;
/// Fewest pairs for a bridge, and the fewest as a part of those of the most crossed bridge at its
/// ends.
const SUPPORT_MIN: u64 = 3;
const SUPPORT_PART: u64 = 10;
/// Searches of a thread between two checks for a stop.
const SEARCHED: usize = 64;
/// Longest k-mer of contigs and bridges.
const SPANNED_MAX: usize = 255;
/// Longest k-mer of contigs and bridges as a part of the insert size.
const SPAN_PART: f64 = 0.6;

/// Kind of a sequence whose k-mers are solid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolidKind {
    /// A contig.
    Contig,
    /// A contig, or one of its ends, with the bases that follow it in the graph without a choice.
    Continuation,
    /// Contigs that reads or read pairs join.
    Bridge,
}

impl SolidKind {
    /// Returns the last word of the name of such a sequence, after a space.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Contig => "",
            Self::Continuation => " continuation",
            Self::Bridge => " bridge",
        }
    }
}

/// Facts about a sequence whose k-mers are solid.
#[derive(Clone, Copy, Debug)]
pub struct SolidFacts {
    /// Count that its k-mers have at least.
    pub weight: u16,
    /// Kind of the sequence.
    pub kind: SolidKind,
}

/// Sequences whose k-mers are solid.
pub type SolidSequences<'a> = Sequences<'a, SolidFacts>;

/// Results from read pairs; of several libraries, those with the shortest inserts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PairFacts {
    /// Median insert size, in bases.
    pub insert: f64,
    /// Standard deviation of the insert size, from quantiles.
    pub deviation: f64,
    /// Pairs with both reads on one path.
    pub pairs: u64,
    /// Number of bridges.
    pub bridges: u64,
}

/// Solid sequences at a size of k-mers.
pub struct Bridged<'a> {
    /// Bases in a k-mer.
    pub k: usize,
    /// Contigs and bridges.
    pub solid: SolidSequences<'a>,
    /// Results from read pairs, if there are enough.
    pub pair_facts: Option<PairFacts>,
}

/// Returns the solid sequences at the `next` size of k-mers, or at the size that read pairs allow,
/// from the positions of reads and pairs; `None` where that size is not larger than the graph's, or
/// there is no evidence.
///
/// # Errors
/// `Input` when it does not fit in the budget.
pub fn bridged<'a>(
    context: &Context<'a>,
    graph: &PathGraph<'_>,
    mut placements: Placements,
    (next, depth): (Option<usize>, Depth),
) -> Result<Option<Bridged<'a>>> {
    placements.libraries.retain(|library| library.pairs() >= PAIRS_MIN);
    let facts = placements.libraries.first().map(Library::facts);
    let size_for =
        |insert: f64| (((insert * SPAN_PART) as usize).saturating_sub(1) | 1).min(SPANNED_MAX);
    let Some(longer) = next.or(facts.map(|facts| size_for(facts.insert))) else { return Ok(None) };
    if longer <= graph.k || facts.is_none() && placements.spans.is_empty() {
        return Ok(None);
    }
    let weight = |path: usize| match next {
        Some(_) => 0,
        None => {
            let kmers = graph.paths.codes(path).len() + 1 - graph.k;
            weight(depth, graph.paths.facts(path).count_sum, kmers)
        }
    };
    let mut solid = match next {
        Some(next) => continued_contigs(graph, context.budget, next)?,
        None => contigs(graph, context.budget, longer, weight)?,
    };
    let spanned = path_search::spanned(graph, &placements.spans);
    let mut bridges: Vec<(Ends, Vec<PathStep>)> = Vec::new();
    for (ends, joint) in &spanned {
        bridges.push((*ends, vec![PathStep { entered: ends.1, joint: joint.clone() }]));
    }
    if !placements.libraries.is_empty() {
        let bytes = path_search::weak_bytes(graph);
        let _lease = context.budget.take(bytes, "where contigs may overlap")?;
        let weak = path_search::weak(graph, &spanned);
        let mut done = BTreeSet::new();
        for library in &placements.libraries {
            bridges.extend(by_pairs(context, (graph, &weak), library, &mut done)?);
        }
    }
    if next.is_none() {
        bridges.retain(|bridge| !continuations::leaves_circle(graph, bridge));
    }
    for ((from, to), path) in &bridges {
        let codes = path_search::spelled(graph, *from, path, longer + graph.k);
        let weight = [from, to].map(|end| weight((end / 2) as usize));
        let facts = SolidFacts { weight: weight[0].min(weight[1]), kind: SolidKind::Bridge };
        solid.push(facts, |all| all.extend_from_slice(&codes))?;
    }
    if next.is_none() {
        continuations::add_passed_by(graph, longer, (&bridges, weight), &mut solid)?;
    }
    let pair_facts = facts.map(|facts| PairFacts {
        insert: facts.insert,
        deviation: facts.deviation,
        pairs: facts.pairs,
        bridges: bridges.len() as u64,
    });
    Ok(Some(Bridged { k: longer, solid, pair_facts }))
}

/// Finds paths that the pairs of a library show between ends that are not `done`, and adds their
/// ends to `done`.
fn by_pairs(
    context: &Context<'_>,
    (graph, weak): (&PathGraph<'_>, &Steps),
    library: &Library,
    done: &mut BTreeSet<Ends>,
) -> Result<Vec<(Ends, Vec<PathStep>)>> {
    let (inserts, deviation) = (Inserts::of(library, graph), library.deviation());
    let across: BTreeMap<_, _> = library.across.iter().map(|(&ends, &sums)| (ends, sums)).collect();
    let mut most: HashMap<End, u64> = HashMap::new();
    for (&(left, right), &(pairs, _)) in &across {
        for end in [left, right] {
            let before = most.entry(end).or_insert(0);
            *before = pairs.max(*before);
        }
    }
    let mut searches = Vec::new();
    for (&(left, right), &(pairs, bases)) in &across {
        let enough = SUPPORT_MIN.max(most[&left].max(most[&right]) / SUPPORT_PART);
        if pairs < enough || done.contains(&(left, right)) {
            continue;
        }
        searches.push(((left, right), (pairs, bases)));
    }
    let search = |results: &mut Vec<(Ends, Vec<PathStep>)>, task: usize| {
        for &(ends, (pairs, bases)) in searches.iter().skip(task * SEARCHED).take(SEARCHED) {
            let shared = Inserts::shared(graph, ends);
            let gap = inserts.gap(bases as f64 / pairs as f64, shared) as f64;
            let slack = deviation / 2.0 + 3.0 * deviation / (pairs as f64).sqrt() + 5.0;
            let range = ((gap - slack) as i64, (gap + slack) as i64);
            let path = path_search::only_path(graph, weak, ends, range);
            results.extend(path.map(|path| (ends, path)));
        }
        context.progress.advance(0)
    };
    let (threads, tasks) = (context.request.threads, searches.len().div_ceil(SEARCHED));
    let bridges = parallel::run(threads, tasks, Vec::new, search, |_| {})?;
    let mut bridges: Vec<_> = bridges.into_iter().flatten().collect();
    bridges.sort_unstable_by_key(|(ends, _)| *ends);
    done.extend(bridges.iter().map(|(ends, _)| *ends));
    Ok(bridges)
}

/// Returns all paths of a graph, then their continuations, for the `next` size of k-mers, at which
/// k-mers of reads are counted.
///
/// # Errors
/// `Input` when they do not fit in the budget.
pub fn continued_contigs<'a>(
    graph: &PathGraph<'_>,
    budget: &'a Budget,
    next: usize,
) -> Result<SolidSequences<'a>> {
    let mut solid = contigs(graph, budget, next, |_| 0)?;
    continuations::add(graph, next, &mut solid)?;
    Ok(solid)
}

/// Returns all paths of a graph, each with a weight. A circle is continued from its end until it
/// has as many k-mers of size `next` as of the graph's size.
///
/// # Errors
/// `Input` when they do not fit in the budget.
fn contigs<'a>(
    graph: &PathGraph<'_>,
    budget: &'a Budget,
    next: usize,
    weight: impl Fn(usize) -> u16,
) -> Result<SolidSequences<'a>> {
    let mut solid = SolidSequences::new(budget, "contigs and bridges");
    for index in 0..graph.paths.len() {
        let codes = graph.paths.codes(index);
        let kmers = codes.len() + 1 - graph.k;
        let wraps = graph.paths.facts(index).circular;
        let bases = if wraps { kmers + next - 1 } else { codes.len() };
        solid.push(SolidFacts { weight: weight(index), kind: SolidKind::Contig }, |all| {
            all.extend((0..bases).map(|place| codes[if wraps { place % kmers } else { place }]));
        })?;
    }
    Ok(solid)
}

/// Returns the depth of a path as a count of its k-mers.
pub fn weight(depth: Depth, count_sum: u64, kmers: usize) -> u16 {
    depth.of(count_sum, kmers).round().clamp(1.0, f64::from(u16::MAX)) as u16
}
