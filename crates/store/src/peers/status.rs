//! What the status of a store says of the others.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use super::Peers;

/// The other stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeersStatus {
    /// The name of this one.
    pub name: String,
    /// The others.
    pub members: Vec<MemberStatus>,
    /// Bytes of blocks that others were given.
    pub served_bytes: u64,
    /// Bytes a second that came from the under level lately, one piece at a time.
    pub under_bytes_per_s: Option<f64>,
    /// Blocks whose places are kept here for all.
    pub directory_blocks: u64,
    /// Connections that were refused.
    pub refused: u64,
    /// The last one: address and reason.
    pub last_refusal: Option<String>,
}

/// Another store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its name.
    pub name: String,
    /// Whether it lives.
    pub is_live: bool,
    /// Why it was not reached the last time.
    pub failure: Option<String>,
    /// Bytes of blocks that came from it.
    pub read_bytes: u64,
    /// Bytes a second that came from it lately, one piece at a time.
    pub bytes_per_s: Option<f64>,
}

impl Peers {
    /// What is known of the others now.
    pub fn status(&self) -> PeersStatus {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let mut members: Vec<MemberStatus> = members
            .values()
            .map(|member| MemberStatus {
                name: member.name.clone(),
                is_live: member.is_live(),
                failure: member.failure(),
                read_bytes: member.read_bytes.load(Ordering::Relaxed),
                bytes_per_s: lock(&member.rate).bytes_per_s,
            })
            .collect();
        members.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let (refused, last_refusal) = self.refusals.seen();
        PeersStatus {
            name: self.own.name.clone(),
            members,
            served_bytes: self.served_bytes.load(Ordering::Relaxed),
            under_bytes_per_s: lock(&self.under_rate).bytes_per_s,
            directory_blocks: lock(&self.directory).blocks() as u64,
            refused,
            last_refusal,
        }
    }
}
