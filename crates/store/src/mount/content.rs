//! Bytes of files of a mount: read in one version, written, given to the store.

use std::io::{self, ErrorKind};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use cuesta_runtime::parallel::lock;

use super::MountTree;
use super::limits::{RELEASE_WAIT, RELEASE_WAITS, SMALL_BYTES};
use super::nodes::{FileContent, MountNode, NodeKind, NodeState};
use crate::client::{StoredFile, WrittenFile};
use crate::path::StorePath;
use crate::store::promise::WriteMode;
use crate::wire::Question;

impl MountTree {
    /// Opens a file; whether what the kernel has of it is still right.
    ///
    /// # Errors
    /// As the store has them.
    pub fn open(&self, node: &MountNode, writes: bool) -> io::Result<bool> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        let keeps = match &state.content {
            FileContent::Lost => return Err(lost()),
            FileContent::Closed => {
                let version = self.stored(node, &mut state)?.version();
                state.cached.replace(version) == Some(version)
            }
            _ => true,
        };
        state.handles += 1;
        state.writers += u32::from(writes);
        Ok(keeps)
    }

    /// The version that is read.
    fn stored(&self, node: &MountNode, state: &mut NodeState) -> io::Result<StoredFile> {
        if let FileContent::Stored(file) = &state.content {
            return Ok(file.clone());
        }
        let path = self.path(node.number).ok_or_else(lost)?;
        let file = self.client.open(&path)?;
        let version = file.version();
        state.seen = Some((version.size_bytes, version.modified_ns));
        state.content = FileContent::Stored(file.clone());
        Ok(file)
    }

    /// Fills `into` from `offset` on, or up to the end of the file; how many bytes.
    ///
    /// # Errors
    /// As the store has them.
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
        // Others may read it at the same time.
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

    /// Writes bytes, of a process.
    ///
    /// # Errors
    /// As the store has them.
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
        let known = state.seen.unwrap_or_default();
        let size_bytes = state.size_bytes().unwrap_or(known.0);
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

    /// Makes a file as long as this.
    ///
    /// # Errors
    /// As the store has them.
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
        // By its path, without a handle: nobody closes it.
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

    /// Has the first bytes of a file where they can be changed.
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

    /// Gives the bytes of a small file to the store, where it is to be larger than that.
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
            // It was removed, and is never committed.
            None => (self.unlinked_path(node.number)?, Some(WriteMode::Memory)),
        };
        WrittenFile::create_as(self.link.folder(), &path, mode, permissions)
    }

    /// A path that nobody asks for, which keeps no folder from being removed.
    fn unlinked_path(&self, number: u64) -> io::Result<StorePath> {
        let name = format!(".unlinked-{}-{number}", std::process::id());
        StorePath::default().join(&name).map_err(io::Error::other)
    }

    /// Gives a file that was changed to the store; what holds then is what its mode promises.
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
                // It may be committed later.
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
        (state.seen, state.cached) = (None, None);
        Ok(())
    }

    /// Somebody closes a handle that writes; there may be others, of other processes.
    ///
    /// # Errors
    /// Why the file could not be committed.
    pub fn flush(&self, node: &MountNode, process: u32) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        // A child that inherits a file, and closes it, is not done with it for its parent.
        let is_writer = [0, process].contains(&state.writer)
            || match (process_of(state.writer), process_of(process)) {
                (Some(writer), Some(process)) => writer == process,
                _ => true,
            };
        if is_writer { self.commit(node, &mut state) } else { Ok(()) }
    }

    /// Brings a file to where it is safe from the loss of the node.
    ///
    /// # Errors
    /// As the store has them.
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

    /// A handle is gone.
    pub fn release(&self, node: &MountNode, writes: bool) {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        state.handles = state.handles.saturating_sub(1);
        state.writers = state.writers.saturating_sub(u32::from(writes));
        if state.writers == 0 {
            // Who closed it was told already why it cannot be committed.
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

    /// A file is about to lose its name: who has it open has it still. The lock of its state.
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
            // The kernel says later that a handle is gone, and may have said so.
            drop(state);
            std::thread::sleep(RELEASE_WAIT);
            state = lock(&node.state);
        }
        if is_stored(&state) {
            // Its blocks may leave the store, which cannot read them again then.
            let file = self.stored(node, &mut state)?;
            if self.check_size(file.size_bytes()).is_err() {
                // A hole that no copy has room for: it is read as long as its blocks are there.
                return Ok(state);
            }
            let path = self.unlinked_path(node.number)?;
            let memory = Some(WriteMode::Memory);
            let bits = state.writer_bits();
            let mut held = WrittenFile::create_as(self.link.folder(), &path, memory, bits)?;
            held.copy_from(file.size_bytes(), |into, offset| file.read_at(into, offset))?;
            state.content = FileContent::Written(Box::new(held));
        }
        Ok(state)
    }

    /// A file has lost its name: it is never committed, and in nobody's way.
    pub(super) fn unname(&self, node: &MountNode, state: &mut NodeState) {
        if let FileContent::Written(file) = &mut state.content
            && let Ok(path) = self.unlinked_path(node.number)
        {
            file.unname(&path);
        }
    }

    /// Files without a name that have bytes in a folder of the under level have them elsewhere.
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
    /// Its bytes were changed just now.
    fn touch(&mut self) {
        self.is_changed = true;
        self.modified = Some(SystemTime::now());
    }
}

/// The process of a thread, while that lives.
fn process_of(thread: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok())
}

/// Nanoseconds since 1970 as a time.
pub(super) fn time_of(nanoseconds: i64) -> SystemTime {
    let since = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { SystemTime::UNIX_EPOCH - since } else { SystemTime::UNIX_EPOCH + since }
}

fn lost() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}
