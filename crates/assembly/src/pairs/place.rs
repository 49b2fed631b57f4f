//! Places reads and pairs of reads on the paths of a graph.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_runtime::parallel;

use crate::kernel::anchors::{Anchors, Located, Seeds};
use crate::kernel::kmer::{Base, complement};
use crate::kernel::libraries::{Orientation, OrientationCounts, PlacedRead};
use crate::kernel::placements::Placements;
use crate::kernel::scan;
use crate::kernel::simplify::PathGraph;
use cuesta_input::reads::{Pairing, ReadBatch, Reads};

/// Pairs on one path that tell how reads lie to each other, and pairs that are looked at for that.
const COUNTED_ENOUGH: u64 = 1000;
const LOOKED_AT_MAX: usize = 200_000;
/// Reads that are placed together: both of each pair.
const TOGETHER: usize = 64;

/// Places reads, of pairs one after the other, some at a time, so that what they need of memory
/// comes at once.
pub struct Placer<'p, 'g, 'a> {
    graph: &'p PathGraph<'g>,
    anchors: &'p Anchors<'a>,
    /// The bases of those that wait, and where each ends in them.
    codes: Vec<Base>,
    ends: Vec<(usize, Seeds)>,
    /// Reads that leave the path that they are on, and the other strands of their bases.
    leaving: Vec<(Range<usize>, Located, Seeds)>,
    turned: Vec<Base>,
}

impl<'p, 'g, 'a> Placer<'p, 'g, 'a> {
    /// On the paths of a graph, by their anchors.
    pub fn new(graph: &'p PathGraph<'g>, anchors: &'p Anchors<'a>) -> Self {
        let (codes, turned, ends, leaving) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { graph, anchors, codes, ends, leaving, turned }
    }

    /// Adds a read of a source; of pairs, the two reads one after the other. All are placed after
    /// [`Placer::settle`].
    pub fn add(&mut self, read: &[u8], source: usize, into: &mut Placements) {
        let start = self.codes.len();
        scan::put_codes(read, &mut self.codes);
        let seeds = self.anchors.seeds(&self.codes[start..]);
        self.ends.push((self.codes.len(), seeds));
        if self.ends.len() == TOGETHER {
            self.settle(source, into);
        }
    }

    /// Places those that wait, which are of one source.
    pub fn settle(&mut self, source: usize, into: &mut Placements) {
        let Self { graph, anchors, codes, ends, leaving, turned } = self;
        let (mut start, mut mate) = (0, None);
        for (index, (end, seeds)) in ends.drain(..).enumerate() {
            let (read, bases) = (&codes[start..end], (end - start) as i64);
            let found = anchors.locate(read, &seeds);
            if let Some(at) = found.filter(|at| at.left < bases) {
                let from = turned.len();
                let turn = |&code: &Base| if code > 3 { code } else { complement(code) };
                turned.extend(read.iter().rev().map(turn));
                leaving.push((start..end, at, anchors.seeds(&turned[from..])));
            }
            let placed = found.map(|at| PlacedRead { at, bases });
            if index % 2 == 0 {
                mate = placed;
            } else if let Some((one, two)) = mate.take().zip(placed)
                && let Some(library) = into.libraries.get_mut(source)
            {
                library.add(anchors, one, two);
            }
            start = end;
        }
        let mut rest = &turned[..];
        for (read, one, seeds) in leaving.drain(..) {
            let (other, after) = rest.split_at(read.len());
            if let Some(two) = anchors.locate(other, &seeds) {
                into.add_span((*graph, *anchors), &codes[read], (one, two));
            }
            rest = after;
        }
        codes.clear();
        turned.clear();
    }
}

/// Places all reads of the inputs, by the threads of this process.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn place(
    context: &Context<'_>,
    graph: &PathGraph<'_>,
    (reads, pairing): (&Reads, Pairing),
) -> Result<Placements> {
    let anchors = Anchors::new(&graph.paths, context.budget)?;
    let orientations = orientations(reads, pairing, &anchors)?;
    let work = |placements: &mut Placements, _: usize| {
        let placer = Placer::new(graph, &anchors);
        let advance = |bytes| context.progress.advance(bytes);
        each_read(reads, (placer, None), placements, advance)
    };
    let threads = context.request.threads;
    let none_yet = || Placements::of_sources(&orientations);
    let mut workers = parallel::run(threads, threads, none_yet, work, |_| {})?.into_iter();
    let mut placements = workers.next().unwrap_or_default();
    workers.for_each(|other| placements.merge(other));
    Ok(placements.grouped())
}

/// Places what is left of some reads, which are of the source that they say or of this one; tells
/// `advance` the bytes of their text.
///
/// # Errors
/// `Input`, `System`; those of `advance`.
pub fn each_read(
    reads: &Reads,
    (mut placer, source): (Placer<'_, '_, '_>, Option<usize>),
    placements: &mut Placements,
    mut advance: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let mut batch = ReadBatch::default();
    while reads.next(&mut batch)? {
        let source = source.unwrap_or(batch.source());
        for read in batch.reads() {
            placer.add(read, source, placements);
        }
        placer.settle(source, placements);
        advance(batch.text_bytes())?;
    }
    Ok(())
}

/// How the two reads of pairs lie to each other, by source; of reads that are no pairs, nothing.
///
/// # Errors
/// `Input`, `System`.
pub fn orientations(
    reads: &Reads,
    pairing: Pairing,
    anchors: &Anchors<'_>,
) -> Result<Vec<Orientation>> {
    let sources = reads.sources_of_pairs(pairing);
    (0..sources).map(|source| orientation((reads, source), pairing, anchors)).collect()
}

/// How those of one source lie, by its first reads.
fn orientation(
    (reads, source): (&Reads, usize),
    pairing: Pairing,
    anchors: &Anchors<'_>,
) -> Result<Orientation> {
    let (mut counts, mut looked_at) = (OrientationCounts::default(), 0);
    let mut codes = Vec::new();
    let mut placed = |read: &[u8]| {
        codes.clear();
        scan::put_codes(read, &mut codes);
        let at = anchors.locate(&codes, &anchors.seeds(&codes))?;
        Some(PlacedRead { at, bases: codes.len() as i64 })
    };
    let mut is_enough = false;
    reads.first(source, pairing, |batch| {
        let mut all = batch.reads();
        while !is_enough && let (Some(one), Some(two)) = (all.next(), all.next()) {
            if let Some((one, two)) = placed(one).zip(placed(two)) {
                counts.add(anchors, one, two);
            }
            looked_at += 1;
            is_enough = counts.pairs() >= COUNTED_ENOUGH || looked_at >= LOOKED_AT_MAX;
        }
        !is_enough
    })?;
    Ok(counts.most())
}
