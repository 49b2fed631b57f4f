//! Sort of the parts that workers hold.

use cuesta_core::Error;
use cuesta_input::records::Record;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::{HeldParts, PartPlace, bytes_of};
use crate::run::shares;

/// Sorts the part of the number of the task, writes it to its place, and removes its blocks.
#[derive(Serialize, Deserialize)]
pub struct WriteHeld;

impl Operation for WriteHeld {
    const NAME: &'static str = "write";
    type State = HeldParts;
    type Input = PartPlace;
    type Output = PartPlace;

    fn task(self, place: PartPlace, context: TaskContext<'_, HeldParts>) -> TaskOutcome<Self> {
        let blocks = context.state.remove(&context.number).unwrap_or_default();
        let mut bytes = Vec::with_capacity(bytes_of(&blocks));
        for block in blocks {
            bytes.extend_from_slice((*block).as_ref());
        }
        let (records, rest): (&[Record], &[u8]) = bytes.as_chunks();
        if !rest.is_empty() || place.records != records.len() as u64 {
            let (count, wanted) = (records.len(), place.records);
            let text = format!(
                "a part has {count} records, {wanted} before; leave the input alone, run again"
            );
            return Err(Error::input("sort", text));
        }
        shares::write(records, &context.request.output, place.first, context.progress)?;
        Ok(TaskResult::Output(place))
    }
}
