//! Sort of parts that workers do not hold.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_input::records::RECORD_BYTES;
use cuesta_runtime::blocks::{Blocks, Bytes, header_bytes, pieces, put_header};
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::{HeldParts, PartPlace, bytes_of, opened};
use crate::kernel::Entry;
use crate::run::shares::{self, Share};

/// Numbers in the header of a block: the number of records of its task in earlier parts, and the
/// size of its records.
const NUMBERS: usize = 2;

/// Sends the records to the parts, whose workers sort and write them.
#[derive(Serialize, Deserialize)]
pub struct SortParts {
    /// Files of the records.
    pub inputs: Vec<PathBuf>,
    /// Cuts between the parts.
    pub cuts: Vec<Entry>,
}

impl Operation for SortParts {
    const NAME: &'static str = "sort";
    type State = HeldParts;
    type Input = Share;
    type Output = PartPlace;

    fn task(self, share: Share, context: TaskContext<'_, HeldParts>) -> TaskOutcome<Self> {
        let files = opened(&self.inputs, share)?;
        let cuts = (self.cuts, header_bytes(NUMBERS));
        let mut blocks = shares::divide(&files, share, cuts, context.progress)?;
        put_headers(&mut blocks);
        Ok(TaskResult::Sent(blocks))
    }

    fn part(self, blocks: Vec<Bytes>, context: TaskContext<'_, HeldParts>) -> Result<PartPlace> {
        let (first, bytes) = without_headers(blocks)?;
        let records = bytes.as_chunks().0;
        shares::write(records, &context.request.output, first, context.progress)?;
        Ok(PartPlace { first, records: records.len() as u64 })
    }
}

/// Writes the header of each block.
fn put_headers(blocks: &mut Blocks) {
    let (mut start, mut before) = (0, 0);
    for &end in &blocks.ends {
        let block = &mut blocks.bytes[start..end as usize];
        let size_bytes = block.len() - header_bytes(NUMBERS);
        put_header(&[before], size_bytes, block);
        (start, before) = (end as usize, before + (size_bytes / RECORD_BYTES) as u64);
    }
}

/// Concatenates the records of all blocks; returns the number of records in earlier parts, and the
/// records.
fn without_headers(blocks: Vec<Bytes>) -> Result<(u64, Vec<u8>)> {
    let (mut before, mut all) = (0_u64, Vec::with_capacity(bytes_of(&blocks)));
    for block in blocks {
        for ([first, _], records) in pieces::<NUMBERS>((*block).as_ref())? {
            all.extend_from_slice(records);
            before = before.saturating_add(first);
        }
    }
    Ok((before, all))
}
