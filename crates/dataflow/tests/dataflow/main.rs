//! Tests of the dataflow.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod golden;
mod mutants;
mod rounds;
mod same_answer;
