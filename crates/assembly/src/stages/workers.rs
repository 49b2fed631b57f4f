//! Requests to workers, and their results.

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
use crate::kernel::supersteps::program::{Control, Traffics, VertexProgram};
use crate::pairs::SolidSequences;
use cuesta_input::reads::Pairing;

/// Request to workers for the fragments of one size of k-mers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LevelParams {
    /// Bases in a k-mer.
    pub k: usize,
    /// Number of buckets as a power of two: there are 2^`bits`.
    pub bits: u32,
    /// Least count of a k-mer that is taken for real; a sample determines it where absent.
    pub min_count: Option<u32>,
    /// Whether to drop reads with letters that stand for more than one base.
    pub drop_reads_with_n: bool,
    /// Whether all k-mers come from solid sequences.
    pub only_solid: bool,
    /// Whether longer k-mers are counted in the reads afterwards.
    pub is_followed: bool,
    /// Pairing of the reads.
    pub pairing: Pairing,
    /// Approximate bytes of the reads.
    pub input_bytes: u64,
    /// Unit of fragments.
    pub grain: Grain,
    /// Whether workers retain the fragments of buckets as vertices, which a program joins; else one
    /// machine joins them.
    pub has_program: bool,
}

impl LevelParams {
    /// Returns the number of buckets.
    pub fn buckets(&self) -> usize {
        1 << self.bits
    }
}

/// Results of the workers.
pub struct WorkerResults<'c> {
    /// Fragments of all buckets, in any order.
    pub fragments: Fragments<'c>,
    /// Spectrum of the k-mers.
    pub spectrum: Spectrum,
    /// Least count of a k-mer that was taken for real.
    pub min_count: u32,
    /// Bytes of super-k-mers.
    pub bucket_bytes: u64,
    /// Counts of the reads.
    pub tally: ReadCounts,
    /// Traffic of the vertex program, where one joined the fragments.
    pub traffic: Option<Traffics>,
}

/// Workers that turn reads and solid sequences into fragments of unitigs.
pub trait Workers<'c> {
    /// Returns all fragments of one size of k-mers; `checkpoint` may have complete stages of it.
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

    /// Places all reads, and pairs of reads, on the paths of a graph.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn place(
        &self,
        graph: &PathGraph<'_>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Placements>;

    /// Runs a program on the fragments of a level, or those that workers have retained; returns the
    /// remaining vertices. `control` has the traffic afterwards.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn joined<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        params: &LevelParams,
        fragments: Fragments<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>>;

    /// Runs a program on `paths`; returns the remaining vertices. `control` has the traffic
    /// afterwards.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn simplified<P: VertexProgram>(
        &self,
        control: &mut Control<P>,
        paths: Paths<'c>,
        response: &mut Response,
    ) -> Result<Fragments<'c>>;
}
