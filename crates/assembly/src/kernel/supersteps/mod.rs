//! Vertex programs that run in supersteps: they merge chains of vertices and remove paths that are
//! taken for errors.

pub mod control;
mod junctions;
pub mod messages;
pub mod paper;
pub mod part;
mod ranking;
mod schedule;
mod state;
