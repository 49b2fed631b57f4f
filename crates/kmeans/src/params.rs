//! Parameters of `kmeans`, with their ranges.

use std::path::PathBuf;

use cuesta_core::{Error, Result};
use cuesta_input::npy::Element;
use cuesta_input::table::TableParams;
use serde::{Deserialize, Serialize};

/// Maximum number of clusters.
pub const CLUSTERS_MAX: usize = 1 << 16;
/// Maximum number of iterations.
pub const ITERATIONS_MAX: u32 = 10_000;

/// Choice of the first centres.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum Init {
    /// The first points.
    #[default]
    #[serde(rename = "first")]
    First,
    /// Points of a sample, distant from each other, drawn from the seed.
    #[serde(rename = "kmeans++")]
    PlusPlus,
}

/// Precision of the points in memory.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Precision of the files; double for text.
    #[default]
    Auto,
    /// Single: coordinates are rounded to the nearest number.
    Float32,
    /// Double.
    Float64,
}

impl Precision {
    /// Returns the precision for files of `element`.
    pub fn of(self, element: Element) -> Element {
        match self {
            Self::Auto => element,
            Self::Float32 => Element::F32,
            Self::Float64 => Element::F64,
        }
    }
}

/// Whether points stay in memory from one pass to the next.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PointCaching {
    /// In memory if they fit.
    #[default]
    All,
    /// Each pass reads the points again: from a file, or from the memory of the store.
    None,
}

/// Parameters of `kmeans`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct KMeansParams {
    /// Number of clusters, 1 to [`CLUSTERS_MAX`].
    pub clusters: usize,
    /// Maximum number of iterations, 1 to [`ITERATIONS_MAX`].
    pub iterations: u32,
    /// Choice of the first centres, unless `centres` is set.
    pub init: Init,
    /// File with the first centres.
    pub centres: Option<PathBuf>,
    /// Precision of the points.
    pub dtype: Precision,
    /// Distance that stops the iterations: they end when no centre moved further.
    pub tolerance: f64,
    /// Whether points stay in memory.
    pub keep: PointCaching,
    /// Layout of text, if it is not to be recognised.
    #[serde(flatten)]
    pub table: TableParams,
}

impl Default for KMeansParams {
    fn default() -> Self {
        Self {
            clusters: 10,
            iterations: 20,
            init: Init::First,
            centres: None,
            dtype: Precision::Auto,
            tolerance: 0.0,
            keep: PointCaching::All,
            table: TableParams::default(),
        }
    }
}

impl KMeansParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::input("kmeans", text));
        if !(1..=CLUSTERS_MAX).contains(&self.clusters) {
            return refuse(format!("--clusters is {}, give 1 to {CLUSTERS_MAX}", self.clusters));
        }
        if !(1..=ITERATIONS_MAX).contains(&self.iterations) {
            let iterations = self.iterations;
            return refuse(format!("--iterations is {iterations}, give 1 to {ITERATIONS_MAX}"));
        }
        if !(0.0..=f64::MAX).contains(&self.tolerance) {
            return refuse(format!("--tolerance is {}, give at least 0", self.tolerance));
        }
        Ok(())
    }

    /// Checks the number of clusters against the number of points.
    ///
    /// # Errors
    /// `Input`.
    pub fn check_points(&self, points: u64) -> Result<()> {
        if self.clusters as u64 <= points {
            return Ok(());
        }
        let text = format!(
            "--clusters is {}, there are only {points} points; give fewer clusters",
            self.clusters
        );
        Err(Error::input("kmeans", text))
    }
}
