//! Vertex programs, superstep after superstep: chains of vertices become one vertex each, and paths
//! that are taken for errors go.

pub mod control;
mod junctions;
pub mod messages;
pub mod paper;
pub mod part;
mod ranking;
mod schedule;
mod state;
