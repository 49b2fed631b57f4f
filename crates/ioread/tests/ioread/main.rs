//! Tests of reads of a storage.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod common;
mod golden;
mod same_answer;
