//! Superstep of a vertex program.

use cuesta_core::Result;
use cuesta_runtime::blocks::{Blocks, Bytes};
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::vertices::Vertices;
use super::worker::WorkerParts;
use crate::kernel::supersteps::control::{Aggregates, SuperstepOrder};
use crate::kernel::supersteps::part::VertexPart;

/// Runs a superstep of all parts. A task sends the messages that the part of its number has stored,
/// or its input: the first vertices of this part.
#[derive(Serialize, Deserialize)]
pub(super) struct RunSuperstep {
    pub(super) vertices: Vertices,
    pub(super) order: SuperstepOrder,
}

impl Operation for RunSuperstep {
    const NAME: &'static str = "supersteps";
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
        let (Self { vertices: place, order }, part) = (self, context.number);
        let (store, budget) = (&mut context.state.store, &context.request.budget);
        let blocks: Vec<&[u8]> = blocks.iter().map(|block| (**block).as_ref()).collect();
        let is_first = order.superstep == 0;
        let mut vertices = if is_first {
            VertexPart::begin(place.k, place.parts, &blocks)?
        } else {
            store.vertices(&place, part)?
        };
        let _lease = budget.take(vertices.size_bytes() as u64, "a part of the vertices")?;
        let (sent, aggregates) = vertices.step(&order, if is_first { &[] } else { &blocks })?;
        store.put(place.step, part, (Some(vertices), &sent.parts))?;
        Ok(aggregates)
    }

    fn combine(mut left: Aggregates, right: Aggregates) -> Result<Aggregates> {
        left.add(&right);
        Ok(left)
    }
}
