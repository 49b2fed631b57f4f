//! Readers of Cuesta's inputs and their seeded generators: KINC gene-pair text, the pair matrix,
//! expression matrices. Reads through sources, never computes.

pub mod filter;
pub mod kinc;
pub mod limits;
pub mod row;

pub use filter::{Filter, FilterParams};
