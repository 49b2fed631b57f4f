//! `communities` by connected components: the forests of all tasks are joined.

use std::borrow::Cow;

use cuesta_core::job::{Request, Response};
use cuesta_core::{Error, Result};
use cuesta_input::kinc::block::Counts;
use cuesta_input::limits::GENES_MAX;
use cuesta_runtime::operation::{Operation, OperationWorker, TaskContext, TaskOutcome, TaskResult};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;
use cuesta_runtime::wire::{self, WireValue};
use serde::{Deserialize, Serialize};

use super::{RowSelection, add_rows};
use crate::kernel::union_find::UnionFind;
use crate::params::CommunitiesParams;
use crate::run::communities::{finish, forest};
use crate::run::share::Share;

pub fn lead(
    request: &Request,
    params: &CommunitiesParams,
    resources: Resources,
) -> Result<Box<dyn Leader>> {
    let (rows, genes) = (RowSelection::edges(&params.filter)?, params.genes);
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let opened = rows.shares(&request.inputs, resources, &mut response)?;
        let plan = opened.plan(JoinGenes { rows, genes });
        let all = rounds.combined(plan, &mut response)?.unwrap_or_default();
        add_rows(&mut response, JoinGenes::NAME, all.counts.rows_read);
        finish(&request.output, genes, (all.forest.labels(), all.counts), &mut response)?;
        Ok(response)
    }))
}

pub fn work(request: &Request) -> Box<dyn Worker> {
    OperationWorker::new(request, ()).with::<JoinGenes>().boxed()
}

/// Joins the genes of the edges of a share.
#[derive(Serialize, Deserialize)]
struct JoinGenes {
    rows: RowSelection,
    /// Number of genes, if it is known.
    genes: Option<u32>,
}

impl Operation for JoinGenes {
    const NAME: &'static str = "components";
    type State = ();
    type Input = Share;
    type Output = CountedForest;

    fn task(self, share: Share, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let (pairs, threads) = (self.rows.of_share(share)?, context.request.threads);
        let (forest, counts, _) = forest(&pairs, self.genes, threads, context.progress)?;
        Ok(TaskResult::Output(CountedForest { forest, counts }))
    }

    fn combine(mut left: CountedForest, right: CountedForest) -> Result<CountedForest> {
        left.forest.merge(&right.forest);
        left.counts.add(right.counts);
        Ok(left)
    }
}

/// Forest, and counts of the rows it is from.
#[derive(Default)]
struct CountedForest {
    forest: UnionFind,
    counts: Counts,
}

/// Counts of rows, and genes, from 0, ascending, each with the smallest gene of its tree if that is
/// another gene.
type ForestMessage = (Counts, Vec<(u32, u32)>);

impl WireValue for CountedForest {
    fn into_bytes(mut self) -> Result<Vec<u8>> {
        wire::to_bytes::<ForestMessage>(&(self.counts, self.forest.links()))
    }

    fn from_bytes(bytes: Cow<'_, [u8]>) -> Result<Self> {
        let (counts, links): ForestMessage = wire::from_bytes(&bytes)?;
        let mut forest = UnionFind::default();
        for (gene, root) in links {
            let last = gene.max(root);
            if last >= GENES_MAX {
                let text = format!("gene {last} of at most {GENES_MAX}");
                return Err(Error::defect("communities", text));
            }
            forest.join(gene, root);
        }
        Ok(Self { forest, counts })
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
            let message = (Counts::default(), vec![(gene, 0)]);
            let bytes = wire::to_bytes::<ForestMessage>(&message).unwrap();
            CountedForest::from_bytes(bytes.into())
        };
        assert_eq!(unpacked(GENES_MAX - 1).unwrap().forest.links(), [(GENES_MAX - 1, 0)]);
        assert!(unpacked(GENES_MAX).is_err());
        assert!(unpacked(u32::MAX).is_err());
    }
}
