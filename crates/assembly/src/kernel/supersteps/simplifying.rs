//! The program of this crate: chains joined by list ranking, and paths that the rules take for
//! errors removed.

use cuesta_core::Result;
use serde::{Deserialize, Serialize};

use super::junctions;
use super::messages::{Message, Outbox};
use super::part::{VertexPart, pair};
use super::program::{Aggregates, VertexProgram};
use crate::kernel::simplify::{ROUNDS_MAX, Removed, Rules};
use crate::kernel::single_copy::GraphDepth;

/// Kind of paths that are removed from a graph as errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemovalKind {
    /// Dead ends.
    Tips,
    /// Weak paths without links.
    Islands,
    /// Weaker sides of bubbles.
    Bubbles,
    /// Weak connections.
    Connections,
}

impl RemovalKind {
    const ALL: [Self; 4] = [Self::Tips, Self::Islands, Self::Bubbles, Self::Connections];

    fn is_removed_by(self, rules: &Rules) -> bool {
        match self {
            Self::Tips => rules.tip.max(rules.weak_tip) > 0,
            Self::Islands => rules.island > 0,
            Self::Bubbles => rules.bubble > 0,
            Self::Connections => rules.connection > 0,
        }
    }

    /// Returns the length from which on no rule compares the bases of a path.
    fn compared_bases(self, rules: Option<&Rules>) -> usize {
        match (self, rules) {
            (Self::Tips, Some(rules)) => rules.tip,
            (Self::Bubbles, Some(rules)) => rules.bubble,
            _ => 0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tips => "tips",
            Self::Islands => "islands",
            Self::Bubbles => "bubbles",
            Self::Connections => "connections",
        }
    }
}

/// A superstep. A junction is a (k-1)-mer, and an open end a k-mer, that vertices decide about for
/// all ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Sends each open end to the vertex in charge of its k-mer.
    #[serde(rename = "Tell")]
    AnnounceEnds,
    /// Joins two ends that are open at one k-mer.
    Pair,
    /// Sends each end with the measures of its path to the part in charge of its (k-1)-mer.
    Meet(RemovalKind),
    /// Reports to each end which ends it meets there.
    Judge(RemovalKind),
    /// Removes paths that are taken for errors.
    #[serde(rename = "Leave")]
    Remove(RemovalKind),
    /// Sends the remaining ends to their (k-1)-mers again.
    MeetAgain,
    /// Joins two ends that meet only each other.
    Join,
    /// Starts list ranking: vertices point to their neighbours.
    Point,
    /// Doubles the distance to which vertices point.
    Double,
    /// Cuts circles, in which pointers reach no end.
    Cut,
    /// Sends the vertices of each chain to one part.
    Send,
    /// Merges the vertices of each chain.
    Gather,
}

/// Instructions to all parts for a superstep.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SuperstepOrder {
    /// The superstep.
    pub step: Step,
    /// Bases that joined vertices share.
    pub shared: usize,
    /// Rules for errors.
    pub rules: Option<Rules>,
    /// Depths by which paths are judged.
    pub depth: GraphDepth,
}

/// Joins fragments that are open at the same k-mer, or removes paths that the rules take for
/// errors, until nothing changes; both join chains by list ranking.
pub struct RankingProgram {
    k: usize,
    /// Rules for errors; without, fragments are joined.
    rules: Option<Rules>,
    step: Option<Step>,
    kind: RemovalKind,
    now: Removed,
    depth: GraphDepth,
    rounds: Vec<Removed>,
}

impl RankingProgram {
    /// Creates the program before the first superstep, for k-mers of `k` bases.
    pub fn new(k: usize, rules: Option<Rules>) -> Self {
        let mut program = Self {
            k,
            rules,
            step: Some(Step::AnnounceEnds),
            kind: RemovalKind::Tips,
            now: Removed::default(),
            depth: GraphDepth::default(),
            rounds: Vec::new(),
        };
        if rules.is_some() {
            program.start_first(&RemovalKind::ALL);
        }
        program
    }

    fn count(&mut self, kind: RemovalKind, removed: u64) {
        match kind {
            RemovalKind::Tips => self.now.tips = removed,
            RemovalKind::Islands => self.now.islands = removed,
            RemovalKind::Bubbles => self.now.bubbles = removed,
            RemovalKind::Connections => self.now.connections = removed,
        }
    }

    /// Continues after all chains are merged, or nothing was removed.
    fn after(&mut self, kind: RemovalKind) {
        let later =
            RemovalKind::ALL.iter().position(|&other| other == kind).map_or(0, |place| place + 1);
        self.start_first(&RemovalKind::ALL[later..]);
        if self.step.is_none() && self.now != Removed::default() {
            self.rounds.push(std::mem::take(&mut self.now));
            if self.rounds.len() < ROUNDS_MAX {
                self.start_first(&RemovalKind::ALL);
            }
        }
    }

    /// Starts the removal of the first of these kinds that the rules remove; ends the program where
    /// there is none.
    fn start_first(&mut self, kinds: &[RemovalKind]) {
        let rules = self.rules;
        let is_removed =
            |kind: &&RemovalKind| rules.is_some_and(|rules| kind.is_removed_by(&rules));
        self.step = kinds.iter().find(is_removed).map(|&kind| {
            self.kind = kind;
            Step::Meet(kind)
        });
    }
}

impl VertexProgram for RankingProgram {
    type Order = SuperstepOrder;

    fn order(&self) -> Option<SuperstepOrder> {
        let shared = if self.rules.is_some() { self.k - 1 } else { self.k };
        let (rules, depth) = (self.rules, self.depth);
        self.step.map(|step| SuperstepOrder { step, shared, rules, depth })
    }

    fn phase(&self) -> &'static str {
        if self.rules.is_some() { self.kind.name() } else { "chains" }
    }

    fn advance(&mut self, aggregates: &Aggregates) {
        let Some(step) = self.step else { return };
        let counts = (aggregates.kmers, aggregates.count_sum);
        self.depth = GraphDepth::new(counts, &aggregates.classes);
        self.step = match step {
            Step::AnnounceEnds => Some(Step::Pair),
            Step::Meet(kind) => Some(Step::Judge(kind)),
            Step::Judge(kind) => Some(Step::Remove(kind)),
            Step::Remove(kind) => {
                self.count(kind, aggregates.changed);
                if aggregates.changed == 0 {
                    return self.after(kind);
                }
                Some(Step::MeetAgain)
            }
            Step::MeetAgain => Some(Step::Join),
            Step::Pair | Step::Join => Some(Step::Point),
            Step::Point if aggregates.live > 0 => Some(Step::Double),
            Step::Double if aggregates.changed > 0 => Some(Step::Double),
            Step::Double if aggregates.live > 0 => Some(Step::Cut),
            Step::Double => Some(Step::Send),
            Step::Cut => Some(Step::Point),
            Step::Send => Some(Step::Gather),
            _ => return self.after(self.kind),
        };
    }

    fn rounds(&self) -> &[Removed] {
        &self.rounds
    }

    fn step(
        order: &SuperstepOrder,
        part: &mut VertexPart,
        messages: &[Message<'_>],
        out: &mut Outbox,
    ) -> Result<u64> {
        Ok(match order.step {
            Step::AnnounceEnds => part.announce_ends(out),
            Step::Pair => pair(messages, out)?,
            Step::Meet(kind) => {
                part.restore_done()?;
                part.send_ends(Some(kind.compared_bases(order.rules.as_ref())), out)
            }
            Step::Judge(kind) => junctions::judge(messages, kind, (part.k, order), out)?,
            Step::Remove(kind) => part.remove_errors(messages, kind, order)?,
            Step::MeetAgain => part.send_ends(None, out),
            Step::Join => junctions::join(messages, out)?,
            Step::Point => {
                part.update_neighbours(messages)?;
                part.set_aside(order.shared);
                part.point(out)
            }
            Step::Double => part.double(messages, out)?,
            Step::Cut => part.cut(out),
            Step::Send => part.send(out),
            Step::Gather => part.gather(messages, order.shared)?,
        })
    }
}
