//! `communities` by label propagation: each edge is sent to the parts of its genes, which store it;
//! in each superstep, each part receives all labels and returns the changed ones.

mod edges;
mod superstep;

use cuesta_core::Result;
use cuesta_core::job::{Request, Response};
use cuesta_input::kinc::block::Counts;
use cuesta_runtime::operation::{Operation, OperationWorker, RoundPlan};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;
use cuesta_runtime::state::State;

use super::{RowSelection, add_rows, part_count};
use crate::kernel::graph::smallest_members;
use crate::params::CommunitiesParams;
use crate::run::communities::finish;
use edges::StoreEdges;
use superstep::FindLabels;

/// Approximate bytes of input whose edges form a part.
const PART_INPUT_BYTES: u64 = 128 << 20;

pub fn lead(
    request: &Request,
    params: &CommunitiesParams,
    resources: Resources,
) -> Result<Box<dyn Leader>> {
    let (rows, genes) = (RowSelection::edges(&params.filter)?, params.genes);
    let (iterations, request) = (params.iterations, request.clone());
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let opened = rows.shares(&request.inputs, resources, &mut response)?;
        let parts = part_count(resources, opened.size_bytes, PART_INPUT_BYTES);
        let plan = opened.plan(StoreEdges { rows, genes, parts });
        let (mut labels, mut counts) = (Vec::new(), Counts::default());
        for (genes, part_counts) in rounds.run(RoundPlan { parts, ..plan }, &mut response)? {
            counts.add(part_counts);
            labels.extend(labels.len() as u32..genes);
        }
        add_rows(&mut response, StoreEdges::NAME, counts.rows_read);
        let mut supersteps = 0;
        loop {
            let operation = FindLabels { parts, labels: labels.clone() };
            let changes = rounds.run(RoundPlan::new(operation, vec![(); parts]), &mut response)?;
            let is_same = changes.iter().all(Vec::is_empty);
            for (gene, label) in changes.into_iter().flatten() {
                labels[gene as usize] = label;
            }
            supersteps += u32::from(!is_same);
            if is_same || supersteps >= iterations {
                break;
            }
        }
        add_rows(&mut response, FindLabels::NAME, counts.rows_passed);
        response.counts.insert("rounds", u64::from(supersteps));
        let labels = smallest_members(&labels);
        finish(&request.output, genes, (labels, counts), &mut response)?;
        Ok(response)
    }))
}

pub fn work(request: &Request, resources: Resources) -> Box<dyn Worker> {
    let worker = OperationWorker::new(request, State::new(resources, &request.scratch));
    worker.with::<StoreEdges>().with::<FindLabels>().boxed()
}

/// Name of the stored edges of a part.
fn name(part: usize) -> String {
    format!("neighbours-{part}")
}
