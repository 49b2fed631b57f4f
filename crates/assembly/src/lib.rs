//! Genome assembly: from reads to unitigs, contigs and their graph (`spec/workloads/assemble`).
//!
//! Reads are cut into super-k-mers, stretches whose (k-1)-mers belong to one bucket. Each bucket is
//! counted and compacted separately in a table that fits in a cache, and the fragments are joined
//! where buckets meet. The answer does not depend on threads, memory, or the number of buckets.
//! Cost: O(bases); each base is read once and written once to a bucket.
//!
//! What `profile` selects is a [`method::Method`], of this crate or another; no code here knows one
//! of another crate.
//!
//! Safe to change: any kernel, as long as `tests/` find the same bytes for any threads, memory and
//! engine. What breaks: the order of contigs, or a tie decided by arrival, changes digests; a rule
//! of the graph belongs in `spec/workloads/assemble` and in `verify` too, which shares with the run
//! what ADR 2 lists, and no more.

pub mod buckets;
pub mod kernel;
pub mod method;
pub mod pairs;
pub mod params;
pub mod picture;
pub mod reference;
pub mod registry;
pub mod rounds;
pub mod run;
pub mod sampling;
pub mod stages;
pub mod verify;

pub use registry::{AssembleFunctions, Registry};
pub use run::run;
pub use verify::verify;
