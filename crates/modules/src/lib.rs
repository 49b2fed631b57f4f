//! Weighted gene co-expression modules: from an expression matrix to a soft network, its tree,
//! modules and their eigengenes (`spec/workloads/modules`, `spec/workloads/threshold`).
//!
//! `run` and `verify` are those of the workload `modules`; [`threshold`] has both of its own. Each
//! verifier computes the stages of `stages` anew and observes them (`verify/checks.rs`).
//!
//! Source: Zhang and Horvath 2005 (soft networks, topological overlap); Langfelder, Zhang and
//! Horvath 2008 (dynamic tree cut); Langfelder and Horvath 2008 (eigengenes, merging); Müllner 2013
//! (average linkage). Costs over N genes and S samples: correlations N^2 S, overlap N^3, tree N^2;
//! memory is two triangles of N (N - 1) / 2 values.
//!
//! Safe to change: a kernel, held equal to `reference.rs` by property tests and to R by fixtures.
//! Danger: order of summation and of ties, as in `docs/adr/0055-modules-in-one-order.md`: they
//! are part of the answer.

pub mod input;
pub mod kernel;
pub mod params;
pub mod reference;
pub mod run;
pub mod stages;
pub mod tables;
pub mod threshold;
pub mod traits;
pub mod verify;

pub use run::run;
pub use verify::verify;
