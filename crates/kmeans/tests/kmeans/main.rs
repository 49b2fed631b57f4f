//! Tests of k-means.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod bad_input;
mod common;
mod golden;
mod rounds;
mod same_answer;
mod verification;
