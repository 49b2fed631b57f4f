//! Counting and compaction of the super-k-mers of parts.

use cuesta_core::Result;
use cuesta_runtime::blocks::Bytes;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::Step;
use super::divide::{DivideInput, Division};
use super::worker::{PackedResults, WorkerParts, compacted};

/// Divides the reads among parts, which count and compact their super-k-mers.
#[derive(Serialize, Deserialize)]
pub(super) struct CompactReads {
    pub(super) division: Division,
    pub(super) step: Step,
}

/// Counts and compacts the super-k-mers that parts have stored.
#[derive(Serialize, Deserialize)]
pub(super) struct CompactStored {
    pub(super) division: Division,
    pub(super) step: Step,
}

impl Operation for CompactReads {
    const NAME: &'static str = "partition and compact";
    const STREAMS: bool = true;
    type State = WorkerParts;
    type Input = DivideInput;
    type Output = PackedResults;

    fn task(self, input: DivideInput, context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        self.division.blocks(&input, false, context.progress)
    }

    fn take(&self, block: &[u8], part: usize, state: &mut WorkerParts) -> Result<()> {
        self.division.take(block, part, state)
    }

    fn part(self, _: Vec<Bytes>, context: TaskContext<'_, WorkerParts>) -> Result<PackedResults> {
        compacted((&self.division.params, self.division.parts, self.step), context)
    }
}

impl Operation for CompactStored {
    const NAME: &'static str = "compact";
    type State = WorkerParts;
    type Input = ();
    type Output = PackedResults;

    fn task(self, (): (), context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        let order = (&self.division.params, self.division.parts, self.step);
        compacted(order, context).map(TaskResult::Output)
    }
}
