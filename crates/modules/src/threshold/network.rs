//! Networks of the pairs that reach cut-offs: edges, degrees, components, fit to a power law.

use crate::kernel::power::BINS;
use crate::kernel::scale_free::fit;
use crate::kernel::threshold::components::GeneForest;
use crate::stages::Pairs;
use crate::statistics::student_p_value;
use crate::verify::definitions as plain;

use super::is_near;

/// Network at a cut-off.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdRow {
    /// Cut-off in millionths.
    pub threshold: u32,
    /// Number of pairs whose |r| reaches it.
    pub edges: u64,
    /// Part of all pairs.
    pub density: f64,
    /// Number of genes with an edge.
    pub genes_with_edges: u64,
    /// Number of connected components of these.
    pub components: u64,
    /// Genes of the largest component; 0 without an edge.
    pub largest_component: u64,
    /// Mean number of edges of a gene.
    pub mean: f64,
    /// Median number of edges of a gene.
    pub median: f64,
    /// Largest number of edges of a gene.
    pub max: u64,
    /// Coefficient of determination of the fit to a power law.
    pub r_squared: f64,
    /// Slope of the fit.
    pub slope: f64,
    /// Two-sided p-value of a correlation at the cut-off over all samples.
    pub p: f64,
    /// Pairs expected by chance at the cut-off, as a part of its edges; at most 1.
    pub fdr: f64,
}

/// Returns |r| in millionths, halves to even; none where there is no correlation.
fn micro(r: f64) -> Option<u32> {
    (!r.is_nan()).then(|| (r.abs() * 1e6).round_ties_even() as u32)
}

/// Computes the network at each cut-off, which ascend; edges are added from the highest one down.
pub fn sweep(pairs: &Pairs<'_>, thresholds: &[u32], samples: usize) -> Vec<ThresholdRow> {
    let genes = pairs.count();
    let mut forest = GeneForest::new(genes);
    let mut degrees = vec![0_u32; genes];
    let mut rows = Vec::with_capacity(thresholds.len());
    let mut edges = 0;
    let mut above = u32::MAX;
    for &threshold in thresholds.iter().rev() {
        for i in 0..genes {
            for (j, &r) in (i + 1..).zip(pairs.row(i)) {
                if micro(r).is_some_and(|size| (threshold..above).contains(&size)) {
                    edges += 1;
                    degrees[i] += 1;
                    degrees[j] += 1;
                    forest.join(i as u32, j as u32);
                }
            }
        }
        above = threshold;
        rows.push(row(threshold, edges, &degrees, (&mut forest, samples)));
    }
    rows.reverse();
    rows
}

fn row(
    threshold: u32,
    edges: u64,
    degrees: &[u32],
    (forest, samples): (&mut GeneForest, usize),
) -> ThresholdRow {
    let genes = degrees.len();
    let all = (genes as u64) * (genes as u64).saturating_sub(1) / 2;
    let mut sorted = degrees.to_vec();
    sorted.sort_unstable();
    let middle = |place: usize| f64::from(sorted[place.min(genes - 1)]);
    let fit = fit(&degrees.iter().map(|degree| f64::from(*degree)).collect::<Vec<_>>(), BINS);
    let sizes = forest.sizes();
    let p = student_p_value(f64::from(threshold) / 1e6, samples);
    ThresholdRow {
        threshold,
        edges,
        density: edges as f64 / all as f64,
        genes_with_edges: degrees.iter().filter(|degree| **degree > 0).count() as u64,
        components: sizes.len() as u64,
        largest_component: sizes.into_iter().max().unwrap_or(0) as u64,
        mean: 2.0 * edges as f64 / genes as f64,
        median: (middle((genes - 1) / 2) + middle(genes / 2)) / 2.0,
        max: u64::from(sorted[genes - 1]),
        r_squared: fit.r_squared,
        slope: fit.slope,
        p,
        fdr: if edges == 0 { f64::NAN } else { (p * all as f64 / edges as f64).min(1.0) },
    }
}

/// Whether a row is that of its cut-off: neighbours are listed, and components searched from gene
/// to gene.
pub(crate) fn is_right(pairs: &Pairs<'_>, row: &ThresholdRow, samples: usize) -> bool {
    let genes = pairs.count();
    let least = f64::from(row.threshold) / 1e6 - 5e-7;
    let is_edge = |i: usize, j: usize| {
        let size = pairs.get(i, j).abs();
        // A size halfway between two millionths is even if rounded.
        size > least || (size - least).abs() < 1e-12 && micro(size) == Some(row.threshold)
    };
    let neighbours: Vec<Vec<usize>> =
        (0..genes).map(|i| (0..genes).filter(|&j| i != j && is_edge(i, j)).collect()).collect();
    let mut degrees: Vec<f64> = neighbours.iter().map(|list| list.len() as f64).collect();
    let edges = degrees.iter().sum::<f64>() / 2.0;
    let (mut components, mut largest) = (0, 0);
    let mut is_visited = vec![false; genes];
    for first in 0..genes {
        if is_visited[first] || neighbours[first].is_empty() {
            continue;
        }
        let (mut waiting, mut size) = (vec![first], 0);
        is_visited[first] = true;
        while let Some(gene) = waiting.pop() {
            size += 1;
            for &other in &neighbours[gene] {
                if !std::mem::replace(&mut is_visited[other], true) {
                    waiting.push(other);
                }
            }
        }
        components += 1;
        largest = largest.max(size);
    }
    let (r_squared, slope) = plain::fit(&degrees);
    let is_fit =
        r_squared.is_nan() || is_near(r_squared, row.r_squared) && is_near(slope, row.slope);
    let p = plain::p_value(f64::from(row.threshold) / 1e6, samples);
    degrees.sort_by(f64::total_cmp);
    let median = (degrees[(genes - 1) / 2] + degrees[genes / 2]) / 2.0;
    let with_edges = degrees.iter().filter(|degree| **degree > 0.0).count() as u64;
    edges == row.edges as f64
        && (components, largest) == (row.components, row.largest_component)
        && with_edges == row.genes_with_edges
        && is_near(plain::mean(&degrees), row.mean)
        && is_near(median, row.median)
        && degrees[genes - 1] == row.max as f64
        && is_fit
        && is_near(p, row.p)
}
