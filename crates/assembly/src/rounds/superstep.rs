//! Superstep of a vertex program.

use cuesta_core::Result;
use cuesta_runtime::blocks::{Blocks, Bytes};
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::vertices::Vertices;
use super::worker::WorkerParts;
use crate::kernel::supersteps::part::VertexPart;
use crate::kernel::supersteps::program::{Aggregates, VertexProgram};

/// Name of the operation, and of the phase of a program.
pub(super) const SUPERSTEPS: &str = "supersteps";

/// Runs a superstep of all parts. A task sends the messages that the part of its number has stored,
/// or its input: the first vertices of this part.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct RunSuperstep<P: VertexProgram> {
    pub(super) vertices: Vertices,
    /// Whether parts receive their vertices, not messages.
    pub(super) is_first: bool,
    pub(super) order: P::Order,
}

impl<P: VertexProgram> Operation for RunSuperstep<P> {
    const NAME: &'static str = SUPERSTEPS;
    type State = WorkerParts;
    type Input = Option<Vec<u8>>;
    type Output = Aggregates;

    fn task(
        self,
        vertices: Option<Vec<u8>>,
        context: TaskContext<'_, WorkerParts>,
    ) -> TaskOutcome<Self> {
        let number = context.number;
        let blocks = match vertices {
            None => context.state.store.sent(&self.vertices, number)?,
            Some(bytes) => {
                let mut ends = vec![0; number];
                ends.push(bytes.len() as u64);
                Blocks { bytes, ends }
            }
        };
        Ok(TaskResult::Sent(blocks))
    }

    fn part(self, blocks: Vec<Bytes>, context: TaskContext<'_, WorkerParts>) -> Result<Aggregates> {
        let (Self { vertices: place, is_first, order }, part) = (self, context.number);
        let (store, budget) = (&mut context.state.store, &context.request.budget);
        let blocks: Vec<&[u8]> = blocks.iter().map(|block| (**block).as_ref()).collect();
        let mut vertices = if is_first {
            VertexPart::begin(place.k, place.parts, &blocks)?
        } else {
            store.vertices(&place, part)?
        };
        let _lease = budget.take(vertices.size_bytes() as u64, "a part of the vertices")?;
        let (sent, aggregates) =
            vertices.step::<P>(&order, if is_first { &[] } else { &blocks })?;
        store.put(place.step, part, (Some(vertices), &sent.parts))?;
        Ok(aggregates)
    }

    fn combine(mut left: Aggregates, right: Aggregates) -> Result<Aggregates> {
        left.add(&right);
        Ok(left)
    }
}
