//! Parameters of `dataflow`, with their ranges.

use cuesta_core::{Error, Result};
use serde::Deserialize;

use crate::kernel::{UNITS, Vector};

/// Most vectors of a block: its sums stay exact in double precision.
pub const BLOCK_VECTORS_MAX: u64 = 1 << 26;
/// Most blocks.
pub const BLOCKS_MAX: u64 = 1 << 24;
/// Largest coordinate of the shift, in either direction.
pub const SHIFT_MAX: f64 = 1000.0;

/// Whether the stages of a block run as one loop or one after the other.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Stages {
    /// One loop, no vector is ever stored.
    #[default]
    Fused,
    /// Each stage is a loop over stored vectors.
    Separate,
}

/// What separate stages keep between them.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Nothing: a block goes through all stages before the next one starts.
    #[default]
    None,
    /// All blocks, in memory; every stage ends before the next one starts.
    Memory,
    /// All blocks, in files of the scratch folder; every stage ends before the next one starts.
    Disk,
}

/// Parameters as they come from the command line.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct DataflowParams {
    /// Blocks, 1 to [`BLOCKS_MAX`].
    pub blocks: u64,
    /// Vectors of a block, 1 to [`BLOCK_VECTORS_MAX`].
    pub block_vectors: u64,
    /// Three numbers of at most [`SHIFT_MAX`], separated by commas.
    pub shift: String,
    /// How the stages run.
    pub stages: Stages,
    /// What they keep.
    pub keep: Keep,
}

impl Default for DataflowParams {
    fn default() -> Self {
        Self {
            blocks: 96,
            block_vectors: 1 << 20,
            shift: "25,-12.5,3".to_owned(),
            stages: Stages::Fused,
            keep: Keep::None,
        }
    }
}

/// Checked parameters.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of blocks.
    pub blocks: u64,
    /// Vectors of each.
    pub block_vectors: u64,
    /// Added to every vector; whole multiples of 2^-16.
    pub shift: Vector,
    /// How the stages run.
    pub stages: Stages,
    /// What they keep.
    pub keep: Keep,
}

impl DataflowParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<Plan> {
        let refuse = |text: String| Err(Error::input("dataflow", text));
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            return refuse(format!("--blocks is {}, give 1 to {BLOCKS_MAX}", self.blocks));
        }
        if !(1..=BLOCK_VECTORS_MAX).contains(&self.block_vectors) {
            let given = self.block_vectors;
            return refuse(format!("--block-vectors is {given}, give 1 to {BLOCK_VECTORS_MAX}"));
        }
        if self.stages == Stages::Fused && self.keep != Keep::None {
            let text =
                "--stages fused stores nothing to keep; give --stages separate or --keep none";
            return refuse(text.to_owned());
        }
        let Some(shift) = parse_shift(&self.shift) else {
            return refuse(format!(
                "--shift is {:?}, give three numbers from -{SHIFT_MAX} to {SHIFT_MAX} separated by \
                 commas, such as 25,-12.5,3",
                self.shift
            ));
        };
        Ok(Plan {
            blocks: self.blocks,
            block_vectors: self.block_vectors,
            shift,
            stages: self.stages,
            keep: self.keep,
        })
    }
}

/// Three numbers, each rounded to the nearest multiple of 2^-16.
fn parse_shift(text: &str) -> Option<Vector> {
    let mut shift = [0.0; 3];
    let mut fields = text.split(',');
    for coordinate in &mut shift {
        let value: f64 = fields.next()?.trim().parse().ok()?;
        if value.is_nan() || value.abs() > SHIFT_MAX {
            return None;
        }
        *coordinate = (value * UNITS).round() / UNITS;
    }
    fields.next().is_none().then_some(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_is_three_numbers_in_units() {
        assert_eq!(parse_shift("25, -12.5,3"), Some([25.0, -12.5, 3.0]));
        assert_eq!(parse_shift("0.00001,0,0"), Some([1.0 / UNITS, 0.0, 0.0]));
        for bad in ["", "1,2", "1,2,3,4", "1,2,x", "1,2,nan", "1,2,1000.1"] {
            assert_eq!(parse_shift(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let refused = |params: DataflowParams| params.check().unwrap_err().message;
        let base = DataflowParams::default;
        assert!(refused(DataflowParams { blocks: 0, ..base() }).contains("--blocks is 0"));
        let large = DataflowParams { block_vectors: BLOCK_VECTORS_MAX + 1, ..base() };
        assert!(refused(large).contains("--block-vectors"));
        let kept = DataflowParams { keep: Keep::Memory, ..base() };
        assert!(refused(kept).contains("--stages separate"));
    }
}
