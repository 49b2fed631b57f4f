//! Names on the under level: a file gets its name without a loss of files that other programs put
//! there meanwhile.
//!
//! Between the check of a name and its change anything may happen to it. So no change destroys a
//! file: a free name is taken only while it is free, and a file that is replaced is exchanged with
//! the new one, checked under the hidden name, and exchanged back if it is not the expected one.

use std::io;

use cuesta_core::Result;

use super::super::names::parts::{exchange_name, hidden_name};
use super::super::writes::now_ns;
use super::super::{Store, system};
use crate::conflict::conflict_name;
use crate::path::StorePath;
use crate::under::UnderVersion;
use crate::writeback::{WriteMode, WriteRecord, WriteState};

/// Most checks of a name that other programs change all the time.
const LOOKS_MAX: u32 = 16;

/// Exchange of a file with the file that has its name.
struct Exchange {
    path: StorePath,
    /// The hidden path of the new file before, and of the old one afterwards.
    hidden: StorePath,
    file: UnderVersion,
    /// The version that may be replaced.
    expected: Option<UnderVersion>,
}

/// Content of the hidden name of an exchange, once it was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HiddenContent {
    /// None: the exchange is finished.
    Nothing,
    /// The file that is to get its name.
    File,
}

impl Store {
    /// Gives a synced file its name, if that is free or has the version to be replaced.
    ///
    /// # Errors
    /// `AlreadyExists` where another file has the name and keeps it; I/O errors.
    pub(in crate::store) fn name_under(&self, record: &WriteRecord) -> io::Result<()> {
        self.settle_exchange(record)?;
        let (Some(hidden), Some(exchange)) = (hidden_path(record), exchange_of(record)) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        for _ in 0..LOOKS_MAX {
            match self.version_at(&exchange.path)? {
                // It has its name already.
                Some(now) if now.has_bytes_of(&exchange.file) => return Ok(()),
                None => match self.under.rename_new(&hidden, &exchange.path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                    renamed => return renamed,
                },
                Some(now) if exchange.expects(&now) => {
                    self.under.rename_new(&hidden, &exchange.hidden)?;
                    let replaced = self.replace_by(&exchange);
                    self.settle_exchange(record)?;
                    return replaced;
                }
                Some(_) => break,
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Exchanges a file with the expected one.
    fn replace_by(&self, exchange: &Exchange) -> io::Result<()> {
        match self.under.exchange(&exchange.hidden, &exchange.path) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.replace_by_look(&exchange.hidden, exchange)
            }
            // Another program removed the other file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.under.rename_new(&exchange.hidden, &exchange.path)
            }
            exchanged => exchanged.and_then(|()| match self.settle_hidden(exchange)? {
                HiddenContent::Nothing => match self.version_at(&exchange.path)? {
                    Some(now) if now.has_bytes_of(&exchange.file) => Ok(()),
                    _ => Err(io::ErrorKind::AlreadyExists.into()),
                },
                HiddenContent::File => Err(io::ErrorKind::AlreadyExists.into()),
            }),
        }
    }

    /// As [`replace_by`](Self::replace_by) where names cannot be exchanged. A file that another
    /// program writes between the two steps is lost: the guide documents this.
    fn replace_by_look(&self, from: &StorePath, exchange: &Exchange) -> io::Result<()> {
        match self.version_at(&exchange.path)? {
            Some(now) if !exchange.expects(&now) => Err(io::ErrorKind::AlreadyExists.into()),
            _ => self.under.rename(from, &exchange.path),
        }
    }

    /// Finishes the exchange of a record, if one was begun: the file is under its first hidden name
    /// again, or has its final one.
    pub(in crate::store) fn settle_exchange(&self, record: &WriteRecord) -> io::Result<()> {
        let (Some(hidden), Some(exchange)) = (hidden_path(record), exchange_of(record)) else {
            return Ok(());
        };
        match self.settle_hidden(&exchange)? {
            HiddenContent::Nothing => Ok(()),
            HiddenContent::File => match self.under.rename_new(&exchange.hidden, &hidden) {
                // After a rename that a power failure undid, the file has both names.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.under.remove(&exchange.hidden)
                }
                renamed => renamed,
            },
        }
    }

    /// Checks the hidden name of an exchange: the expected version is removed, and a file of
    /// another program gets its name back.
    fn settle_hidden(&self, exchange: &Exchange) -> io::Result<HiddenContent> {
        for _ in 0..LOOKS_MAX {
            let Some(hidden) = self.version_at(&exchange.hidden)? else {
                return Ok(HiddenContent::Nothing);
            };
            if hidden.has_bytes_of(&exchange.file) {
                return Ok(HiddenContent::File);
            }
            if exchange.expects(&hidden) {
                return self.under.remove(&exchange.hidden).map(|()| HiddenContent::Nothing);
            }
            match self.version_at(&exchange.path)? {
                Some(now) if now.has_bytes_of(&exchange.file) => {
                    self.under.exchange(&exchange.hidden, &exchange.path)?;
                }
                None => match self.under.rename_new(&exchange.hidden, &exchange.path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                    renamed => return renamed.map(|()| HiddenContent::Nothing),
                },
                // A third file has the name by now.
                Some(_) => break,
            }
        }
        self.rename_as_conflict(&exchange.hidden, &exchange.path)?;
        Ok(HiddenContent::Nothing)
    }

    /// Renames a file of the under level that must not be lost to a free name that tells where it
    /// came from.
    pub(in crate::store) fn rename_as_conflict(
        &self,
        from: &StorePath,
        path: &StorePath,
    ) -> io::Result<StorePath> {
        let mut tries = 0;
        loop {
            let to = conflict_name(path, now_ns(), tries);
            match self.under.rename_new(from, &to) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => tries += 1,
                renamed => return renamed.map(|()| to),
            }
        }
    }

    /// Renames a file of the under level; replaces a file of the new name if that is the expected
    /// one.
    ///
    /// # Errors
    /// `System`, with `EEXIST` where another file has the new name.
    pub(in crate::store) fn move_under(
        &self,
        from: &StorePath,
        to: &StorePath,
        expected: Option<UnderVersion>,
    ) -> Result<()> {
        let failed = |cause: io::Error| system("renaming", from, &cause);
        for _ in 0..LOOKS_MAX {
            let moved = match self.version_at(to).map_err(failed)? {
                None => self.under.rename_new(from, to),
                Some(now) if expected.is_some_and(|expected| now.has_bytes_of(&expected)) => {
                    return self.move_over(from, to, now);
                }
                Some(_) => break,
            };
            match moved {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                moved => {
                    let synced = moved.and_then(|()| self.under.sync_names(to));
                    return synced.and_then(|()| self.under.sync_names(from)).map_err(failed);
                }
            }
        }
        Err(system("replacing", to, &io::ErrorKind::AlreadyExists.into()))
    }

    /// As [`move_under`](Self::move_under), over a file. It is recorded first, so that the next
    /// store can finish it.
    fn move_over(&self, from: &StorePath, to: &StorePath, expected: UnderVersion) -> Result<()> {
        let failed = |cause: io::Error| system("renaming", from, &cause);
        let Some(file) = self.version_at(from).map_err(failed)? else {
            return Err(failed(io::ErrorKind::NotFound.into()));
        };
        if file.has_bytes_of(&expected) {
            // Two names of the same file.
            return self.under.rename(from, to).map_err(failed);
        }
        let number = self.cache.lock().begin_file(to);
        let record = WriteRecord {
            number,
            path: to.clone(),
            mode: WriteMode::Bypass,
            state: WriteState::Abandoned,
            block_bytes: self.options.block_bytes,
            size_bytes: 0,
            closed_ns: 0,
            blocks: vec![],
            permissions: 0,
            is_exact: false,
            hidden: Some(hidden_name(number, now_ns())),
            replaced: Some(expected),
            synced: Some(file),
        };
        let moved = self.writeback.save(&record).and_then(|()| self.move_recorded(from, &record));
        let to_remove = self.cache.lock().end_file(number);
        self.remove(&to_remove);
        moved
    }

    fn move_recorded(&self, from: &StorePath, record: &WriteRecord) -> Result<()> {
        let failed = |cause: io::Error| system("renaming", from, &cause);
        let Some(exchange) = exchange_of(record) else { return Ok(()) };
        let to = &exchange.path;
        let moved = match self.under.link_new(from, &exchange.hidden) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.replace_by_look(from, &exchange)
            }
            linked => linked.and_then(|()| self.replace_by(&exchange)),
        };
        let settled = self.clear(record);
        moved.map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => system("replacing", to, &cause),
            _ => failed(cause),
        })?;
        settled?;
        // Another file may have the old name by now.
        let now = self.version_at(from).map_err(failed)?;
        if now.is_some_and(|now| now.has_bytes_of(&exchange.file)) {
            self.under.remove(from).map_err(failed)?;
        }
        self.under.sync_names(to).map_err(failed)
    }

    fn version_at(&self, path: &StorePath) -> io::Result<Option<UnderVersion>> {
        match self.under.facts(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            facts => Ok(Some(facts?.version)),
        }
    }
}

impl Exchange {
    fn expects(&self, version: &UnderVersion) -> bool {
        self.expected.is_some_and(|expected| version.has_bytes_of(&expected))
    }
}

/// Returns the hidden name of a file while it is written.
fn hidden_path(record: &WriteRecord) -> Option<StorePath> {
    record.path.parent()?.join(record.hidden.as_ref()?).ok()
}

/// Returns the exchange by which a file gets its name. Its hidden name contains the file's inode
/// number, so that another file under that name is not removed.
fn exchange_of(record: &WriteRecord) -> Option<Exchange> {
    let (file, hidden) = (record.synced?, record.hidden.as_ref()?);
    let hidden = exchange_name(hidden, file.inode, &record.path)?;
    Some(Exchange {
        path: record.path.clone(),
        hidden: record.path.parent()?.join(&hidden).ok()?,
        file,
        expected: record.replaced,
    })
}
