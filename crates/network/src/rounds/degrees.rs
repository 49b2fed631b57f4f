//! `degrees`: the counts of all tasks are added, and the leader writes the tables.

use std::borrow::Cow;

use cuesta_core::job::{Request, Response, parameters};
use cuesta_core::{Error, Result};
use cuesta_input::kinc::block::Counts;
use cuesta_input::limits::GENES_MAX;
use cuesta_runtime::operation::{Operation, OperationWorker, TaskContext, TaskOutcome, TaskResult};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;
use cuesta_runtime::wire::{self, WireValue};
use serde::{Deserialize, Serialize};

use super::{RowSelection, add_rows};
use crate::kernel::degrees::{Degree, Degrees};
use crate::params::{DegreesParams, check_genes};
use crate::run::degrees::{count, finish};
use crate::run::share::Share;

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let (operation, request) = (operation(request)?, request.clone());
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let CountDegrees { rows, genes } = operation;
        let opened = rows.shares(&request.inputs, resources, &mut response)?;
        let counted = rounds.combined(opened.plan(operation), &mut response)?;
        let CountedDegrees { degrees, counts } = counted.unwrap_or_default();
        add_rows(&mut response, CountDegrees::NAME, counts.rows_read);
        finish(&request.output, genes, (degrees, counts), &mut response)?;
        Ok(response)
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    operation(request)?;
    Ok(OperationWorker::new(request, ()).with::<CountDegrees>().boxed())
}

fn operation(request: &Request) -> Result<CountDegrees> {
    let params: DegreesParams = parameters(&request.parameters)?;
    check_genes(params.genes)?;
    Ok(CountDegrees { rows: RowSelection::edges(&params.filter)?, genes: params.genes })
}

/// Counts the degrees of the edges of a share.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct CountDegrees {
    rows: RowSelection,
    /// Number of genes, if it is known.
    genes: Option<u32>,
}

impl Operation for CountDegrees {
    const NAME: &'static str = "count";
    type State = ();
    type Input = Share;
    type Output = CountedDegrees;

    fn task(self, share: Share, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let (pairs, threads) = (self.rows.of_share(share)?, context.request.threads);
        let (degrees, counts, _) = count(&pairs, self.genes, threads, context.progress)?;
        Ok(TaskResult::Output(CountedDegrees { degrees, counts }))
    }

    fn combine(mut left: CountedDegrees, right: CountedDegrees) -> Result<CountedDegrees> {
        left.degrees.merge(&right.degrees);
        left.counts.add(right.counts);
        Ok(left)
    }
}

/// Degrees, and counts of the rows they are from.
#[derive(Default)]
struct CountedDegrees {
    degrees: Degrees,
    counts: Counts,
}

/// Counts of rows, and genes that have edges, ascending: distance from the previous gene, edges in
/// and edges out.
type DegreesMessage = (Counts, Vec<(u32, u64, u64)>);

impl WireValue for CountedDegrees {
    fn into_bytes(self) -> Result<Vec<u8>> {
        let mut last = 0;
        let genes = self.degrees.genes.iter().enumerate().filter(|(_, gene)| gene.total() > 0);
        let genes = genes.map(|(index, gene)| {
            let distance = index as u32 - last;
            last = index as u32;
            (distance, gene.inward, gene.outward)
        });
        wire::to_bytes::<DegreesMessage>(&(self.counts, genes.collect()))
    }

    fn from_bytes(bytes: Cow<'_, [u8]>) -> Result<Self> {
        let (counts, genes): DegreesMessage = wire::from_bytes(&bytes)?;
        let last: u64 = genes.iter().map(|&(distance, _, _)| u64::from(distance)).sum();
        if last >= u64::from(GENES_MAX) {
            return Err(Error::defect("degrees", format!("gene {last} of at most {GENES_MAX}")));
        }
        let mut degrees = Degrees::default();
        if !genes.is_empty() {
            degrees.genes.resize(last as usize + 1, Degree::default());
        }
        let mut index = 0;
        for (distance, inward, outward) in genes {
            index += distance as usize;
            degrees.genes[index] = Degree { inward, outward };
        }
        Ok(Self { degrees, counts })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Memory was allocated for as many genes as the largest gene number.
    #[test]
    fn a_gene_that_no_dataset_has_is_refused() {
        let unpacked = |gene: u32| {
            let message = (Counts::default(), vec![(5, 1, 2), (gene - 5, 2, 1)]);
            let bytes = wire::to_bytes::<DegreesMessage>(&message).unwrap();
            CountedDegrees::from_bytes(bytes.into())
        };
        let counted = unpacked(GENES_MAX - 1).unwrap();
        assert_eq!(counted.degrees.genes.len(), GENES_MAX as usize);
        assert!(unpacked(GENES_MAX).is_err());
        assert!(unpacked(u32::MAX).is_err());
    }
}
