//! The dataflow of the papers on Spark and MPI on supercomputers: blocks of 3-vectors are
//! generated or read, shifted, averaged block by block, and the averages reduced to one mean
//! (`spec/workloads/dataflow`).
//!
//! Coordinates are doubles that are integer multiples of 2^-16 and small enough for all sums to be
//! exact, so the answer does not depend on the order of additions. Cost: O(vectors); bound by
//! arithmetic when the stages are fused and by memory when they are separate.
//!
//! Safe to change: the order of work and the fusion of stages. What breaks: a coordinate that is
//! no multiple of 2^-16 makes sums inexact, and engines disagree.

mod block_cache;
pub mod kernel;
pub mod params;
mod reduce;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod source;
mod stored;
pub mod table;
pub mod verify;

pub use run::run;
pub use verify::verify;
