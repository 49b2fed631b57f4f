//! Genome assembly: from reads to unitigs, contigs and their graph (`spec/workloads/assemble`).
//!
//! Reads are cut into super-k-mers, stretches whose (k-1)-mers belong to one bucket. Each bucket is
//! counted and compacted separately in a table that fits in a cache, and the fragments are joined
//! where buckets meet. The answer does not depend on threads, memory, or the number of buckets.
//! Cost: O(bases); each base is read once and written once to a bucket.

pub mod buckets;
pub mod kernel;
pub mod pairs;
pub mod params;
pub mod picture;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod stages;
pub mod verify;

pub use run::{run, run_with};
pub use verify::verify;
