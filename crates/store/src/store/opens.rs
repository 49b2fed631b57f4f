//! Opening of files for reading, in one version, and closing.

use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use cuesta_core::Result;
use cuesta_runtime::parallel::lock;

use super::peering::unreachable_or;
use super::{Freshness, Handle, OpenedFile, Store, system};
use crate::cache::{Backing, Residency};
use crate::path::StorePath;
use crate::under::UnderFile;

impl Store {
    /// Opens a file, to be [closed](Self::close).
    ///
    /// # Errors
    /// `System` naming the file.
    pub fn open_file(&self, path: &StorePath) -> Result<OpenedFile> {
        let alone = opened_alone(&mut self.cache.lock(), path);
        if let Some(opened) = alone.or_else(|| self.open_unchecked(path)) {
            return Ok(opened);
        }
        if let Some(remote) = self.open_remote(path)? {
            return Ok(remote);
        }
        let failed = |cause| system("opening", path, &cause);
        let file: Arc<dyn UnderFile> = self.under.open(path).map_err(failed)?.into();
        let version = file.version().map_err(failed)?;
        let mut state = self.cache.lock();
        // A file that was closed meanwhile may be only in memory: the under level has the version
        // that it replaces.
        if let Some(alone) = opened_alone(&mut state, path) {
            return Ok(alone);
        }
        let (number, to_remove) = state.open(path, version);
        // The state is locked, so that a concurrent close does not remove the handle.
        let handle = Handle { file: Some(file), compared: Instant::now() };
        lock(&self.handles).insert(number, handle);
        drop(state);
        self.remove(&to_remove);
        Ok(OpenedFile { number, version })
    }

    /// Opens a memory-only file of another store.
    fn open_remote(&self, path: &StorePath) -> Result<Option<OpenedFile>> {
        let Some((source, (_, remote))) = self.source.get().zip(self.elsewhere(path)?) else {
            return Ok(None);
        };
        let version = remote.id.version(remote.size_bytes, remote.closed_ns);
        let file = Arc::clone(source).open(path, version);
        let file = file.map_err(|cause| unreachable_or("opening", path, &cause))?;
        let mut state = self.cache.lock();
        if let Some(alone) = opened_alone(&mut state, path) {
            return Ok(Some(alone));
        }
        let (number, to_remove) = state.open(path, version);
        let handle = Handle { file: Some(file), compared: Instant::now() };
        lock(&self.handles).insert(number, handle);
        drop(state);
        self.remove(&to_remove);
        Ok(Some(OpenedFile { number, version }))
    }

    /// Opens a file whose last known version need not be checked.
    fn open_unchecked(&self, path: &StorePath) -> Option<OpenedFile> {
        if self.options.freshness == Freshness::OnOpen {
            return None;
        }
        let mut state = self.cache.lock();
        let (number, version) = state.file_at(path)?;
        let compared = lock(&self.handles).get(&number)?.compared;
        if let Freshness::MaxAge(age) = self.options.freshness
            && compared.elapsed() > age
        {
            return None;
        }
        state.open_again(number);
        Some(OpenedFile { number, version })
    }

    /// Closes a file.
    pub fn close(&self, number: u64) {
        let mut state = self.cache.lock();
        if state.close(number)
            && let Some(handle) = lock(&self.handles).get_mut(&number)
        {
            handle.file = None;
        }
        self.forget(state);
    }

    /// Removes the saved facts of files that are no longer known.
    pub(super) fn forget(&self, mut state: MutexGuard<'_, Residency>) {
        let forgotten = state.take_forgotten();
        for number in &forgotten {
            lock(&self.handles).remove(number);
        }
        drop(state);
        for number in forgotten {
            let _ = self.remove_facts(number);
        }
    }
}

/// Opens a file that is only in memory.
fn opened_alone(state: &mut Residency, path: &StorePath) -> Option<OpenedFile> {
    let (number, version) = state.file_at(path)?;
    if state.backing(number) == Backing::Under {
        return None;
    }
    state.open_again(number);
    Some(OpenedFile { number, version })
}
