//! Vertex programs with a part for each thread of this process.

use std::sync::{Mutex, PoisonError};

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_runtime::parallel;

use crate::kernel::fragments::Fragments;
use crate::kernel::sequences::SequenceSource;
use crate::kernel::supersteps::messages::Outbox;
use crate::kernel::supersteps::part::{VERTEX_BYTES, VertexPart, spread};
use crate::kernel::supersteps::program::{Aggregates, Control, VertexProgram};

/// Runs a program with a part for each thread of this process; returns the remaining vertices.
///
/// # Errors
/// `Input` when the vertices do not fit in the budget; `Cancelled`.
pub fn run<'c, P: VertexProgram>(
    context: &Context<'c>,
    control: &mut Control<P>,
    vertices: impl SequenceSource,
) -> Result<Fragments<'c>> {
    let (threads, budget) = (context.request.threads, context.budget);
    let size_bytes = vertices.bases() + vertices.range().len() * VERTEX_BYTES;
    let lease = budget.take(size_bytes as u64, "the vertices of all supersteps")?;
    let blocks = spread(&vertices, threads)?;
    drop(vertices);
    let begin =
        |block: &Vec<u8>| Ok(Mutex::new((VertexPart::begin(control.k, threads, &[block])?, None)));
    let parts: Vec<_> = blocks.iter().map(begin).collect::<Result<_>>()?;
    drop(blocks);
    let mut sent: Vec<Outbox> = Vec::new();
    while let Some(order) = control.program.order() {
        let aggregates = superstep::<P>(context, &parts, &order, &mut sent)?;
        control.advance(&aggregates)?;
    }
    drop(lease);
    let mut remaining = Fragments::none(budget);
    for part in parts {
        let (part, _) = part.into_inner().unwrap_or_else(PoisonError::into_inner);
        part.finish(&mut remaining)?;
    }
    Ok(remaining)
}

type Place = Mutex<(VertexPart, Option<(Outbox, Aggregates)>)>;

/// Runs a superstep of all parts: each receives its messages and sends more; returns the summed
/// reports.
fn superstep<P: VertexProgram>(
    context: &Context<'_>,
    parts: &[Place],
    order: &P::Order,
    sent: &mut Vec<Outbox>,
) -> Result<Aggregates> {
    let step = |_: &mut (), index: usize| {
        let (part, output) = &mut *parallel::lock(&parts[index]);
        let messages: Vec<&[u8]> = sent.iter().map(|out| &out.parts[index][..]).collect();
        *output = Some(part.step::<P>(order, &messages)?);
        context.progress.advance(0)
    };
    parallel::run(parts.len(), parts.len(), || (), step, |_| {})?;
    let mut all = Aggregates::default();
    sent.clear();
    for part in parts {
        if let Some((out, aggregates)) = parallel::lock(part).1.take() {
            all.add(&aggregates);
            sent.push(out);
        }
    }
    Ok(all)
}
