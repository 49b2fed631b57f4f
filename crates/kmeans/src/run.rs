//! Runs the workload in this process: a leader with a single share of all points.

use std::sync::Arc;

use cuesta_core::Result;
use cuesta_core::job::{Phase, Request, Response, parameters, timed};
use cuesta_core::progress::Progress;

use crate::leader::Leader;
use crate::params::{KMeansParams, PointCaching};
use crate::share;
use crate::store::StoreSettings;

/// Iterations with a separate phase; the remaining ones share a phase.
const PHASES_MAX: usize = 100;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let mut response = Response::default();
    let mut leader = Leader::open(request, params, progress, &mut response)?;
    timed(&mut response, "seed", || {
        Ok((leader.seed(request, progress)?, 0, leader.params.clusters as u64))
    })?;
    let (points, params) = (Arc::clone(&leader.points), &leader.params);
    let job = StoreSettings {
        clusters: params.clusters,
        threads: request.threads,
        budget: &request.budget,
        keep: params.keep == PointCaching::All,
        pass: leader.pass(),
    };
    let mut all = share::share(&points, 0..points.count, params.dtype, &job)?;
    let (size_bytes, count) = (all.size_bytes(), points.count);
    let largest = timed(&mut response, "read", || Ok((all.read(progress)?, size_bytes, count)))?;
    let grid = leader.grid(&largest)?;
    let kind = if all.keeps() { "iteration" } else { "streamed iteration" };
    let mut done = false;
    while !done {
        let name = format!("{kind} {}", leader.iterations() + 1);
        done = timed(&mut response, name, || {
            let sums = all.assign(&leader.centres, &grid, progress)?;
            Ok((leader.update(&grid, &sums.coordinates, &sums.sizes), size_bytes, count))
        })?;
        count_flops(&mut response, (2 * job.clusters * points.dimensions) as u64 * count);
    }
    let remaining_iterations = u64::from(leader.params.iterations) - leader.iterations() as u64;
    progress.advance(job.pass.amount.saturating_mul(remaining_iterations))?;
    timed(&mut response, "assign", || {
        let bytes = leader.create()?;
        let last = all.finish(&leader.centres, &grid, &request.output, progress)?;
        Ok(((), bytes + leader.write(&grid, &last.sizes, &last.inertias)?, count))
    })?;
    response.counts.insert("points", count);
    response.counts.insert("dimensions", points.dimensions as u64);
    response.counts.insert("clusters", job.clusters as u64);
    response.counts.insert("iterations", leader.iterations() as u64);
    Ok(response)
}

/// Sets the operations of the last phase; iterations past the first hundred share a phase.
fn count_flops(response: &mut Response, flops: u64) {
    let is_iteration = |phase: &Phase| phase.name.contains("iteration");
    let many = response.phases.iter().filter(|phase| is_iteration(phase)).count() > PHASES_MAX;
    if let Some(phase) = response.phases.last_mut() {
        phase.flops = flops;
    }
    if many
        && let Some(last) = response.phases.pop()
        && let Some(before) = response.phases.last_mut()
    {
        before.name = "later iterations".into();
        before.seconds += last.seconds;
        before.bytes += last.bytes;
        before.rows += last.rows;
        before.flops += last.flops;
    }
}
