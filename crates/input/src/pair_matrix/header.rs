//! The attributes of a pair matrix, and the layout that follows from them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::codec::CRC_BYTES;
use super::limits::{
    MASK_CHUNK_BYTES, MASK_CHUNK_ROWS_MAX, MASK_JOB_BYTES, MASK_SHARD_BYTES, MASK_SHARD_ROWS_MAX,
    SHARD_CHUNKS, SLOTS_MAX,
};
use super::mask::{PLANES, plane_bytes};
use super::rank::pairs_of;
use super::shard::ShardPath;
use crate::limits::{GENES_MAX, SAMPLES_MAX, SCORES_MAX};

/// Name and version of the format.
pub const FORMAT: &str = "cuesta.pairs/1";

/// Numbers of a row that are stored as columns, in the order of a text line.
pub const COLUMNS: [&str; 7] = [
    "cluster",
    "num_clusters",
    "cluster_samples",
    "missing",
    "outliers",
    "pair_outliers",
    "threshold",
];

/// Origin of sample masks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MaskKind {
    /// There are none.
    #[default]
    None,
    /// A mask is stored for each row.
    Stored,
    /// 9 where either gene is missing, else 1: derived from one bit per gene and sample.
    Genes,
}

/// Properties of rows that are fixed before the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowShape {
    /// Scores of a row.
    pub scores: usize,
    /// Samples.
    pub samples: u32,
    /// Origin of the masks.
    pub masks: MaskKind,
}

impl RowShape {
    /// Bytes of a value of a column.
    pub fn width(&self) -> usize {
        if self.samples <= u32::from(u16::MAX) { 2 } else { 4 }
    }

    /// The fill value of each column, which takes no space: a single cluster of all samples.
    pub fn fill(&self) -> [u32; 7] {
        [1, 1, self.samples, 0, 0, 0, 0]
    }

    /// Bytes of a packed mask of a row; 0 when no masks are stored.
    pub fn mask_bytes(&self) -> usize {
        match self.masks {
            MaskKind::Stored => PLANES * plane_bytes(self.samples as usize),
            MaskKind::None | MaskKind::Genes => 0,
        }
    }

    /// Rows of one chunk of masks: a power of two.
    pub fn mask_chunk_rows(&self) -> u64 {
        power_of_two(MASK_CHUNK_BYTES / self.mask_bytes().max(1) as u64, MASK_CHUNK_ROWS_MAX)
    }

    /// Rows of a shard of masks: a power of two, at least that of a chunk.
    pub fn mask_shard_rows(&self) -> u64 {
        power_of_two(MASK_SHARD_BYTES / self.mask_bytes().max(1) as u64, MASK_SHARD_ROWS_MAX)
    }

    /// Rows of masks that are compressed together: divides a shard, holds complete chunks.
    pub fn mask_job_rows(&self) -> u64 {
        power_of_two(MASK_JOB_BYTES / self.mask_bytes().max(1) as u64, MASK_SHARD_ROWS_MAX)
    }

    /// Bytes of the masks of [`RowShape::mask_job_rows`] with their checksums.
    pub fn mask_job_bytes(&self) -> usize {
        let rows = self.mask_job_rows();
        let chunks = rows / self.mask_chunk_rows();
        rows as usize * self.mask_bytes() + chunks as usize * CRC_BYTES
    }

    /// Arrays of one slot: scores, columns, masks.
    pub fn arrays(&self) -> usize {
        self.scores + COLUMNS.len() + 1
    }

    /// Path of the shards of an array of a slot in the folder of a matrix.
    pub fn shards(&self, folder: &Path, slot: usize, array: usize) -> ShardPath {
        let is_mask = array + 1 == self.arrays();
        ShardPath {
            array: folder.join(slot_folder(slot)).join(self.array_name(array)),
            dimensions: if is_mask { 3 } else { 1 },
            chunks: match is_mask {
                true => self.mask_shard_rows() / self.mask_chunk_rows(),
                false => SHARD_CHUNKS,
            },
        }
    }

    /// Name of an array of a slot.
    pub fn array_name(&self, array: usize) -> String {
        match array.checked_sub(self.scores) {
            None if array == 0 => "score".to_owned(),
            None => format!("score_{array}"),
            Some(column) => COLUMNS.get(column).unwrap_or(&"mask").to_string(),
        }
    }
}

/// Folder of a slot in the group, with a trailing slash unless empty.
pub fn slot_folder(slot: usize) -> String {
    if slot == 0 { String::new() } else { format!("extra/{slot}/") }
}

fn power_of_two(about: u64, max: u64) -> u64 {
    1 << about.clamp(1, max).ilog2()
}

/// The attributes of the group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixHeader {
    /// [`FORMAT`].
    pub format: String,
    /// Genes.
    pub genes: u32,
    /// Samples.
    pub samples: u32,
    /// Rows of all slots together.
    pub rows: u64,
    /// Rows of each slot; slot 0 holds the first cluster of each pair.
    pub slot_rows: Vec<u64>,
    /// Scores of a row.
    pub scores: usize,
    /// Names of the scores, as far as known.
    pub score_names: Vec<String>,
    /// Origin of the masks.
    pub masks: MaskKind,
    /// Whether the five counts of samples of each row equal those of its mask.
    pub counts_match_masks: bool,
    /// Whether some score is NaN.
    pub has_nan: bool,
    /// Whether names of genes are stored.
    pub gene_names: bool,
    /// Whether names of samples are stored.
    pub sample_names: bool,
}

impl MatrixHeader {
    /// A header of rows of this shape, without names.
    pub fn of(shape: RowShape, genes: u32, slot_rows: Vec<u64>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            genes,
            samples: shape.samples,
            rows: slot_rows.iter().sum(),
            slot_rows,
            scores: shape.scores,
            score_names: Vec::new(),
            masks: match shape.masks {
                MaskKind::Stored => MaskKind::Stored,
                MaskKind::None | MaskKind::Genes => MaskKind::None,
            },
            counts_match_masks: false,
            has_nan: false,
            gene_names: false,
            sample_names: false,
        }
    }

    /// Pairs of the genes, present or not.
    pub fn pairs(&self) -> u64 {
        pairs_of(self.genes)
    }

    /// The part that was known before the first row.
    pub fn shape(&self) -> RowShape {
        RowShape { scores: self.scores, samples: self.samples, masks: self.masks }
    }

    /// Checks that the numbers are possible.
    ///
    /// # Errors
    /// In words, which one is not.
    pub fn check(&self) -> Result<(), String> {
        let rows: Option<u64> =
            self.slot_rows.iter().try_fold(0u64, |sum, &rows| sum.checked_add(rows));
        let checks = [
            ("genes", self.genes <= GENES_MAX),
            ("samples", self.samples as usize <= SAMPLES_MAX),
            ("scores", (1..=SCORES_MAX).contains(&self.scores)),
            ("score_names", self.score_names.len() <= self.scores),
            ("slot_rows", (1..=SLOTS_MAX).contains(&self.slot_rows.len())),
            ("slot_rows", self.slot_rows.iter().all(|&rows| rows <= self.pairs())),
            ("rows", rows == Some(self.rows)),
            ("masks", self.masks == MaskKind::None || self.samples > 0),
        ];
        match checks.iter().find(|(_, good)| !good) {
            None => Ok(()),
            Some((name, _)) => Err(format!("its attribute '{name}' is impossible")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_chunks_divide_jobs_and_jobs_divide_shards() {
        for samples in [1, 8, 60, 475, 5000, 20_000, 1 << 20] {
            let shape = RowShape { scores: 1, samples, masks: MaskKind::Stored };
            let (chunk, job, shard) =
                (shape.mask_chunk_rows(), shape.mask_job_rows(), shape.mask_shard_rows());
            assert!(job.is_multiple_of(chunk) && shard.is_multiple_of(job), "{samples}");
        }
    }

    #[test]
    fn arrays_have_names() {
        let shape = RowShape { scores: 2, samples: 9, masks: MaskKind::Stored };
        let names: Vec<String> = (0..shape.arrays()).map(|a| shape.array_name(a)).collect();
        assert_eq!(names[..3], ["score", "score_1", "cluster"]);
        assert_eq!(names.last().map(String::as_str), Some("mask"));
    }
}
