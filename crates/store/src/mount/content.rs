//! Content of files of a mount: read in one version, written, and committed to the store.

use std::io::{self, ErrorKind};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use cuesta_runtime::parallel::lock;

use super::MountTree;
use super::limits::{RELEASE_WAIT, RELEASE_WAITS, SMALL_BYTES};
use super::nodes::{FileContent, MountNode, NodeKind, NodeState};
use crate::client::{StoredFile, WrittenFile};
use crate::path::StorePath;
use crate::wire::Question;
use crate::writeback::WriteMode;

impl MountTree {
    /// Opens a file; returns whether the kernel's cached pages are still valid.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn open(&self, node: &MountNode, writes: bool) -> io::Result<bool> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        let is_cache_valid = match &state.content {
            FileContent::Lost => return Err(lost()),
            FileContent::Closed => {
                let version = self.stored(node, &mut state)?.version();
                state.cached.replace(version) == Some(version)
            }
            _ => true,
        };
        state.handles += 1;
        state.writers += u32::from(writes);
        Ok(is_cache_valid)
    }

    /// Returns the open version of the store's file.
    fn stored(&self, node: &MountNode, state: &mut NodeState) -> io::Result<StoredFile> {
        if let FileContent::Stored(file) = &state.content {
            return Ok(file.clone());
        }
        let path = self.path(node.number).ok_or_else(lost)?;
        let file = self.client.open(&path)?;
        let version = file.version();
        state.store_version = Some((version.size_bytes, version.modified_ns));
        state.content = FileContent::Stored(file.clone());
        Ok(file)
    }

    /// Fills `into` from `offset` on, or up to the end of the file; returns the number of bytes.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn read(&self, node: &MountNode, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        let file = match &state.content {
            FileContent::Small(bytes) => {
                let rest = bytes.get(offset as usize..).unwrap_or_default();
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                return Ok(count);
            }
            FileContent::Written(file) => return file.read_at(into, offset),
            FileContent::Lost => return Err(lost()),
            FileContent::Closed | FileContent::Stored(_) => self.stored(node, &mut state)?,
        };
        // Other threads may read the file at the same time.
        drop(state);
        drop(moves);
        let mut done = 0;
        while done < into.len() {
            let count = file.read_at(&mut into[done..], offset + done as u64)?;
            if count == 0 {
                break;
            }
            done += count;
        }
        Ok(done)
    }

    /// Writes bytes on behalf of a process.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn write(
        &self,
        node: &MountNode,
        bytes: &[u8],
        offset: u64,
        writer: u32,
    ) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        let end = offset.saturating_add(bytes.len() as u64);
        let version = state.store_version.unwrap_or_default();
        let size_bytes = state.size_bytes().unwrap_or(version.0);
        if end > size_bytes.saturating_add(SMALL_BYTES) {
            self.check_size(end)?;
        }
        self.take_over(node, &mut state, u64::MAX)?;
        self.outgrow(node, &mut state, end)?;
        state.writer = writer;
        state.touch();
        match &mut state.content {
            FileContent::Written(file) => file.write_at(bytes, offset),
            FileContent::Small(all) => {
                all.resize(all.len().max(end as usize), 0);
                all[offset as usize..end as usize].copy_from_slice(bytes);
                Ok(())
            }
            _ => Err(lost()),
        }
    }

    /// Changes the size of a file.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn resize(&self, node: &MountNode, size_bytes: u64) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        self.check_size(size_bytes)?;
        if size_bytes == 0 {
            if !matches!(state.content, FileContent::Lost) {
                state.content = FileContent::Small(Vec::new());
            }
        } else {
            self.take_over(node, &mut state, size_bytes)?;
        }
        self.outgrow(node, &mut state, size_bytes)?;
        state.touch();
        let resized = match &mut state.content {
            FileContent::Written(file) => file.resize(size_bytes),
            FileContent::Small(all) => {
                all.resize(size_bytes as usize, 0);
                Ok(())
            }
            _ => Err(lost()),
        };
        // Resized by its path, without a handle: no close follows that would commit it.
        if state.handles == 0 {
            let committed = resized.and_then(|()| self.commit(node, &mut state));
            state.content = FileContent::Closed;
            if committed.is_err() {
                (state.is_changed, state.modified) = (false, None);
            }
            return committed;
        }
        resized
    }

    /// Loads the first bytes of a file, at most `keep`, into content that can be changed.
    fn take_over(&self, node: &MountNode, state: &mut NodeState, keep: u64) -> io::Result<()> {
        match state.content {
            FileContent::Small(_) | FileContent::Written(_) => return Ok(()),
            FileContent::Lost => return Err(lost()),
            FileContent::Closed | FileContent::Stored(_) => (),
        }
        let file = self.stored(node, state)?;
        let size_bytes = file.size_bytes().min(keep);
        let read = |into: &mut [u8], offset: u64| file.read_at(into, offset);
        state.content = if size_bytes <= SMALL_BYTES {
            let mut bytes = vec![0; size_bytes as usize];
            let mut done = 0;
            while done < bytes.len() {
                match read(&mut bytes[done..], done as u64)? {
                    0 => return Err(ErrorKind::UnexpectedEof.into()),
                    count => done += count,
                }
            }
            FileContent::Small(bytes)
        } else {
            self.check_size(size_bytes)?;
            let mut written = self.begin(node, state.writer_bits())?;
            written.copy_from(size_bytes, read)?;
            FileContent::Written(Box::new(written))
        };
        Ok(())
    }

    /// Moves the bytes of a small file to the store, where it is to be larger than that.
    fn outgrow(&self, node: &MountNode, state: &mut NodeState, size_bytes: u64) -> io::Result<()> {
        if let FileContent::Small(bytes) = &state.content
            && size_bytes > SMALL_BYTES
        {
            let mut written = self.begin(node, state.writer_bits())?;
            written.write_at(bytes, 0)?;
            state.content = FileContent::Written(Box::new(written));
        }
        Ok(())
    }

    fn begin(&self, node: &MountNode, permissions: u32) -> io::Result<WrittenFile> {
        let (path, mode) = match self.path(node.number) {
            Some(path) => (path, self.mode),
            // The file was removed, and is never committed.
            None => (self.unlinked_path(node.number)?, Some(WriteMode::Memory)),
        };
        WrittenFile::create_as(self.link.folder(), &path, mode, permissions)
    }

    /// Returns a path that no client asks for, and that does not keep a folder from being removed.
    fn unlinked_path(&self, number: u64) -> io::Result<StorePath> {
        let name = format!(".unlinked-{}-{number}", std::process::id());
        StorePath::default().join(&name).map_err(io::Error::other)
    }

    /// Commits a changed file to the store, with the durability of its write mode.
    pub(super) fn commit(&self, node: &MountNode, state: &mut NodeState) -> io::Result<()> {
        let Some(path) = self.path(node.number).filter(|_| state.is_changed) else { return Ok(()) };
        let (bits, bits_set) = (state.writer_bits(), state.bits_set());
        let permitted = |mut file: WrittenFile| {
            bits_set.into_iter().for_each(|bits| file.permit(bits));
            file.commit()
        };
        match std::mem::take(&mut state.content) {
            FileContent::Small(content) => {
                let made = WrittenFile::create_as(self.link.folder(), &path, self.mode, bits);
                let committed = made
                    .and_then(|mut file| file.write_at(&content, 0).map(|()| file))
                    .and_then(permitted);
                // It may be committed again later.
                state.content = FileContent::Small(content);
                committed?;
            }
            FileContent::Written(file) => {
                state.content = FileContent::Lost;
                permitted(*file)?;
                state.content = FileContent::Closed;
            }
            FileContent::Lost => {
                state.content = FileContent::Lost;
                return Err(lost());
            }
            content => state.content = content,
        }
        (state.is_changed, state.is_new, state.is_permitted) = (false, false, false);
        (state.store_version, state.cached) = (None, None);
        Ok(())
    }

    /// Handles the close of a descriptor that writes; other processes may have the file open too.
    ///
    /// # Errors
    /// Cause of a failed commit.
    pub fn flush(&self, node: &MountNode, process: u32) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        // A child that inherits and closes a file does not close it for its parent.
        let is_writer = [0, process].contains(&state.writer)
            || match (process_of(state.writer), process_of(process)) {
                (Some(writer), Some(process)) => writer == process,
                _ => true,
            };
        if is_writer { self.commit(node, &mut state) } else { Ok(()) }
    }

    /// Writes a file to where it survives the loss of the node.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn sync(&self, node: &MountNode) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        self.commit(node, &mut state)?;
        match self.path(node.number) {
            Some(path) if self.promises_later && node.kind == NodeKind::File => {
                self.link.ask(&Question::Flush { path: Some(path) }).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Releases a handle.
    pub fn release(&self, node: &MountNode, writes: bool) {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        state.handles = state.handles.saturating_sub(1);
        state.writers = state.writers.saturating_sub(u32::from(writes));
        if state.writers == 0 {
            // The writer has already received the error of a failed commit at its close.
            let _ = self.commit(node, &mut state);
        }
        if state.handles == 0 {
            state.content = FileContent::Closed;
            if state.is_new || state.is_changed {
                (state.is_new, state.is_changed) = (false, false);
                lock(&self.nodes).detach(node.number);
            }
            lock(&self.nodes).drop_forgotten(node.number);
        }
    }

    /// Prepares a file to lose its name, so that open handles can still read it; returns its locked
    /// state.
    pub(super) fn hold<'a>(&self, node: &'a MountNode) -> io::Result<MutexGuard<'a, NodeState>> {
        let mut state = lock(&node.state);
        let is_stored = |state: &NodeState| {
            state.handles > 0
                && matches!(state.content, FileContent::Closed | FileContent::Stored(_))
        };
        for _ in 0..RELEASE_WAITS {
            if !is_stored(&state) {
                return Ok(state);
            }
            // The kernel reports the release of a handle with a delay.
            drop(state);
            std::thread::sleep(RELEASE_WAIT);
            state = lock(&node.state);
        }
        if is_stored(&state) {
            // Its blocks may be evicted, and the store cannot read them again then.
            let file = self.stored(node, &mut state)?;
            if self.check_size(file.size_bytes()).is_err() {
                // The file has a hole too large to copy: it can be read as long as its blocks are
                // in memory.
                return Ok(state);
            }
            let path = self.unlinked_path(node.number)?;
            let memory = Some(WriteMode::Memory);
            let bits = state.writer_bits();
            let mut copy = WrittenFile::create_as(self.link.folder(), &path, memory, bits)?;
            copy.copy_from(file.size_bytes(), |into, offset| file.read_at(into, offset))?;
            state.content = FileContent::Written(Box::new(copy));
        }
        Ok(state)
    }

    /// Handles the loss of a file's name: it is never committed, and blocks no folder.
    pub(super) fn unname(&self, node: &MountNode, state: &mut NodeState) {
        if let FileContent::Written(file) = &mut state.content
            && let Ok(path) = self.unlinked_path(node.number)
        {
            file.unname(&path);
        }
    }

    /// Moves the bytes of files without a name out of a folder of the under level; returns whether
    /// there were any.
    pub(super) fn clear_folder(&self, folder: &StorePath) -> io::Result<bool> {
        let mut is_cleared = false;
        let nodes = lock(&self.nodes).all();
        for node in nodes.iter().filter(|node| self.path(node.number).is_none()) {
            if let FileContent::Written(file) = &mut lock(&node.state).content
                && file.path().is_inside(folder)
            {
                file.relocate()?;
                is_cleared = true;
            }
        }
        Ok(is_cleared)
    }
}

impl NodeState {
    /// Records a change of its bytes.
    fn touch(&mut self) {
        self.is_changed = true;
        self.modified = Some(SystemTime::now());
    }
}

/// Returns the process of a thread, while that lives.
fn process_of(thread: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok())
}

/// Converts nanoseconds since 1970 to a time.
pub(super) fn time_of(nanoseconds: i64) -> SystemTime {
    let since = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { SystemTime::UNIX_EPOCH - since } else { SystemTime::UNIX_EPOCH + since }
}

fn lost() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}
