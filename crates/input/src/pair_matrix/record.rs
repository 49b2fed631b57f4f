//! Rows to be written: packed records of equal size, in batches that threads fill.

use cuesta_core::fixed::{self, Micro};
use serde::{Deserialize, Serialize};

use super::header::{COLUMNS, MaskKind, RowShape};
use super::mask;
use super::rank::rank_of;
use crate::kinc::line::check_pair;
use crate::limits::SCORES_MAX;
use crate::row::Row;

/// Offset of the columns in a record; the rank precedes them.
const COLUMNS_AT: usize = 8;
const SCORES_AT: usize = COLUMNS_AT + 4 * COLUMNS.len();

/// Sorts rows: rank of the pair, then cluster.
pub type Key = (u64, u32);

/// Offsets of the parts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    scores: usize,
    mask_bytes: usize,
}

impl RecordLayout {
    /// The layout of rows of this shape.
    pub fn of(shape: &RowShape) -> Self {
        Self { scores: shape.scores, mask_bytes: shape.mask_bytes() }
    }

    /// Bytes of a record.
    pub fn record_bytes(&self) -> usize {
        SCORES_AT + 4 * self.scores + self.mask_bytes
    }
}

/// A packed row.
#[derive(Clone, Copy)]
pub struct PackedRow<'a> {
    bytes: &'a [u8],
    layout: RecordLayout,
}

impl<'a> PackedRow<'a> {
    /// The row packed in `bytes`.
    pub fn new(bytes: &'a [u8], layout: RecordLayout) -> Self {
        Self { bytes, layout }
    }

    /// Rank and cluster.
    #[inline]
    pub fn key(&self) -> Key {
        let mut rank = [0; 8];
        rank.copy_from_slice(&self.bytes[..8]);
        (u64::from_le_bytes(rank), self.column(0))
    }

    /// Number `index` of [`COLUMNS`].
    #[inline]
    pub fn column(&self, index: usize) -> u32 {
        self.word(COLUMNS_AT + 4 * index)
    }

    /// Score of method `index`.
    #[inline]
    pub fn score(&self, index: usize) -> Micro {
        self.word(SCORES_AT + 4 * index) as Micro
    }

    /// The packed row.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The packed mask.
    pub fn mask(&self) -> &'a [u8] {
        &self.bytes[SCORES_AT + 4 * self.layout.scores..]
    }

    #[inline]
    fn word(&self, place: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.bytes[place..place + 4]);
        u32::from_le_bytes(word)
    }
}

/// Batch of rows that a thread checks and packs before it passes them to the writer.
#[derive(Clone, Debug)]
pub struct RowBatch {
    shape: RowShape,
    genes: u32,
    bytes: Vec<u8>,
    summary: BatchSummary,
}

/// Properties of the file that follow from the rows of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSummary {
    /// Rows.
    pub rows: u64,
    /// Largest gene number.
    pub gene_max: u32,
    /// Whether the counts of some row differ from those of its mask.
    pub counts_differ: bool,
    /// Whether some score is NaN.
    pub has_nan: bool,
}

impl BatchSummary {
    /// Adds the summary of other rows.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.gene_max = self.gene_max.max(other.gene_max);
        self.counts_differ |= other.counts_differ;
        self.has_nan |= other.has_nan;
    }
}

impl RowBatch {
    /// An empty batch; `genes` is the largest gene number allowed.
    pub(super) fn new(shape: RowShape, genes: u32) -> Self {
        Self { shape, genes, bytes: Vec::new(), summary: BatchSummary::default() }
    }

    /// Checks a row, each symbol of its mask included, and packs it.
    ///
    /// # Errors
    /// A message that continues "line N of FILE"; the batch is unchanged.
    pub fn push(&mut self, row: &Row<'_>) -> Result<(), String> {
        self.check(row)?;
        let start = self.bytes.len();
        let columns = columns_of(row);
        let mut head = [0; SCORES_AT + 4 * SCORES_MAX];
        head[..COLUMNS_AT].copy_from_slice(&rank_of(row.gene1, row.gene2).to_le_bytes());
        let words = columns.into_iter().chain(row.scores.iter().map(|&score| score as u32));
        for (place, value) in head[COLUMNS_AT..].as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = value.to_le_bytes();
        }
        self.bytes.extend_from_slice(&head[..SCORES_AT + 4 * row.scores.len()]);
        if self.shape.masks == MaskKind::Stored {
            match mask::pack(row.mask, &mut self.bytes) {
                Ok(tally) => self.summary.counts_differ |= tally[..] != columns[2..],
                Err(what) => {
                    self.bytes.truncate(start);
                    return Err(format!("has a bad mask: {what}"));
                }
            }
        }
        self.summary.rows += 1;
        self.summary.gene_max = self.summary.gene_max.max(row.gene1);
        self.summary.has_nan |= row.scores.contains(&fixed::NAN);
        Ok(())
    }

    fn check(&self, row: &Row<'_>) -> Result<(), String> {
        check_pair(row.gene1, row.gene2, row.cluster)?;
        if row.gene1 > self.genes {
            return Err(format!("has gene number {}, there are {}", row.gene1, self.genes));
        }
        if row.scores.len() != self.shape.scores {
            let (scores, expected) = (row.scores.len(), self.shape.scores);
            return Err(format!("has {scores} scores, the rows before have {expected}"));
        }
        let fits = |score: &Micro| (-fixed::LIMIT..=fixed::LIMIT).contains(score);
        if !row.scores.iter().all(|score| *score == fixed::NAN || fits(score)) {
            return Err("has a score that is too large; the limit is 2000".to_owned());
        }
        let samples = self.shape.samples;
        if self.shape.masks == MaskKind::Stored && row.mask.len() != samples as usize {
            let length = row.mask.len();
            return Err(format!("has a mask of {length} samples, the rows before have {samples}"));
        }
        if self.shape.width() == 2 {
            let large = columns_of(row).into_iter().find(|&value| value > u32::from(u16::MAX));
            if let Some(value) = large {
                return Err(format!("has the count {value}, the largest allowed is 65535"));
            }
        }
        Ok(())
    }

    /// Bytes that the batch holds: pass it on at about a megabyte.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The packed rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The packed rows, to be moved out.
    pub(super) fn rows_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Properties of the file that follow from the rows.
    pub fn summary(&self) -> &BatchSummary {
        &self.summary
    }

    /// Removes the rows, but retains the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.summary = BatchSummary::default();
    }
}

/// The columns of a row, in the order of [`COLUMNS`].
fn columns_of(row: &Row<'_>) -> [u32; 7] {
    [
        row.cluster,
        row.num_clusters,
        row.cluster_samples,
        row.missing,
        row.outliers,
        row.pair_outliers,
        row.threshold,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: RowShape = RowShape { scores: 2, samples: 9, masks: MaskKind::Stored };
    const ROW: Row<'static> = Row {
        gene1: 5,
        gene2: 2,
        cluster: 3,
        num_clusters: 4,
        cluster_samples: 5,
        missing: 1,
        outliers: 1,
        pair_outliers: 0,
        threshold: 1,
        scores: &[-1, fixed::NAN],
        mask: b"911111860",
    };

    #[test]
    fn a_row_is_packed_and_its_facts_are_known() {
        let mut batch = RowBatch::new(SHAPE, 5);
        batch.push(&ROW).unwrap();
        let layout = RecordLayout::of(&SHAPE);
        let record = PackedRow::new(batch.bytes(), layout);
        assert_eq!(batch.size_bytes(), layout.record_bytes());
        assert_eq!(record.key(), (7, 3));
        assert_eq!([record.score(0), record.score(1)], [-1, fixed::NAN]);
        assert_eq!(record.mask().len(), 6);
        let summary = BatchSummary { rows: 1, gene_max: 5, counts_differ: false, has_nan: true };
        assert_eq!(*batch.summary(), summary);
        batch.push(&Row { missing: 2, ..ROW }).unwrap();
        assert!(batch.summary().counts_differ);
    }

    #[test]
    fn a_bad_row_leaves_the_batch_as_it_was() {
        let mut batch = RowBatch::new(SHAPE, 5);
        for (row, expected) in [
            (Row { gene1: 6, ..ROW }, "gene number 6, there are 5"),
            (Row { gene1: 2, ..ROW }, "not above gene2"),
            (Row { scores: &[1], ..ROW }, "1 scores, the rows before have 2"),
            (Row { scores: &[1, i32::MAX], ..ROW }, "too large"),
            (Row { mask: b"1", ..ROW }, "a mask of 1 samples, the rows before have 9"),
            (Row { mask: b"91111186x", ..ROW }, "'x'"),
            (Row { missing: 70_000, ..ROW }, "70000"),
        ] {
            let message = batch.push(&row).unwrap_err();
            assert!(message.contains(expected), "{message}");
            assert_eq!(batch.size_bytes(), 0);
        }
    }
}
