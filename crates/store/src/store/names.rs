//! Names of files and folders: on the under level, and of memory-only files.

pub(super) mod parts;
mod remove;
mod rename;
pub mod sweep;

use std::collections::BTreeSet;
use std::io;

use cuesta_core::Result;

use super::{Store, system};
use crate::cache::Backing;
use crate::path::StorePath;
use crate::permissions::PRIVATE_FOLDER;
use crate::under::{Facts, UnderVersion};
use parts::is_hidden;

/// Errors of a name that was removed meanwhile, or a link that is broken or leads out of the root.
const ABSENT: [i32; 5] = [libc::ENOENT, libc::ENOTDIR, libc::EACCES, libc::EPERM, libc::ELOOP];
/// Metadata of a folder that is not on the under level.
const FOLDER_IN_MEMORY: Facts = Facts {
    version: UnderVersion { device: 0, inode: 0, size_bytes: 0, modified_ns: 0, changed_ns: 0 },
    is_folder: true,
    permissions: PRIVATE_FOLDER,
};

impl Store {
    /// Returns the metadata of a path.
    ///
    /// # Errors
    /// `System` naming the path.
    pub fn facts(&self, path: &StorePath) -> Result<Facts> {
        let state = self.cache.lock();
        if let Some((number, version)) = state.file_at(path)
            && state.backing(number) != Backing::Under
        {
            return Ok(Facts::of_file(version, state.permissions(number)));
        }
        drop(state);
        if let Some((_, file)) = self.elsewhere(path)? {
            return Ok(file.facts());
        }
        self.facts_under(path)
    }

    /// Returns the metadata of a path on the under level, or of a folder of memory-only files.
    fn facts_under(&self, path: &StorePath) -> Result<Facts> {
        let has_inside = || {
            self.cache.lock().alone().iter().any(|(inner, _)| inner.is_inside(path))
                || self.peers().is_some_and(|peers| !peers.inside(path).is_empty())
        };
        match self.under.facts(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && has_inside() => {
                Ok(FOLDER_IN_MEMORY)
            }
            facts => facts.map_err(|cause| system("reading", path, &cause)),
        }
    }

    /// Returns the names in a folder, sorted, without files that are being written.
    ///
    /// # Errors
    /// `System` naming the folder.
    pub fn list(&self, folder: &StorePath) -> Result<Vec<String>> {
        Ok(self.list_facts(folder)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the entries of a folder, sorted by name, without those that are removed meanwhile or
    /// lead out of the root.
    ///
    /// # Errors
    /// `System` naming the folder.
    pub fn list_facts(&self, folder: &StorePath) -> Result<Vec<(String, Facts)>> {
        let remote = self.peers().map(|peers| peers.inside(folder)).unwrap_or_default();
        let mut entries = Vec::new();
        for name in self.names_in(folder, remote.keys().cloned().collect())? {
            let path = folder.join(&name)?;
            let facts = match remote.get(&name) {
                Some(Some(file)) if self.alone_at(&path).is_none() => Ok(file.facts()),
                Some(None) => Ok(FOLDER_IN_MEMORY),
                _ => self.facts_here(&path),
            };
            match facts {
                Ok(facts) => entries.push((name, facts)),
                Err(error) if error.errno.is_some_and(|errno| ABSENT.contains(&errno)) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    /// As [`facts`](Self::facts), without the other stores.
    fn facts_here(&self, path: &StorePath) -> Result<Facts> {
        let state = self.cache.lock();
        let alone =
            state.file_at(path).filter(|(number, _)| state.backing(*number) != Backing::Under);
        let alone = alone.map(|(number, version)| (version, state.permissions(number)));
        drop(state);
        match alone {
            Some((version, permissions)) => Ok(Facts::of_file(version, permissions)),
            None => self.facts_under(path),
        }
    }

    /// Returns the names in a folder, added to `names`.
    fn names_in(
        &self,
        folder: &StorePath,
        mut names: BTreeSet<String>,
    ) -> Result<BTreeSet<String>> {
        let alone = self.cache.lock().alone();
        let inside = alone.iter().filter_map(|(path, _)| path.step_inside(folder));
        names.extend(inside.map(str::to_owned));
        if self.alone_at(folder).is_some() {
            return Err(system("reading", folder, &io::ErrorKind::NotADirectory.into()));
        }
        match self.under.list(folder) {
            Ok(listed) => names.extend(listed.into_iter().filter(|name| !is_hidden(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !names.is_empty() => (),
            Err(error) => return Err(system("reading", folder, &error)),
        }
        Ok(names)
    }

    /// Makes a folder of the under level; its parent folder exists.
    ///
    /// # Errors
    /// `System` naming the folder.
    pub fn make_folder(&self, folder: &StorePath) -> Result<()> {
        self.make_folder_as(folder, None)
    }

    /// As [`make_folder`](Self::make_folder), with these permission bits, or the default of this
    /// process.
    ///
    /// # Errors
    /// As [`make_folder`](Self::make_folder).
    pub fn make_folder_as(&self, folder: &StorePath, permissions: Option<u32>) -> Result<()> {
        let _claim = self.claims.claim(folder);
        if self.alone_at(folder).is_some() {
            return Err(system("making", folder, &io::ErrorKind::AlreadyExists.into()));
        }
        self.check_parents(folder)?;
        let made = match permissions {
            Some(permissions) => self.under.make_folder_as(folder, permissions),
            None => self.under.make_folder(folder),
        };
        made.map_err(|cause| system("making", folder, &cause))
    }

    /// Returns an error for a path that has a file among its parents.
    pub(super) fn check_parents(&self, path: &StorePath) -> Result<()> {
        let mut parent = path.parent();
        while let Some(folder) = parent {
            match self.facts(&folder) {
                Ok(facts) if facts.is_folder => break,
                Ok(_) => return Err(system("writing", path, &io::ErrorKind::NotADirectory.into())),
                Err(_) => parent = folder.parent(),
            }
        }
        Ok(())
    }

    /// Makes the missing parent folders of a path with these permission bits.
    pub(super) fn make_parents(&self, path: &StorePath, permissions: u32) -> Result<()> {
        let Some(folder) = path.parent() else { return Ok(()) };
        if self.alone_at(&folder).is_some() {
            return Err(system("writing", path, &io::ErrorKind::NotADirectory.into()));
        }
        match self.under.facts(&folder) {
            Ok(facts) if facts.is_folder => Ok(()),
            Ok(_) => Err(system("writing", path, &io::ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_parents(&folder, permissions)?;
                self.make_folder_as(&folder, Some(permissions))
            }
            Err(error) => Err(system("reading", &folder, &error)),
        }
    }
}
