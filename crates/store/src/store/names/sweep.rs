//! Sweep of part files that no store writes any more: a store leaves them on the under level when
//! its node dies with its memory.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::parts::{PartLife, PartName, reason_of};
use crate::conflict::conflict_name;
use crate::path::StorePath;
use crate::store::writes::now_ns;
use crate::store::{OPERATION, Store, system};

/// Most folders that a store sweeps at its start.
const FOLDERS_MAX: usize = 1000;

/// Options of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepOptions {
    /// Whether parts are only listed.
    pub is_dry: bool,
    /// Age from which parts are removed whose store may live on another host; a user must request
    /// this. `None` for never.
    pub older_than: Option<Duration>,
}

/// A part on the under level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptPart {
    /// Its hidden name.
    pub path: StorePath,
    /// Its size.
    pub size_bytes: u64,
    /// Outcome for the part.
    pub outcome: SweepOutcome,
    /// The reason, in words.
    pub reason: String,
}

/// Outcome for a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepOutcome {
    /// It is removed, or would be.
    Removed,
    /// It is not a part, but an existing file, which has this name now.
    Recovered(StorePath),
    /// It is left.
    Retained,
}

impl Store {
    /// Finds the parts below a folder, and removes those of stores that are certainly dead. A part
    /// that `path` names is removed unless its store certainly lives.
    ///
    /// # Errors
    /// `Input` for a path that is neither a folder nor a part; `System`.
    pub fn sweep(&self, path: &StorePath, options: SweepOptions) -> Result<Vec<SweptPart>> {
        if let Some(part) = PartName::of(path.name()) {
            let options = SweepOptions { older_than: Some(Duration::ZERO), ..options };
            return Ok(self.sweep_part(path, &part, options)?.into_iter().collect());
        }
        let facts = self.under.facts(path).map_err(|cause| system("reading", path, &cause))?;
        if !facts.is_folder {
            let text = format!("{path} is a file; give a folder, or the hidden name of a part");
            return Err(Error::input(OPERATION, text));
        }
        let (mut swept, mut folders) = (Vec::new(), vec![path.clone()]);
        while let Some(folder) = folders.pop() {
            let names = match self.under.list(&folder) {
                // It was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                names => names.map_err(|cause| system("reading", &folder, &cause))?,
            };
            for name in names {
                let path = folder.join(&name)?;
                match PartName::of(&name) {
                    Some(part) => swept.extend(self.sweep_part(&path, &part, options)?),
                    None if self.is_folder_itself(&path) => folders.push(path),
                    None => (),
                }
            }
        }
        swept.sort_by(|first, second| first.path.cmp(&second.path));
        Ok(swept)
    }

    /// Returns whether it is a folder rather than a link to one.
    fn is_folder_itself(&self, path: &StorePath) -> bool {
        self.under.facts(path).is_ok_and(|facts| facts.is_folder)
            && self.under.link(path).is_ok_and(|link| link.is_none())
    }

    /// Sweeps the parts directly in a folder.
    pub(in crate::store) fn sweep_folder(&self, folder: &StorePath) -> Result<Vec<SweptPart>> {
        let names = self.under.list(folder).map_err(|cause| system("reading", folder, &cause))?;
        let mut swept = Vec::new();
        for name in names {
            if let Some(part) = PartName::of(&name) {
                let path = folder.join(&name)?;
                swept.extend(self.sweep_part(&path, &part, SweepOptions::default())?);
            }
        }
        Ok(swept)
    }

    /// Removes parts of dead stores in the folders that files were written in, as far as they are
    /// known; returns the removed parts.
    pub fn sweep_known(&self) -> Vec<StorePath> {
        let root = StorePath::default();
        let written =
            self.writeback.ledger.entries().into_iter().filter_map(|entry| entry.path.parent());
        let folders: BTreeSet<StorePath> = written.take(FOLDERS_MAX).chain([root]).collect();
        // The command `sweep` reports parts that cannot be removed.
        let swept = folders.iter().filter_map(|folder| self.sweep_folder(folder).ok()).flatten();
        let removed = swept.filter(|part| part.outcome != SweepOutcome::Retained);
        removed.map(|part| part.path).collect()
    }

    fn sweep_part(
        &self,
        path: &StorePath,
        part: &PartName,
        options: SweepOptions,
    ) -> Result<Option<SweptPart>> {
        let failed = |cause: io::Error| system("removing", path, &cause);
        let version = match self.under.facts(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(facts) if facts.is_folder => return Ok(None),
            facts => facts.map_err(failed)?.version,
        };
        let life = part.owner.map_or(PartLife::Unknown("of an older version"), |owner| {
            owner.life(version.changed_ns)
        });
        let age_ns = now_ns().saturating_sub(version.changed_ns.max(version.modified_ns));
        let is_old = options
            .older_than
            .is_some_and(|age| u128::try_from(age_ns).is_ok_and(|ns| ns >= age.as_nanos()));
        let is_removed = match life {
            PartLife::Dead => true,
            PartLife::Living => false,
            PartLife::Unknown(_) => is_old,
        };
        let reason = reason_of(life).to_owned();
        let size_bytes = version.size_bytes;
        let outcome = match &part.exchanged {
            _ if !is_removed => SweepOutcome::Retained,
            // A file of another program, or the one that was to be replaced.
            Some((inode, name)) if *inode != version.inode => {
                let parent = path.parent().unwrap_or_default();
                let lost = parent.join(if name.is_empty() { "file" } else { name })?;
                SweepOutcome::Recovered(self.recovered(path, &lost, options.is_dry)?)
            }
            _ => {
                if !options.is_dry {
                    self.under.remove(path).map_err(failed)?;
                }
                SweepOutcome::Removed
            }
        };
        Ok(Some(SweptPart { path: path.clone(), size_bytes, outcome, reason }))
    }

    fn recovered(&self, path: &StorePath, lost: &StorePath, is_dry: bool) -> Result<StorePath> {
        match is_dry {
            true => Ok(conflict_name(lost, now_ns(), 0)),
            false => self
                .rename_as_conflict(path, lost)
                .map_err(|cause| system("renaming", path, &cause)),
        }
    }
}
