//! Status of the other stores of the job.

use std::sync::PoisonError;

use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use super::Peers;
use super::members::Member;
use super::refusals::RefusalCounts;

/// Status of the other stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeersStatus {
    /// The name of this store.
    pub name: String,
    /// The other stores.
    pub members: Vec<MemberStatus>,
    /// Blocks sent to other stores, including former members.
    pub served_blocks: u64,
    /// Bytes of these blocks.
    pub served_bytes: u64,
    /// Recent bytes a second from the under level, one piece at a time.
    pub under_bytes_per_s: Option<f64>,
    /// Blocks in the directory of this store.
    pub directory_blocks: u64,
    /// Number of refused connections.
    pub refused: u64,
    /// Number of refused connections by reason.
    pub refusals: RefusalCounts,
    /// Address and reason of the last refused connection.
    pub last_refusal: Option<String>,
    /// Opens and reads that failed because the store with the only copy died.
    pub losses: u64,
    /// Message of the last such failure.
    pub last_loss: Option<String>,
}

/// Status of another store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its name.
    pub name: String,
    /// Whether it lives; a dead store is bypassed.
    pub is_live: bool,
    /// Number of times that it came back after it had been dead.
    pub returns: u64,
    /// Cause of the last failure to reach it.
    pub failure: Option<String>,
    /// Blocks read from it, counted by their first bytes.
    pub read_blocks: u64,
    /// Bytes of blocks read from it.
    pub read_bytes: u64,
    /// Blocks sent to it.
    pub served_blocks: u64,
    /// Bytes of blocks sent to it.
    pub served_bytes: u64,
    /// Recent bytes a second from it, one piece at a time.
    pub bytes_per_s: Option<f64>,
}

impl MemberStatus {
    fn new(member: &Member) -> Self {
        let (read_blocks, read_bytes) = member.read.totals();
        let (served_blocks, served_bytes) = member.served.totals();
        Self {
            name: member.name.clone(),
            is_live: member.is_live(),
            returns: member.returns(),
            failure: member.failure(),
            read_blocks,
            read_bytes,
            served_blocks,
            served_bytes,
            bytes_per_s: lock(&member.rate).bytes_per_s,
        }
    }
}

impl Peers {
    /// Returns the current status of the other stores.
    pub fn status(&self) -> PeersStatus {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let mut members: Vec<MemberStatus> =
            members.values().map(|member| MemberStatus::new(member)).collect();
        members.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        let (served_blocks, served_bytes) = self.served.totals();
        let (refusals, last_refusal) = self.refusals.summary();
        let (losses, last_loss) = lock(&self.losses).clone();
        PeersStatus {
            name: self.local.name.clone(),
            members,
            served_blocks,
            served_bytes,
            under_bytes_per_s: lock(&self.under_rate).bytes_per_s,
            directory_blocks: lock(&self.directory).blocks() as u64,
            refused: refusals.values().sum(),
            refusals,
            last_refusal,
            losses,
            last_loss,
        }
    }
}
