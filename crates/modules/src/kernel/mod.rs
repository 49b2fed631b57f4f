//! Pure functions on slices: no I/O, no clock, no log.

pub mod adjacency;
pub mod blockwise;
pub(crate) mod connectivity;
pub mod correlate;
pub mod cut;
pub mod eigengene;
pub mod eigenvector;
pub mod expression;
pub mod impute;
pub mod labels;
pub mod linkage;
pub mod membership;
pub mod merge;
pub mod overlap;
pub mod power;
pub mod product;
pub mod scale_free;
pub mod threshold;
pub mod triangle;
pub mod unit;
