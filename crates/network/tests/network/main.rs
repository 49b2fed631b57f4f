//! Tests of gene pairs: scan, join, degrees, communities, correlate, load.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod annotate;
mod bad_input;
mod common;
mod correlate;
mod differential;
mod fuzz;
mod golden;
mod mutants;
mod rounds;
mod same_answer;
mod sparse;
