//! First stage of a method that passes text through the shuffle of an engine.

use std::marker::PhantomData;

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_runtime::blocks::{Blocks, Bytes};
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::Step;
use super::divide::{Division, each_batch};
use super::shares::ReadShare;
use super::worker::{PackedResults, WorkerParts, compacted};
use crate::buckets::cut::check;
use crate::kernel::internal;
use crate::kernel::kmer::Base;
use crate::kernel::scan;
use crate::method::{Method, TextStage};

/// Sends lines of text to the parts, which make adjacency lists of them.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct CompactText<M> {
    pub(super) division: Division,
    pub(super) step: Step,
    pub(super) method: PhantomData<M>,
}

impl<M: Method> Operation for CompactText<M> {
    const NAME: &'static str = "text";
    const IS_TEXT: bool = true;
    const STREAMS: bool = true;
    type State = WorkerParts;
    type Input = ReadShare;
    type Output = PackedResults;

    fn task(self, share: ReadShare, context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        divide(&self.division, (&share, stage::<M>()?), context.progress).map(TaskResult::Sent)
    }

    fn take(&self, text: &[u8], part: usize, state: &mut WorkerParts) -> Result<()> {
        state.open(part, &self.division.params).take_text(text, &stage::<M>()?)
    }

    fn part(self, _: Vec<Bytes>, context: TaskContext<'_, WorkerParts>) -> Result<PackedResults> {
        compacted((&self.division.params, self.division.parts, self.step), context)
    }
}

fn stage<M: Method>() -> Result<TextStage> {
    M::TEXT.ok_or_else(|| internal("a method without text"))
}

/// Makes the lines of reads that consist of A, C, G and T alone.
///
/// # Errors
/// `Input` naming the file and the record; `System`; `Cancelled`.
fn divide(
    Division { params, parts }: &Division,
    (share, stage): (&ReadShare, TextStage),
    progress: &Progress,
) -> Result<Blocks> {
    let mut texts = vec![Vec::new(); *parts];
    let (mut codes, mut bases) = (Vec::<Base>::new(), 0);
    each_batch(params, share, progress, |reads, batch| {
        check(reads, batch)?;
        for read in batch.reads() {
            codes.clear();
            codes.extend(read.iter().map(|&letter| scan::code(letter)));
            if codes.iter().all(|&code| code < 4) {
                bases += codes.len();
                (stage.add_read)(&codes, params.k, &mut texts);
            }
        }
        Ok(())
    })?;
    (stage.finish)(bases, &mut texts);
    Ok(Blocks::of(&texts))
}
