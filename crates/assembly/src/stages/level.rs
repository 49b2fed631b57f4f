//! What is told of one size of k-mers.

use serde::{Deserialize, Serialize};

use super::first_stage::FirstStage;
use crate::kernel::simplify::Removed;
use crate::kernel::spectrum::Fit;
use crate::kernel::supersteps::control::Traffics;
use crate::pairs::PairFacts;

/// What was found for one size of k-mers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Level {
    /// The size.
    pub k: usize,
    /// The count from which on a k-mer was taken for real.
    pub min_count: u32,
    /// What the spectrum says; after read pairs, what it said before.
    pub fit: Fit,
    /// Distinct k-mers.
    pub distinct: u64,
    /// Of these, taken for real.
    pub solid: u64,
    /// Bases of the reads, 0 where k-mers come from contigs and bridges alone.
    pub read_bases: u64,
    /// Letters of the longest read, where the sizes of k-mers are chosen by it; of the first size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_read: Option<u64>,
    /// What the first stage of the paper would have moved, with its profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_stage: Option<FirstStage>,
    /// What vertex programs took, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffics>,
    /// Unitigs before errors are taken out.
    pub unitigs: usize,
    /// What each round took out.
    pub rounds: Vec<Removed>,
    /// What read pairs said, where k-mers come from contigs and bridges alone.
    #[serde(rename = "mates")]
    pub pair_facts: Option<PairFacts>,
}
