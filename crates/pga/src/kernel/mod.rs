//! The vertex program, and the text of the first stage.

pub mod adjacency;
pub mod schedule;
pub mod steps;

use serde::{Deserialize, Serialize};

/// PgaBounds of the vertex program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PgaBounds {
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
