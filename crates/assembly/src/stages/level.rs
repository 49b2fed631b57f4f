//! Report on one size of k-mers.

use serde::{Deserialize, Serialize};

use crate::kernel::simplify::Removed;
use crate::kernel::spectrum::Fit;
use crate::kernel::supersteps::program::Traffics;
use crate::method::MethodFacts;
use crate::pairs::PairFacts;
use crate::sampling::SampledReads;
use cuesta_input::reads::trim::TrimCounts;

/// Results for a size of k-mers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Level {
    /// Bases in a k-mer.
    pub k: usize,
    /// Least count of a k-mer that was taken for real.
    pub min_count: u32,
    /// Fit to the spectrum; where k-mers come from contigs and bridges, to that of the size before.
    pub fit: Fit,
    /// Distinct k-mers.
    pub distinct: u64,
    /// Distinct k-mers that are taken for real.
    pub solid: u64,
    /// Bases of the reads; 0 where all k-mers come from contigs and bridges.
    pub read_bases: u64,
    /// Letters of the longest read, of the first size, where sizes of k-mers are chosen by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_read: Option<u64>,
    /// Length of the stretches without ambiguous letters that half of all bases are in, in bases;
    /// of the first size, where the longest read would choose sizes beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_stretch: Option<u64>,
    /// Counts of the reads as they were trimmed, of the first size, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trimmed: Option<TrimCounts>,
    /// Facts of the reads, of the first size, where they are sampled to a depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledReads>,
    /// Numbers of the method, if it has any.
    #[serde(flatten)]
    pub facts: MethodFacts,
    /// Traffic of vertex programs, where any run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffics>,
    /// Number of unitigs before errors are removed.
    pub unitigs: usize,
    /// Removals of each round.
    pub rounds: Vec<Removed>,
    /// Results of read pairs, where all k-mers come from contigs and bridges.
    #[serde(rename = "mates")]
    pub pair_facts: Option<PairFacts>,
}
