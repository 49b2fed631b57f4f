//! Execution of work, independent of what it computes: tasks on threads, files written in the order
//! of tasks, scratch space, removal of files, and rounds of distributed work with their messages
//! and state. Knows no workload and no format.
//!
//! Safe to change: scheduling of tasks. What breaks: `removal` is the only module that removes
//! folders or renames over names; messages of rounds are read by workers of the same build only.

pub mod atomic_file;
pub mod blocks;
pub mod operation;
pub mod ordered;
pub mod parallel;
pub mod removal;
pub mod rounds;
pub mod scratch;
pub mod sequential;
pub mod state;
pub mod wire;
