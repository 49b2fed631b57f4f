//! What all parts do next: decided from what they told of the last superstep, added up.

use std::collections::BTreeMap;

use cuesta_core::Result;
use serde::{Deserialize, Serialize};

use crate::kernel::internal;
use crate::kernel::simplify::{ROUNDS_MAX, Removed, Rules};

/// So many supersteps are never needed: a round of the coin toss merges a quarter of the vertices.
const SUPERSTEPS_MAX: u64 = 1_000_000;

/// The bounds of PGA.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// A tip has fewer bases than this.
    pub tip: usize,
    /// Sides of a bubble have fewer bases than this.
    pub bubble: usize,
    /// Most edits between sides of a bubble, as a part of the longer one.
    pub edits: f64,
    /// Most rounds of the coin toss in a job.
    pub rounds_max: Option<u64>,
    /// Most jobs.
    pub jobs_max: u64,
}

/// What parts are to do with their vertices.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Program {
    /// Fragments that are open at the same k-mer become one, by list ranking.
    Glue,
    /// Paths that the rules take for errors go, until nothing changes; by list ranking.
    Simplify(Rules),
    /// Chains of k-mers are compressed as in the first job of the paper.
    Compress(Paper),
    /// Tips and bubbles go as in the jobs of the paper; chains are compressed in all but the first.
    Jobs(Paper),
}

/// What is taken out of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Dead ends.
    Tips,
    /// Weak paths without links.
    Islands,
    /// Weaker sides of bubbles.
    Bubbles,
    /// Weak connections.
    Connections,
}

impl What {
    const ALL: [Self; 4] = [Self::Tips, Self::Islands, Self::Bubbles, Self::Connections];

    fn is_wanted(self, rules: &Rules) -> bool {
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

/// A superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Each open end goes to who decides about its k-mer.
    Tell,
    /// Two ends that are open at one k-mer are joined.
    Pair,
    /// Each end goes to who decides about its (k-1)-mer, with what is known of its path.
    Meet(What),
    /// Each end is told what it meets there.
    Judge(What),
    /// Paths that are taken for errors go.
    Leave(What),
    /// The ends that are left go there again.
    MeetAgain,
    /// Two ends that meet nothing but each other are joined.
    Join,
    /// Vertices begin to point at their neighbours.
    Point,
    /// They point twice as far.
    Double,
    /// Circles, where no end was found, are cut.
    Cut,
    /// Vertices of one chain go to one place.
    Send,
    /// They become one there.
    Gather,
    /// Each end is told all that it meets.
    Link,
    /// Vertices are labelled head or tail, and send that to their neighbours.
    Toss,
    /// Tails go into heads beside them.
    Merge,
    /// Tips are found, and tell their neighbours.
    FindTips,
    /// Messages are received; what leaves is gone.
    Receive,
    /// What may be a side of a bubble goes to its predecessor.
    FindBubbles,
    /// Predecessors remove sides of bubbles.
    PopBubbles,
}

/// What all parts are to do in a superstep.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SuperstepOrder {
    /// What.
    pub step: Step,
    /// How many supersteps were before.
    pub superstep: u64,
    /// Bases that joined vertices share.
    pub shared: usize,
    /// What is taken for an error.
    pub rules: Option<Rules>,
    /// Mean count of the k-mers of all paths.
    pub mean: f64,
    /// The bounds of the paper.
    pub paper: Option<Paper>,
    /// How many rounds of the coin toss were before.
    pub round: u64,
}

/// What a part, or all of them, tell of a superstep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aggregates {
    /// Messages sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Vertices that changed, or went.
    pub changed: u64,
    /// Vertices that have work left.
    pub live: u64,
    /// K-mers of all paths, and their counts added up.
    pub kmers: u64,
    /// See there.
    pub count_sum: u64,
}

impl Aggregates {
    /// How many numbers these are.
    pub const NUMBERS: usize = 6;

    /// As numbers.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        [self.messages, self.bytes, self.changed, self.live, self.kmers, self.count_sum]
    }

    /// From numbers.
    pub fn of(numbers: [u64; Self::NUMBERS]) -> Self {
        let [messages, bytes, changed, live, kmers, count_sum] = numbers;
        Self { messages, bytes, changed, live, kmers, count_sum }
    }

    /// Adds what another part tells.
    pub fn add(&mut self, other: &Self) {
        let (mine, others) = (self.numbers(), other.numbers());
        *self = Self::of(std::array::from_fn(|index| mine[index] + others[index]));
    }
}

/// What a part of the work took.
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
    /// Adds what more work took.
    pub fn add(&mut self, other: &Self) {
        self.supersteps += other.supersteps;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// What chains, tips, bubbles ... took, by name.
pub type Traffics = BTreeMap<String, Traffic>;

/// Adds what more work took.
pub fn add_traffic(all: &mut Traffics, more: &Traffics) {
    for (name, one) in more {
        all.entry(name.clone()).or_default().add(one);
    }
}

/// A program under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Control {
    /// Size of k-mers.
    pub k: usize,
    pub(super) program: Program,
    step: Option<Step>,
    superstep: u64,
    what: What,
    pub(super) now: Removed,
    /// Rounds of the coin toss so far, and in the present job.
    pub(super) round: u64,
    pub(super) rounds_of_job: u64,
    /// The chains of the last job are not whole.
    pub(super) is_cut: bool,
    /// Only messages are left to be received.
    pub(super) is_ending: bool,
    kmers: u64,
    count_sum: u64,
    /// What each round has taken out.
    pub rounds: Vec<Removed>,
    /// What it took so far.
    pub traffic: Traffics,
}

impl Control {
    /// Before the first superstep.
    pub fn new(k: usize, program: Program) -> Self {
        let mut control = Self {
            k,
            program,
            step: Some(Step::Tell),
            superstep: 0,
            what: What::Tips,
            now: Removed::default(),
            round: 0,
            rounds_of_job: 0,
            // Whether the first job has left chains is not known here, where it may have.
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
                control.look_for(&What::ALL, &rules);
            }
            Program::Compress(_) | Program::Jobs(_) => control.step = Some(Step::MeetAgain),
        }
        control
    }

    /// What is to be done; nothing at the end.
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

    /// Goes on, after all parts have done what was ordered.
    ///
    /// # Errors
    /// `Input` when there is no end of it.
    pub fn advance(&mut self, aggregates: &Aggregates) -> Result<()> {
        let Some(step) = self.step else { return Ok(()) };
        let name = match self.program {
            Program::Glue => "chains",
            Program::Simplify(_) => self.what.name(),
            Program::Compress(_) | Program::Jobs(_) => self.work_of_paper(step),
        };
        let one = Traffic { supersteps: 1, messages: aggregates.messages, bytes: aggregates.bytes };
        self.traffic.entry(name.to_owned()).or_default().add(&one);
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
            Step::Tell => Some(Step::Pair),
            Step::Meet(what) => Some(Step::Judge(what)),
            Step::Judge(what) => Some(Step::Leave(what)),
            Step::Leave(what) => {
                self.count(what, aggregates.changed);
                if aggregates.changed > 0 {
                    Some(Step::MeetAgain)
                } else {
                    return self.after(what);
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
            _ => return self.after(self.what),
        };
        Ok(())
    }

    fn count(&mut self, what: What, gone: u64) {
        match what {
            What::Tips => self.now.tips = gone,
            What::Islands => self.now.islands = gone,
            What::Bubbles => self.now.bubbles = gone,
            What::Connections => self.now.connections = gone,
        }
    }

    /// Goes on after all chains are one vertex each, or nothing went.
    fn after(&mut self, what: What) -> Result<()> {
        self.step = None;
        let Program::Simplify(rules) = self.program else { return Ok(()) };
        let later = What::ALL.iter().position(|&other| other == what).map_or(0, |place| place + 1);
        self.look_for(&What::ALL[later..], &rules);
        if self.step.is_none() && self.now != Removed::default() {
            self.rounds.push(std::mem::take(&mut self.now));
            if self.rounds.len() < ROUNDS_MAX {
                self.look_for(&What::ALL, &rules);
            }
        }
        Ok(())
    }

    fn look_for(&mut self, some: &[What], rules: &Rules) {
        if let Some(&what) = some.iter().find(|what| what.is_wanted(rules)) {
            (self.what, self.step) = (what, Some(Step::Meet(what)));
        }
    }
}
