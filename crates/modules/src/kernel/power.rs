//! Connectivities of soft networks at several powers, in one pass over the correlations.

use cuesta_core::Result;
use cuesta_runtime::parallel;

use crate::kernel::connectivity::{ConnectivitySums, GeneSums, PowerGrid};
use crate::kernel::product::{self, GridBlock, block_counts};
use crate::kernel::scale_free::{PowerFit, fit};
use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::params::{NetworkType, check_power};

/// Bins of the degrees in a fit.
pub const BINS: usize = 10;

/// Returns, for each power, the connectivity of each gene without itself; missing correlations
/// count nothing. The sums are those of a sweep, and the same for any number of threads.
///
/// # Errors
/// `Input` when a power is out of range.
pub fn connectivities<T: StoredNumber>(
    correlations: &Triangle<'_, T>,
    network: NetworkType,
    powers: &[u32],
    threads: usize,
) -> Result<Vec<Vec<f64>>> {
    powers.iter().try_for_each(|power| check_power(*power))?;
    let grid = PowerGrid { network, powers };
    let blocks = product::grid(correlations.count());
    let sums = GeneSums::new(block_counts(correlations.count()).0, powers.len());
    let work = |(block_sums, row): &mut (ConnectivitySums, Vec<f64>), task: usize| {
        let GridBlock { side, rows, columns } = &blocks[task];
        block_sums.begin(powers.len(), rows.len(), columns.len());
        for i in rows.clone() {
            let first = columns.start.max(i + 1);
            let values = &correlations.row(i)[first - i - 1..columns.end.max(first) - i - 1];
            row.clear();
            row.extend(values.iter().map(|value| value.load()));
            block_sums.add(grid, i - rows.start, first - columns.start, row);
        }
        sums.add(*side, block_sums);
        Ok(())
    };
    parallel::run(threads, blocks.len(), Default::default, work, |_| {})?;
    Ok(sums.connectivities())
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
    threads: usize,
) -> Result<Vec<PowerRow>> {
    let all = connectivities(correlations, network, powers, threads)?;
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
