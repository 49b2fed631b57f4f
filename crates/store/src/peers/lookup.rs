//! Lookup of files and blocks of other members, through the directories and, where these are
//! incomplete, by asking each member.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cuesta_runtime::parallel::lock;

use super::Peers;
use super::limits::{DIRECTORY_TIMEOUT, REMOTE_MAX, TICK};
use super::members::{Member, View};
use super::message::{NameState, PeerQuestion, PeerReply};
use super::rendezvous::{home, homes, number_of};
use crate::path::StorePath;
use crate::sharing::{FileId, NameLookup};

/// The answer of a directory about a path.
#[derive(Debug)]
pub(super) struct PathAnswer {
    /// The file that was closed last.
    pub state: NameState,
    /// Earlier files of live members.
    pub older: Vec<(String, FileId)>,
    /// The view by which the directory is complete, if it is.
    pub all_by: Option<u64>,
}

impl Peers {
    /// Looks up a memory-only file of another member, with the earlier files of the path and their
    /// owners; `patience` returns the time left, and is called before each question.
    pub(super) fn find_by(
        &self,
        path: &StorePath,
        patience: impl Fn() -> Duration,
    ) -> (NameLookup, Vec<(String, FileId)>) {
        let view = self.view();
        if view.live.is_empty() && !self.has_names() {
            return (NameLookup::Nothing, vec![]);
        }
        let mut candidates = Vec::new();
        for place in homes(&view.numbers, number_of(&path.to_string())).into_iter().flatten() {
            let Some(answer) = self.state_at(&view, place, path, patience()) else { continue };
            if answer.all_by == Some(view.id) {
                let known = known_by_all(candidates, answer.state, |owner| self.lives(owner));
                return (self.checked(known), answer.older);
            }
            candidates.push(answer.state);
        }
        // The directories are incomplete: each member is asked for its own files, which it knows
        // for certain, as this one does.
        candidates.retain(|state| !state.is_alone_at(&self.local.name));
        for member in &view.live {
            if let Some(state) = ask_member(member, path, &patience) {
                candidates.retain(|state| !state.is_alone_at(&member.name));
                candidates.push(state);
            }
        }
        let last = newest(candidates.clone());
        let older = candidates.iter().filter(|state| **state != last).filter_map(NameState::alone);
        let older = older.map(|(owner, file)| (owner.to_owned(), file.id)).collect();
        (self.checked(last), older)
    }

    /// Returns whether any memory-only file was published to this member.
    fn has_names(&self) -> bool {
        lock(&self.directory).has_names()
    }

    fn checked(&self, state: NameState) -> NameLookup {
        match state {
            // A directory may not have noticed yet that the member is dead.
            NameState::Alone { owner, file } if !self.lives(&owner) => {
                NameLookup::Lost { owner, closed_ns: file.closed_ns }
            }
            NameState::Alone { owner, file } if owner != self.local.name => {
                let mut remote = lock(&self.remote);
                if remote.len() >= REMOTE_MAX {
                    remote.clear();
                }
                let inode = file.id.version(0, 0).inode;
                remote.insert(inode, (owner.clone(), file.id));
                NameLookup::Alone { owner, file }
            }
            NameState::Lost { owner, closed_ns } => NameLookup::Lost { owner, closed_ns },
            _ => NameLookup::Nothing,
        }
    }

    /// Returns the state of a path in a member's directory, and the view by which that is complete.
    fn state_at(
        &self,
        view: &View,
        place: usize,
        path: &StorePath,
        patience: Duration,
    ) -> Option<PathAnswer> {
        match view.at(place) {
            None => Some(self.state_here(path, view)),
            Some(member) => {
                let question = PeerQuestion::Find { path: path.clone() };
                match member.ask(&question, patience, |reply, _| reply) {
                    Ok(PeerReply::Known { state, all_by, older }) => {
                        Some(PathAnswer { state, older, all_by })
                    }
                    _ => None,
                }
            }
        }
    }

    /// Returns the answer of this member's directory.
    pub(super) fn state_here(&self, path: &StorePath, view: &View) -> PathAnswer {
        let mut directory = lock(&self.directory);
        for member in &view.live {
            directory.note_return(&member.name, member.last_return());
        }
        // After a partition, the caller knows better which members live.
        let state = directory.find(path, |_| true);
        let live = view.live.iter().map(|member| member.name.as_str());
        let is_complete = directory.is_complete(live.chain([self.local.name.as_str()]), view.id);
        let older = directory.older(path, |name| self.lives(name));
        PathAnswer { state, older, all_by: is_complete.then_some(view.id) }
    }

    /// Returns the fastest live member that has a block in memory.
    pub(crate) fn locate(&self, file: FileId, index: u64) -> Option<Arc<Member>> {
        let view = self.view();
        if view.live.is_empty() {
            return None;
        }
        let place = home(&view.numbers, file.block(index))?;
        let places = match view.at(place) {
            None => lock(&self.directory).places(file, index),
            Some(member) => {
                let question = PeerQuestion::Where { file, indexes: vec![index] };
                match member.ask(&question, DIRECTORY_TIMEOUT, |reply, _| reply) {
                    Ok(PeerReply::Places { places }) => places.of(0).map(str::to_owned).collect(),
                    _ => vec![],
                }
            }
        };
        let speed = |member: &&Arc<Member>| {
            // A member without a measurement is tried.
            lock(&member.rate).bytes_per_s.map_or(u64::MAX, |rate| rate as u64)
        };
        places.iter().filter_map(|name| view.named(name)).max_by_key(speed).cloned()
    }
}

/// Asks a member for its own file of a path, again while the member lives: no answer does not mean
/// that there is no file, and right after a partition a connection may fail.
fn ask_member(
    member: &Member,
    path: &StorePath,
    patience: &impl Fn() -> Duration,
) -> Option<NameState> {
    let question = PeerQuestion::Own { path: path.clone() };
    let begun = Instant::now();
    loop {
        match member.ask(&question, patience(), |reply, _| reply) {
            Ok(PeerReply::Known { state, .. }) => return Some(state),
            Err(_) if member.is_live() && begun.elapsed() < DIRECTORY_TIMEOUT.min(patience()) => {
                thread::sleep(TICK);
            }
            _ => return None,
        }
    }
}

/// Returns the state of a path from one that knows all files of live members, and others that may
/// not know yet that a file was removed, but know what died with its member.
fn known_by_all(
    mut candidates: Vec<NameState>,
    complete: NameState,
    lives: impl Fn(&str) -> bool,
) -> NameState {
    candidates.retain(|state| state.alone().is_none_or(|(owner, _)| !lives(owner)));
    candidates.push(complete);
    newest(candidates)
}

/// Returns the state with the file that was closed last.
fn newest(candidates: Vec<NameState>) -> NameState {
    let closed = |state: &NameState| match state {
        NameState::Nothing => None,
        NameState::Alone { file, .. } => Some((file.closed_ns, true, Some(file.id))),
        NameState::Lost { closed_ns, .. } => Some((*closed_ns, false, None)),
    };
    candidates.into_iter().max_by_key(closed).unwrap_or(NameState::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::AloneFile;
    use crate::under::UnderVersion;

    fn alone(owner: &str, closed_ns: i64) -> NameState {
        let version = UnderVersion {
            device: 0,
            inode: 1,
            size_bytes: 5,
            modified_ns: closed_ns,
            changed_ns: closed_ns,
        };
        let id = FileId::of_alone(owner, &version);
        let path = "a".parse().unwrap();
        let file = AloneFile { path, id, size_bytes: 5, closed_ns, permissions: 0o600 };
        NameState::Alone { owner: owner.into(), file }
    }

    /// A directory that had been cut off had not learned that a file was removed; another one that
    /// knew all was asked too, and the file was there again. Checked histories found it.
    #[test]
    fn a_directory_that_knows_all_counts_more_than_one_that_does_not() {
        let lives = |owner: &str| owner != "dead";
        let lost = NameState::Lost { owner: "dead".into(), closed_ns: 9 };
        let (nothing, later) = (NameState::Nothing, alone("y", 8));
        for (first, complete, expected) in [
            (alone("x", 3), &nothing, &nothing),
            (alone("x", 9), &later, &later),
            (lost.clone(), &nothing, &lost),
            (alone("dead", 9), &later, &alone("dead", 9)),
            (nothing.clone(), &later, &later),
        ] {
            assert_eq!(known_by_all(vec![first], complete.clone(), lives), *expected);
        }
    }
}
