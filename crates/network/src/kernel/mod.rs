//! Pure functions on slices: no I/O, no clock, no log.

pub mod correlate;
pub mod degrees;
pub mod differential;
pub mod graph;
pub mod join;
pub mod label_propagation;
pub mod leiden;
pub mod louvain;
pub mod neighbours;
pub mod quality;
pub mod union_find;
pub mod weighted_graph;
