//! A file between its first block and its name on the under level.

use std::collections::HashMap;

use cuesta_core::{Error, Result};

use super::OPERATION;
use super::promise::{WriteState, WriteStep};
use super::record::WriteRecord;
use crate::block_set::BlockSet;
use crate::memory::PartialBlock;
use crate::under::UnderWriter;

/// A file that is being written, or is to be written back to the under level.
pub struct PendingFile {
    /// Its facts, as its record has them.
    pub record: WriteRecord,
    /// The hidden file, once there is one.
    pub writer: Option<Box<dyn UnderWriter>>,
    /// Blocks that the writer is filling.
    pub partial: HashMap<u64, PartialBlock>,
    /// Blocks that are in the hidden file.
    pub on_under: BlockSet,
    /// Whether it has its final name.
    pub has_name: bool,
}

impl PendingFile {
    /// Creates a file of which no byte is anywhere yet, or that an earlier store recorded.
    pub fn new(record: WriteRecord) -> Self {
        Self {
            record,
            writer: None,
            partial: HashMap::new(),
            on_under: BlockSet::default(),
            has_name: false,
        }
    }

    /// Takes a step, if the state machine allows it; returns the state after it.
    ///
    /// # Errors
    /// `Input` naming the file, the step and its state.
    pub fn step(&mut self, step: WriteStep) -> Result<WriteState> {
        let WriteRecord { state, mode, .. } = self.record;
        let after = state.after(step, mode, self.record.is_in_memory());
        self.record.state = after.ok_or_else(|| {
            let text = format!("{} cannot {step:?}, it is {state:?}", self.record.path);
            Error::input(OPERATION, text)
        })?;
        Ok(self.record.state)
    }
}
