//! Permission bits of files and folders of a mount: those below, which `chmod` changes there.

use std::io;
use std::sync::PoisonError;

use cuesta_runtime::parallel::lock;

use super::MountTree;
use super::limits::SMALL_BYTES;
use super::nodes::{MountNode, NodeState};
use crate::permissions::{ALL_BITS, WRITER_BITS};
use crate::wire::{DirectoryEntry, Question};

/// Of a file whose store does not say it.
const PRIVATE_FILE: u32 = 0o600;

impl MountTree {
    /// Gives a file or folder these permission bits: at once where the store has it, else when it
    /// is committed.
    ///
    /// # Errors
    /// `EPERM` for set-user, set-group and sticky bits that it has not, and for what another
    /// account owns; as the store has them.
    pub fn permit(&self, node: &MountNode, mode: u32) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        let permissions = mode & ALL_BITS;
        match self.path(node.number).filter(|_| !state.is_changed) {
            Some(path) => {
                self.link.ask(&Question::Permit { path, permissions })?;
                state.reopen();
                state.is_permitted = false;
            }
            None if permissions & !WRITER_BITS != 0 => {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
            None => state.is_permitted = true,
        }
        state.permissions = Some(permissions);
        Ok(())
    }

    /// Refuses a size that no file of the store can have.
    ///
    /// # Errors
    /// `EFBIG`, `ENOSPC`; as the store has them.
    pub fn check_size(&self, size_bytes: u64) -> io::Result<()> {
        if size_bytes <= SMALL_BYTES {
            return Ok(());
        }
        self.link.ask(&Question::Fits { bytes: size_bytes }).map(|_| ())
    }
}

impl NodeState {
    /// What the store says of it, but for what was set here since.
    pub fn learn(&mut self, entry: &DirectoryEntry) {
        self.seen = Some((entry.size_bytes, entry.modified_ns));
        if !self.is_permitted {
            self.permissions = entry.permissions;
        }
    }

    /// Permission bits for a file that is written in its place.
    pub fn writer_bits(&self) -> u32 {
        self.permissions.unwrap_or(PRIVATE_FILE) & WRITER_BITS
    }

    /// Permission bits that were set here, and that the store has not got yet.
    pub fn bits_set(&self) -> Option<u32> {
        self.is_permitted.then(|| self.writer_bits())
    }
}
