//! Parts of files that no store writes any more: what a store leaves on the under level when its
//! node dies with its memory.

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

/// Most folders that a store looks into when it begins.
const FOLDERS_MAX: usize = 1000;

/// Choice of the parts that a sweep removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepOptions {
    /// Whether parts are listed alone.
    pub is_dry: bool,
    /// From this age on, a part goes whose store may live on another host, because a person says
    /// so; `None` for never.
    pub older_than: Option<Duration>,
}

/// A part of a file on the under level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptPart {
    /// Its hidden name.
    pub path: StorePath,
    /// Its size.
    pub size_bytes: u64,
    /// Outcome for the part.
    pub outcome: SweepOutcome,
    /// Why, in words.
    pub reason: String,
}

/// Outcome for a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepOutcome {
    /// It is removed, or would be.
    Removed,
    /// It is no part, but a file that was there before: it has this name now.
    Recovered(StorePath),
    /// It stays.
    Retained,
}

impl Store {
    /// Finds the parts below a folder, and removes those of stores that are certainly dead. A part
    /// that `path` itself names goes unless it is certain that its store lives.
    ///
    /// # Errors
    /// `Input` for what is no folder and no part; `System`.
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
                // It is gone meanwhile.
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

    /// Whether it is a folder, and no link to one.
    fn is_folder_itself(&self, path: &StorePath) -> bool {
        self.under.facts(path).is_ok_and(|facts| facts.is_folder)
            && self.under.link(path).is_ok_and(|link| link.is_none())
    }

    /// Sweeps the parts of a folder itself.
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

    /// Removes parts of dead stores in the folders that files were written in, as far as that is
    /// known: what an earlier store left there. Those that were removed.
    pub fn sweep_known(&self) -> Vec<StorePath> {
        let root = StorePath::default();
        let written = self.ledger.entries().into_iter().filter_map(|entry| entry.path.parent());
        let folders: BTreeSet<StorePath> = written.take(FOLDERS_MAX).chain([root]).collect();
        // What cannot be removed is for the command to say.
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
        let goes = match life {
            PartLife::Dead => true,
            PartLife::Living => false,
            PartLife::Unknown(_) => is_old,
        };
        let reason = reason_of(life).to_owned();
        let size_bytes = version.size_bytes;
        let outcome = match &part.exchanged {
            _ if !goes => SweepOutcome::Retained,
            // Somebody else's file, or the one that was to be replaced.
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
