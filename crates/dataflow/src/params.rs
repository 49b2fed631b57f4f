//! Parameters of `dataflow`, with their ranges.

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::kernel::{AXES, UNITS, Vector};

/// Maximum number of vectors of a block: the sums of generated vectors are exact in double
/// precision.
pub const BLOCK_VECTORS_MAX: u64 = 1 << 26;
/// Maximum number of blocks.
pub const BLOCKS_MAX: u64 = 1 << 24;
/// Largest sum of the absolute values of a block for which all sums are exact: 2^53 units.
const SUM_MAX: f64 = 137_438_953_472.0;
/// Bytes of a stored vector.
pub const VECTOR_BYTES: u64 = (AXES * size_of::<f64>()) as u64;
/// Largest coordinate of the shift, in either direction.
pub const SHIFT_MAX: f64 = 1000.0;

/// Whether the stages of a block run as one loop or one after the other.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stages {
    /// A single loop that stores no vector.
    #[default]
    Fused,
    /// A loop over stored vectors for each stage.
    Separate,
}

/// Storage of blocks between separate stages.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// No storage: a block goes through all stages before the next block starts.
    #[default]
    None,
    /// All blocks in memory; each stage ends before the next stage starts.
    Memory,
    /// All blocks in files of the scratch folder; each stage ends before the next stage starts.
    Disk,
}

/// Parameters as the command line gives them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct DataflowParams {
    /// Blocks to generate, 1 to [`BLOCKS_MAX`]; ignored with input files, whose vectors determine
    /// the number of blocks.
    pub blocks: u64,
    /// Vectors of a block, 1 to [`BLOCK_VECTORS_MAX`].
    pub block_vectors: u64,
    /// Three numbers of at most [`SHIFT_MAX`], separated by commas.
    pub shift: String,
    /// Order in which the stages run.
    pub stages: Stages,
    /// Storage between separate stages.
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
    /// Vectors of each block except the last.
    pub block_vectors: u64,
    /// Vectors of all blocks.
    pub vectors: u64,
    /// Shift added to every vector; integer multiples of 2^-16.
    pub shift: Vector,
    /// Order in which the stages run.
    pub stages: Stages,
    /// Storage between separate stages.
    pub keep: Keep,
}

impl DataflowParams {
    /// Checks the ranges; `stored` is the number of vectors in the input files, if there are any.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self, stored: Option<u64>) -> Result<Plan> {
        let refuse = |text: String| Err(Error::input("dataflow", text));
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            return refuse(format!("--blocks is {}, give 1 to {BLOCKS_MAX}", self.blocks));
        }
        if !(1..=BLOCK_VECTORS_MAX).contains(&self.block_vectors) {
            let block_vectors = self.block_vectors;
            return refuse(format!(
                "--block-vectors is {block_vectors}, give 1 to {BLOCK_VECTORS_MAX}"
            ));
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
        let vectors = stored.unwrap_or(self.blocks * self.block_vectors);
        let blocks = vectors.div_ceil(self.block_vectors);
        if blocks > BLOCKS_MAX {
            return refuse(format!(
                "the files fill {blocks} blocks, up to {BLOCKS_MAX} work; give more --block-vectors"
            ));
        }
        Ok(Plan {
            blocks,
            block_vectors: self.block_vectors,
            vectors,
            shift,
            stages: self.stages,
            keep: self.keep,
        })
    }
}

impl Plan {
    /// Returns the number of the first vector of a block.
    pub fn first(&self, block: u64) -> u64 {
        block * self.block_vectors
    }

    /// Returns the number of vectors of a block: fewer in the last block of input files.
    pub fn vectors_of(&self, block: u64) -> u64 {
        self.block_vectors.min(self.vectors - self.first(block))
    }

    /// Returns the number of coordinates of a block.
    pub fn values_of(&self, block: u64) -> usize {
        AXES * self.vectors_of(block) as usize
    }

    /// Returns the memory of `vectors` vectors, in bytes.
    pub fn bytes(&self, vectors: u64) -> u64 {
        vectors * VECTOR_BYTES
    }

    /// Whether the run stores complete blocks.
    pub fn stores(&self) -> bool {
        self.stages == Stages::Separate
    }

    /// Returns the largest absolute value of a number in a file for which all sums are exact.
    pub fn limit(&self) -> f64 {
        (SUM_MAX / self.block_vectors as f64).floor() - SHIFT_MAX
    }
}

/// Parses three numbers, each rounded to the nearest multiple of 2^-16.
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
    fn a_parameter_out_of_range_is_named() {
        let refused = |params: DataflowParams| params.check(None).unwrap_err().message();
        let base = DataflowParams::default;
        assert!(refused(DataflowParams { blocks: 0, ..base() }).contains("--blocks is 0"));
        let large = DataflowParams { block_vectors: BLOCK_VECTORS_MAX + 1, ..base() };
        assert!(refused(large).contains("--block-vectors"));
        let in_memory = DataflowParams { keep: Keep::Memory, ..base() };
        assert!(refused(in_memory).contains("--stages separate"));
        let small = DataflowParams { block_vectors: 1, ..base() };
        let error = small.check(Some(BLOCKS_MAX + 1)).unwrap_err();
        assert!(error.message().contains("give more --block-vectors"), "{}", error.message());
    }

    #[test]
    fn the_last_block_has_the_remainder_and_a_large_sum_is_exact() {
        let params = DataflowParams { block_vectors: 4, ..DataflowParams::default() };
        let plan = params.check(Some(9)).unwrap();
        assert_eq!((plan.blocks, plan.vectors_of(1), plan.vectors_of(2)), (3, 4, 1));
        for block_vectors in [1, 3, 1 << 20, BLOCK_VECTORS_MAX] {
            let params = DataflowParams { block_vectors, ..DataflowParams::default() };
            let limit = params.check(None).unwrap().limit();
            assert!(limit >= 1000.0);
            assert!((limit + SHIFT_MAX) * block_vectors as f64 * UNITS <= (1u64 << 53) as f64);
        }
    }
}
