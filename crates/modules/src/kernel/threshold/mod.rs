//! Choice of a threshold: networks at a grid of powers and of cut-offs, significance, and random
//! matrix theory.

pub mod akima;
pub mod components;
pub mod edges;
pub mod eigenvalues;
pub mod random_matrix;
pub mod sweep;
