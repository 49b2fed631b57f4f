//! Places reads and pairs of reads on the paths of a graph.

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_runtime::parallel;

use crate::kernel::anchors::Anchors;
use crate::kernel::kmer::{Base, complement};
use crate::kernel::placements::Placements;
use crate::kernel::scan;
use crate::kernel::simplify::PathGraph;
use cuesta_input::reads::{Pairing, ReadBatch, Reads};

/// Places all reads.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn place(context: &Context<'_>, graph: &PathGraph<'_>, pairing: Pairing) -> Result<Placements> {
    let anchors = Anchors::new(&graph.paths, context.budget)?;
    let reads = Reads::open(&context.request.inputs, pairing)?;
    let work = |placements: &mut Placements, _: usize| {
        let mut batch = ReadBatch::default();
        let (mut codes, mut turned) = (Vec::new(), Vec::new());
        while reads.next(&mut batch)? {
            let mut mate = None;
            for (index, read) in batch.reads().enumerate() {
                codes.clear();
                codes.extend(read.iter().map(|&letter| scan::code(letter)));
                let found = anchors.locate(&codes);
                if let Some(one) = found.filter(|one| one.left < codes.len() as i64) {
                    turned.clear();
                    let turn = |&code: &Base| if code > 3 { code } else { complement(code) };
                    turned.extend(codes.iter().rev().map(turn));
                    let two = anchors.locate(&turned);
                    if let Some(two) = two.filter(|two| two.end / 2 != one.end / 2) {
                        placements.add_span(graph, &codes, one, two);
                    }
                }
                if index % 2 == 0 {
                    mate = found;
                } else if let Some((one, two)) = mate.take().zip(found) {
                    placements.add_pair(&anchors, one, two);
                }
            }
            context.progress.advance(batch.text_bytes())?;
        }
        Ok(())
    };
    let threads = context.request.threads;
    let mut workers =
        parallel::run(threads, threads, Placements::default, work, |_| {})?.into_iter();
    let mut placements = workers.next().unwrap_or_else(Placements::default);
    workers.for_each(|other| placements.merge(other));
    Ok(placements)
}
