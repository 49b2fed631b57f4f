//! Connectivities of soft networks at several powers, in one pass over the correlations.

use cuesta_core::Result;

use crate::kernel::adjacency::{integer_power, similarity};
use crate::kernel::scale_free::{PowerFit, fit};
use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::params::{NetworkType, check_power};

/// Bins of the degrees in a fit.
pub const BINS: usize = 10;

/// Returns, for each power, the connectivity of each gene without itself: the sum in the order of
/// genes; missing correlations count nothing.
///
/// # Errors
/// `Input` when a power is out of range.
pub fn connectivities<T: StoredNumber>(
    correlations: &Triangle<'_, T>,
    network: NetworkType,
    powers: &[u32],
) -> Result<Vec<Vec<f64>>> {
    powers.iter().try_for_each(|power| check_power(*power))?;
    let count = correlations.count();
    let mut sums = vec![vec![0.0; count]; powers.len()];
    let mut row = Vec::with_capacity(count);
    for i in 0..count {
        row.clear();
        row.extend(correlations.row(i).iter().map(|value| similarity(network, value.load())));
        for (sums, &power) in sums.iter_mut().zip(powers) {
            let (before, after) = sums.split_at_mut(i + 1);
            for (similarity, other) in row.iter().zip(after) {
                let adjacency = integer_power(*similarity, power);
                *other += adjacency;
                before[i] += adjacency;
            }
        }
    }
    Ok(sums)
}

/// Row of the table of powers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerRow {
    /// Power.
    pub power: u32,
    /// Fit of the degrees to a power law.
    pub fit: PowerFit,
    /// Mean connectivity.
    pub mean: f64,
    /// Median connectivity.
    pub median: f64,
    /// Largest connectivity.
    pub largest: f64,
}

/// Powers of the table by default.
pub const TABLE_POWERS: [u32; 15] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20];

/// Computes the table of powers from the correlations.
///
/// # Errors
/// `Input` when a power is out of range.
pub fn table<T: StoredNumber>(
    correlations: &Triangle<'_, T>,
    network: NetworkType,
    powers: &[u32],
) -> Result<Vec<PowerRow>> {
    let all = connectivities(correlations, network, powers)?;
    Ok(powers.iter().zip(all).map(|(&power, degrees)| PowerRow::new(power, &degrees)).collect())
}

impl PowerRow {
    /// Computes a row from the connectivities of the genes.
    pub fn new(power: u32, connectivity: &[f64]) -> Self {
        let degrees = ConnectivityFacts::new(connectivity);
        let ConnectivityFacts { mean, median, largest } = degrees;
        Self { power, fit: fit(connectivity, BINS), mean, median, largest }
    }
}

/// Summary of connectivities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConnectivityFacts {
    pub mean: f64,
    pub median: f64,
    pub largest: f64,
}

impl ConnectivityFacts {
    pub fn new(connectivity: &[f64]) -> Self {
        let mut sorted = connectivity.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        let middle = |place: usize| sorted.get(place).copied().unwrap_or(0.0);
        Self {
            mean: connectivity.iter().sum::<f64>() / count.max(1) as f64,
            median: (middle(count.saturating_sub(1) / 2) + middle(count / 2)) / 2.0,
            largest: sorted.last().copied().unwrap_or(0.0),
        }
    }
}

/// Returns the smallest power whose fit is better than `r_squared`, whatever its slope.
pub fn estimate(table: &[PowerRow], r_squared: f64) -> Option<u32> {
    table.iter().find(|row| row.fit.r_squared > r_squared).map(|row| row.power)
}
