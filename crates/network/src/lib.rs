//! The gene network workloads: `correlate`, `load`, `scan`, `join`, `degrees`, `communities`.

pub mod kernel;
