//! Placement of reads and pairs by tasks, each of which has all paths and a part of the reads.

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::shares::ReadShare;
use super::worker::WorkerParts;
use crate::kernel::anchors::Anchors;
use crate::kernel::codec::{ByteReader, put_codes};
use crate::kernel::kmer::with_kmer;
use crate::kernel::libraries::Orientation;
use crate::kernel::placements::Placements;
use crate::kernel::sequences::{PathSummary, Paths};
use crate::kernel::simplify::PathGraph;
use crate::pairs::place::{Placer, each_read};
use cuesta_input::reads::Pairing;

/// Source of reads without pairs.
const NO_SOURCE: usize = usize::MAX;

/// Places reads and pairs on paths of at least `k` bases.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlaceReads {
    k: usize,
    pairing: Pairing,
    /// Orientation of pairs, by source.
    orientations: Vec<Orientation>,
    /// Bases of all paths.
    paths: Vec<u8>,
}

impl PlaceReads {
    /// Creates the operation for the paths of a graph.
    pub(super) fn new(
        (pairing, orientations): (Pairing, Vec<Orientation>),
        graph: &PathGraph<'_>,
    ) -> Self {
        let mut paths = Vec::new();
        for path in 0..graph.paths.len() {
            put_codes(graph.paths.codes(path), &mut paths);
        }
        Self { k: graph.k, pairing, orientations, paths }
    }

    /// Returns the paths.
    fn unpacked<'b>(&self, budget: &'b Budget) -> Result<Paths<'b>> {
        let mut paths = Paths::new(budget, "the contigs");
        let mut reader = ByteReader(&self.paths);
        let mut codes = Vec::new();
        while !reader.is_empty() {
            codes.clear();
            reader.codes(&mut codes)?;
            paths.push(PathSummary::default(), |all| all.extend_from_slice(&codes))?;
        }
        Ok(paths)
    }
}

impl Operation for PlaceReads {
    const NAME: &'static str = "place";
    type State = WorkerParts;
    type Input = ReadShare;
    type Output = Placements;

    fn task(self, share: ReadShare, context: TaskContext<'_, WorkerParts>) -> TaskOutcome<Self> {
        let (budget, progress) = (&context.request.budget, context.progress);
        let (paths, k) = (self.unpacked(budget)?, self.k);
        let graph = with_kmer!(k, K => PathGraph::new::<K>(paths, k, budget))?;
        let anchors = Anchors::new(&graph.paths, budget)?;
        let placer = Placer::new(&graph, &anchors);
        let mut placements = Placements::of_sources(&self.orientations);
        let reads = share.open(self.pairing)?;
        let source = Some(share.source().unwrap_or(NO_SOURCE));
        each_read(&reads, (placer, source), &mut placements, |bytes| progress.advance(bytes))?;
        Ok(TaskResult::Output(placements))
    }

    fn combine(mut left: Placements, right: Placements) -> Result<Placements> {
        left.merge(right);
        Ok(left)
    }
}
