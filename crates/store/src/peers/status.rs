//! What the status of a store says of the others.

use std::sync::PoisonError;

use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use super::Peers;
use super::members::Member;
use super::refusals::RefusalCounts;

/// The other stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeersStatus {
    /// The name of this one.
    pub name: String,
    /// The others.
    pub members: Vec<MemberStatus>,
    /// Blocks that others were given, those that are no members any more among them.
    pub served_blocks: u64,
    /// Bytes of them.
    pub served_bytes: u64,
    /// Bytes a second that came from the under level lately, one piece at a time.
    pub under_bytes_per_s: Option<f64>,
    /// Blocks whose places are kept here for all.
    pub directory_blocks: u64,
    /// Connections that were refused.
    pub refused: u64,
    /// The same by reason.
    pub refusals: RefusalCounts,
    /// The last one: address and reason.
    pub last_refusal: Option<String>,
    /// Openings and reads that failed because what they want died with its store.
    pub losses: u64,
    /// The line of the last one.
    pub last_loss: Option<String>,
}

/// Another store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its name.
    pub name: String,
    /// Whether it lives; one that does not is bypassed.
    pub is_live: bool,
    /// Why it was not reached the last time.
    pub failure: Option<String>,
    /// Blocks that came from it, counted by their first bytes.
    pub read_blocks: u64,
    /// Bytes of blocks that came from it.
    pub read_bytes: u64,
    /// Blocks that it was given.
    pub served_blocks: u64,
    /// Bytes of blocks that it was given.
    pub served_bytes: u64,
    /// Bytes a second that came from it lately, one piece at a time.
    pub bytes_per_s: Option<f64>,
}

impl MemberStatus {
    fn new(member: &Member) -> Self {
        let (read_blocks, read_bytes) = member.read.seen();
        let (served_blocks, served_bytes) = member.served.seen();
        Self {
            name: member.name.clone(),
            is_live: member.is_live(),
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
    /// What is known of the others now.
    pub fn status(&self) -> PeersStatus {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let mut members: Vec<MemberStatus> =
            members.values().map(|member| MemberStatus::new(member)).collect();
        members.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let (served_blocks, served_bytes) = self.served.seen();
        let (refusals, last_refusal) = self.refusals.seen();
        let (losses, last_loss) = lock(&self.losses).clone();
        PeersStatus {
            name: self.own.name.clone(),
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
