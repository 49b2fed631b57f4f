//! Parameters of the workloads `modules` and `threshold`, as the command line has them.

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{
    CutParams, Fallback, MatrixParams, Measure, NetworkType, OverlapParams, OverlapType,
    RefineParams, TieOrder, check_power,
};

/// Height of the cut of `blockwiseModules`.
const CUT_HEIGHT: f64 = 0.995;
/// Smallest module by default.
const MODULE_SIZE: u32 = 30;
/// Smallest module of `blockwiseModules` by default.
const MODULE_SIZE_OF_R: u32 = 20;
/// Power of `blockwiseModules` by default.
const POWER_OF_R: u32 = 6;
/// Largest number of cut-offs in a table.
const THRESHOLDS_MAX: usize = 10_000;

/// Correlation of two genes, by name.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorrelationChoice {
    /// Pearson's.
    #[default]
    Pearson,
    /// Biweight midcorrelation.
    Bicor,
}

/// Genes among which a cut-off is searched by random matrix theory.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum RandomMatrixChoice {
    /// No search.
    #[default]
    #[serde(rename = "none")]
    None,
    /// All genes with an edge.
    #[serde(rename = "all")]
    All,
    /// Genes with an edge to a gene before them, as in KINC 3.
    #[serde(rename = "kinc-3")]
    Kinc,
}

/// Program whose defaults and rules are taken.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum Compatibility {
    /// Our own.
    #[default]
    #[serde(rename = "cuesta")]
    Cuesta,
    /// `blockwiseModules` of WGCNA 1.72, whose modules are numbers (`numericLabels = TRUE`).
    #[serde(rename = "wgcna-1.72")]
    Wgcna,
    /// `blockwiseModules` of WGCNA 1.72, whose modules are colours, as by default.
    #[serde(rename = "wgcna-1.72-colours")]
    WgcnaColours,
}

impl Compatibility {
    /// Whether the defaults and rules are those of R.
    pub fn is_of_r(self) -> bool {
        self != Self::Cuesta
    }
}

/// Parameters of `modules`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ModulesParams {
    /// Power of the soft network, 1 to 30; chosen by the data by default.
    pub power: Option<u32>,
    /// Similarity of two genes.
    pub network: NetworkType,
    /// Correlation of two genes.
    pub method: CorrelationChoice,
    /// Largest part of the samples on either side of the median that may be outliers, 0 to 1.
    pub max_p_outliers: f64,
    /// Numerator of the topological overlap.
    pub tom: OverlapType,
    /// Smallest module, in genes; 30 by default.
    pub min_module_size: Option<u32>,
    /// Sensitivity to splits, 0 to 4.
    pub deep_split: f64,
    /// Whether genes that the tree leaves out stay so, and are not assigned to the nearest module.
    pub no_pam: bool,
    /// Membership below which a gene leaves its module, 0 to 1.
    pub min_kme: f64,
    /// Ratio of p-values below which a gene moves to another module, 0 to 1.
    pub reassign_p: f64,
    /// Height of the tree of eigengenes up to which modules are merged, 0 to 2.
    pub merge_cut_height: f64,
    /// File of the traits of samples.
    pub traits: Option<String>,
    /// Program whose defaults and rules are taken.
    #[serde(rename = "as")]
    pub compatibility: Compatibility,
    /// Reading of the matrix.
    #[serde(flatten)]
    pub matrix: MatrixParams,
}

impl Default for ModulesParams {
    fn default() -> Self {
        Self {
            power: None,
            network: NetworkType::Unsigned,
            method: CorrelationChoice::Pearson,
            max_p_outliers: 1.0,
            tom: OverlapType::Signed,
            min_module_size: None,
            deep_split: 2.0,
            no_pam: false,
            min_kme: 0.3,
            reassign_p: 1e-6,
            merge_cut_height: 0.15,
            traits: None,
            compatibility: Compatibility::Cuesta,
            matrix: MatrixParams::default(),
        }
    }
}

/// Refuses a number outside its range.
fn check_range(name: &str, value: f64, range: std::ops::RangeInclusive<f64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = (range.start(), range.end());
    Err(Error::input("arguments", format!("{name} is {value}, give {low} to {high}")))
}

impl ModulesParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        self.power.map_or(Ok(()), check_power)?;
        check_range("--max-p-outliers", self.max_p_outliers, 0.0..=1.0)?;
        check_range("--min-kme", self.min_kme, 0.0..=1.0)?;
        check_range("--reassign-p", self.reassign_p, 0.0..=1.0)?;
        check_range("--merge-cut-height", self.merge_cut_height, 0.0..=2.0)?;
        check_range("--deep-split", self.deep_split, 0.0..=4.0)?;
        if let Some(size) = self.min_module_size.filter(|size| *size < 2) {
            let text = format!("--min-module-size is {size}, give at least 2");
            return Err(Error::input("arguments", text));
        }
        if self.tom == OverlapType::SignedNowick {
            let text = "--tom is signed-nowick, give signed or unsigned";
            return Err(Error::input("arguments", text));
        }
        self.matrix.check()
    }

    /// Correlation with its parameters.
    pub fn measure(&self) -> Measure {
        measure(self.method, self.max_p_outliers)
    }

    /// Power that needs no data: the one of the user, or of the program to be compatible with.
    pub fn fixed_power(&self) -> Option<u32> {
        self.power.or(self.compatibility.is_of_r().then_some(POWER_OF_R))
    }

    /// Smallest module among so many genes.
    pub fn module_size(&self, genes: usize) -> usize {
        match self.min_module_size {
            Some(size) => size as usize,
            None if self.compatibility.is_of_r() => {
                (MODULE_SIZE_OF_R as usize).min(genes / 2).max(1)
            }
            None => MODULE_SIZE as usize,
        }
    }

    /// Parameters of the topological overlap.
    pub fn overlap(&self) -> OverlapParams {
        OverlapParams { kind: self.tom, ..OverlapParams::default() }
    }

    /// Parameters of the cut of a tree of so many genes.
    pub fn cut(&self, genes: usize) -> CutParams {
        CutParams {
            cut_height: Some(CUT_HEIGHT),
            min_cluster_size: self.module_size(genes),
            deep_split: self.deep_split,
            pam_stage: !self.no_pam,
            ..CutParams::default()
        }
    }

    /// Parameters of the steps after the cut of so many genes, in a matrix of so many samples.
    pub fn refine(&self, genes: usize, samples: usize) -> RefineParams {
        let is_of_r = self.compatibility.is_of_r();
        let ties = match self.compatibility {
            Compatibility::WgcnaColours => TieOrder::Colour,
            Compatibility::Cuesta | Compatibility::Wgcna => TieOrder::Number,
        };
        RefineParams {
            measure: self.measure(),
            network: self.network,
            min_module_size: self.module_size(genes),
            min_membership: self.min_kme,
            reassign_threshold: self.reassign_p,
            reassign_by_column: is_of_r,
            merge_height: self.merge_cut_height,
            p_value_samples: is_of_r.then_some(samples),
            ties,
            ..RefineParams::default()
        }
    }
}

fn measure(method: CorrelationChoice, max_outliers: f64) -> Measure {
    match method {
        CorrelationChoice::Pearson => Measure::Pearson,
        CorrelationChoice::Bicor => Measure::Bicor { max_outliers, fallback: Fallback::Individual },
    }
}

/// Parameters of `threshold`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ThresholdParams {
    /// Similarity of two genes in a soft network.
    pub network: NetworkType,
    /// Correlation of two genes.
    pub method: CorrelationChoice,
    /// Largest part of the samples on either side of the median that may be outliers, 0 to 1.
    pub max_p_outliers: f64,
    /// Smallest cut-off, 0 to 1.
    pub low: f64,
    /// Largest cut-off, 0 to 1.
    pub high: f64,
    /// Difference of two cut-offs, 0.0001 to 1.
    pub step: f64,
    /// Search of a cut-off by random matrix theory.
    pub random_matrix: RandomMatrixChoice,
    /// Reading of the matrix.
    #[serde(flatten)]
    pub matrix: MatrixParams,
}

impl Default for ThresholdParams {
    fn default() -> Self {
        Self {
            network: NetworkType::Unsigned,
            method: CorrelationChoice::Pearson,
            max_p_outliers: 1.0,
            low: 0.3,
            high: 0.99,
            step: 0.01,
            random_matrix: RandomMatrixChoice::None,
            matrix: MatrixParams::default(),
        }
    }
}

impl ThresholdParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        check_range("--max-p-outliers", self.max_p_outliers, 0.0..=1.0)?;
        check_range("--low", self.low, 0.0..=1.0)?;
        check_range("--high", self.high, 0.0..=1.0)?;
        check_range("--step", self.step, 0.0001..=1.0)?;
        self.matrix.check()
    }

    /// Correlation with its parameters.
    pub fn measure(&self) -> Measure {
        measure(self.method, self.max_p_outliers)
    }

    /// Returns the cut-offs in millionths, ascending.
    ///
    /// # Errors
    /// `Input` when there is none.
    pub fn thresholds(&self) -> Result<Vec<u32>> {
        let micro = |value: f64| (value * 1e6).round() as u32;
        let (low, high, step) = (micro(self.low), micro(self.high), micro(self.step));
        if low > high {
            let text = format!("--low is {}, above --high {}", self.low, self.high);
            return Err(Error::input("arguments", text));
        }
        Ok((low..=high).step_by(step.max(1) as usize).take(THRESHOLDS_MAX + 1).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_outside_their_range_are_refused_in_a_line() {
        let base = ModulesParams::default();
        base.check().unwrap();
        for params in [
            ModulesParams { power: Some(31), ..base.clone() },
            ModulesParams { min_module_size: Some(1), ..base.clone() },
            ModulesParams { deep_split: 5.0, ..base.clone() },
            ModulesParams { min_kme: f64::NAN, ..base.clone() },
            ModulesParams { tom: OverlapType::SignedNowick, ..base.clone() },
        ] {
            assert!(params.check().unwrap_err().message().contains("give"));
        }
        ThresholdParams::default().check().unwrap();
        let turned = ThresholdParams { low: 0.9, high: 0.5, ..ThresholdParams::default() };
        assert!(turned.thresholds().unwrap_err().message().contains("above --high"));
    }

    #[test]
    fn all_defaults_of_r_are_taken_together() {
        let ours = ModulesParams::default();
        let of_r = ModulesParams { compatibility: Compatibility::Wgcna, ..ours.clone() };
        assert_eq!((ours.fixed_power(), of_r.fixed_power()), (None, Some(6)));
        assert_eq!((ours.module_size(30), of_r.module_size(30)), (30, 15));
        assert!(of_r.refine(30, 9).reassign_by_column && !ours.refine(30, 9).reassign_by_column);
        let values = serde_json::to_value(&of_r).unwrap();
        assert_eq!((&values["as"], &values["network"]), (&"wgcna-1.72".into(), &"unsigned".into()));
    }

    /// `wgcna-1.72` numbered modules of equal size by the names of their colours. R does so where
    /// its labels are colours, so modules had other numbers than those of `numericLabels = TRUE`.
    #[test]
    fn modules_of_equal_size_go_by_colour_only_where_labels_of_r_are_colours() {
        for (name, ties, size) in [
            ("cuesta", TieOrder::Number, 30),
            ("wgcna-1.72", TieOrder::Number, 15),
            ("wgcna-1.72-colours", TieOrder::Colour, 15),
        ] {
            let params: ModulesParams =
                serde_json::from_value(serde_json::json!({ "as": name })).unwrap();
            assert_eq!(params.refine(30, 9).ties, ties, "{name}");
            assert_eq!(params.module_size(30), size, "{name}");
        }
    }

    #[test]
    fn cut_offs_are_in_millionths() {
        let params = ThresholdParams { low: 0.1, high: 0.3, step: 0.1, ..Default::default() };
        assert_eq!(params.thresholds().unwrap(), [100_000, 200_000, 300_000]);
    }
}
