//! Order of the supersteps: chains in rounds of two, tips in two, bubbles in two, job after job.

use cuesta_assembly::kernel::simplify::Removed;
use cuesta_assembly::kernel::supersteps::junctions::link;
use cuesta_assembly::kernel::supersteps::messages::{Message, Outbox};
use cuesta_assembly::kernel::supersteps::part::VertexPart;
use cuesta_assembly::kernel::supersteps::program::{Aggregates, VertexProgram};
use cuesta_core::Result;
use serde::{Deserialize, Serialize};

use super::{PgaBounds, steps};

/// A superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PgaStep {
    /// Sends all ends to their (k-1)-mers.
    Meet,
    /// Reports to each end all ends that it meets.
    Link,
    /// Labels vertices head or tail by a coin toss, and sends the labels to neighbours.
    Toss,
    /// Merges tails into neighbouring heads.
    Merge,
    /// Finds tips, which notify their neighbours.
    FindTips,
    /// Receives messages and removes vertices that leave.
    Receive,
    /// Sends possible sides of bubbles to their predecessors.
    FindBubbles,
    /// Removes sides of bubbles at their predecessors.
    PopBubbles,
}

/// Instructions to all parts for a superstep.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PgaOrder {
    step: PgaStep,
    /// Number of rounds of coin tosses before.
    round: u64,
    bounds: PgaBounds,
}

/// Jobs of the program: the first compresses chains of k-mers, later ones also remove tips and
/// bubbles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PgaJobs {
    /// The compression of the first job.
    First,
    /// Tips and bubbles of the first job, and all later jobs.
    Later,
}

/// The vertex program.
pub struct PgaProgram {
    jobs: PgaJobs,
    bounds: PgaBounds,
    step: Option<PgaStep>,
    now: Removed,
    /// Rounds of coin tosses so far, and in the present job.
    round: u64,
    rounds_of_job: u64,
    /// Whether the last job may have left incomplete chains.
    is_cut: bool,
    /// Whether only messages remain to be received.
    is_ending: bool,
    removed: Vec<Removed>,
}

impl PgaProgram {
    /// Creates the program before the first superstep.
    pub fn new(jobs: PgaJobs, bounds: PgaBounds) -> Self {
        Self {
            jobs,
            bounds,
            step: Some(PgaStep::Meet),
            now: Removed::default(),
            round: 0,
            rounds_of_job: 0,
            // It is unknown here whether the first job, where it had a bound, has left chains.
            is_cut: jobs == PgaJobs::Later && bounds.rounds_max.is_some(),
            is_ending: false,
            removed: Vec::new(),
        }
    }

    /// Returns the superstep after a round of coin tosses, of which `links` were between labels.
    fn after_merge(&mut self, links: u64) -> Option<PgaStep> {
        self.round += 1;
        self.rounds_of_job += 1;
        let is_complete = links == 0;
        let is_cut = self.bounds.rounds_max.is_some_and(|most| self.rounds_of_job >= most);
        if !is_complete && !is_cut {
            return Some(PgaStep::Toss);
        }
        (self.rounds_of_job, self.is_cut) = (0, !is_complete);
        match self.jobs {
            PgaJobs::First if is_complete => None,
            PgaJobs::First => {
                self.is_ending = true;
                Some(PgaStep::Receive)
            }
            PgaJobs::Later => Some(PgaStep::FindTips),
        }
    }

    /// Returns the first superstep of the next job; ends the program where nothing has changed.
    fn after_job(&mut self) -> Option<PgaStep> {
        let removed = std::mem::take(&mut self.now);
        self.removed.push(removed);
        let is_last = self.removed.len() as u64 >= self.bounds.jobs_max;
        if removed.tips + removed.bubbles == 0 && !self.is_cut {
            return None;
        }
        if !is_last {
            return Some(PgaStep::Toss);
        }
        self.is_ending = true;
        Some(PgaStep::Receive)
    }
}

impl VertexProgram for PgaProgram {
    type Order = PgaOrder;

    fn order(&self) -> Option<PgaOrder> {
        let (round, bounds) = (self.round, self.bounds);
        self.step.map(|step| PgaOrder { step, round, bounds })
    }

    fn phase(&self) -> &'static str {
        match self.step {
            Some(PgaStep::Meet | PgaStep::Link) => "edges",
            Some(PgaStep::FindTips) => "tips",
            Some(PgaStep::Receive) if self.jobs == PgaJobs::First => "chains",
            Some(PgaStep::Receive) if self.is_ending => "bubbles",
            Some(PgaStep::Receive) => "tips",
            Some(PgaStep::FindBubbles | PgaStep::PopBubbles) => "bubbles",
            _ => "chains",
        }
    }

    fn advance(&mut self, aggregates: &Aggregates) {
        let Some(step) = self.step else { return };
        self.step = match step {
            PgaStep::Meet => Some(PgaStep::Link),
            PgaStep::Link if self.jobs == PgaJobs::First => Some(PgaStep::Toss),
            PgaStep::Link => Some(PgaStep::FindTips),
            PgaStep::Toss => Some(PgaStep::Merge),
            PgaStep::Merge => self.after_merge(aggregates.changed),
            PgaStep::FindTips => {
                self.now.tips = aggregates.changed;
                Some(PgaStep::Receive)
            }
            PgaStep::Receive if self.is_ending => None,
            PgaStep::Receive => Some(PgaStep::FindBubbles),
            PgaStep::FindBubbles => Some(PgaStep::PopBubbles),
            PgaStep::PopBubbles => {
                self.now.bubbles = aggregates.changed;
                self.after_job()
            }
        };
    }

    fn rounds(&self) -> &[Removed] {
        &self.removed
    }

    fn step(
        order: &PgaOrder,
        part: &mut VertexPart,
        messages: &[Message<'_>],
        out: &mut Outbox,
    ) -> Result<u64> {
        let PgaOrder { step, round, bounds } = order;
        match step {
            PgaStep::Meet => return Ok(part.send_ends(None, out)),
            PgaStep::Link => return link(messages, steps::EDGES, out),
            PgaStep::Merge => return steps::merge(part, messages, *round, out),
            PgaStep::PopBubbles => return steps::pop_bubbles(part, messages, bounds, out),
            _ => steps::receive(part, messages)?,
        }
        Ok(match step {
            PgaStep::Toss => steps::toss(part, *round, out),
            PgaStep::FindTips => steps::find_tips(part, bounds, out),
            PgaStep::FindBubbles => steps::find_bubbles(part, bounds, out),
            _ => 0,
        })
    }
}
