//! Tests of the sort.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod bad_input;
mod common;
mod golden;
mod mutants;
mod rounds;
mod same_answer;
mod shares;
