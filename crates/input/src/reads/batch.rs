//! Batches of reads, which threads take at a time.

use super::NameSums;
use super::trim::TrimCounts;
use crate::block_buffer::BlockBuffer;

/// Consecutive reads of a source.
#[derive(Default)]
pub struct ReadBatch {
    pub(super) bases: Vec<u8>,
    pub(super) ends: Vec<usize>,
    pub(super) text_bytes: u64,
    pub(super) source: usize,
    pub(super) first: u64,
    /// Sums over the names of all reads that it was filled with, if requested.
    pub(super) names: Option<NameSums>,
    /// Counts of its reads as they were trimmed, unless they come from the cache.
    pub(super) trimmed: TrimCounts,
    /// A block of each file that it was read from.
    pub(super) texts: Vec<BlockBuffer>,
}

impl ReadBatch {
    /// An empty batch that adds up the names of all reads that it is filled with.
    pub fn with_names() -> Self {
        Self { names: Some(NameSums::default()), ..Self::default() }
    }

    /// Sums over the names of all reads that it was filled with.
    pub fn names(&self) -> NameSums {
        self.names.unwrap_or_default()
    }

    /// Counts of its reads as they were trimmed; none for a batch from the cache, whose reads were
    /// counted before.
    pub fn trimmed(&self) -> &TrimCounts {
        &self.trimmed
    }

    /// The reads, one after the other.
    pub fn reads(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bases[start..end])
    }

    /// The read at `index` in the batch.
    pub fn read(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bases[start..self.ends[index]]
    }

    /// Shortens the last reads, from the read `first` on, to these lengths.
    pub(super) fn shorten(&mut self, first: usize, lengths: &[usize]) {
        let mut start = if first == 0 { 0 } else { self.ends[first - 1] };
        let mut end = start;
        for (&length, read_end) in lengths.iter().zip(&mut self.ends[first..]) {
            self.bases.copy_within(start..start + length, end);
            start = *read_end;
            end += length;
            *read_end = end;
        }
        self.bases.truncate(end);
    }

    /// Number of reads.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the batch has no reads.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of bases of all reads.
    pub fn bases(&self) -> usize {
        self.bases.len()
    }

    /// Index of the source of the reads: a file, or two whose reads are pairs.
    pub fn source(&self) -> usize {
        self.source
    }

    /// Bytes of text of the reads, names and qualities included.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }
}
