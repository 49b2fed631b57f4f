//! What runs work, whatever it computes: tasks on threads, files written in the order of tasks,
//! room in scratch, removal, and the rounds of distributed work with what travels and what stays.
//! Knows no workload and no format.

pub mod atomic_file;
pub mod ordered;
pub mod parallel;
pub mod removal;
pub mod rounds;
pub mod scratch;
pub mod sequential;
pub mod state;

pub mod wire;
