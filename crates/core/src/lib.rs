//! What every other crate shares: units, errors, counter-based random numbers, digests,
//! fixed-point scores, the memory budget and progress. No I/O and no threads.

pub mod budget;
pub mod digest;
pub mod error;
pub mod fixed;
pub mod progress;
pub mod random;

pub use error::{Error, Result};
