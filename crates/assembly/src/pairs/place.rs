//! Placement of reads and pairs of reads on the paths of a graph.

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

/// Pairs on one path that suffice to determine the orientation, and most pairs that are examined.
const COUNTED_ENOUGH: u64 = 1000;
const EXAMINED_MAX: usize = 200_000;
/// Reads that are placed together: both of each pair.
const TOGETHER: usize = 64;

/// Placer of reads and of pairs, whose reads follow each other. Many reads are placed together, so
/// that their cache misses overlap.
pub struct Placer<'p, 'g, 'a> {
    graph: &'p PathGraph<'g>,
    anchors: &'p Anchors<'a>,
    /// Bases of the waiting reads, and the end of each in them.
    codes: Vec<Base>,
    ends: Vec<(usize, Seeds)>,
    /// Reads that extend beyond their path, and the reverse complements of their bases.
    leaving: Vec<(Range<usize>, Located, Seeds)>,
    turned: Vec<Base>,
}

impl<'p, 'g, 'a> Placer<'p, 'g, 'a> {
    /// Creates a placer on the paths of a graph.
    pub fn new(graph: &'p PathGraph<'g>, anchors: &'p Anchors<'a>) -> Self {
        let (codes, turned, ends, leaving) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { graph, anchors, codes, ends, leaving, turned }
    }

    /// Adds a read of a source; of pairs, the two reads one after the other. [`Placer::settle`]
    /// places all added reads.
    pub fn add(&mut self, read: &[u8], source: usize, into: &mut Placements) {
        let start = self.codes.len();
        scan::put_codes(read, &mut self.codes);
        let seeds = self.anchors.seeds(&self.codes[start..]);
        self.ends.push((self.codes.len(), seeds));
        if self.ends.len() == TOGETHER {
            self.settle(source, into);
        }
    }

    /// Places the waiting reads, which are of one source.
    pub fn settle(&mut self, source: usize, into: &mut Placements) {
        let Self { graph, anchors, codes, ends, leaving, turned } = self;
        let (mut start, mut mate) = (0, None);
        for (index, (end, seeds)) in ends.drain(..).enumerate() {
            let (read, bases) = (&codes[start..end], (end - start) as i64);
            let located = anchors.locate(read, &seeds);
            if let Some(at) = located.filter(|at| at.left < bases) {
                let from = turned.len();
                let turn = |&code: &Base| if code > 3 { code } else { complement(code) };
                turned.extend(read.iter().rev().map(turn));
                leaving.push((start..end, at, anchors.seeds(&turned[from..])));
            }
            let placed = located.map(|at| PlacedRead { at, bases });
            if index % 2 == 0 {
                mate = placed;
            } else if let Some((first, second)) = mate.take().zip(placed)
                && let Some(library) = into.libraries.get_mut(source)
            {
                library.add(anchors, first, second);
            }
            start = end;
        }
        let mut rest = &turned[..];
        for (read, first, seeds) in leaving.drain(..) {
            let (reverse, after) = rest.split_at(read.len());
            if let Some(second) = anchors.locate(reverse, &seeds) {
                into.add_span((*graph, *anchors), &codes[read], (first, second));
            }
            rest = after;
        }
        codes.clear();
        turned.clear();
    }
}

/// Places all reads of the inputs with the threads of this process.
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
    let empty = || Placements::of_sources(&orientations);
    let mut workers = parallel::run(threads, threads, empty, work, |_| {})?.into_iter();
    let mut placements = workers.next().unwrap_or_default();
    workers.for_each(|other| placements.merge(other));
    Ok(placements.grouped())
}

/// Places the remaining reads of `reads`, of the given source or that of their batch; calls
/// `advance` with the bytes of their text.
///
/// # Errors
/// `Input`, `System`; errors of `advance`.
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

/// Returns the orientation of the pairs of each source; empty for reads without pairs.
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

/// Returns the orientation of the pairs of a source, from its first reads.
fn orientation(
    (reads, source): (&Reads, usize),
    pairing: Pairing,
    anchors: &Anchors<'_>,
) -> Result<Orientation> {
    let (mut counts, mut examined) = (OrientationCounts::default(), 0);
    let mut codes = Vec::new();
    let mut placed = |read: &[u8]| {
        codes.clear();
        scan::put_codes(read, &mut codes);
        let at = anchors.locate(&codes, &anchors.seeds(&codes))?;
        Some(PlacedRead { at, bases: codes.len() as i64 })
    };
    let mut is_enough = false;
    reads.first(source, pairing, |batch| {
        let mut batch_reads = batch.reads();
        while !is_enough
            && let (Some(first), Some(second)) = (batch_reads.next(), batch_reads.next())
        {
            if let Some((first, second)) = placed(first).zip(placed(second)) {
                counts.add(anchors, first, second);
            }
            examined += 1;
            is_enough = counts.pairs() >= COUNTED_ENOUGH || examined >= EXAMINED_MAX;
        }
        !is_enough
    })?;
    Ok(counts.most())
}
