//! Questions of this store to the other members.

use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use std::ops::Range;
use std::time::Instant;

use cuesta_core::error::ErrorKind as Kind;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::limits::{ANSWER_TIMEOUT, CHANGE_TIMEOUT, DIRECTORY_TIMEOUT, PLACES_TIMEOUT};
use super::message::{NameState, PeerQuestion, PeerReply};
use super::rendezvous::{homes, number_of};
use super::{OPERATION, Peers};
use crate::path::StorePath;
use crate::sharing::{
    AloneFile, FileChange, FileId, LaterFile, LocalStore, NameLookup, RemoteStores,
};
use crate::under::UnderVersion;

impl RemoteStores for Peers {
    fn name(&self) -> &str {
        &self.local.name
    }

    fn find(&self, path: &StorePath) -> NameLookup {
        self.find_by(path, || ANSWER_TIMEOUT).0
    }

    fn find_all(&self, path: &StorePath) -> (NameLookup, Vec<(String, FileId)>) {
        self.find_by(path, || ANSWER_TIMEOUT)
    }

    fn find_soon(&self, path: &StorePath) -> NameLookup {
        let begun = Instant::now();
        self.find_by(path, || PLACES_TIMEOUT.saturating_sub(begun.elapsed())).0
    }

    fn inside(&self, folder: &StorePath) -> BTreeMap<String, Option<AloneFile>> {
        let mut steps_by_name: BTreeMap<String, Option<AloneFile>> = BTreeMap::new();
        for member in self.view().live {
            let question = PeerQuestion::Inside { folder: folder.clone() };
            if let Ok(PeerReply::Steps { steps }) =
                member.ask(&question, ANSWER_TIMEOUT, |reply, _| reply)
            {
                for step in steps {
                    let known = steps_by_name.entry(step.name).or_insert(None);
                    let order = |file: &Option<AloneFile>| file.as_ref().map(AloneFile::order);
                    if order(&step.file) > order(known) {
                        *known = step.file;
                    }
                }
            }
        }
        steps_by_name
    }

    fn holders(&self, file: FileId, blocks: Range<u64>) -> HashMap<u64, Vec<String>> {
        self.holders_of(file, blocks)
    }

    fn later_file(&self, owner: &str, path: &StorePath, file: FileId) -> Option<LaterFile> {
        let later = self.file_of(owner, path)?;
        Some(LaterFile { file: later, is_known: self.replaces(owner, path, file) })
    }

    fn wrote(&self, path: &StorePath, version: &UnderVersion, file: Option<FileId>) -> bool {
        let question = PeerQuestion::Wrote { path: path.clone(), version: *version, file };
        self.view().live.iter().any(|member| {
            let reply = member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply);
            matches!(reply, Ok(PeerReply::Done))
        })
    }

    fn forward(&self, owner: &str, change: FileChange) -> Result<u64> {
        let question = PeerQuestion::from(change);
        let member = self.member(owner).ok_or(ErrorKind::HostUnreachable.into());
        let reply =
            member.and_then(|member| member.ask(&question, CHANGE_TIMEOUT, |reply, _| reply));
        match reply {
            Ok(PeerReply::Moved { bytes }) => Ok(bytes),
            Ok(PeerReply::Refused { error, is_input, errno }) => {
                let kind = if is_input { Kind::Input } else { Kind::System };
                Err(Error { errno, ..Error::new(kind, OPERATION, error) })
            }
            Ok(PeerReply::Absent) => {
                let text = format!("the store at {owner} does not have the file any more");
                Err(Error { errno: Some(libc::ENOENT), ..Error::input(OPERATION, text) })
            }
            Ok(_) => Ok(0),
            Err(error) => {
                let text = format!("the store at {owner}, which has the file, fails: {error}");
                Err(Error::input(OPERATION, text))
            }
        }
    }

    fn clear(&self, path: &StorePath) {
        let view = self.view();
        for place in homes(&view.numbers, number_of(&path.to_string())).into_iter().flatten() {
            match view.at(place) {
                None => self.clear_here(path),
                Some(member) => {
                    let question = PeerQuestion::Clear { path: path.clone() };
                    let _ = member.ask(&question, DIRECTORY_TIMEOUT, |_, _| ());
                }
            }
        }
    }

    fn publish_name(&self, store: &dyn LocalStore, path: &StorePath) {
        self.publish_path(store, path);
    }

    fn lost(&self, what: &str, owner: &str) -> Error {
        let text = format!(
            "{what} was in the memory of the store at {owner} alone, which does not answer or has \
             lost it; start it again there, or write the file again"
        );
        let error = Error { errno: Some(libc::EIO), ..Error::input(OPERATION, text) };
        let mut losses = lock(&self.losses);
        *losses = (losses.0 + 1, Some(error.sentence()));
        error
    }
}

impl Peers {
    /// Returns the memory-only file of a path of another member, as that member knows it.
    fn file_of(&self, owner: &str, path: &StorePath) -> Option<AloneFile> {
        let question = PeerQuestion::Own { path: path.clone() };
        match self.member(owner)?.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply) {
            Ok(PeerReply::Known { state: NameState::Alone { file, .. }, .. }) => Some(file),
            _ => None,
        }
    }

    /// Returns whether another member wrote its file at a path to replace this one here.
    fn replaces(&self, owner: &str, path: &StorePath, file: FileId) -> bool {
        let Some(member) = self.member(owner) else { return false };
        let question = PeerQuestion::Replaces { path: path.clone(), file };
        let reply = member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply);
        matches!(reply, Ok(PeerReply::Done))
    }
}
