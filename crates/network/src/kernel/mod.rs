//! Pure functions on slices: no I/O, no clock, no log.

pub mod correlate;
pub mod degrees;
pub mod differential;
pub mod graph;
pub mod join;
pub mod label_propagation;
pub mod louvain;
pub mod neighbours;
pub mod union_find;
