//! Permission bits of files and folders, wherever those are.

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::{OPERATION, Store, system};
use crate::cache::Backing;
use crate::path::StorePath;
use crate::permissions::WRITER_BITS;
use crate::sharing::FileChange;
use crate::under::Facts;
use crate::writeback::PendingFile;

impl Store {
    /// Sets the bits that a writer chose for a file that is being written, which override those of
    /// a file that it replaces.
    ///
    /// # Errors
    /// `Input` for a file that is not being written.
    pub fn permit_written(&self, number: u64, permissions: u32) -> Result<()> {
        let entry = self.writeback.pending(number)?;
        let record = &mut lock(&entry).record;
        (record.permissions, record.is_exact) = (permissions, true);
        Ok(())
    }

    /// Sets the permission bits of a file or folder, wherever it is; special bits only where it has
    /// them.
    ///
    /// # Errors
    /// `System` naming the path: EPERM for special bits, or a file of another account.
    pub fn permit(&self, path: &StorePath, permissions: u32) -> Result<()> {
        let permit = |path| FileChange::Permit { path, permissions };
        if self.alone_at(path).is_none() && self.forwarded(path, permit)?.is_some() {
            return Ok(());
        }
        self.permit_here(path, permissions)
    }

    /// As [`permit`](Self::permit), for a path in this memory or on the under level.
    ///
    /// # Errors
    /// As [`permit`](Self::permit).
    pub(crate) fn permit_here(&self, path: &StorePath, permissions: u32) -> Result<()> {
        let is_alone = self.with_alone(path, |alone| {
            let Some(written) = alone else { return Ok(false) };
            self.permit_alone(written, permissions).map(|()| true)
        })?;
        if is_alone {
            self.publish_name(path);
            return Ok(());
        }
        let failed = |cause| system("changing the mode of", path, &cause);
        let before = self.under_version(path)?;
        self.under.permit(path, permissions).map_err(failed)?;
        let after = self.under_version(path)?;
        let mut state = self.cache.lock();
        // The new version has the same bytes: its blocks remain valid.
        let cached = state.file_at(path).filter(|(number, cached)| {
            before == Some(*cached) && state.backing(*number) == Backing::Under
        });
        let to_remove = match cached.zip(after) {
            Some(((number, cached), after)) if after.has_bytes_of(&cached) => {
                state.name_file(number, after, Backing::Under)
            }
            _ => vec![],
        };
        drop(state);
        self.remove(&to_remove);
        Ok(())
    }

    fn permit_alone(&self, written: &mut PendingFile, permissions: u32) -> Result<()> {
        if permissions & !WRITER_BITS != 0 {
            let text = format!("{} is in memory alone, without special bits", written.record.path);
            return Err(Error { errno: Some(libc::EPERM), ..Error::input(OPERATION, text) });
        }
        let before = (written.record.permissions, written.record.is_exact);
        (written.record.permissions, written.record.is_exact) = (permissions, true);
        self.writeback.save(&written.record).inspect_err(|_| {
            (written.record.permissions, written.record.is_exact) = before;
        })?;
        if let Some(writer) = &written.writer {
            writer.permit(permissions, true);
        }
        self.cache.lock().permit(written.record.number, permissions);
        Ok(())
    }

    /// Sets the bits of a closed file: those of the file that it replaces, unless its writer has
    /// chosen some.
    pub(super) fn inherit_permissions(
        &self,
        written: &mut PendingFile,
        before: Option<&PendingFile>,
        existing: Option<Facts>,
    ) {
        let record = &mut written.record;
        if !record.is_exact {
            let before = before.map(|before| (before.record.permissions, before.record.is_exact));
            let existing = existing.map(|facts| (facts.permissions & WRITER_BITS, false));
            let inherited = before.or(existing);
            (record.permissions, record.is_exact) =
                inherited.unwrap_or((record.permissions, false));
        }
        self.cache.lock().permit(record.number, record.permissions);
    }
}
