//! Assignment of points to centres, and the sums of the clusters.

use std::ops::Range;
use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::{Shares, with_share};
use crate::kernel::Grid;

/// Assigns each point to its nearest centre, and sums the points of each cluster.
#[derive(Serialize, Deserialize)]
pub struct Assign {
    /// Files of the points.
    pub arrays: Vec<PathBuf>,
    /// Largest coordinates of all points.
    pub largest: Vec<f64>,
    /// The centres.
    pub centres: Vec<f64>,
    /// Whether this is the last round, in which tasks write the clusters of the points.
    pub is_last: bool,
}

/// Sums of the points of clusters.
#[derive(Serialize, Deserialize)]
pub struct ClusterSums {
    /// Sums of the coordinates.
    pub coordinates: Vec<i64>,
    /// Numbers of points.
    pub sizes: Vec<i64>,
    /// Inertias in units.
    pub units: Vec<i64>,
    /// Fine units of the inertias.
    pub rests: Vec<i64>,
}

impl Operation for Assign {
    const NAME: &'static str = "assign";
    type State = Shares;
    type Input = Range<u64>;
    type Output = ClusterSums;

    fn task(self, range: Range<u64>, context: TaskContext<'_, Shares>) -> TaskOutcome<Self> {
        let (progress, folder) = (context.progress, &context.request.output);
        with_share(&self.arrays, range, context, |points, share| {
            let grid = Grid::new(points.count, &self.largest);
            let sums = if self.is_last {
                share.finish(&self.centres, &grid, folder, progress)?
            } else {
                share.assign(&self.centres, &grid, progress)?
            };
            let (units, rests) = sums.inertias.iter().map(|sum| (sum.units, sum.rests)).unzip();
            let (coordinates, sizes) = (sums.coordinates.clone(), sums.sizes.clone());
            Ok(TaskResult::Output(ClusterSums { coordinates, sizes, units, rests }))
        })
    }

    fn combine(mut left: ClusterSums, right: ClusterSums) -> Result<ClusterSums> {
        for (sums, more) in [
            (&mut left.coordinates, right.coordinates),
            (&mut left.sizes, right.sizes),
            (&mut left.units, right.units),
            (&mut left.rests, right.rests),
        ] {
            sums.iter_mut().zip(more).for_each(|(a, b)| *a = a.wrapping_add(b));
        }
        Ok(left)
    }
}
