//! Pairs of genes whose correlation is large enough.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use crate::kernel::correlate::Correlator;
use crate::kernel::expression::Expression;
use crate::kernel::product;
use crate::params::Measure;

/// Edges by the numbers of their block among those of rows and of columns.
type EdgesOfBlocks<'b> = BTreeMap<(usize, usize), (Vec<GeneLink>, Lease<'b>)>;

const PURPOSE: &str = "the edges of the network";

/// Edge of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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

impl<'b> Edges<'b> {
    /// Joins the edges of blocks, in their order.
    ///
    /// # Errors
    /// `Input` when the budget has too little left.
    pub fn joined(parts: Vec<Vec<GeneLink>>, budget: &'b Budget) -> Result<Self> {
        let count: usize = parts.iter().map(Vec::len).sum();
        // Twice: the parts are there until they are joined.
        let lease = budget.take((2 * size_of::<GeneLink>() * count) as u64, PURPOSE)?;
        Ok(Self { edges: parts.concat(), _leases: vec![lease] })
    }
}

/// Computes the pairs with |r| >= `smallest` of some blocks of [`product::grid`], on threads.
///
/// The result is the same for any number of threads.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn edges<'b>(
    expression: &Expression,
    measure: Measure,
    smallest: f64,
    numbers: Range<usize>,
    (threads, budget): (usize, &'b Budget),
) -> Result<Edges<'b>> {
    let correlator = Correlator::new(expression, measure, budget)?;
    let slots: Mutex<EdgesOfBlocks<'b>> = Mutex::default();
    product::visit(correlator.units(), numbers, (threads, budget), Vec::new, |row, block| {
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
        let lease = budget.take(size_bytes as u64, PURPOSE)?;
        edges.shrink_to_fit();
        lock(&slots).insert(block.side, (edges, lease));
        Ok(())
    })?;
    let (mut edges, mut leases) = (Vec::new(), Vec::new());
    for (of_block, lease) in std::mem::take(&mut *lock(&slots)).into_values() {
        edges.extend(of_block);
        leases.push(lease);
    }
    Ok(Edges { edges, _leases: leases })
}
