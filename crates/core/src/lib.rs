//! What every other crate shares: units, errors, counter-based random numbers, digests,
//! fingerprints, fixed-point scores, the memory budget, progress, and what a job is asked and
//! tells. No I/O and no threads.

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

pub use error::{Error, Result};
