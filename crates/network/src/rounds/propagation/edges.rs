//! Exchange of the edges: each is sent to the parts of its genes, which store it.

use cuesta_core::Result;
use cuesta_input::kinc::block::Counts;
use cuesta_runtime::blocks::Bytes;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use cuesta_runtime::state::State;
use serde::{Deserialize, Serialize};

use super::super::RowSelection;
use super::super::blocks::{pack, unpack};
use super::name;
use crate::kernel::neighbours;
use crate::run::communities::edges;
use crate::run::share::Share;

/// Bytes of an edge in a message: a gene of the part, and its neighbour.
const ROW_BYTES: usize = 8;

/// Stores the edges of each part. A part returns one more than its largest gene, and the counts of
/// the rows.
#[derive(Serialize, Deserialize)]
pub struct StoreEdges {
    pub(super) rows: RowSelection,
    /// Number of genes, if it is known.
    pub genes: Option<u32>,
    /// Number of parts.
    pub parts: usize,
}

impl Operation for StoreEdges {
    const NAME: &'static str = "read";
    type State = State;
    type Input = Share;
    type Output = (u32, Counts);

    /// Sends the edges of a share, each for both of its genes.
    fn task(self, share: Share, context: TaskContext<'_, State>) -> TaskOutcome<Self> {
        let (pairs, job) = (self.rows.of_share(share)?, context.job());
        let edges = edges(&job, &pairs, self.genes, |genes, _| genes)?;
        let _lease = job.budget.take(16 * edges.list.len() as u64, "the edges to be sent")?;
        let end = |gene: u32, neighbour: u32| {
            let both = u64::from(gene) | u64::from(neighbour) << 32;
            (gene as usize % self.parts, both.to_le_bytes())
        };
        let ends = edges.list.iter().flat_map(|&(a, b)| [end(a, b), end(b, a)]);
        Ok(TaskResult::Sent(pack((0, edges.counts), (self.parts, ROW_BYTES), ends)))
    }

    fn part(self, blocks: Vec<Bytes>, context: TaskContext<'_, State>) -> Result<(u32, Counts)> {
        let mut lists: Vec<&[[u8; ROW_BYTES]]> = Vec::new();
        let (mut genes, mut counts) = (0, Counts::default());
        for block in &blocks {
            for sent in unpack((**block).as_ref())? {
                counts.add(sent.counts);
                lists.push(sent.rows.as_chunks().0);
            }
        }
        // One copy as received, and one as stored.
        let ends = lists.iter().map(|list| list.len() as u64).sum::<u64>();
        let _lease = context.request.budget.take(12 * ends, "the edges of a part")?;
        for list in &lists {
            let gene = |end: &[u8; ROW_BYTES]| u64::from_le_bytes(*end) as u32 + 1;
            genes = list.iter().map(gene).max().unwrap_or(0).max(genes);
        }
        context.state.put(&name(context.number), neighbours::pack(self.parts, &lists))?;
        Ok((genes, counts))
    }
}
