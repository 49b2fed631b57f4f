//! `skeleton`: the exact sum and the count of whole numbers of 64 bits (`spec/workloads/skeleton`).
//!
//! Numbers are added in 128 bits, which no input can exceed, so the answer does not depend on the
//! order in which they come. Cost: O(n), one pass; bound by reading.

pub mod kernel;
pub mod numbers;
pub mod params;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod table;
pub mod verify;

pub use run::run;
pub use verify::verify;
