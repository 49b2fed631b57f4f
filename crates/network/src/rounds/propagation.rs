//! `communities` by label propagation: each edge is sent to the parts of its genes, which store it;
//! in each superstep, each part receives all labels and returns the changed ones.

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::rounds::{Blocks, Bytes, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::state::State;
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use super::blocks::{Received, pack, unpack};
use super::{READ, Reading, Rows, add_rows, counts, part_count, rows, unexpected};
use crate::kernel::graph::smallest_members;
use crate::kernel::label_propagation::winner;
use crate::kernel::neighbours::{self, Neighbours};
use crate::params::CommunitiesParams;
use crate::run::communities::{edges, finish};
use crate::run::pairs::Pairs;
use crate::run::share::Share;

const READ_PHASE: &str = "read";
const PHASE: &str = "label-propagation";
/// Approximate bytes of input whose edges form a part.
const PART_INPUT_BYTES: u64 = 128 << 20;

/// Input of all tasks of a round.
#[derive(Serialize, Deserialize)]
struct RoundInput {
    /// Number of parts.
    parts: usize,
    /// Label of each gene, from 0; `None` for the round that reads the edges.
    labels: Option<Vec<u32>>,
}

/// Summary of the edges of a part: one more than the largest gene, and rows of the input.
type PartSummary = (u32, Rows);
/// Genes and their new labels.
type Changes = Vec<(u32, u32)>;

pub fn lead(
    request: &Request,
    params: &CommunitiesParams,
    resources: Resources,
) -> Result<Box<dyn Leader>> {
    let (inputs, filter) = (request.inputs.clone(), params.filter.check()?);
    Ok(Box::new(Steps {
        request: request.clone(),
        params: params.clone(),
        reading: Reading { inputs, filter, need: Need::Edge },
        resources,
        parts: 0,
        supersteps: None,
        labels: Vec::new(),
        counts: Counts::default(),
    }))
}

pub fn work(
    request: &Request,
    params: &CommunitiesParams,
    resources: Resources,
) -> Result<Box<dyn Worker>> {
    Ok(Box::new(Work {
        request: request.clone(),
        genes: params.genes,
        filter: params.filter.check()?,
        state: State::new(resources, &request.scratch),
        received: Received::default(),
    }))
}

struct Steps {
    request: Request,
    params: CommunitiesParams,
    reading: Reading,
    resources: Resources,
    /// 0 before the inputs are open.
    parts: usize,
    /// Number of completed supersteps; `None` before the edges are read.
    supersteps: Option<u32>,
    labels: Vec<u32>,
    counts: Counts,
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        if self.parts == 0 {
            return self.read(response).map(Some);
        }
        let Some(supersteps) = self.supersteps else {
            for summary in &results {
                let (genes, rows): PartSummary = wire::from_bytes(summary)?;
                self.counts.add(counts(rows));
                self.labels.extend(self.labels.len() as u32..genes);
            }
            add_rows(response, READ_PHASE, self.counts.rows_read);
            self.supersteps = Some(0);
            return self.superstep().map(Some);
        };
        let mut is_same = true;
        for changes in &results {
            for (gene, label) in wire::from_bytes::<Changes>(changes)? {
                *self.labels.get_mut(gene as usize).ok_or_else(unexpected)? = label;
                is_same = false;
            }
        }
        let done = supersteps + u32::from(!is_same);
        self.supersteps = Some(done);
        if !is_same && done < self.params.iterations {
            return self.superstep().map(Some);
        }
        self.finish(done, response)?;
        Ok(None)
    }
}

impl Steps {
    /// Returns the round in which parts receive their edges.
    fn read(&mut self, response: &mut Response) -> Result<Round> {
        let resources = self.resources;
        let opened = timed(response, "open", || Ok((self.reading.shares(resources)?, 0, 0)))?;
        self.parts = part_count(resources, opened.size_bytes, PART_INPUT_BYTES);
        Ok(Round {
            phase: READ_PHASE.to_owned(),
            bytes: opened.size_bytes,
            ceiling: Some(READ),
            shared: wire::to_bytes(&RoundInput { parts: self.parts, labels: None })?,
            tasks: opened.tasks,
            parts: self.parts,
            ..Round::default()
        })
    }

    fn superstep(&self) -> Result<Round> {
        let input = RoundInput { parts: self.parts, labels: Some(self.labels.clone()) };
        Ok(Round {
            phase: PHASE.to_owned(),
            shared: wire::to_bytes(&input)?,
            tasks: vec![Vec::new(); self.parts],
            ..Round::default()
        })
    }

    fn finish(&self, supersteps: u32, response: &mut Response) -> Result<()> {
        add_rows(response, PHASE, self.counts.rows_passed);
        response.counts.insert("rounds", u64::from(supersteps));
        let labels = smallest_members(&self.labels);
        finish(&self.request.output, self.params.genes, (labels, self.counts), response)
    }
}

struct Work {
    request: Request,
    genes: Option<u32>,
    filter: Filter,
    state: State,
    received: Received,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let input: RoundInput = wire::from_bytes(task.shared)?;
        match input.labels {
            None => {
                let share = wire::from_bytes(task.input)?;
                Ok((Vec::new(), self.edges(share, input.parts, progress)?))
            }
            Some(labels) => {
                let changes = self.changes(task.number, input.parts, &labels)?;
                Ok((wire::to_bytes(&changes)?, Blocks::default()))
            }
        }
    }

    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()> {
        self.received.take(part.number, from, block);
        Ok(())
    }

    fn part(&mut self, part: Task<'_>, _: &Progress) -> Result<Vec<u8>> {
        let input: RoundInput = wire::from_bytes(part.shared)?;
        let blocks = self.received.all_of(part.number);
        let mut lists = Vec::new();
        let (mut genes, mut counts) = (0, Counts::default());
        for block in &blocks {
            for (head, rows) in unpack((**block).as_ref(), 8)? {
                counts.add(head.counts);
                lists.push(rows.as_chunks().0);
            }
        }
        // One copy as received, and one as stored.
        let ends = lists.iter().map(|list| list.len() as u64).sum::<u64>();
        let _lease = self.request.budget.take(12 * ends, "the edges of a part")?;
        for list in &lists {
            let gene = |end: &[u8; 8]| u64::from_le_bytes(*end) as u32 + 1;
            genes = list.iter().map(gene).max().unwrap_or(0).max(genes);
        }
        self.state.put(&name(part.number), neighbours::pack(input.parts, &lists))?;
        wire::to_bytes(&(genes, rows(counts)))
    }
}

impl Work {
    /// Returns the edges of a share, each for both of its genes.
    fn edges(&self, share: Share, parts: usize, progress: &Progress) -> Result<Blocks> {
        let pairs = Pairs::of_share(share, &self.filter, Need::Edge)?;
        let context = Context::new(&self.request, progress);
        let edges = edges(&context, &pairs, self.genes)?;
        let _lease = context.budget.take(16 * edges.list.len() as u64, "the edges to be sent")?;
        let end = |gene: u32, neighbour: u32| {
            let both = u64::from(gene) | u64::from(neighbour) << 32;
            (gene as usize % parts, both.to_le_bytes())
        };
        let ends = edges.list.iter().flat_map(|&(a, b)| [end(a, b), end(b, a)]);
        Ok(pack((0, edges.counts), (parts, 8), ends))
    }

    /// Returns the genes of a part that change their label.
    fn changes(&self, part: usize, parts: usize, labels: &[u32]) -> Result<Changes> {
        let stored = self.state.get(&name(part))?;
        let neighbours = Neighbours::of((*stored).as_ref()).ok_or_else(unexpected)?;
        let mut votes = vec![0; labels.len()];
        let gene_of = |row: usize| row * parts + part;
        let changes = (0..neighbours.rows()).filter_map(|row| {
            let label = winner(neighbours.row(row), labels, &mut votes)?;
            (labels[gene_of(row)] != label).then_some((gene_of(row) as u32, label))
        });
        Ok(changes.collect())
    }
}

/// Name of the stored edges of a part.
fn name(part: usize) -> String {
    format!("neighbours-{part}")
}
