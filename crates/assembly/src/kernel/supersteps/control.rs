//! Choice of the next superstep of all parts, from the summed reports of the last one.

use std::collections::BTreeMap;

use cuesta_core::Result;
use serde::{Deserialize, Serialize};

use crate::kernel::internal;
use crate::kernel::simplify::{ROUNDS_MAX, Removed, Rules};

/// Most supersteps: far more than needed, as a round of coin tosses merges a quarter of the
/// vertices.
const SUPERSTEPS_MAX: u64 = 1_000_000;

/// Bounds of PGA, the paper's program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// A tip has fewer bases than this.
    pub tip: usize,
    /// Sides of a bubble have fewer bases than this.
    pub bubble: usize,
    /// Most edits between sides of a bubble, as a part of the longer one.
    pub edits: f64,
    /// Most rounds of coin tosses in a job.
    pub rounds_max: Option<u64>,
    /// Most jobs.
    pub jobs_max: u64,
}

/// Programs that parts run on their vertices.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Program {
    /// Joins fragments that are open at the same k-mer, by list ranking.
    Glue,
    /// Removes paths that the rules take for errors, until nothing changes, and joins chains by
    /// list ranking.
    Simplify(Rules),
    /// Compresses chains of k-mers as in the first job of the paper.
    Compress(Paper),
    /// Removes tips and bubbles as in the jobs of the paper; all but the first compress chains.
    Jobs(Paper),
}

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
pub struct SuperstepOrder {
    /// The superstep.
    pub step: Step,
    /// Number of supersteps before.
    pub superstep: u64,
    /// Bases that joined vertices share.
    pub shared: usize,
    /// Rules for errors.
    pub rules: Option<Rules>,
    /// Mean count of the k-mers of all paths.
    pub mean: f64,
    /// The bounds of the paper.
    pub paper: Option<Paper>,
    /// Number of rounds of coin tosses before.
    pub round: u64,
}

/// Report of a part, or the sum of all reports, on a superstep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregates {
    /// Messages sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Vertices that changed or were removed.
    pub changed: u64,
    /// Vertices with work left.
    pub live: u64,
    /// K-mers of all paths.
    pub kmers: u64,
    /// Sum of the counts of these k-mers.
    pub count_sum: u64,
}

impl Aggregates {
    /// Number of fields.
    pub const NUMBERS: usize = 6;

    /// Returns the fields as an array.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        [self.messages, self.bytes, self.changed, self.live, self.kmers, self.count_sum]
    }

    /// Creates a report from the array of [`Aggregates::numbers`].
    pub fn of(numbers: [u64; Self::NUMBERS]) -> Self {
        let [messages, bytes, changed, live, kmers, count_sum] = numbers;
        Self { messages, bytes, changed, live, kmers, count_sum }
    }

    /// Adds the report of another part.
    pub fn add(&mut self, other: &Self) {
        let (numbers, added) = (self.numbers(), other.numbers());
        *self = Self::of(std::array::from_fn(|index| numbers[index] + added[index]));
    }
}

/// Supersteps and messages that a phase of the work took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Supersteps.
    pub supersteps: u64,
    /// Messages between vertices.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds the traffic of more work.
    pub fn add(&mut self, other: &Self) {
        self.supersteps += other.supersteps;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// Traffic by the name of the phase: chains, tips, bubbles and so on.
pub type Traffics = BTreeMap<String, Traffic>;

/// Adds the traffic of more work, by phase.
pub fn add_traffic(all: &mut Traffics, more: &Traffics) {
    for (name, traffic) in more {
        all.entry(name.clone()).or_default().add(traffic);
    }
}

/// State of a running program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Control {
    /// Bases in a k-mer.
    pub k: usize,
    pub(super) program: Program,
    step: Option<Step>,
    superstep: u64,
    #[serde(rename = "what")]
    kind: RemovalKind,
    pub(super) now: Removed,
    /// Rounds of coin tosses so far, and in the present job.
    pub(super) round: u64,
    pub(super) rounds_of_job: u64,
    /// Whether the last job may have left incomplete chains.
    pub(super) is_cut: bool,
    /// Whether only messages remain to be received.
    pub(super) is_ending: bool,
    kmers: u64,
    count_sum: u64,
    /// Removals of each round.
    pub rounds: Vec<Removed>,
    /// Traffic so far.
    pub traffic: Traffics,
}

impl Control {
    /// Creates the state before the first superstep.
    pub fn new(k: usize, program: Program) -> Self {
        let mut control = Self {
            k,
            program,
            step: Some(Step::AnnounceEnds),
            superstep: 0,
            kind: RemovalKind::Tips,
            now: Removed::default(),
            round: 0,
            rounds_of_job: 0,
            // It is unknown here whether the first job, where it had a bound, has left chains.
            is_cut: matches!(program, Program::Jobs(Paper { rounds_max: Some(_), .. })),
            is_ending: false,
            kmers: 0,
            count_sum: 0,
            rounds: Vec::new(),
            traffic: Traffics::new(),
        };
        match program {
            Program::Glue => {}
            Program::Simplify(rules) => {
                control.step = None;
                control.start_first(&RemovalKind::ALL, &rules);
            }
            Program::Compress(_) | Program::Jobs(_) => control.step = Some(Step::MeetAgain),
        }
        control
    }

    /// Returns the instructions for the next superstep; `None` at the end.
    pub fn order(&self) -> Option<SuperstepOrder> {
        let (rules, paper) = match self.program {
            Program::Glue => (None, None),
            Program::Simplify(rules) => (Some(rules), None),
            Program::Compress(paper) | Program::Jobs(paper) => (None, Some(paper)),
        };
        let shared = if matches!(self.program, Program::Glue) { self.k } else { self.k - 1 };
        let mean = self.count_sum as f64 / self.kmers.max(1) as f64;
        let (superstep, round) = (self.superstep, self.round);
        self.step.map(|step| SuperstepOrder { step, superstep, shared, rules, mean, paper, round })
    }

    /// Chooses the next superstep after all parts have carried out the last one.
    ///
    /// # Errors
    /// `Defect` when the supersteps do not end.
    pub fn advance(&mut self, aggregates: &Aggregates) -> Result<()> {
        let Some(step) = self.step else { return Ok(()) };
        let name = match self.program {
            Program::Glue => "chains",
            Program::Simplify(_) => self.kind.name(),
            Program::Compress(_) | Program::Jobs(_) => self.work_of_paper(step),
        };
        let traffic =
            Traffic { supersteps: 1, messages: aggregates.messages, bytes: aggregates.bytes };
        self.traffic.entry(name.to_owned()).or_default().add(&traffic);
        self.superstep += 1;
        if self.superstep > SUPERSTEPS_MAX {
            return Err(internal("the supersteps do not end"));
        }
        (self.kmers, self.count_sum) = (aggregates.kmers, aggregates.count_sum);
        if let Program::Compress(paper) | Program::Jobs(paper) = self.program {
            self.step = self.after_of_paper(step, aggregates, &paper);
            return Ok(());
        }
        self.step = match step {
            Step::AnnounceEnds => Some(Step::Pair),
            Step::Meet(kind) => Some(Step::Judge(kind)),
            Step::Judge(kind) => Some(Step::Remove(kind)),
            Step::Remove(kind) => {
                self.count(kind, aggregates.changed);
                if aggregates.changed > 0 {
                    Some(Step::MeetAgain)
                } else {
                    return self.after(kind);
                }
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
        Ok(())
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
    fn after(&mut self, kind: RemovalKind) -> Result<()> {
        self.step = None;
        let Program::Simplify(rules) = self.program else { return Ok(()) };
        let later =
            RemovalKind::ALL.iter().position(|&other| other == kind).map_or(0, |place| place + 1);
        self.start_first(&RemovalKind::ALL[later..], &rules);
        if self.step.is_none() && self.now != Removed::default() {
            self.rounds.push(std::mem::take(&mut self.now));
            if self.rounds.len() < ROUNDS_MAX {
                self.start_first(&RemovalKind::ALL, &rules);
            }
        }
        Ok(())
    }

    /// Starts the removal of the first of these kinds that the rules remove.
    fn start_first(&mut self, kinds: &[RemovalKind], rules: &Rules) {
        if let Some(&kind) = kinds.iter().find(|kind| kind.is_removed_by(rules)) {
            (self.kind, self.step) = (kind, Some(Step::Meet(kind)));
        }
    }
}
