//! Stages from a matrix to modules, in order; an [`Observer`] checks intermediate results.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, human};
use cuesta_core::job::{Request, Response, timed};
use cuesta_core::progress::Progress;

use crate::kernel::adjacency::{SoftNetwork, soften};
use crate::kernel::correlate::correlations;
use crate::kernel::cut::cut_tree;
use crate::kernel::expression::Expression;
use crate::kernel::linkage::{Tree, average_linkage};
use crate::kernel::membership::memberships;
use crate::kernel::merge::{Modules, refine};
use crate::kernel::overlap::overlap;
use crate::kernel::power::{PowerRow, TABLE_POWERS, estimate, table};
use crate::kernel::triangle::Triangle;
use crate::params::{ModulesParams, NetworkType, OverlapType};

/// Coefficient of determination that the fit of a power must exceed.
pub const FIT: f64 = 0.85;

/// Pairs of genes.
pub type Pairs<'b> = Triangle<'b, f64>;

/// Checks of intermediate results; by default none.
pub trait Observer {
    /// Looks at a table of powers and the correlations of which it was made.
    ///
    /// # Errors
    /// Errors of the observer.
    fn powers(&mut self, _: &Pairs<'_>, _: &[PowerRow]) -> Result<()> {
        Ok(())
    }

    /// Looks at the adjacencies of genes.
    ///
    /// # Errors
    /// Errors of the observer.
    fn adjacencies(&mut self, _: &Expression, _: &Pairs<'_>, _: SoftNetwork) -> Result<()> {
        Ok(())
    }

    /// Looks at the distances, 1 - overlap, and the adjacencies of which they were made.
    ///
    /// # Errors
    /// Errors of the observer.
    fn distances(&mut self, _: &Pairs<'_>, _: &Pairs<'_>) -> Result<()> {
        Ok(())
    }

    /// Looks at the tree, its cut and the distances.
    ///
    /// # Errors
    /// Errors of the observer.
    fn cut(&mut self, _: &Tree, _: &[u32], _: &Pairs<'_>) -> Result<()> {
        Ok(())
    }
}

/// Observer that looks at nothing.
pub struct Blind;

impl Observer for Blind {}

/// Modules of the used genes.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Power of the network.
    pub power: u32,
    /// Table of powers from which it was chosen, if it was.
    pub powers: Vec<PowerRow>,
    /// Tree of the genes; without merges for a single one.
    pub tree: Tree,
    /// Modules of the cut, before the steps that follow it.
    pub cut: Vec<u32>,
    /// Modules and their eigengenes.
    pub modules: Modules,
    /// Correlation of each gene with the eigengene of its own module; NaN outside of modules.
    pub membership: Vec<f64>,
}

/// Request, progress and counts of a run.
pub struct Job<'a> {
    /// The request.
    pub request: &'a Request,
    /// Progress, and the user's request to stop.
    pub progress: &'a Progress,
    /// Phases and counts.
    pub response: &'a mut Response,
}

/// Computes modules, of a matrix with so many samples before any was left out.
///
/// # Errors
/// `Input` when the memory does not suffice; those of the observer; `Cancelled`.
pub fn modules(
    expression: &Expression,
    (params, samples_read): (&ModulesParams, usize),
    job: &mut Job<'_>,
    observer: &mut impl Observer,
) -> Result<Outcome> {
    let (request, genes, samples) = (job.request, expression.genes(), expression.samples());
    let (threads, budget) = (request.threads, &*request.budget);
    check_memory(genes, samples, budget)?;
    let work = job_amounts(genes, samples);
    job.progress.expect(work.iter().sum());
    let mut triangle = timed(job.response, "correlate", || {
        let triangle: Pairs<'_> = correlations(expression, params.measure(), threads, budget)?;
        Ok((triangle, 0, genes as u64))
    })?;
    set_flops(job.response, work[0]);
    job.progress.advance(work[0])?;
    let (power, powers) = match params.fixed_power() {
        Some(power) => (power, Vec::new()),
        None => timed(job.response, "choose power", || {
            let rows = table(&triangle, params.network, &TABLE_POWERS, threads)?;
            observer.powers(&triangle, &rows)?;
            let power =
                estimate(&rows, FIT).unwrap_or_else(|| power_by_samples(params.network, samples));
            Ok(((power, rows), 0, genes as u64))
        })?,
    };
    let network = SoftNetwork {
        network: params.network,
        power,
        keeps_sign: params.tom != OverlapType::Unsigned,
    };
    let overlap_params = params.overlap();
    let mut distances = timed(job.response, "overlap", || {
        soften(&mut triangle, network, threads)?;
        observer.adjacencies(expression, &triangle, network)?;
        let distances: Pairs<'_> = overlap(&triangle, overlap_params, threads, budget)?;
        Ok((distances, 0, genes as u64))
    })?;
    set_flops(job.response, work[1]);
    distances.map(threads, |overlap| 1.0 - overlap)?;
    job.progress.advance(work[1])?;
    observer.distances(&distances, &triangle)?;
    let tree = timed(job.response, "tree", || {
        // The linkage overwrites its distances, which the cut needs.
        triangle.values_mut().copy_from_slice(distances.values());
        Ok((average_linkage(&mut triangle)?, 0, genes as u64))
    })?;
    drop(triangle);
    job.progress.advance(work[2])?;
    let cut = timed(job.response, "cut", || {
        Ok((cut_tree(&tree, &distances, &params.cut(genes))?, 0, genes as u64))
    })?;
    observer.cut(&tree, &cut, &distances)?;
    drop(distances);
    let modules = timed(job.response, "refine", || {
        let params = params.refine(genes, samples_read);
        Ok((refine(expression, &cut, &params, threads, budget)?, 0, genes as u64))
    })?;
    job.progress.advance(work[3])?;
    let membership = membership(expression, &modules, params);
    Ok(Outcome { power, powers, tree, cut, modules, membership })
}

/// Refuses a network that does not fit: two triangles of pairs are held at once.
fn check_memory(genes: usize, samples: usize, budget: &Budget) -> Result<()> {
    let (genes, samples) = (genes as u64, samples as u64);
    let need_bytes = 8 * genes * genes.saturating_sub(1) + 8 * genes * samples;
    if need_bytes <= budget.free_bytes() {
        return Ok(());
    }
    let (need, free) = (human(need_bytes), human(budget.free_bytes()));
    let text = format!(
        "the network of {genes} genes needs {need}, {free} are left; raise --memory, or keep fewer \
         genes with --top-variable"
    );
    Err(cuesta_core::Error::input("memory", text))
}

/// Operations of correlation, overlap, tree and the steps after the cut.
fn job_amounts(genes: usize, samples: usize) -> [u64; 4] {
    let (genes, samples) = (genes as u64, samples as u64);
    let pairs = genes * genes;
    [pairs * samples, pairs * genes, 10 * pairs, 50 * genes * samples]
}

fn set_flops(response: &mut Response, flops: u64) {
    if let Some(phase) = response.phases.last_mut() {
        phase.flops = flops;
    }
}

/// Returns the power that the authors of WGCNA advise for a number of samples, where no power has
/// a good fit.
pub fn power_by_samples(network: NetworkType, samples: usize) -> u32 {
    let unsigned = match samples {
        0..20 => 9,
        20..30 => 8,
        30..=40 => 7,
        _ => 6,
    };
    if network == NetworkType::Unsigned { unsigned } else { 2 * unsigned }
}

fn membership(expression: &Expression, modules: &Modules, params: &ModulesParams) -> Vec<f64> {
    let of_gene = |(gene, label): (usize, &u32)| {
        let module = modules.eigengenes.iter().find(|module| module.label == *label);
        module.map_or(f64::NAN, |module| {
            let module = std::slice::from_ref(module);
            memberships(expression.row(gene), module, params.measure())[0]
        })
    };
    modules.labels.iter().enumerate().map(of_gene).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_by_samples_is_as_wgcna_advises() {
        let of = |network| [19, 20, 29, 30, 40, 41].map(|count| power_by_samples(network, count));
        assert_eq!(of(NetworkType::Unsigned), [9, 8, 8, 7, 7, 6]);
        assert_eq!(of(NetworkType::Signed), [18, 16, 16, 14, 14, 12]);
    }

    #[test]
    fn a_network_that_does_not_fit_is_refused_with_the_remedy() {
        let error = check_memory(10_000, 100, &Budget::new(1 << 28)).unwrap_err().message();
        assert!(error.contains("10000 genes needs 770.5 MiB, 256.0 MiB are left"), "{error}");
        assert!(error.contains("--top-variable"), "{error}");
    }
}
