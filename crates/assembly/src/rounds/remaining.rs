//! Return of the vertices that a vertex program left.

use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::vertices::Vertices;
use super::worker::{PackedResults, WorkerParts};
use crate::stages::wire;

/// Returns the remaining vertices of the part of each task.
#[derive(Serialize, Deserialize)]
pub(super) struct ReturnVertices(pub(super) Vertices);

impl Operation for ReturnVertices {
    const NAME: &'static str = "remaining";
    type State = WorkerParts;
    type Input = ();
    type Output = PackedResults;

    fn task(self, (): (), context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        let mut results = wire::empty_results(&context.request.budget);
        let vertices = context.state.store.vertices(&self.0, context.number)?;
        vertices.finish(&mut results.fragments)?;
        Ok(TaskResult::Output(PackedResults::of(&results)))
    }
}
