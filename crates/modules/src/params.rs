//! Parameters of modules, with the defaults of WGCNA's `blockwiseModules` where nothing else is
//! said.

mod matrix;
mod workloads;

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

pub use matrix::MatrixParams;
pub use workloads::{
    Compatibility, CorrelationChoice, ModulesParams, RandomMatrixChoice, ThresholdParams,
};

/// Columns that a biweight midcorrelation takes in the form of Pearson's where mad is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// The column whose mad is 0.
    #[default]
    Individual,
    /// Each column, if the mad of any is 0.
    All,
    /// None: correlations of the column are missing.
    None,
}

/// Correlation of two genes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Measure {
    /// Pearson's correlation.
    #[default]
    Pearson,
    /// Biweight midcorrelation.
    Bicor {
        /// Largest part of the samples on either side of the median that may be outliers, 0 to 1;
        /// 1 leaves the weights as they are.
        max_outliers: f64,
        /// Treatment of columns whose mad is 0.
        fallback: Fallback,
    },
}

/// Network: the similarity that is raised to a power.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkType {
    /// |r|.
    #[default]
    Unsigned,
    /// (1 + r) / 2.
    Signed,
    /// max(r, 0).
    SignedHybrid,
}

/// Numerator of the topological overlap.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverlapType {
    /// Sums of absolute adjacencies.
    Unsigned,
    /// Absolute value of the sum of signed adjacencies.
    #[default]
    Signed,
    /// Sum of signed adjacencies.
    SignedNowick,
}

/// Denominator of the topological overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Denominator {
    /// Smaller of both connectivities.
    #[default]
    Min,
    /// Mean of both connectivities.
    Mean,
}

/// Topological overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlapParams {
    /// Numerator.
    pub kind: OverlapType,
    /// Denominator.
    pub denominator: Denominator,
    /// Whether it is the mean of adjacency and of the overlap of neighbours ("2" types).
    pub separate: bool,
}

/// Overlaps that are set to 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suppressed {
    /// Whether those of genes whose adjacency is 0 are.
    pub zero_adjacencies: bool,
    /// Whether negative ones are.
    pub negative: bool,
}

/// Smallest and largest power of a soft network.
pub const POWERS: std::ops::RangeInclusive<u32> = 1..=30;

/// Checks a power.
///
/// # Errors
/// `Input` naming the range.
pub fn check_power(power: u32) -> Result<()> {
    if POWERS.contains(&power) {
        return Ok(());
    }
    Err(Error::input("arguments", format!("--power is {power}, give 1 to 30")))
}

/// Dynamic hybrid tree cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutParams {
    /// Height of the cut, clipped to the highest merge; by default 0.99 of the way from the
    /// reference height to it.
    pub cut_height: Option<f64>,
    /// Smallest module.
    pub min_cluster_size: usize,
    /// Sensitivity to splits, 0 to 4; values between are interpolated.
    pub deep_split: f64,
    /// Largest scatter of a core, relative to the cut; from `deep_split` by default.
    pub max_core_scatter: Option<f64>,
    /// Smallest gap between scatter and merge, relative to the cut; from `deep_split` by default.
    pub min_gap: Option<f64>,
    /// Smallest height at which branches are distinct, as a part of the way from the reference
    /// height to the cut.
    pub min_split_height: f64,
    /// Largest scatter of a core as a height; from the relative one by default.
    pub max_absolute_core_scatter: Option<f64>,
    /// Smallest gap as a height; from the relative one by default.
    pub min_absolute_gap: Option<f64>,
    /// Smallest height at which branches are distinct; from the relative one by default.
    pub min_absolute_split_height: Option<f64>,
    /// Whether genes that the tree leaves out are assigned to the nearest module.
    pub pam_stage: bool,
    /// Whether a gene is only assigned to modules of its own branch.
    pub pam_respects_dendro: bool,
    /// Whether branches that are too small are assigned as a whole.
    pub respect_small_clusters: bool,
    /// Largest distance to a module of a gene that is assigned; the cut height by default.
    pub max_pam_distance: Option<f64>,
}

impl Default for CutParams {
    fn default() -> Self {
        Self {
            cut_height: None,
            min_cluster_size: 20,
            deep_split: 1.0,
            max_core_scatter: None,
            min_gap: None,
            min_split_height: 0.0,
            max_absolute_core_scatter: None,
            min_absolute_gap: None,
            min_absolute_split_height: None,
            pam_stage: true,
            pam_respects_dendro: true,
            respect_small_clusters: true,
            max_pam_distance: None,
        }
    }
}

impl CutParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the parameter and its range.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::input("arguments", text));
        if !(0.0..=4.0).contains(&self.deep_split) {
            return refuse(format!("--deep-split is {}, give 0 to 4", self.deep_split));
        }
        if self.min_cluster_size < 1 {
            return refuse("--min-module-size is 0, give at least 1".to_owned());
        }
        let fractions = [
            ("--cut-height", self.cut_height),
            ("--max-core-scatter", self.max_core_scatter),
            ("--min-gap", self.min_gap),
            ("--min-split-height", Some(self.min_split_height)),
            ("--max-absolute-core-scatter", self.max_absolute_core_scatter),
            ("--min-absolute-gap", self.min_absolute_gap),
            ("--min-absolute-split-height", self.min_absolute_split_height),
            ("--max-pam-distance", self.max_pam_distance),
        ];
        for (name, value) in fractions {
            if let Some(value) = value.filter(|value| !value.is_finite() || *value < 0.0) {
                return refuse(format!("{name} is {value}, give 0 or more"));
            }
        }
        Ok(())
    }
}

/// Order of modules of the same size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieOrder {
    /// By number.
    #[default]
    Number,
    /// By the name of their colour.
    Colour,
}

/// Steps after the tree cut: the filter by membership, reassignment and merging.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefineParams {
    /// Correlation of genes and eigengenes.
    pub measure: Measure,
    /// Network; memberships are absolute in an unsigned one.
    pub network: NetworkType,
    /// Smallest module.
    pub min_module_size: usize,
    /// Membership of a gene of the core.
    pub min_core_membership: f64,
    /// Smallest core of a module; a third of the smallest module by default.
    pub min_core_size: Option<f64>,
    /// Membership below which a gene leaves its module.
    pub min_membership: f64,
    /// Ratio of p-values below which a gene moves to another module.
    pub reassign_threshold: f64,
    /// Whether a reassigned gene takes the number of the column of its eigengene, as WGCNA 1.72
    /// has it, and not its module.
    pub reassign_by_column: bool,
    /// Height of the tree of eigengenes up to which modules are merged.
    pub merge_height: f64,
    /// Order of modules of the same size.
    pub ties: TieOrder,
    /// Samples of the p-values of reassignment; all by default. WGCNA counts those that were left
    /// out too.
    pub p_value_samples: Option<usize>,
}

impl Default for RefineParams {
    fn default() -> Self {
        Self {
            measure: Measure::Pearson,
            network: NetworkType::Unsigned,
            min_module_size: 20,
            min_core_membership: 0.5,
            min_core_size: None,
            min_membership: 0.3,
            reassign_threshold: 1e-6,
            reassign_by_column: false,
            merge_height: 0.15,
            ties: TieOrder::Number,
            p_value_samples: None,
        }
    }
}

/// All of the way to modules, as WGCNA's `blockwiseModules` has it.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockwiseParams {
    /// Correlation of genes, with each other and with eigengenes.
    pub measure: Measure,
    /// Network.
    pub network: NetworkType,
    /// Power, 1 to 30.
    pub power: u32,
    /// Topological overlap.
    pub overlap: OverlapParams,
    /// Overlaps that are set to 0.
    pub suppressed: Suppressed,
    /// Cut of the tree; the smallest module is that below.
    pub cut: CutParams,
    /// Steps after the cut; measure, network and smallest module are those of this struct.
    pub refine: RefineParams,
    /// Smallest module; 20, or half the genes if they are fewer, by default.
    pub min_module_size: Option<usize>,
    /// Whether genes and samples without enough values are left out.
    pub checks_missing: bool,
    /// Block of each gene; one block by default.
    pub blocks: Option<Vec<u32>>,
}

impl Default for BlockwiseParams {
    fn default() -> Self {
        Self {
            measure: Measure::Pearson,
            network: NetworkType::Unsigned,
            power: 6,
            overlap: OverlapParams::default(),
            suppressed: Suppressed::default(),
            cut: CutParams { cut_height: Some(0.995), deep_split: 2.0, ..CutParams::default() },
            refine: RefineParams::default(),
            min_module_size: None,
            checks_missing: true,
            blocks: None,
        }
    }
}

impl BlockwiseParams {
    /// Whether adjacencies have the sign of the correlation: the overlap is a signed one.
    pub fn keeps_sign(&self) -> bool {
        self.network == NetworkType::Unsigned && self.overlap.kind != OverlapType::Unsigned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_outside_their_range_are_refused_in_a_line() {
        assert!(check_power(0).is_err() && check_power(31).is_err());
        check_power(30).unwrap();
        let base = CutParams::default();
        for params in [
            CutParams { deep_split: 4.5, ..base },
            CutParams { deep_split: f64::NAN, ..base },
            CutParams { min_cluster_size: 0, ..base },
            CutParams { cut_height: Some(f64::NAN), ..base },
            CutParams { min_gap: Some(-1.0), ..base },
        ] {
            assert!(params.check().unwrap_err().message().contains("give"));
        }
        base.check().unwrap();
    }
}
