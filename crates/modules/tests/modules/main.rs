//! Tests of thresholds and modules.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;
mod parity;
mod properties;
mod refine;
mod rounds;
mod threshold;
mod whole;
mod workload;
