//! Splits of a dataset for engines that store columns: rows in, columns out.
//!
//! Columns are little-endian arrays, so that all languages can use them without a copy.

use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc::block::{self, Counts, Hit, PADDING};
use cuesta_input::kinc::{self, LineShape, Version};
use cuesta_input::reader::{LineBlocks, located};
use cuesta_input::source::{Split, TextFile, TextSource, shape_of_file};
use serde::{Deserialize, Serialize};

use super::pairs::check_zone;
use cuesta_input::FilterParams;

/// Named columns of equal or documented length.
pub type Columns = Vec<(&'static str, Vec<u8>)>;

/// Splits of a dataset, as other engines receive them.
#[derive(Debug, Serialize)]
pub struct DatasetSplits {
    /// Path, first byte and bytes of each split; `u64::MAX` bytes for a complete compressed file.
    pub splits: Vec<(PathBuf, u64, u64)>,
    /// KINC version, 1 or 3, an input of [`map_split`].
    pub version: Option<u8>,
    /// Samples of each mask, an input of [`map_split`].
    pub samples: Option<usize>,
    /// Number of files skipped because of the range of their folder.
    pub files_skipped: usize,
}

/// Parameters of the rows of a split.
#[derive(Clone, Debug, Deserialize)]
pub struct SplitParams {
    #[serde(flatten)]
    filter: FilterParams,
    #[serde(default)]
    version: Option<u8>,
    #[serde(default)]
    samples: Option<usize>,
}

impl SplitParams {
    fn shape(&self) -> Option<LineShape> {
        let version = if self.version? == 3 { Version::V3 } else { Version::V1 };
        Some(LineShape { version, samples: self.samples?, scores: 1 })
    }
}

/// Plans the splits of a dataset.
///
/// # Errors
/// `Input`, `System`.
pub fn plan(inputs: &[PathBuf], params: &SplitParams, split_bytes: u64) -> Result<DatasetSplits> {
    let source = TextSource::open(inputs, &params.filter.check()?)?;
    if source.shape.is_none() {
        let text = format!("{} holds no gene pair; give KINC text", inputs[0].display());
        return Err(Error::input("input.kinc", text));
    }
    let place =
        |split: Split| (source.files[split.file].path.clone(), split.offset, split.size_bytes);
    Ok(DatasetSplits {
        splits: source.splits(split_bytes.max(1)).into_iter().map(place).collect(),
        version: source.shape.map(|shape| if shape.version == Version::V3 { 3 } else { 1 }),
        samples: source.shape.map(|shape| shape.samples),
        files_skipped: source.files_skipped,
    })
}

/// Maps the lines that start in a range of a file.
///
/// # Errors
/// `Input`, `System`.
pub fn map_split(
    params: &SplitParams,
    path: &Path,
    (offset, size_bytes): (u64, u64),
) -> Result<(Columns, Counts)> {
    let file = TextFile::new(path, size_bytes);
    let filter = params.filter.check()?;
    let mut records = Records::default();
    let shape = match params.shape() {
        Some(shape) => Some(shape),
        None => shape_of_file(&file)?,
    };
    let mut counts = Counts::default();
    let Some(shape) = shape else { return Ok((records.columns(), counts)) };
    let split = Split { file: 0, offset, size_bytes };
    let mut blocks = LineBlocks::open(&file, &split)?;
    while let Some(found) = blocks.next_block()? {
        let offset = found.offset;
        let keep = |hit: &Hit<'_>| {
            check_zone(&file, &filter, hit)?;
            records.keep(hit)
        };
        counts.add(
            block::visit(found.bytes, found.size_bytes, &shape, &filter, keep)
                .map_err(|fault| located(&file, offset, &fault))?,
        );
    }
    Ok((records.columns(), counts))
}

/// Maps complete lines in memory.
///
/// # Errors
/// `Input` counting lines from the start of `text`.
pub fn map_bytes(params: &SplitParams, text: &[u8]) -> Result<(Columns, Counts)> {
    let filter: Filter = params.filter.check()?;
    let mut records = Records::default();
    let refuse = |offset: usize, what: &str| {
        let number = text[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::input("input.kinc", format!("line {number} of a block of text {what}"))
    };
    let lines = text.split(|&byte| byte == b'\n');
    let first = lines.into_iter().find(|line| !kinc::line::is_blank(line));
    let shape = match (params.shape(), first) {
        (Some(shape), _) => shape,
        (None, Some(line)) => kinc::shape_of(line).map_err(|what| refuse(0, &what))?,
        (None, None) => return Ok((records.columns(), Counts::default())),
    };
    let mut padded = text.to_vec();
    padded.resize(text.len() + PADDING, 0);
    let counts = block::visit(&padded, text.len(), &shape, &filter, |hit| records.keep(hit))
        .map_err(|fault| refuse(fault.offset, &fault.what))?;
    Ok((records.columns(), counts))
}

/// Rows of a split as columns.
#[derive(Default)]
struct Records {
    numbers: [Vec<u8>; 9],
    scores: Vec<u8>,
    score_count: Option<usize>,
    mask: Vec<u8>,
}

impl Records {
    fn keep(&mut self, hit: &Hit<'_>) -> std::result::Result<(), String> {
        let parsed = hit.parse()?;
        let row = parsed.row();
        if *self.score_count.get_or_insert(row.scores.len()) != row.scores.len() {
            return Err("has another number of scores than the lines before".to_owned());
        }
        push(
            &mut self.numbers,
            [
                row.gene1,
                row.gene2,
                row.cluster,
                row.num_clusters,
                row.cluster_samples,
                row.missing,
                row.outliers,
                row.pair_outliers,
                row.threshold,
            ],
        );
        row.scores.iter().for_each(|score| self.scores.extend_from_slice(&score.to_le_bytes()));
        self.mask.extend_from_slice(row.mask);
        Ok(())
    }

    fn columns(self) -> Columns {
        let names = [
            "gene1",
            "gene2",
            "cluster",
            "num_clusters",
            "cluster_samples",
            "missing",
            "outliers",
            "pair_outliers",
            "threshold",
        ];
        let mut columns: Columns = names.into_iter().zip(self.numbers).collect();
        columns.push(("scores", self.scores));
        columns.push(("mask", self.mask));
        columns
    }
}

fn push<const N: usize>(columns: &mut [Vec<u8>; N], values: [u32; N]) {
    for (column, value) in columns.iter_mut().zip(values) {
        column.extend_from_slice(&value.to_le_bytes());
    }
}
