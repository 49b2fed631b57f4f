//! Label propagation by sorting the labels around each gene; the kernel counts votes in a table
//! instead.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_runtime::parallel::{self, lock};

use super::adjacency::{EdgeStore, NeighbourLists};

/// Genes that a thread takes at a time.
const TASK_GENES: usize = 64;

/// Returns labels after at most `rounds` rounds, as smallest members; genes from 0. If the
/// neighbours of all genes do not fit into a third of the memory, each round collects them again,
/// range by range.
///
/// # Errors
/// `System`, `Cancelled`.
pub fn labels(
    context: &Context<'_>,
    edges: &EdgeStore<'_>,
    degrees: &[usize],
    rounds: u32,
) -> Result<Vec<u32>> {
    let ranges = EdgeStore::ranges(degrees, context.budget.limit_bytes() / 3);
    let all = match ranges.as_slice() {
        [all] => Some(edges.neighbours(degrees, all.clone())?),
        _ => None,
    };
    let mut labels: Vec<u32> = (0..degrees.len() as u32).collect();
    for _ in 0..rounds {
        let mut next = labels.clone();
        match &all {
            Some(near) => step(context, near, &labels, &mut next)?,
            None => {
                for genes in &ranges {
                    let near = edges.neighbours(degrees, genes.clone())?;
                    step(context, &near, &labels, &mut next[genes.clone()])?;
                }
            }
        }
        let settled = next == labels;
        labels = next;
        if settled {
            break;
        }
    }
    Ok(smallest_members(&labels))
}

/// Runs a round for a range of genes, whose labels are written to `next`.
fn step(
    context: &Context<'_>,
    near: &NeighbourLists,
    labels: &[u32],
    next: &mut [u32],
) -> Result<()> {
    let parts: Vec<_> = next.chunks_mut(TASK_GENES).map(Mutex::new).collect();
    let work = |votes: &mut Vec<u32>, task: usize| {
        for (place, label) in lock(&parts[task]).iter_mut().enumerate() {
            let gene = near.genes.start + task * TASK_GENES + place;
            votes.clear();
            votes.extend(near.of(gene).iter().map(|&neighbour| labels[neighbour as usize]));
            *label = winner(votes).unwrap_or(*label);
        }
        context.progress.advance(0)
    };
    let threads = context.request.threads;
    parallel::run(threads, parts.len(), Vec::new, work, |_| {}).map(|_| ())
}

/// Returns the most frequent label, the smallest in a tie.
fn winner(votes: &mut [u32]) -> Option<u32> {
    votes.sort_unstable();
    let (mut best, mut most) = (None, 0);
    for same in votes.chunk_by(|a, b| a == b) {
        if same.len() > most {
            (best, most) = (Some(same[0]), same.len());
        }
    }
    best
}

fn smallest_members(labels: &[u32]) -> Vec<u32> {
    let mut smallest = vec![0; labels.len()];
    // The smallest member of a label is assigned last.
    for (gene, &label) in labels.iter().enumerate().rev() {
        smallest[label as usize] = gene as u32;
    }
    labels.iter().map(|&label| smallest[label as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::adjacency::tests::edges_of;
    use super::super::store::PartitionOptions;
    use super::*;
    use crate::reference::label_propagation;
    use cuesta_core::budget::Budget;
    use cuesta_core::job::request;
    use cuesta_core::progress::Progress;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_equals_the_reference_in_any_memory(
            list in proptest::collection::vec((0u32..30, 0u32..30), 0..90),
            rounds in 1u32..8,
            memory_bytes in prop_oneof![Just(0u64), Just(120), Just(1 << 20)],
        ) {
            let list: Vec<_> = list.into_iter().filter(|(a, b)| a > b).collect();
            let folder = tempfile::tempdir().unwrap();
            let text = serde_json::json!({ "inputs": ["a"], "output": "o", "threads": 2,
                "memory_bytes": memory_bytes, "scratch": folder.path() });
            let request = request(&text.to_string()).unwrap();
            let (budget, progress) = (Budget::new(memory_bytes), Progress::default());
            let context = Context { request: &request, budget: &budget, progress: &progress };
            let scratch = folder.path();
            let options = PartitionOptions { budget: &budget, memory_bytes, scratch, threads: 1 };
            let edges = edges_of(&list, options);
            let result = labels(&context, &edges, &edges.degrees(30).unwrap(), rounds).unwrap();
            let numbered: Vec<_> = list.iter().map(|&(a, b)| (a + 1, b + 1)).collect();
            let expected = label_propagation(&numbered, rounds);
            for gene in 0..30 {
                let label = expected.get(&(gene + 1)).map_or(gene, |label| label - 1);
                prop_assert_eq!(result[gene as usize], label);
            }
        }
    }
}
