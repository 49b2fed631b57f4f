//! The seam between the graph, whose vertices are in parts, and the programs that change it in
//! supersteps. A program chooses each superstep by the summed reports of the last one.

use std::collections::BTreeMap;

use cuesta_core::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::messages::{Message, Outbox};
use super::part::VertexPart;
use crate::kernel::internal;
use crate::kernel::simplify::Removed;
use crate::kernel::single_copy::CoverageClasses;

/// Most supersteps: far more than needed, as programs take some for each halving of the chains.
const SUPERSTEPS_MAX: u64 = 1_000_000;

/// A program that all parts run on their vertices.
pub trait VertexProgram {
    /// Instructions to all parts for a superstep.
    type Order: Serialize + DeserializeOwned + Sync;

    /// Returns the instructions for the next superstep; `None` at the end.
    fn order(&self) -> Option<Self::Order>;

    /// Returns the phase to which the traffic of that superstep counts.
    fn phase(&self) -> &'static str;

    /// Chooses the next superstep after all parts have carried out the last one.
    fn advance(&mut self, aggregates: &Aggregates);

    /// Returns the removals of each round.
    fn rounds(&self) -> &[Removed];

    /// Carries out a superstep in a part, whose messages are sorted by recipient; returns the
    /// number of vertices that changed.
    ///
    /// # Errors
    /// `Defect` when a message is damaged or its vertex does not exist.
    fn step(
        order: &Self::Order,
        part: &mut VertexPart,
        messages: &[Message<'_>],
        out: &mut Outbox,
    ) -> Result<u64>;
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
    /// Long paths by their coverage.
    pub classes: CoverageClasses,
}

impl Aggregates {
    /// Adds the report of another part.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.changed += other.changed;
        self.live += other.live;
        self.kmers += other.kmers;
        self.count_sum += other.count_sum;
        self.classes.merge(&other.classes);
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
pub struct Control<P> {
    /// Bases in a k-mer.
    pub k: usize,
    /// The program.
    pub program: P,
    supersteps: u64,
    /// Traffic so far.
    pub traffic: Traffics,
}

impl<P: VertexProgram> Control<P> {
    /// Creates the state before the first superstep.
    pub fn new(k: usize, program: P) -> Self {
        Self { k, program, supersteps: 0, traffic: Traffics::new() }
    }

    /// Returns whether no superstep has been carried out.
    pub fn is_first(&self) -> bool {
        self.supersteps == 0
    }

    /// Counts a superstep that all parts have carried out, and chooses the next one.
    ///
    /// # Errors
    /// `Defect` when the supersteps do not end.
    pub fn advance(&mut self, aggregates: &Aggregates) -> Result<()> {
        let traffic =
            Traffic { supersteps: 1, messages: aggregates.messages, bytes: aggregates.bytes };
        self.traffic.entry(self.program.phase().to_owned()).or_default().add(&traffic);
        self.supersteps += 1;
        if self.supersteps > SUPERSTEPS_MAX {
            return Err(internal("the supersteps do not end"));
        }
        self.program.advance(aggregates);
        Ok(())
    }
}
