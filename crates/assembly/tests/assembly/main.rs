//! Tests of assembly from reads to scaffolds.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod common;
mod depth;
mod golden;
mod libraries;
mod mutants;
mod read_pairs;
mod resume;
mod rounds;
mod scaffolds;
mod tandem;
mod trimming;
mod unitigs;
mod verified;
