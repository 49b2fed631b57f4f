//! Pairs of genes whose correlation is large enough.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_runtime::parallel::lock;

use crate::kernel::correlate::Correlator;
use crate::kernel::expression::Expression;
use crate::kernel::product::{self, block_counts};
use crate::params::Measure;

/// Edge of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GeneLink {
    /// Smaller gene, from 0.
    pub first: u32,
    /// Larger gene.
    pub second: u32,
    /// Correlation.
    pub score: f32,
}

/// Edges, and the memory that they take.
#[derive(Debug)]
pub struct Edges<'b> {
    /// Edges in the order of blocks of pairs.
    pub edges: Vec<GeneLink>,
    _leases: Vec<Lease<'b>>,
}

/// Computes the pairs with |r| >= `smallest`, on threads.
///
/// The result is the same for any number of threads.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn edges<'b>(
    expression: &Expression,
    measure: Measure,
    smallest: f64,
    threads: usize,
    budget: &'b Budget,
) -> Result<Edges<'b>> {
    let correlator = Correlator::new(expression, measure, budget)?;
    let slots: Vec<Mutex<(Vec<GeneLink>, Option<Lease<'b>>)>> =
        (0..block_counts(expression.genes()).1).map(|_| Mutex::default()).collect();
    product::visit(correlator.units(), threads, budget, Vec::new, |row, block| {
        let mut edges = Vec::new();
        for i in block.rows.clone() {
            let first = block.row(i, row);
            for (j, &product) in (first..).zip(row.iter()) {
                let score = correlator.finish(i, j, product);
                if score.abs() >= smallest {
                    let (first, second) = (i as u32, j as u32);
                    edges.push(GeneLink { first, second, score: score as f32 });
                }
            }
        }
        // Twice: the edges are put together afterwards.
        let size_bytes = 2 * size_of::<GeneLink>() * edges.len();
        let lease = budget.take(size_bytes as u64, "the edges of the network")?;
        edges.shrink_to_fit();
        *lock(&slots[block.task]) = (edges, Some(lease));
        Ok(())
    })?;
    let (mut edges, mut leases) = (Vec::new(), Vec::new());
    for slot in &slots {
        let (of_block, lease) = std::mem::take(&mut *lock(slot));
        edges.extend(of_block);
        leases.extend(lease);
    }
    Ok(Edges { edges, _leases: leases })
}
