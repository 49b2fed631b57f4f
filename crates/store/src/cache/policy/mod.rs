//! Eviction policies: state machines without I/O, with the same hits as libCacheSim's of the same
//! name, except [`clockpro`]; and the [`admission`] of missed blocks.

pub mod admission;
pub mod clockpro;
mod lru;
mod queue;
mod s3fifo;
mod sieve;

use std::fmt;
use std::str::FromStr;

use clockpro::ClockPro;
use cuesta_core::{Error, Result};
use lru::Lru;
use s3fifo::S3Fifo;
use sieve::Sieve;

/// A block, by its number.
pub type BlockId = u64;

/// Eviction policy, which chooses the block to evict.
///
/// For a block that is not in memory the store calls [`missed`](Self::missed), then
/// [`evict`](Self::evict) until there is room, then [`insert`](Self::insert).
pub trait Policy: Send {
    /// Called when a block in memory was read.
    fn hit(&mut self, block: BlockId);

    /// Called when a block that is not in memory is about to be read.
    fn missed(&mut self, block: BlockId) {
        let _ = block;
    }

    /// Called when a block was loaded into memory.
    fn insert(&mut self, block: BlockId, size_bytes: u64);

    /// Chooses a block to evict, among those that `may_evict`, and forgets it; `None` if there is
    /// none.
    fn evict(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId>;

    /// Called when a block left memory for another reason: its file was removed, or a user freed
    /// it.
    fn remove(&mut self, block: BlockId);
}

/// Names of the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyName {
    /// Least recently used, the policy of the paper.
    Lru,
    /// SIEVE.
    Sieve,
    /// S3-FIFO.
    S3Fifo,
    /// CLOCK-Pro.
    ClockPro,
}

impl PolicyName {
    /// All policies.
    pub const ALL: [Self; 4] = [Self::Lru, Self::Sieve, Self::S3Fifo, Self::ClockPro];

    /// Returns its name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Sieve => "sieve",
            Self::S3Fifo => "s3-fifo",
            Self::ClockPro => "clock-pro",
        }
    }

    /// Creates the policy, for a memory of `capacity_bytes`.
    pub fn make(self, capacity_bytes: u64) -> Box<dyn Policy> {
        match self {
            Self::Lru => Box::new(Lru::default()),
            Self::Sieve => Box::new(Sieve::default()),
            Self::S3Fifo => Box::new(S3Fifo::new(capacity_bytes)),
            Self::ClockPro => Box::new(ClockPro::new(capacity_bytes)),
        }
    }
}

impl FromStr for PolicyName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::input("store", format!("there is no policy {name}, give one of {names}"))
        })
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
