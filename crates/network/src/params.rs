//! Parameters of the network workloads, as the command line gives them, with their ranges.

use cuesta_core::{Error, Result};
use cuesta_input::FilterParams;
use cuesta_input::limits::GENES_MAX;
use serde::Deserialize;

/// Parameters of `scan`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct ScanParams {
    /// Which rows to keep.
    #[serde(flatten)]
    pub filter: FilterParams,
}

/// Parameters of `load`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct LoadParams {
    /// Genes of the matrix; the largest gene of a row when absent.
    #[serde(default)]
    pub genes: Option<u32>,
}

/// Which rows of a join to give.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Rows in both versions.
    #[default]
    Inner,
    /// Rows of the first version.
    Left,
    /// Rows of either version.
    Outer,
}

/// Parameters of `join`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct JoinParams {
    /// Which rows of each version take part.
    #[serde(flatten)]
    pub filter: FilterParams,
    /// Which rows to give.
    #[serde(default)]
    pub how: How,
}

/// Parameters of `degrees`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct DegreesParams {
    /// Which rows are edges.
    #[serde(flatten)]
    pub filter: FilterParams,
    /// Genes of the network; the largest gene of an edge when absent.
    #[serde(default)]
    pub genes: Option<u32>,
}

/// How communities are found.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Connected components.
    #[default]
    Components,
    /// Synchronous label propagation; ties go to the smallest label.
    LabelPropagation,
    /// Louvain modularity optimisation in the order of the gene numbers.
    Louvain,
}

/// Parameters of `communities`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct CommunitiesParams {
    /// Which rows are edges.
    #[serde(flatten)]
    pub filter: FilterParams,
    /// Genes of the network; the largest gene of an edge when absent.
    #[serde(default)]
    pub genes: Option<u32>,
    /// How communities are found.
    #[serde(default)]
    pub method: Method,
    /// Most rounds of label propagation, 1 to 1000.
    #[serde(default = "rounds")]
    pub iterations: u32,
}

fn rounds() -> u32 {
    10
}

impl CommunitiesParams {
    /// Checks the ranges that the filter does not.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        check_genes(self.genes)?;
        if (1..=1000).contains(&self.iterations) {
            return Ok(());
        }
        let text = format!("--iterations is {}, give 1 to 1000", self.iterations);
        Err(Error::input("arguments", text))
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
