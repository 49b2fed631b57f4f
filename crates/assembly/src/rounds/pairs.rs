//! Mappers of the paper's first stage: the reads of a share as text pairs of a k-mer and the next
//! one, for the part of the canonical form of the first.

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_runtime::blocks::{Blocks, Bytes};
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::Step;
use super::divide::{Division, each_batch};
use super::worker::{PackedResults, WorkerParts, compacted};
use crate::buckets::adjacency::{BASES, LETTERS};
use crate::buckets::cut::check;
use crate::kernel::kmer::{Base, Kmer, kmers, with_kmer};
use crate::kernel::scan;
use crate::stages::workers::LevelParams;
use cuesta_input::reads::shares::Share;

/// Sends pairs of k-mers as text to the parts, which make vertices of them.
#[derive(Serialize, Deserialize)]
pub(super) struct CompactPairs {
    pub(super) division: Division,
    pub(super) step: Step,
}

impl Operation for CompactPairs {
    const NAME: &'static str = "first stage";
    const IS_TEXT: bool = true;
    const STREAMS: bool = true;
    type State = WorkerParts;
    type Input = Share;
    type Output = PackedResults;

    fn task(self, share: Share, context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        let Division { params, parts } = &self.division;
        divide(params, &share, *parts, context.progress).map(TaskResult::Sent)
    }

    fn take(&self, text: &[u8], part: usize, state: &mut WorkerParts) -> Result<()> {
        state.open(part, &self.division.params).take_pairs(text)
    }

    fn part(self, _: Vec<Bytes>, context: TaskContext<'_, WorkerParts>) -> Result<PackedResults> {
        compacted((&self.division.params, self.division.parts, self.step), context)
    }
}

/// Makes the pairs of reads that consist of A, C, G and T alone. The last k-mer of a read has no
/// value, and the number of bases goes to the first part.
///
/// # Errors
/// `Input` naming the file and the record; `System`; `Cancelled`.
fn divide(
    params: &LevelParams,
    share: &Share,
    parts: usize,
    progress: &Progress,
) -> Result<Blocks> {
    let mut texts = vec![Vec::new(); parts];
    let (mut codes, mut bases) = (Vec::<Base>::new(), 0);
    each_batch(params, share, progress, |reads, batch| {
        check(reads, batch)?;
        for read in batch.reads() {
            codes.clear();
            codes.extend(read.iter().map(|&letter| scan::code(letter)));
            if codes.iter().all(|&code| code < 4) {
                bases += codes.len();
                with_kmer!(params.k, K => add::<K>(&codes, params.k, &mut texts));
            }
        }
        Ok(())
    })?;
    if let (Some(first), 1..) = (texts.first_mut(), bases) {
        first.extend([BASES, b"\t", bases.to_string().as_bytes(), b"\n"].concat());
    }
    Ok(Blocks::of(&texts))
}

fn add<K: Kmer>(codes: &[Base], k: usize, texts: &mut [Vec<u8>]) {
    let letters: Vec<u8> = codes.iter().map(|&base| LETTERS[usize::from(base)]).collect();
    for (start, kmer) in kmers::<K>(codes, k).enumerate() {
        // Both strands of a vertex go to one part.
        let part = (kmer.canonical(k).mixed() >> 20) as usize % texts.len();
        let text = &mut texts[part];
        text.extend_from_slice(&letters[start..start + k]);
        text.push(b'\t');
        text.extend_from_slice(letters.get(start + 1..=start + k).unwrap_or_default());
        text.push(b'\n');
    }
}
