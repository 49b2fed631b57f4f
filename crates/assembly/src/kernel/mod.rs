//! Kernels of the assembly, on slices and budgets. They use no files, clock or threads.

pub mod anchors;
pub mod codec;
pub mod compact;
pub mod contig_text;
pub mod depth;
pub mod fragments;
pub mod glue;
pub mod kmer;
pub mod libraries;
pub mod links;
pub mod minimizers;
pub mod packed;
pub mod path_search;
pub mod placements;
pub mod read_aligner;
pub mod repeated;
pub mod rules;
pub mod runs;
pub mod scan;
pub mod sequences;
pub mod simplify;
pub mod single_copy;
pub mod spectrum;
pub mod stretch_bases;
pub mod stretch_counts;
pub mod super_counts;
pub mod supersteps;
pub mod table;
pub mod words;

use cuesta_core::Error;

/// Creates the error for a violated invariant, which is reported rather than answered wrongly.
pub fn internal(what: &str) -> Error {
    Error::defect("assembly", what)
}
