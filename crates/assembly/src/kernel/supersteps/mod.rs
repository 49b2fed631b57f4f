//! Vertex programs that run in supersteps: they merge chains of vertices and remove paths that are
//! taken for errors.

pub mod junctions;
pub mod messages;
pub mod part;
pub mod program;
mod ranking;
pub mod simplifying;
mod state;
