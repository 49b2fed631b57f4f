//! Counts of the records of shares, by which pairs are divided.

use cuesta_input::reads::shares::{self, Share};
use cuesta_input::reads::{NameSums, Pairing, ReadBatch};
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::worker::WorkerParts;

/// Sums over the names of the records that begin in a share.
#[derive(Serialize, Deserialize)]
pub(super) struct CountRecords;

impl Operation for CountRecords {
    const NAME: &'static str = "count";
    type State = WorkerParts;
    type Input = Share;
    type Output = NameSums;

    fn task(self, share: Share, _: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        let reads = shares::open(&share, Pairing::NONE)?;
        let mut batch = ReadBatch::with_names();
        while reads.next(&mut batch)? {}
        Ok(TaskResult::Output(batch.names()))
    }
}
