//! KINC gene-pair text: version 1 (11 tab-separated fields, genes from 1) and the version-3
//! export (7 fields, genes and clusters from 0).
//!
//! A line ends in a sample mask of fixed length. The readers find the ten tabs in front of it,
//! check the score, and skip the mask, so most bytes are never read. Source of the
//! layout: KINC `PairWiseClusterWriter` (v1) and `ExportCorrelationMatrix` (v3).

pub mod block;
pub mod line;
pub mod simd;

use serde::{Deserialize, Serialize};

/// Version of KINC that wrote the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Version {
    /// 11 fields, genes and clusters counted from 1.
    V1,
    /// 7 fields, genes and clusters counted from 0.
    V3,
}

impl Version {
    /// Fields of a line.
    pub fn fields(self) -> usize {
        match self {
            Self::V1 => 11,
            Self::V3 => 7,
        }
    }
}

/// Shape common to all lines of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineShape {
    /// The layout of a line.
    pub version: Version,
    /// Samples, i.e. symbols of each mask.
    pub samples: usize,
    /// Scores of the first line; further lines may have more or fewer.
    pub scores: usize,
}

/// Fault of a line, with the offset of the line in the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Byte offset of the line in its block.
    pub offset: usize,
    /// Message with fault and remedy, continuing "line N of FILE ...".
    pub what: String,
}

/// Finds the shape of a dataset from its first data line.
///
/// # Errors
/// A sentence continuing "line N of FILE ..." when the line is of no known layout.
pub fn shape_of(line: &[u8]) -> Result<LineShape, String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
    let version = match fields.len() {
        11 => Version::V1,
        7 => Version::V3,
        count => return Err(line::wrong_field_count(count)),
    };
    let samples = fields[fields.len() - 1].len();
    if samples == 0 || samples > crate::limits::SAMPLES_MAX {
        return Err(format!(
            "has a sample mask of {samples} symbols, expected 1 to {}",
            crate::limits::SAMPLES_MAX
        ));
    }
    let scores = fields[fields.len() - 2].split(|&byte| byte == b',').count();
    Ok(LineShape { version, samples, scores })
}
