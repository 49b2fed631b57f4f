//! Share of the points of a run that a process has: all points, or those of a rank or a task.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_input::npy::Element;
use cuesta_input::points::PointFiles;

use crate::answer::Assignments;
use crate::kernel::simd::VectorLevel;
use crate::kernel::{self, Centres, Grid, Points, Real, Sums};
use crate::params::Precision;
use crate::store::{PointStore, StoreSettings};

/// Points of a share, whatever their precision. All results are about the share; the sums of
/// disjoint shares add up to those of all points.
pub trait Share: Send {
    /// Reads the points, and returns the largest absolute coordinate of each dimension.
    ///
    /// # Errors
    /// `Input` naming the first point with a coordinate that is NaN or too large; `System`;
    /// `Cancelled`.
    fn read(&mut self, progress: &Progress) -> Result<Vec<f64>>;

    /// Assigns each point to the nearest centre; returns the sums of the clusters.
    ///
    /// # Errors
    /// `System`, `Cancelled`.
    fn assign(&mut self, centres: &[f64], grid: &Grid, progress: &Progress) -> Result<&Sums>;

    /// Assigns for the last time: writes the cluster of each point into the existing file of
    /// `folder`; the returned sums include the inertias.
    ///
    /// # Errors
    /// `System`, `Cancelled`.
    fn finish(
        &mut self,
        centres: &[f64],
        grid: &Grid,
        folder: &Path,
        progress: &Progress,
    ) -> Result<&Sums>;

    /// Whether the points stay in memory between passes.
    fn keeps(&self) -> bool;

    /// Returns the number of points.
    fn count(&self) -> u64;

    /// Returns the size of the points in memory, in bytes.
    fn size_bytes(&self) -> u64;
}

/// Returns the share of the points of `range`, in the requested precision.
///
/// # Errors
/// `Input` if the memory limit is too low.
pub fn share(
    points: &Arc<PointFiles>,
    range: Range<u64>,
    precision: Precision,
    job: &StoreSettings<'_>,
) -> Result<Box<dyn Share>> {
    Ok(match precision.of(points.element()) {
        Element::F32 => Box::new(TypedShare::<f32>::new(points, range, job)?),
        Element::F64 => Box::new(TypedShare::<f64>::new(points, range, job)?),
    })
}

struct TypedShare<T> {
    store: PointStore<T>,
    level: VectorLevel,
    dimensions: usize,
    clusters: usize,
    /// Sums of the clusters stored in the chunks, if chunks store clusters; else sums of the last
    /// pass.
    total: Sums,
}

impl<T: Real> TypedShare<T> {
    fn new(points: &Arc<PointFiles>, range: Range<u64>, job: &StoreSettings<'_>) -> Result<Self> {
        let (clusters, dimensions) = (job.clusters, points.dimensions);
        Ok(Self {
            store: PointStore::new(Arc::clone(points), range, job)?,
            level: VectorLevel::best(),
            dimensions,
            clusters,
            total: Sums::new(clusters, dimensions),
        })
    }

    fn zero_sums(&self) -> Sums {
        Sums::new(self.clusters, self.dimensions)
    }

    fn add(&mut self, all: impl IntoIterator<Item = Sums>) -> &Sums {
        if !self.store.keeps_clusters() {
            self.total = self.zero_sums();
        }
        all.into_iter().for_each(|sums| self.total.merge(&sums));
        &self.total
    }

    fn centres(&self, rows: &[f64]) -> Centres<T> {
        Centres::new(rows.to_vec(), &middle(rows, self.dimensions))
    }
}

impl<T: Real> Share for TypedShare<T> {
    fn read(&mut self, progress: &Progress) -> Result<Vec<f64>> {
        self.store.load(progress)
    }

    fn assign(&mut self, centres: &[f64], grid: &Grid, progress: &Progress) -> Result<&Sums> {
        let centres = self.centres(centres);
        let work = |sums: &mut Sums, _, mut points: Points<'_, T>| {
            kernel::assign(self.level, &mut points, &centres, grid, sums);
            Ok(())
        };
        let all = self.store.each(|| self.zero_sums(), work, |_, _, _| Ok(()), progress)?;
        Ok(self.add(all))
    }

    fn finish(
        &mut self,
        centres: &[f64],
        grid: &Grid,
        folder: &Path,
        progress: &Progress,
    ) -> Result<&Sums> {
        let centres = self.centres(centres);
        let file = Assignments::extend(folder)?;
        let work = |(sums, _): &mut (Sums, Vec<u8>), _, mut points: Points<'_, T>| {
            kernel::assign(self.level, &mut points, &centres, grid, sums);
            kernel::measure(self.level, &points, &centres, grid, sums);
            Ok(())
        };
        let end = |(_, bytes): &mut (Sums, Vec<u8>), first, clusters: &[u32]| {
            file.put(first, clusters, bytes)
        };
        let all = self.store.each(|| (self.zero_sums(), Vec::new()), work, end, progress)?;
        Ok(self.add(all.into_iter().map(|(sums, _)| sums)))
    }

    fn keeps(&self) -> bool {
        self.store.keeps()
    }

    fn count(&self) -> u64 {
        self.store.count()
    }

    fn size_bytes(&self) -> u64 {
        self.store.size_bytes()
    }
}

/// Returns the mean of the centres, to which the products of the kernel are relative.
fn middle(rows: &[f64], dimensions: usize) -> Vec<f64> {
    let mut sums = vec![0.0; dimensions];
    for row in rows.chunks_exact(dimensions) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value / (rows.len() / dimensions) as f64;
        }
    }
    sums
}
