//! Blocks as the cache knows them: their keys, and their states.

use serde::{Deserialize, Serialize};

use super::policy::BlockId;

/// Key of a block. The store never uses the number of a file twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlockKey {
    /// The number of the file.
    pub file: u64,
    /// The index of the block, from 0.
    pub index: u64,
}

/// A complete, read-only block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SealedBlock {
    /// Its key.
    pub key: BlockKey,
    /// Its size, at least 1.
    pub size_bytes: u64,
    /// CRC-32C of its bytes.
    pub checksum: u32,
    /// Distinguishes it from a block with the same content that was evicted before.
    pub serial: u64,
}

#[derive(Debug)]
pub(super) enum BlockState {
    /// A thread works on it, and its bytes are counted.
    Busy { size_bytes: u64 },
    /// Left by an earlier store, and not checked yet.
    Unverified(SealedBlock),
    /// In memory; `is_ahead` from a fill ahead to the first lease.
    Here { block: SealedBlock, leases: u64, is_ahead: bool },
}

impl BlockState {
    /// Returns its counted bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        match self {
            Self::Busy { size_bytes } => *size_bytes,
            Self::Unverified(block) | Self::Here { block, .. } => block.size_bytes,
        }
    }
}

/// Returns the number of a block for the policy, which is the same each time it is loaded.
pub(super) fn id_of(key: BlockKey) -> BlockId {
    (key.file << 32) | key.index
}

pub(super) fn key_of(id: BlockId) -> BlockKey {
    BlockKey { file: id >> 32, index: id & u64::from(u32::MAX) }
}
