//! Reads that threads take at a time.

use super::NameSums;
use crate::block_buffer::BlockBuffer;

/// Some reads of one source, as they stand there.
#[derive(Default)]
pub struct ReadBatch {
    pub(super) bases: Vec<u8>,
    pub(super) ends: Vec<usize>,
    pub(super) text_bytes: u64,
    pub(super) source: usize,
    pub(super) first: u64,
    /// Sums over the names of the reads of all batches that it was filled with, where asked for.
    pub(super) names: Option<NameSums>,
    /// A block of each file that it was read from.
    pub(super) texts: Vec<BlockBuffer>,
}

impl ReadBatch {
    /// None yet; the names of all reads that it is filled with are added up.
    pub fn with_names() -> Self {
        Self { names: Some(NameSums::default()), ..Self::default() }
    }

    /// Sums over the names of all reads that it was filled with.
    pub fn names(&self) -> NameSums {
        self.names.unwrap_or_default()
    }

    /// The reads, one after the other.
    pub fn reads(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bases[start..end])
    }

    /// A read by its place among them.
    pub fn read(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bases[start..self.ends[index]]
    }

    /// How many reads there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bases of all reads.
    pub fn bases(&self) -> usize {
        self.bases.len()
    }

    /// Which source they are of, from 0 on: a file, or two whose reads are pairs.
    pub fn source(&self) -> usize {
        self.source
    }

    /// Bytes of text that the reads were, names and qualities included.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }
}
