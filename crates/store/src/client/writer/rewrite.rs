//! Written files that have holes, or are rewritten from their beginning.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::super::link::other;
use super::{Target, WrittenFile};
use crate::memory::PIECE_BYTES;
use crate::wire::{Question, Reply};
use crate::writeback::WriteMode;

impl WrittenFile {
    /// Returns an error if it may not grow to such a size, where that leaves a hole.
    pub(super) fn check_growth(&mut self, size_bytes: u64) -> io::Result<()> {
        if size_bytes <= self.size_bytes.saturating_add(self.block_bytes) {
            return Ok(());
        }
        self.ask(&Question::Fits { bytes: size_bytes }).map(|_| ())
    }

    /// Leaves out blocks that were never written.
    pub(super) fn leave_hole(&mut self, first: u64, count: u64) -> io::Result<()> {
        let reply = self.ask(&Question::Hole { number: self.number, first, count })?;
        let Reply::Placed { place, is_memory: false } = reply else { return Err(other(&reply)) };
        if self.under.is_none() {
            let file = File::options().read(true).write(true).open(&place)?;
            self.under = Some(Arc::new(file));
        }
        Ok(())
    }

    /// Rewrites the first bytes to a new file that takes the place of this one.
    pub(super) fn write_again(
        &mut self,
        mode: Option<WriteMode>,
        size_bytes: u64,
    ) -> io::Result<()> {
        let mut next = Self::begin(Target { mode, ..self.target.clone() })?;
        next.is_in_order = false;
        next.set_permissions = self.set_permissions;
        next.check_growth(size_bytes)?;
        // Only blocks that were written are copied.
        let mut piece = vec![0; PIECE_BYTES];
        for &index in self.blocks.keys() {
            let mut place = index * self.block_bytes;
            let end = (place + self.block_bytes).min(size_bytes).min(self.size_bytes);
            while place < end {
                let most = (end - place).min(PIECE_BYTES as u64) as usize;
                let count = self.read_at(&mut piece[..most], place)?;
                next.write_at(&piece[..count], place)?;
                place += count as u64;
            }
        }
        next.size_bytes = size_bytes;
        // A drop would discard it only a moment later; its folder may have to be empty at once.
        let _ = self.ask(&Question::Abandon { number: self.number });
        *self = next;
        Ok(())
    }

    /// Writes bytes from a source that `read` returns by offset.
    ///
    /// # Errors
    /// Errors of `read`; `UnexpectedEof` where it returns no bytes; as
    /// [`write_at`](Self::write_at).
    pub fn copy_from(
        &mut self,
        size_bytes: u64,
        mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.check_growth(size_bytes)?;
        let mut piece = vec![0; PIECE_BYTES];
        let mut place = 0;
        while place < size_bytes {
            let most = (size_bytes - place).min(PIECE_BYTES as u64) as usize;
            let count = read(&mut piece[..most], place)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.write_at(&piece[..count], place)?;
            place += count as u64;
        }
        Ok(())
    }
}
