//! Shared base of all crates: units, errors, counter-based random numbers, digests, fingerprints,
//! fixed-point scores, biweight deviations, scaling by powers of two, p-values and their ranks, the
//! memory budget, progress, and the request and response of a job. It does no I/O and starts no
//! threads.
//!
//! Safe to change: additions. What breaks: digests, random numbers and fixed-point scores are part
//! of every answer; `spec/` has golden values for them.

pub mod biweight;
pub mod budget;
pub mod content;
pub mod cpu;
pub mod digest;
pub mod error;
pub mod fingerprint;
pub mod fixed;
pub mod job;
pub mod mutation;
pub mod pages;
pub mod progress;
pub mod random;
pub mod sample;
pub mod scale;
pub mod score_counts;
pub mod statistics;

pub use error::{Error, Result};
