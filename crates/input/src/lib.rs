//! See README.

pub mod row;
