//! Genome assembly: reads to unitigs, contigs and their graph (`spec/workloads/assemble`).
//!
//! Reads are cut into super-k-mers, stretches whose (k-1)-mers belong to one bucket; each bucket is
//! counted and compacted by itself in a table that fits in a cache, and the fragments are joined
//! where buckets meet. The answer does not depend on threads, memory, or the number of buckets.
//! Cost: O(bases), each read once and written once to a bucket.

pub mod anchors;
pub mod blocks;
pub mod bridge;
pub mod buckets;
pub mod checkpoint;
pub mod compact;
pub mod counting;
pub mod depth;
pub mod first_stage;
pub mod glue;
pub mod graph;
pub mod kept;
pub mod kmer;
pub mod local;
pub mod packed;
pub mod params;
pub mod reads;
#[cfg(test)]
mod reads_text;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod scan;
pub mod seen;
pub mod sequences;
pub mod shares;
pub mod simplify;
pub mod spectrum;
pub mod stage;
pub mod supersteps;
pub mod table;
pub mod verify;
pub mod ways;
pub mod wire;
pub mod write;

pub use run::{run, run_with};
pub use verify::verify;
