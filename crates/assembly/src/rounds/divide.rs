//! Division of the super-k-mers of a share of the reads, or of solid sequences, into blocks by
//! part.

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::blocks::Blocks;
use cuesta_runtime::operation::TaskResult;
use serde::{Deserialize, Serialize};

use super::shares::ReadShare;
use super::worker::WorkerParts;
use crate::buckets::counting::sampled;
use crate::buckets::cut::cut;
use crate::kernel::codec;
use crate::kernel::packed;
use crate::kernel::scan::{ReadCounts, ReadCutter, Scanner, SuperKmer};
use crate::stages::wire;
use crate::stages::workers::LevelParams;
use cuesta_input::reads::trim::TrimCounts;
use cuesta_input::reads::{ReadBatch, Reads};

/// Division of super-k-mers among parts: bucket `b` belongs to part `b` modulo `parts`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Division {
    pub(super) params: LevelParams,
    /// Number of parts.
    pub(super) parts: usize,
}

/// Input of a task that divides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum DivideInput {
    /// A share of the reads.
    Reads(ReadShare),
    /// Encoded solid sequences.
    Solid(Vec<u8>),
}

impl Division {
    /// Divides the super-k-mers of the input of a task, or those of the sampled buckets.
    ///
    /// # Errors
    /// `Input` naming the file and the record; `System`; `Cancelled`.
    pub(super) fn blocks<T>(
        &self,
        input: &DivideInput,
        only_sampled: bool,
        progress: &Progress,
    ) -> Result<TaskResult<T>> {
        let open = PartitionedBlocks::new(self, only_sampled);
        let blocks = match input {
            DivideInput::Reads(share) => self.reads(share, open, progress)?,
            DivideInput::Solid(bytes) => self.solid(bytes, open)?,
        };
        Ok(TaskResult::Sent(blocks))
    }

    /// Adds a block to a part.
    ///
    /// # Errors
    /// `Defect` when bytes are missing; `System`.
    pub(super) fn take(&self, block: &[u8], part: usize, state: &mut WorkerParts) -> Result<()> {
        state.open(part, &self.params).take(block)
    }

    fn reads(
        &self,
        share: &ReadShare,
        mut open: PartitionedBlocks,
        progress: &Progress,
    ) -> Result<Blocks> {
        let params = &self.params;
        let mut scanner = Scanner::new(params.k, params.bits, params.drop_reads_with_n);
        let mut trimmed = TrimCounts::default();
        each_batch(params, share, progress, |reads, batch| {
            trimmed.add(batch.trimmed());
            cut(reads, batch, &mut scanner, &mut |part| open.add(part))
        })?;
        Ok(open.divided(&ReadCounts { trimmed, ..scanner.tally }))
    }

    fn solid(&self, solid: &[u8], mut open: PartitionedBlocks) -> Result<Blocks> {
        let mut scanner = Scanner::new(self.params.k, self.params.bits, false);
        wire::each_solid(solid, |trust, codes| {
            let mut emit = |part: &SuperKmer<'_>| open.add_solid(part, trust.weight);
            scanner.take_codes(codes, &mut emit);
            scanner.flush(&mut emit);
        })?;
        Ok(open.divided(&scanner.tally))
    }
}

/// Calls `take` for all batches of reads of a share.
///
/// # Errors
/// `Input` naming the file and the record; `System`; `Cancelled`; errors of `take`.
pub(super) fn each_batch(
    params: &LevelParams,
    share: &ReadShare,
    progress: &Progress,
    mut take: impl FnMut(&Reads, &ReadBatch) -> Result<()>,
) -> Result<()> {
    let reads = share.open(params.pairing)?;
    let mut batch = ReadBatch::default();
    loop {
        let more = reads.next(&mut batch).and_then(|more| {
            take(&reads, &batch)?;
            Ok(more)
        });
        match more {
            Ok(true) => progress.advance(batch.text_bytes())?,
            Ok(false) => return Ok(()),
            // A share does not know how many records precede it; reading the file from its start
            // does.
            Err(error) => return Err(first_error(params, share, progress)?.unwrap_or(error)),
        }
    }
}

/// Returns the first error of a file when it is read from its beginning.
fn first_error(
    params: &LevelParams,
    share: &ReadShare,
    progress: &Progress,
) -> Result<Option<Error>> {
    let reads = share.open_files(params.pairing)?;
    let mut scanner = Scanner::new(params.k, params.bits, params.drop_reads_with_n);
    let mut batch = ReadBatch::default();
    while reads.next(&mut batch)? {
        cut(&reads, &batch, &mut scanner, &mut |_| ())?;
        progress.advance(0)?;
    }
    Ok(None)
}

/// Open blocks, one per bucket.
struct PartitionedBlocks {
    k: usize,
    parts: usize,
    blocks: Vec<Vec<u8>>,
    last: usize,
}

impl PartitionedBlocks {
    fn new(&Division { params, parts }: &Division, only_sampled: bool) -> Self {
        let last = if only_sampled { sampled(params.buckets()) } else { params.buckets() };
        Self { k: params.k, parts, blocks: vec![Vec::new(); last], last }
    }

    fn add(&mut self, part: &SuperKmer<'_>) {
        self.append(part.bucket, |k, room| packed::write(part, k, room));
    }

    fn add_solid(&mut self, part: &SuperKmer<'_>, weight: u16) {
        self.append(part.bucket, |k, room| packed::write_solid(part, weight, k, room));
    }

    #[inline(always)]
    fn append(&mut self, bucket: usize, write: impl FnOnce(usize, &mut [u8]) -> usize) {
        if bucket < self.last {
            let most = packed::record_bytes_max(self.k);
            packed::append(&mut self.blocks[bucket], most, |room| write(self.k, room));
        }
    }

    /// Returns the blocks by part; the first part also gets the counts of the reads.
    fn divided(self, tally: &ReadCounts) -> Blocks {
        let mut divided = Blocks::default();
        codec::put_tally(tally, &mut divided.bytes);
        for part in 0..self.parts {
            for bucket in (part..self.last).step_by(self.parts) {
                if !self.blocks[bucket].is_empty() {
                    codec::put_block(bucket, &self.blocks[bucket], &mut divided.bytes);
                }
            }
            divided.ends.push(divided.bytes.len() as u64);
        }
        divided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::compact::Grain;
    use cuesta_input::reads::Pairing;
    use cuesta_input::reads::shares::{self, Share};

    #[test]
    fn a_bad_record_is_reported_with_its_number_in_the_complete_file() {
        let good = "@r\nACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIII\n".repeat(50);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq");
        let text = format!("{good}@r\nACGTELVISACGTACGTACG\n+\n{}\n", "I".repeat(20));
        std::fs::write(&path, text).unwrap();
        let all = shares::split(std::slice::from_ref(&path), 300).unwrap();
        let params = LevelParams {
            k: 15,
            bits: 6,
            min_count: None,
            drop_reads_with_n: false,
            only_solid: false,
            is_followed: false,
            pairing: Pairing::NONE,
            input_bytes: 2300,
            grain: Grain::Path,
            has_program: false,
        };
        let (division, progress) = (Division { params, parts: 3 }, Progress::default());
        let last = all.last().unwrap();
        let divided = |share: &Share| {
            let input = DivideInput::Reads(ReadShare::Single(share.clone(), 0));
            division.blocks::<()>(&input, false, &progress).err()
        };
        let error = all.iter().find_map(divided).unwrap();
        assert!(error.message().contains("record 51, base 5"), "{} {last:?}", error.message());
    }
}
