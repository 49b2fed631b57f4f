//! Dynamic hybrid cut of a tree into modules.
//!
//! Source: Langfelder, Zhang and Horvath, "Defining clusters from a hierarchical cluster tree: the
//! Dynamic Tree Cut package for R", 2008.

mod branches;
mod pam;

use cuesta_core::{Error, Result};

use crate::kernel::linkage::Tree;
use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::params::CutParams;
use branches::Branches;

/// Largest scatter of a core by `deep_split`.
const CORE_SCATTER: [f64; 5] = [0.64, 0.73, 0.82, 0.91, 0.95];

/// Part of the merges below the reference height.
const REFERENCE: f64 = 0.05;

/// Thresholds of the cut in units of heights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// Height of the cut.
    pub cut: f64,
    /// Largest scatter of the core of a cluster.
    pub scatter: f64,
    /// Smallest gap between the scatter and the height of attachment.
    pub gap: f64,
    /// Smallest height at which branches are distinct.
    pub split: f64,
    /// Smallest size of a cluster.
    pub size: usize,
}

impl Limits {
    /// Computes the thresholds from the heights of a tree, which are ascending.
    pub fn new(heights: &[f64], params: &CutParams) -> Self {
        let highest = heights.last().copied().unwrap_or(0.0);
        let number = (REFERENCE * heights.len() as f64).round_ties_even() as usize;
        let reference = heights.get(number.max(1) - 1).copied().unwrap_or(0.0);
        let default_cut = 0.99 * (highest - reference) + reference;
        let cut = params.cut_height.unwrap_or(default_cut).min(highest);
        let scatter = params
            .max_core_scatter
            .unwrap_or_else(|| interpolated(params.deep_split, |scatter| scatter));
        let gap = params.min_gap.unwrap_or_else(|| {
            interpolated(params.deep_split, |scatter| (1.0 - scatter) * 3.0 / 4.0)
        });
        let split = reference + params.min_split_height * (cut - reference);
        Self {
            cut,
            scatter: params
                .max_absolute_core_scatter
                .unwrap_or(reference + scatter * (cut - reference)),
            gap: params.min_absolute_gap.unwrap_or(gap * (cut - reference)),
            split: params.min_absolute_split_height.unwrap_or(split),
            size: params.min_cluster_size,
        }
    }
}

/// Returns the image of the scatter of a `deep_split`: on the line through the nearest whole one,
/// half to odd, and the next one, as R has it.
fn interpolated(deep_split: f64, image: impl Fn(f64) -> f64) -> f64 {
    let nearest = (deep_split + 1.0).round_ties_even() as usize - 1;
    let Some(next) = CORE_SCATTER.get(nearest + 1) else { return image(CORE_SCATTER[4]) };
    let part = deep_split - nearest as f64;
    (1.0 - part) * image(CORE_SCATTER[nearest]) + part * image(*next)
}

/// Cuts a tree; returns the module of each gene from 1, by falling size, or 0 for none.
///
/// `distances` are those of which the tree was made.
///
/// # Errors
/// `Input` when a parameter is out of range, or tree and distances have other numbers of genes.
pub fn cut_tree<T: StoredNumber>(
    tree: &Tree,
    distances: &Triangle<'_, T>,
    params: &CutParams,
) -> Result<Vec<u32>> {
    params.check()?;
    let count = distances.count();
    if tree.order.len() != count || tree.merges.len() + 1 != count.max(1) {
        let text = format!("the tree has {} genes, the distances {count}", tree.order.len());
        return Err(Error::input("modules", text));
    }
    let limits = Limits::new(&tree.heights, params);
    let below = tree.heights.iter().take_while(|height| **height <= limits.cut).count();
    if below < params.min_cluster_size {
        return Ok(vec![0; count]);
    }
    let mut branches = Branches::new(count, limits, params.pam_respects_dendro);
    for (merge, height) in tree.merges.iter().zip(&tree.heights).take(below) {
        branches.merge(*merge, *height, distances);
    }
    let clusters = branches.clusters(distances);
    let mut labels = vec![0; count];
    for (label, &branch) in (1..).zip(&clusters) {
        for &gene in branches.singletons(branch) {
            labels[gene as usize] = label;
        }
    }
    if params.pam_stage && !clusters.is_empty() {
        let most = params.max_pam_distance.unwrap_or(limits.cut);
        pam::assign(&branches, &clusters, distances, (params, most), &mut labels);
    }
    Ok(crate::kernel::labels::by_size(&labels))
}
