//! What workers are asked for, and what they find.

use cuesta_core::Result;
use cuesta_core::job::Response;
use serde::{Deserialize, Serialize};

use super::checkpoint::stage::StageCheckpoint;
use crate::kernel::compact::Grain;
use crate::kernel::fragments::Fragments;
use crate::kernel::placements::Placements;
use crate::kernel::scan::ReadCounts;
use crate::kernel::sequences::Paths;
use crate::kernel::simplify::PathGraph;
use crate::kernel::spectrum::Spectrum;
use crate::kernel::supersteps::control::{Control, Program, Traffics};
use crate::pairs::SolidSequences;
use cuesta_input::reads::Pairing;

/// What workers are asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LevelParams {
    /// Size of k-mers.
    pub k: usize,
    /// There are 2^`bits` buckets.
    pub bits: u32,
    /// The count from which on a k-mer is taken for real; to be found by a sample where absent.
    pub min_count: Option<u32>,
    /// Leaves out reads with letters that stand for more than one base.
    pub drop_reads_with_n: bool,
    /// K-mers come from what is solid alone.
    pub only_solid: bool,
    /// Longer k-mers follow that are counted in the reads.
    pub is_followed: bool,
    /// Which reads are pairs.
    pub pairing: Pairing,
    /// Bytes of the reads, about.
    pub input_bytes: u64,
    /// The vertex program that joins what buckets have; where absent, one machine does.
    pub program: Option<Program>,
}

impl LevelParams {
    /// What becomes a fragment.
    pub fn grain(&self) -> Grain {
        if self.is_of_paper() { Grain::Kmer } else { Grain::Path }
    }

    /// Whether chains are compressed as in the paper.
    pub fn is_of_paper(&self) -> bool {
        matches!(self.program, Some(Program::Compress(_)))
    }

    /// How many buckets there are.
    pub fn buckets(&self) -> usize {
        1 << self.bits
    }
}

/// What workers have found.
pub struct WorkerResults<'c> {
    /// The fragments of all buckets, in any order.
    pub fragments: Fragments<'c>,
    /// K-mers by count.
    pub spectrum: Spectrum,
    /// The count from which on a k-mer was taken for real.
    pub min_count: u32,
    /// Bytes of super-k-mers.
    pub bucket_bytes: u64,
    /// What was counted in the reads.
    pub tally: ReadCounts,
    /// What a vertex program took, where chains were compressed by one.
    pub traffic: Option<Traffics>,
}

/// Who turns reads and what is solid into fragments of unitigs.
pub trait Workers<'c> {
    /// All fragments of one size of k-mers. What is whole of that before may be in `kept`.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn fragments(
        &self,
        params: &LevelParams,
        solid: Option<SolidSequences<'c>>,
        checkpoint: Option<&StageCheckpoint<'_>>,
        response: &mut Response,
    ) -> Result<WorkerResults<'c>>;

    /// Where all reads, and pairs of reads, lie on the paths of a graph.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn place(
        &self,
        graph: &PathGraph<'_>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Placements>;

    /// What is left of `paths` after a program of supersteps, which says what it took.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn supersteps(
        &self,
        control: &mut Control,
        paths: Paths<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>>;
}
