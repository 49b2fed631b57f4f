//! Tests of PGA: its program, and all that runs, verifies and distributes it.
#![allow(clippy::unwrap_used)]

#[path = "../../../assembly/tests/assembly/common/mod.rs"]
mod common;
mod jobs;
mod registered;
mod runs;
mod sequential;
