//! Sample of the records, which determines the cuts between parts.

use std::path::PathBuf;

use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::{HeldParts, opened};
use crate::kernel::Entry;
use crate::run::shares::{self, Share};

/// Samples entries at even distances.
#[derive(Serialize, Deserialize)]
pub struct TakeSample {
    /// Files of the records.
    pub inputs: Vec<PathBuf>,
}

/// Share of a task.
#[derive(Serialize, Deserialize)]
pub struct SampleShare {
    /// The records.
    pub share: Share,
    /// Number of entries that it adds to the sample.
    pub samples: u64,
}

impl Operation for TakeSample {
    const NAME: &'static str = "sample";
    type State = HeldParts;
    type Input = SampleShare;
    type Output = Vec<Entry>;

    fn task(self, input: SampleShare, context: TaskContext<'_, HeldParts>) -> TaskOutcome<Self> {
        let SampleShare { share, samples } = input;
        let files = opened(&self.inputs, share)?;
        shares::sample(&files, share, samples, context.progress).map(TaskResult::Output)
    }
}
