//! The cache: which blocks are in memory, who holds a lease on them, and which are evicted next.
//!
//! Decisions only: no file, no socket, no clock, so a test drives all of it in a loop (`model.rs`),
//! and another one the threads around it in orders that shuttle draws (`schedules.rs`).
//! The store asks for a step ([`Residency::lease`]), does what the step says (fills a block,
//! removes others), and reports the outcome ([`Residency::filled`] or [`Residency::failed`]).
//! [`Cache`] is the same for threads. Missed blocks come from the under level or a [`BlockSource`].
//!
//! | to change | place |
//! |---|---|
//! | which block is evicted | a file of `policy` with a [`Policy`](policy::Policy), named there |
//! | whether a missed block may evict another | `policy/admission.rs` |
//! | limits and quotas, what is never evicted | `room.rs`, `rules.rs` |
//! | leases, and blocks that are being filled | `leases.rs` |
//! | files, their versions and names | `residency.rs`; `written.rs` while they are written |

mod block;
mod counts;
mod file;
mod leases;
#[cfg(test)]
mod model;
pub mod policy;
mod residency;
mod room;
mod rules;
#[cfg(test)]
mod schedules;
mod shared;
mod source;
mod written;

use std::sync;

pub use block::{BlockKey, SealedBlock};
pub use counts::Counts;
pub use file::{Backing, FileVersion, SharedFile};
pub use leases::LeaseStep;
pub use residency::Residency;
pub use rules::{FolderRule, FolderUse, QuotaUse};
pub use shared::Cache;
pub use source::{BlockSource, SourceBlock};
