//! Parameters of `communities`.

use std::ops::RangeInclusive;

use cuesta_core::{Error, Result};
use cuesta_input::FilterParams;
use serde::{Deserialize, Serialize};

use super::{GraphFormat, check_genes};
use crate::kernel::quality::CommunityQuality;

/// Method of community detection.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommunityMethod {
    /// Connected components.
    #[default]
    Components,
    /// Synchronous label propagation; ties go to the smallest label.
    LabelPropagation,
    /// Louvain modularity optimisation in the order of the gene numbers.
    Louvain,
    /// Leiden optimisation of a quality, in drawn orders of the genes.
    Leiden,
}

/// Weight of a row as an edge, for `leiden`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeWeight {
    /// Each row weighs 1.
    #[default]
    Rows,
    /// Each row weighs its |score|.
    Score,
}

impl EdgeWeight {
    /// Returns the number that stands for the weight 1.
    pub fn unit(self) -> u64 {
        match self {
            Self::Rows => 1,
            Self::Score => 1_000_000,
        }
    }
}

/// Range of the resolution of `leiden`; it is taken in millionths.
pub const RESOLUTIONS: RangeInclusive<f64> = 1e-6..=1000.0;

/// Parameters of `communities`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CommunitiesParams {
    /// Filter of the rows that are edges.
    #[serde(flatten)]
    pub filter: FilterParams,
    /// Genes of the network; by default the largest gene of an edge.
    #[serde(default)]
    pub genes: Option<u32>,
    /// Method of community detection.
    #[serde(default)]
    pub method: CommunityMethod,
    /// Maximum number of rounds of label propagation, 1 to 1000.
    #[serde(default = "rounds")]
    pub iterations: u32,
    /// Quality that `leiden` optimises.
    #[serde(default)]
    pub quality: CommunityQuality,
    /// Resolution of the quality, in [`RESOLUTIONS`]: more makes smaller communities.
    #[serde(default = "resolution")]
    pub resolution: f64,
    /// Weight of a row, for `leiden`.
    #[serde(default)]
    pub weights: EdgeWeight,
    /// Whether to write the network too.
    #[serde(default)]
    pub graph: GraphFormat,
}

fn rounds() -> u32 {
    10
}

fn resolution() -> f64 {
    1.0
}

impl Default for CommunitiesParams {
    fn default() -> Self {
        Self {
            filter: FilterParams::default(),
            genes: None,
            method: CommunityMethod::Components,
            iterations: rounds(),
            quality: CommunityQuality::default(),
            resolution: resolution(),
            weights: EdgeWeight::default(),
            graph: GraphFormat::None,
        }
    }
}

impl CommunitiesParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        self.filter.check()?;
        check_genes(self.genes)?;
        if !RESOLUTIONS.contains(&self.resolution) {
            let text = format!("--resolution is {}, give 0.000001 to 1000", self.resolution);
            return Err(Error::input("arguments", text));
        }
        if (1..=1000).contains(&self.iterations) {
            return Ok(());
        }
        let text = format!("--iterations is {}, give 1 to 1000", self.iterations);
        Err(Error::input("arguments", text))
    }
}
