//! `degrees`: the counts of all tasks are added, and the leader writes the tables.

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, parameters};
use cuesta_core::progress::Progress;
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::limits::GENES_MAX;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use super::{Opened, Reading, Rows, SinglePass, SingleRound, add_rows, counts, rows, unexpected};
use crate::kernel::degrees::{Degree, Degrees};
use crate::params::{DegreesParams, check_genes};
use crate::run::degrees::{count, finish};
use crate::run::pairs::Pairs;

const PHASE: &str = "count";

/// Degrees in the format of messages.
#[derive(Default, Serialize, Deserialize)]
struct DegreesMessage {
    rows: Rows,
    /// Genes that have edges, ascending: distance from the previous gene, edges in and edges out.
    genes: Vec<(u32, u64, u64)>,
}

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let (genes, filter) = params(request)?;
    let output = request.output.clone();
    let finish = move |_: &Opened, results: Vec<Vec<u8>>, response: &mut Response| {
        // Without a task there is no result.
        let (degrees, counts) =
            results.first().map_or(Ok(Default::default()), |all| unpack(all))?;
        add_rows(response, PHASE, counts.rows_read);
        finish(&output, genes, (degrees, counts), response)
    };
    Ok(Box::new(SingleRound {
        reading: Reading { inputs: request.inputs.clone(), filter, need: Need::Edge },
        resources,
        phase: PHASE,
        combines: true,
        opened: None,
        finish,
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    let (genes, filter) = params(request)?;
    let threads = request.threads;
    let task = move |pairs: &Pairs, _: usize, progress: &Progress| {
        let (degrees, counts, _) = count(pairs, genes, threads, progress)?;
        pack(&degrees, counts)
    };
    let combine = |first: Vec<u8>, second: &[u8]| {
        let ((mut degrees, mut counts), (second_degrees, second_counts)) =
            (unpack(&first)?, unpack(second)?);
        degrees.merge(&second_degrees);
        counts.add(second_counts);
        pack(&degrees, counts)
    };
    Ok(Box::new(SinglePass { filter, need: Need::Edge, task, combine }))
}

fn params(request: &Request) -> Result<(Option<u32>, Filter)> {
    let params: DegreesParams = parameters(&request.parameters)?;
    check_genes(params.genes)?;
    Ok((params.genes, params.filter.check()?))
}

fn pack(degrees: &Degrees, counts: Counts) -> Result<Vec<u8>> {
    let mut last = 0;
    let connected = degrees.genes.iter().enumerate().filter(|(_, gene)| gene.total() > 0);
    let genes = connected.map(|(index, gene)| {
        let distance = index as u32 - last;
        last = index as u32;
        (distance, gene.inward, gene.outward)
    });
    wire::to_bytes(&DegreesMessage { rows: rows(counts), genes: genes.collect() })
}

fn unpack(bytes: &[u8]) -> Result<(Degrees, Counts)> {
    let message: DegreesMessage = wire::from_bytes(bytes)?;
    let last: u64 = message.genes.iter().map(|&(distance, _, _)| u64::from(distance)).sum();
    if last >= u64::from(GENES_MAX) {
        return Err(unexpected());
    }
    let mut degrees = Degrees::default();
    if !message.genes.is_empty() {
        degrees.genes.resize(last as usize + 1, Degree::default());
    }
    let mut index = 0;
    for (distance, inward, outward) in message.genes {
        index += distance as usize;
        degrees.genes[index] = Degree { inward, outward };
    }
    Ok((degrees, counts(message.rows)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Memory was allocated for as many genes as the largest gene number.
    #[test]
    fn a_gene_that_no_dataset_has_is_refused() {
        let unpacked = |gene| {
            let message = DegreesMessage { rows: (1, 1), genes: vec![(5, 1, 2), (gene - 5, 2, 1)] };
            unpack(&wire::to_bytes(&message).unwrap())
        };
        let (degrees, _) = unpacked(GENES_MAX - 1).unwrap();
        assert_eq!(degrees.genes.len(), GENES_MAX as usize);
        assert!(unpacked(GENES_MAX).is_err());
        assert!(unpacked(u32::MAX).is_err());
    }
}
