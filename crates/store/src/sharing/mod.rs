//! The interface between a store and the other stores of its job.
//!
//! A store uses the others as [`RemoteStores`], and reads their blocks by the
//! [`BlockSource`](crate::cache::BlockSource) of the cache; they use it as a [`LocalStore`]. So
//! `store` does not know `peers`, nor `peers` the type `Store`: the daemon joins the two.

mod files;
mod stores;

pub use files::{AloneFile, FileId, Holdings, LaterFile, NameLookup};
pub use stores::{ChangeOutcome, FileChange, LocalStore, RemoteStores};
