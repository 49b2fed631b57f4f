//! `communities` by connected components: the forests of all tasks are joined.

use cuesta_core::Result;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_input::kinc::block::Counts;
use cuesta_input::limits::GENES_MAX;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use super::{Opened, Reading, Rows, SinglePass, SingleRound, add_rows, counts, rows, unexpected};
use crate::kernel::union_find::UnionFind;
use crate::params::CommunitiesParams;
use crate::run::communities::{finish, forest};
use crate::run::pairs::Pairs;

const PHASE: &str = "components";

/// Forest in the format of messages.
#[derive(Default, Serialize, Deserialize)]
struct ForestMessage {
    rows: Rows,
    /// Genes, from 0, ascending, each with the smallest gene of its tree if that is another gene.
    links: Vec<(u32, u32)>,
}

pub fn lead(
    request: &Request,
    params: &CommunitiesParams,
    resources: Resources,
) -> Result<Box<dyn Leader>> {
    let (output, genes) = (request.output.clone(), params.genes);
    let finish = move |_: &Opened, results: Vec<Vec<u8>>, response: &mut Response| {
        // Without a task there is no result.
        let (forest, counts) = results.first().map_or(Ok(Default::default()), |all| unpack(all))?;
        add_rows(response, PHASE, counts.rows_read);
        finish(&output, genes, (forest.labels(), counts), response)
    };
    let (inputs, filter) = (request.inputs.clone(), params.filter.check()?);
    Ok(Box::new(SingleRound {
        reading: Reading { inputs, filter, need: Need::Edge },
        resources,
        phase: PHASE,
        combines: true,
        opened: None,
        finish,
    }))
}

pub fn work(request: &Request, params: &CommunitiesParams) -> Result<Box<dyn Worker>> {
    let (genes, threads) = (params.genes, request.threads);
    let task = move |pairs: &Pairs, _: usize, progress: &Progress| {
        let (mut forest, counts, _) = forest(pairs, genes, threads, progress)?;
        pack(&mut forest, counts)
    };
    let combine = |first: Vec<u8>, second: &[u8]| {
        let ((mut forest, mut counts), (second_forest, second_counts)) =
            (unpack(&first)?, unpack(second)?);
        forest.merge(&second_forest);
        counts.add(second_counts);
        pack(&mut forest, counts)
    };
    let filter = params.filter.check()?;
    Ok(Box::new(SinglePass { filter, need: Need::Edge, task, combine }))
}

fn pack(forest: &mut UnionFind, counts: Counts) -> Result<Vec<u8>> {
    wire::to_bytes(&ForestMessage { rows: rows(counts), links: forest.links() })
}

fn unpack(bytes: &[u8]) -> Result<(UnionFind, Counts)> {
    let message: ForestMessage = wire::from_bytes(bytes)?;
    let mut forest = UnionFind::default();
    for (gene, root) in message.links {
        if gene.max(root) >= GENES_MAX {
            return Err(unexpected());
        }
        forest.join(gene, root);
    }
    Ok((forest, counts(message.rows)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Memory was allocated for as many genes as the largest gene number.
    #[test]
    fn a_gene_that_no_dataset_has_is_refused() {
        let unpacked = |gene| {
            let message = ForestMessage { rows: (1, 1), links: vec![(gene, 0)] };
            unpack(&wire::to_bytes(&message).unwrap())
        };
        assert_eq!(unpacked(GENES_MAX - 1).unwrap().0.links(), [(GENES_MAX - 1, 0)]);
        assert!(unpacked(GENES_MAX).is_err());
        assert!(unpacked(u32::MAX).is_err());
    }
}
