//! Parameters of the network workloads, as the command line gives them, with their ranges.

use cuesta_core::{Error, Result};
use cuesta_input::FilterParams;
use cuesta_input::limits::GENES_MAX;
use cuesta_input::matrix::{self, enough_values};
use cuesta_input::table::TableParams;
use serde::{Deserialize, Serialize};

mod communities;

pub use self::communities::{CommunitiesParams, CommunityMethod, EdgeWeight, RESOLUTIONS};
use crate::kernel::correlate;
pub use crate::kernel::differential::ScoreMethod;
pub use crate::kernel::join::JoinKind;
pub use crate::kernel::quality::CommunityQuality;

/// Parameters of `scan`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ScanParams {
    /// Filter of the rows.
    #[serde(flatten)]
    pub filter: FilterParams,
    /// Whether to write the network too.
    #[serde(default)]
    pub graph: GraphFormat,
}

impl ScanParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        self.filter.check().map(drop)
    }
}

/// Format of the network that is written with the answer.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphFormat {
    /// No network.
    #[default]
    None,
    /// GraphML 1.1.
    Graphml,
    /// Simple interaction format of Cytoscape.
    Sif,
}

/// Largest number of strongest pairs: a leader holds them in memory.
pub const TOP_MAX: u64 = 10_000_000;

/// Minimum number of common samples of a scored pair, by default, where the matrix has so many.
const MIN_SAMPLES: usize = 30;

/// Format of the output of `correlate`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// KINC version-1 text.
    #[default]
    Text,
    /// The pair matrix.
    Pairs,
}

/// Parameters of `correlate`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct CorrelateParams {
    /// Score of a pair.
    pub method: Correlation,
    /// Largest part of the samples on either side of the median that may be outliers, 0 to 1; for
    /// bicor.
    pub max_p_outliers: f64,
    /// Minimum absolute score, 0 to 1.
    pub min_abs_score: f64,
    /// Number of pairs with the largest |score| that are kept, 1 to [`TOP_MAX`]; all by default.
    pub top: Option<u64>,
    /// Minimum number of common samples of a scored pair, 2 to [`correlate::SAMPLES_MAX`]; by
    /// default it follows from the matrix, see [`CorrelateParams::min_samples_of`].
    pub min_samples: Option<usize>,
    /// Format of the output.
    pub format: Format,
    /// Whether each pair that is kept is tested.
    pub p_values: bool,
    /// Genes that are used, and their scale.
    #[serde(flatten)]
    pub genes: matrix::GeneFilter,
    /// Words for a missing value, separated by commas, in addition to NA, NaN, nan and an empty
    /// field.
    pub missing: Option<String>,
    /// Whether rows are samples, and columns genes.
    pub transpose: bool,
    /// Layer of an annotated matrix, before it was converted to text.
    pub layer: Option<String>,
    /// Layout of the text, if it is not to be recognised.
    #[serde(flatten)]
    pub table: TableParams,
}

impl Default for CorrelateParams {
    fn default() -> Self {
        Self {
            method: Correlation::Pearson,
            max_p_outliers: 1.0,
            min_abs_score: 0.0,
            top: None,
            min_samples: None,
            format: Format::Text,
            p_values: false,
            genes: matrix::GeneFilter::default(),
            missing: None,
            transpose: false,
            layer: None,
            table: TableParams::default(),
        }
    }
}

impl CorrelateParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the parameter, its value and its range.
    pub fn check(&self) -> Result<()> {
        if let Some(top) = self.top.filter(|top| !(1..=TOP_MAX).contains(top)) {
            return Err(Error::input("arguments", format!("--top is {top}, give 1 to {TOP_MAX}")));
        }
        if !(0.0..=1.0).contains(&self.max_p_outliers) {
            let text = format!("--max-p-outliers is {}, give 0 to 1", self.max_p_outliers);
            return Err(Error::input("arguments", text));
        }
        self.genes.check()?;
        self.kernel(MIN_SAMPLES).check()
    }

    /// Returns the options of the reader of the matrix.
    pub fn reading(&self, threads: usize, memory_bytes: u64) -> matrix::Options {
        let words = self.missing.as_deref().unwrap_or_default().split(',');
        matrix::Options {
            table: self.table.clone(),
            missing: words.filter(|word| !word.is_empty()).map(str::to_owned).collect(),
            transpose: self.transpose,
            threads,
            memory_bytes,
        }
    }

    /// Returns the minimum number of common samples of a scored pair of a matrix with `samples`
    /// samples: 30 by default, and of fewer than 30 those that are [`enough_values`].
    pub fn min_samples_of(&self, samples: usize) -> usize {
        let from_samples = if samples < MIN_SAMPLES { enough_values(samples) } else { MIN_SAMPLES };
        self.min_samples.unwrap_or(from_samples)
    }

    /// Returns the parameters of the kernel for a matrix with `samples` samples.
    pub fn kernel(&self, samples: usize) -> correlate::Params {
        let method = match self.method {
            Correlation::Pearson => correlate::CorrelationMethod::Pearson,
            Correlation::Spearman => correlate::CorrelationMethod::Spearman,
            Correlation::Bicor => {
                correlate::CorrelationMethod::Bicor { max_outliers: self.max_p_outliers }
            }
        };
        let min_samples = self.min_samples_of(samples);
        let min_abs_score = self.min_abs_score;
        correlate::Params { method, min_abs_score, min_samples }
    }
}

/// Score of a pair of genes.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Correlation {
    /// Pearson's correlation.
    #[default]
    Pearson,
    /// Spearman's correlation of ranks.
    Spearman,
    /// Biweight midcorrelation.
    Bicor,
}

/// Parameters of `load`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct LoadParams {
    /// Genes of the matrix; by default the largest gene of a row.
    #[serde(default)]
    pub genes: Option<u32>,
}

impl LoadParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        check_genes(self.genes)
    }
}

/// Parameters of `join`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct JoinParams {
    /// Filter of the rows of each version.
    #[serde(flatten)]
    pub filter: FilterParams,
    /// Rows to output.
    #[serde(default)]
    pub how: JoinKind,
    /// Whether the differences of the matched pairs are tested.
    #[serde(default)]
    pub test: bool,
    /// Correlation that the scores are, for the test.
    #[serde(default)]
    pub method: ScoreMethod,
    /// Largest q-value of a pair that is different, 0 to 1, for the test.
    #[serde(default = "max_q")]
    pub max_q: f64,
}

fn max_q() -> f64 {
    0.05
}

impl Default for JoinParams {
    fn default() -> Self {
        Self {
            filter: FilterParams::default(),
            how: JoinKind::default(),
            test: false,
            method: ScoreMethod::default(),
            max_q: max_q(),
        }
    }
}

impl JoinParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.max_q) {
            let text = format!("--max-q is {}, give 0 to 1", self.max_q);
            return Err(Error::input("arguments", text));
        }
        self.filter.check().map(drop)
    }
}

/// Method of counting edges, which changes no answer: the kernel always counts rows.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DegreesMethod {
    /// Rows are counted.
    #[default]
    Count,
    /// The engine `spark-scala` uses GraphX.
    Graphx,
}

/// Parameters of `degrees`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct DegreesParams {
    /// Filter of the rows that are edges.
    #[serde(flatten)]
    pub filter: FilterParams,
    /// Genes of the network; by default the largest gene of an edge.
    #[serde(default)]
    pub genes: Option<u32>,
    /// Method of counting edges.
    #[serde(default)]
    pub method: DegreesMethod,
}

impl DegreesParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        self.filter.check()?;
        check_genes(self.genes)
    }
}

/// Checks a number of genes.
///
/// # Errors
/// `Input` naming the option and its range.
pub fn check_genes(genes: Option<u32>) -> Result<()> {
    match genes {
        Some(count) if !(2..=GENES_MAX).contains(&count) => {
            Err(Error::input("arguments", format!("--genes is {count}, give 2 to {GENES_MAX}")))
        }
        _ => Ok(()),
    }
}
