//! The gene network workloads: `correlate`, `load`, `scan`, `join`, `degrees`, `communities`.
//!
//! Source: Zhang, Khanal, Zhao, Ficklin, "Making sense of performance in in-memory computing
//! frameworks for scientific data analysis", 2018 (ArrayBench). Costs: `scan`, `degrees` and
//! components read the input once in O(genes) memory; `join` sorts unsorted versions; label
//! propagation, Louvain and Leiden hold the edges in memory.
//!
//! Safe to change: a kernel, held equal to `reference.rs` by property tests. What breaks: scores
//! are integers in millionths from the reader on; a float that decides makes engines disagree.

pub mod kernel;
pub mod params;
pub mod reference;
pub mod rounds;
pub mod run;
pub mod verify;
