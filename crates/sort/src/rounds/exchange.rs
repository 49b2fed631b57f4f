//! Exchange of the records among workers that hold parts.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_input::records::RECORD_BYTES;
use cuesta_runtime::blocks::Bytes;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::{HeldParts, bytes_of, opened};
use crate::kernel::Entry;
use crate::run::shares::{self, Share};

/// Sends the records to the parts, whose workers hold and count them.
#[derive(Serialize, Deserialize)]
pub struct Exchange {
    /// Files of the records.
    pub inputs: Vec<PathBuf>,
    /// Cuts between the parts.
    pub cuts: Vec<Entry>,
}

impl Operation for Exchange {
    const NAME: &'static str = "exchange";
    type State = HeldParts;
    type Input = Share;
    type Output = u64;

    fn task(self, share: Share, context: TaskContext<'_, HeldParts>) -> TaskOutcome<Self> {
        let files = opened(&self.inputs, share)?;
        shares::divide(&files, share, (self.cuts, 0), context.progress).map(TaskResult::Sent)
    }

    fn part(self, blocks: Vec<Bytes>, context: TaskContext<'_, HeldParts>) -> Result<u64> {
        let records = bytes_of(&blocks) / RECORD_BYTES;
        context.state.insert(context.number, blocks);
        Ok(records as u64)
    }
}
