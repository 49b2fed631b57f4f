//! Permission bits of files and folders of a mount: those of the under level, which `chmod` changes
//! there.

use std::io;
use std::sync::PoisonError;

use cuesta_runtime::parallel::lock;

use super::MountTree;
use super::limits::SMALL_BYTES;
use super::nodes::{MountNode, NodeState};
use crate::permissions::{ALL_BITS, WRITER_BITS};
use crate::wire::{DirectoryEntry, Question};

/// Default bits of a file whose store does not report any.
const PRIVATE_FILE: u32 = 0o600;

impl MountTree {
    /// Sets the permission bits of a file or folder: at once where it is in the store, else when it
    /// is committed.
    ///
    /// # Errors
    /// `EPERM` for set-user, set-group and sticky bits that it does not have, and for a file of
    /// another account; errors of the store.
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

    /// Returns an error for a size that no file of the store can have.
    ///
    /// # Errors
    /// `EFBIG`, `ENOSPC`; errors of the store.
    pub fn check_size(&self, size_bytes: u64) -> io::Result<()> {
        if size_bytes <= SMALL_BYTES {
            return Ok(());
        }
        self.link.ask(&Question::Fits { bytes: size_bytes }).map(|_| ())
    }
}

impl NodeState {
    /// Updates it from the store's entry, except bits that were set here since.
    pub fn update_from(&mut self, entry: &DirectoryEntry) {
        self.store_version = Some((entry.size_bytes, entry.modified_ns));
        if !self.is_permitted {
            self.permissions = entry.permissions;
        }
    }

    /// Returns permission bits for a file that is written in its place.
    pub fn writer_bits(&self) -> u32 {
        self.permissions.unwrap_or(PRIVATE_FILE) & WRITER_BITS
    }

    /// Returns permission bits that were set here, and are not in the store yet.
    pub fn bits_set(&self) -> Option<u32> {
        self.is_permitted.then(|| self.writer_bits())
    }
}
